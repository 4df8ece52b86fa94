//! `tapeline mesh --inventory FILE`: Ansible's hosts as a `hosts.toml`.

use std::path::Path;

use tapeline_base::ExitCode;
use tapeline_mesh::Inventory;
use tapeline_sys::reason;

use crate::run::history::{Fault, print};

/// Prints the hosts of an inventory as a mesh reads them.
pub(crate) fn inventory(file: &Path) -> ExitCode {
    match written(file).and_then(|text| print(&text)) {
        Ok(()) => ExitCode::Success,
        Err(fault) => fault.say(),
    }
}

fn written(file: &Path) -> Result<String, Fault> {
    let name = file.display().to_string();
    let content = std::fs::read_to_string(file)
        .map_err(|error| Fault::Usage(format!("{name}: {}", reason(&error))))?;
    let text = Inventory::read(&name, &content).and_then(|read| read.hosts_toml());
    text.map_err(|error| Fault::Usage(error.to_string()))
}
