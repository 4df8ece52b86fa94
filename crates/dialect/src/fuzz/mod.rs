//! What must hold whatever a peer sends, one function for each state machine of a session: bytes
//! that a fuzzer makes, or a seed holds, are played to it. Fuzz targets and the replay of their
//! corpora share them.

pub(crate) mod contracts;
mod input;
mod iperf2_tcp;
mod iperf2_udp;
pub(crate) mod iperf3_control;
mod iperf3_login;
mod iperf3_peer_results;
mod iperf3_registry;
mod native_control;
mod native_orders;
mod native_peer_results;
mod native_probing;
mod native_registry;
mod policy;
mod renderers;

pub use contracts::{CONTRACTS, Contract, run};
