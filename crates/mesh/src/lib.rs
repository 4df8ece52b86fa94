//! Tests among many hosts (`tapeline mesh`), without a connection to any of them.
//!
//! ```text
//! hosts.toml ─► HostsFile ─┐
//!    --pattern ─► Pattern ─┴► MeshPlan ─► tests in an order ─► Schedule ─► what may start now
//!                                │                               ▲
//!                                └─► Journal: line 1, then cells ─┘ measured ones are not repeated
//! Ansible's ─► Inventory ─► hosts.toml
//! ```

mod forecast;
mod host;
mod hosts_file;
mod inventory;
mod journal;
mod pattern;
mod plan;
mod schedule;

pub use forecast::Forecast;
pub use host::{Host, HostId, Pair, SharedLink, Via};
pub use hosts_file::{HostsError, HostsFile, Located};
pub use inventory::{Inventory, InventoryError};
pub use journal::{Journal, JournalError, Kept};
pub use pattern::{Pattern, PatternError};
pub use plan::{MeshPlan, Mode};
pub use schedule::{Ended, Schedule, TestId};
