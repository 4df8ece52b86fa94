//! What measurement methods need of a session between two tapelines.

mod path_mtu;

pub use path_mtu::{IcmpOutcome, PathMtuFinding, PathMtuRequest, ProbeFormat, measure_path_mtu};
