//! What an inventory is read from and written to.

use super::fault::InventoryError;
use super::groups::Inventory;
use super::{hosts_toml, ini, json};

impl Inventory {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn read(file: &str, text: &str) -> Result<Self, InventoryError> {
        if text.trim_start().starts_with(['{', '[']) && json::is_json(text) {
            return json::read(file, text);
        }
        ini::read(file, text)
    }

    /// The text of a `hosts.toml` with these hosts and groups, and how they are reached.
    ///
    /// # Errors
    /// A host that is reached in a way that a mesh has no words for; names that a mesh refuses.
    pub fn hosts_toml(&self, file: &str) -> Result<String, InventoryError> {
        hosts_toml::write(self, file)
    }
}
