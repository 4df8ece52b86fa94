//! What an inventory is read from and written to.

use super::fault::InventoryError;
use super::groups::HostGroups;
use super::{hosts_toml, ini, json};

/// An inventory of Ansible, in INI or as JSON (what `ansible-inventory --list` writes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    file: String,
    hosts: HostGroups,
}

impl Inventory {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn read(file: &str, text: &str) -> Result<Self, InventoryError> {
        let is_json = text.trim_start().starts_with(['{', '[']) && json::is_json(text);
        let hosts = match is_json {
            true => json::read(file, text),
            false => ini::read(file, text),
        };
        Ok(Self {
            file: file.to_owned(),
            hosts: hosts?,
        })
    }

    /// The text of a `hosts.toml` with these hosts and groups, and how they are reached.
    ///
    /// # Errors
    /// A host that is reached in a way that a mesh has no words for; names that a mesh refuses.
    pub fn hosts_toml(&self) -> Result<String, InventoryError> {
        hosts_toml::write(&self.hosts, &self.file)
    }
}
