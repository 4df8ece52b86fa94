//! `tapeline fleet enrol`: hosts of a site get keys and rights.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::names::HostName;
use crate::site::folder::{self, FolderError, quoted};
use crate::site::key;
use crate::site::registry::{self, HostEntry, ROLES, Registry};
use crate::site::server_conf::{USERS, users_conf};
use crate::site::settings::SPOOL;
use crate::site::toml_file::SettingsError;
use crate::whole_file::Readers;

/// Hosts that are to be of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enrolment {
    /// At least one.
    pub hosts: Vec<HostName>,
    /// What others test towards; one host only. Without it a new host is reached by its name.
    pub address: Option<String>,
    /// Groups in the place of former ones; without any, those stay.
    pub groups: Vec<String>,
}

/// What became of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It has a key now.
    New,
    /// It had one; something else of it is new.
    Changed,
    /// It is as it was.
    None,
}

/// Why a host is not enrolled.
#[derive(Debug, Error)]
pub enum EnrolError {
    /// There is no site.
    #[error("there is no site in {}: tapeline fleet init --site NAME makes one, --out names its folder",
            .0.display())]
    NoSite(PathBuf),
    /// The site's files are damaged.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Files of roles have such names.
    #[error("{0}.toml is a file of the site: choose another name for the host")]
    Reserved(HostName),
    /// One address for several hosts.
    #[error("--address is that of one host: enrol the others on their own")]
    Addresses,
    /// The seed that is there is that of another key.
    #[error("{} has another key than {FILE} says: move it away, or remove the host there for a new key",
            .0.display(), FILE = registry::FILE)]
    OtherKey(PathBuf),
    /// The seed that is there cannot be used.
    #[error("{0}")]
    Seed(String),
    /// The system has no random numbers.
    #[error("cannot make a key: {0}")]
    Key(String),
    /// A file cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl Enrolment {
    /// Adds the hosts to the site in a folder. What is there and right stays as it is.
    ///
    /// # Errors
    /// There is no site, or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<Vec<(HostName, Change)>, EnrolError> {
        if self.address.is_some() && self.hosts.len() > 1 {
            return Err(EnrolError::Addresses);
        }
        if let Some(host) = self.hosts.iter().find(|host| is_reserved(host)) {
            return Err(EnrolError::Reserved(host.clone()));
        }
        let path = folder.join(registry::FILE);
        let mut registry = match Registry::read(&path) {
            Err(SettingsError::Read { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                return Err(EnrolError::NoSite(folder.to_owned()));
            }
            other => other?,
        };
        let mut changes = Vec::new();
        for host in &self.hosts {
            changes.push((host.clone(), self.enrol(host, folder, &mut registry)?));
        }
        folder::write(folder, registry::FILE, &registry.render(), Readers::All)?;
        folder::write(folder, USERS, &users_conf(&registry), Readers::All)?;
        Ok(changes)
    }

    fn enrol(
        &self,
        host: &HostName,
        folder: &Path,
        registry: &mut Registry,
    ) -> Result<Change, EnrolError> {
        let former = registry.hosts.get(host).cloned();
        let key = own_key(host, folder, former.as_ref())?;
        let mut entry = former.clone().unwrap_or_else(|| HostEntry {
            key,
            address: host.to_string(),
            groups: Vec::new(),
        });
        if let Some(address) = &self.address {
            entry.address.clone_from(address);
        }
        if !self.groups.is_empty() {
            entry.groups.clone_from(&self.groups);
            entry.groups.sort();
            entry.groups.dedup();
        }
        let name = format!("{host}.toml");
        let settings = match std::fs::read_to_string(folder.join(&name)) {
            Ok(text) if self.address.is_some() => with_address(&text, &entry.address),
            Ok(text) => text,
            Err(_) => agent_settings(registry, host, &entry),
        };
        folder::write(folder, &name, &settings, Readers::All)?;
        let change = match former {
            None => Change::New,
            Some(former) if former == entry => Change::None,
            Some(_) => Change::Changed,
        };
        registry.hosts.insert(host.clone(), entry);
        Ok(change)
    }
}

fn is_reserved(host: &HostName) -> bool {
    let mut names = ROLES.iter().map(|(name, _)| *name).chain(["enrolled"]);
    names.any(|name| host.as_str().eq_ignore_ascii_case(name))
}

/// The public key of a host: that of before, or of the seed that is there; else a new one.
fn own_key(
    host: &HostName,
    folder: &Path,
    former: Option<&HostEntry>,
) -> Result<String, EnrolError> {
    let name = format!("{host}.nk");
    let path = folder.join(&name);
    let is_there = path.symlink_metadata().is_ok();
    let seed = is_there.then(|| key::read_seed(&path)).transpose();
    let seed = seed.map_err(|why| EnrolError::Seed(format!("{}: {why}", path.display())))?;
    let there = seed.and_then(|seed| key::of_seed(&seed));
    match (there.map(|key| key.public_key()), former) {
        (Some(there), Some(former)) if there != former.key => Err(EnrolError::OtherKey(path)),
        (_, Some(former)) => Ok(former.key.clone()),
        (Some(there), None) => Ok(there),
        (None, None) => {
            let failed = |error: nkeys::error::Error| EnrolError::Key(error.to_string());
            let key = key::make().map_err(failed)?;
            let seed = key.seed().map_err(failed)?;
            folder::write(folder, &name, &format!("{seed}\n"), Readers::Owner)?;
            Ok(key.public_key())
        }
    }
}

/// The settings with another address; the owner's own lines stay.
fn with_address(text: &str, address: &str) -> String {
    let is_address = |line: &str| {
        let rest = line.trim_start().strip_prefix("address");
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let own = format!("address = {}", quoted(address));
    let lines = text.lines().map(|line| match is_address(line) {
        true => own.as_str(),
        false => line,
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The settings of an agent.
fn agent_settings(registry: &Registry, host: &HostName, entry: &HostEntry) -> String {
    format!(
        "# The agent of {host}: /etc/tapeline/agent.toml on that host, with {host}.nk beside it.\n\
         host = {name}\n{head}key = {key}\n\
         # ca = \"ca.pem\"    # whom to believe in the place of the system's roots\n\
         # What other hosts test towards.\n\
         address = {address}\n\
         # Results wait there for the collector.\n\
         spool = {spool}\n\
         \n\
         # The owner of this host has the last word. Without these lines nothing is limited.\n\
         # peers = [\"198.51.100.0/24\"]\n\
         # max-time = \"60\"\n\
         # max-rate = \"1G\"\n\
         # bytes-per-day = \"20G\"\n\
         # hours = \"22:00-06:00\"\n\
         # class = \"background\"\n",
        name = quoted(host.as_str()),
        head = registry.head(),
        key = quoted(&format!("{host}.nk")),
        address = quoted(&entry.address),
        spool = quoted(SPOOL),
    )
}
