//! The Prometheus that scrapes tapeline.

use std::path::PathBuf;

/// The program, where `peers/install` puts it or on the path.
#[must_use]
pub fn prometheus() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let prefix = std::env::var_os("PEERS_PREFIX").unwrap_or_else(|| "/opt/peers".into());
    let own = PathBuf::from(prefix).join("bin");
    let folders = std::iter::once(own).chain(std::env::split_paths(&path));
    let mut found = folders.map(|folder| folder.join("prometheus"));
    found.find(|program| program.is_file())
}
