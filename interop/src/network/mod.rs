//! Networks on one machine, and what a test runs over.

mod namespace;
mod shaping;
mod transport;

pub use namespace::{Namespace, NamespacePair, RelayedPair};
pub use shaping::{Bottleneck, FairQueues, SlowLane};
pub use transport::{Family, Transport};
