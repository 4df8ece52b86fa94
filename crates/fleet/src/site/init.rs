//! `tapeline fleet init`: a site begins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf, absolute};

use thiserror::Error;

use crate::names::SiteName;
use crate::site::access::{Server, ServerError};
use crate::site::folder::{self, FolderError, quoted};
use crate::site::key;
use crate::site::registry::{self, ROLES, Registry};
use crate::site::server_conf::{SERVER, USERS, server_conf, users_conf};
use crate::whole_file::Readers;

/// A site that is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSite {
    /// Its name.
    pub site: SiteName,
    /// Where its server will be; at least one.
    pub servers: Vec<Server>,
    /// Servers without TLS are accepted over a network.
    pub is_plain: bool,
}

/// Why there is no new site.
#[derive(Debug, Error)]
pub enum InitError {
    /// There is one.
    #[error("{} is there already, and a site is not made over another: choose a new folder with --out",
            .0.display())]
    Exists(PathBuf),
    /// A server that no role may use.
    #[error("--server {0}, or --plain where all who can read and forge the traffic may")]
    Server(ServerError),
    /// The system has no random numbers.
    #[error("cannot make a key: {0}")]
    Key(String),
    /// A file cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl NewSite {
    /// Writes the files of the site into a folder, which is made where it is missing.
    ///
    /// # Errors
    /// There is a site already, or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), InitError> {
        for server in &self.servers {
            server.check(self.is_plain).map_err(InitError::Server)?;
        }
        let roles = ROLES.map(|(name, _)| [format!("{name}.toml"), format!("{name}.nk")]);
        let names = [SERVER, USERS, registry::FILE].map(str::to_owned);
        for name in names.into_iter().chain(roles.into_iter().flatten()) {
            let path = folder.join(name);
            if path.symlink_metadata().is_ok() {
                return Err(InitError::Exists(path));
            }
        }
        folder::make(folder)?;
        let mut registry = Registry {
            site: self.site.clone(),
            servers: self.servers.iter().map(Server::to_string).collect(),
            is_plain: self.is_plain,
            roles: Default::default(),
            hosts: BTreeMap::new(),
        };
        for (place, (name, _)) in ROLES.iter().enumerate() {
            let key = key::make().map_err(|error| InitError::Key(error.to_string()))?;
            let seed = key
                .seed()
                .map_err(|error| InitError::Key(error.to_string()))?;
            let file = format!("{name}.nk");
            folder::write(folder, &file, &format!("{seed}\n"), Readers::Owner)?;
            let settings = role_settings(&registry, name);
            folder::write(folder, &format!("{name}.toml"), &settings, Readers::All)?;
            registry.roles[place] = key.public_key();
        }
        let whole = absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let conf = server_conf(&registry, &self.servers, &whole);
        folder::write(folder, SERVER, &conf, Readers::All)?;
        folder::write(folder, USERS, &users_conf(&registry), Readers::All)?;
        // Last: a site is there when this is.
        folder::write(folder, registry::FILE, &registry.render(), Readers::All)?;
        Ok(())
    }
}

/// The settings of a role that has a key for each site.
fn role_settings(registry: &Registry, role: &str) -> String {
    let (about, more) = match role {
        "controller" => (
            "Any number of controllers may run with these settings; one is active.",
            "\n# Hosts that share a link: so many exclusive tests at once.\n\
             # [[shared]]\n# hosts = [\"fra1\", \"fra2\"]\n# at_once = 1\n",
        ),
        "collector" => ("The collector of results.", ""),
        _ => (
            "For people: tapeline fleet hosts, run, schedule, jobs, cancel, watch.",
            "",
        ),
    };
    format!(
        "# {about} The key is beside this file.\n{}key = {}\n\
         # ca = \"ca.pem\"    # whom to believe in the place of the system's roots\n{more}",
        registry.head(),
        quoted(&format!("{role}.nk"))
    )
}
