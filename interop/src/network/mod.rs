//! Networks on one machine, and what a test runs over.

mod namespace;
mod path;
mod routed;
mod shaping;
mod ssh_hosts;
mod switch;
mod transport;

pub use namespace::{Namespace, NamespacePair, RelayedPair};
pub use path::{TestPath, Way};
pub use routed::{Cable, RoutedPair};
pub use shaping::{Bottleneck, FairQueues, SlowLane};
pub use ssh_hosts::{SshHost, SshHosts};
pub use switch::{HostProcess, Switch, SwitchedHost};
pub use transport::{Family, Transport};
