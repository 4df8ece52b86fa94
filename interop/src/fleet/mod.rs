//! A fleet on one machine: its server, roles and agents, each on a host of its own on one bridge.

mod node;
mod site;
mod test_log;
mod wall_clock;

pub use node::Node;
pub use site::{Fleet, FleetOptions, FleetResult};
pub use test_log::{HostTest, host_tests};
