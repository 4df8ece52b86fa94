//! An inventory of Ansible as `hosts.toml`.

mod fault;
mod forms;
mod groups;
mod host_line;
mod hosts_toml;
mod ini;
mod json;
mod range;

pub use fault::InventoryError;
pub use groups::Inventory;
