//! An inventory of Ansible as `hosts.toml`.

mod ansible_inventory;
mod fault;
mod groups;
mod host_line;
mod hosts_toml;
mod ini;
mod json;
mod range;

pub use ansible_inventory::Inventory;
pub use fault::InventoryError;
