//! The contracts of all state machines, by the names of their fuzz targets.

use super::{
    iperf2_tcp, iperf2_udp, iperf3_control, iperf3_login, iperf3_peer_results, iperf3_registry,
    native_control, native_orders, native_peer_results, native_probing, native_registry, policy,
};

/// A contract panics when an input breaks it.
pub type Contract = fn(&[u8]);
/// The contracts by the names of their fuzz targets.
pub const CONTRACTS: [(&str, Contract); 21] = [
    ("iperf2_opening", iperf2_tcp::opening),
    ("iperf2_bursts", iperf2_tcp::bursts),
    ("iperf2_udp_server", iperf2_udp::server),
    ("iperf2_udp_runs", iperf2_udp::runs),
    ("iperf2_udp_closing", iperf2_udp::closing),
    ("iperf2_other_end", iperf2_udp::report),
    ("iperf2_l4s", iperf2_udp::both_ends),
    ("iperf3_client", iperf3_control::client),
    ("iperf3_server", iperf3_control::server),
    ("iperf3_registry", iperf3_registry::connections),
    ("iperf3_other_end", iperf3_peer_results::results),
    ("iperf3_login", iperf3_login::token),
    ("iperf3_login_files", iperf3_login::files),
    ("native_client", native_control::client),
    ("native_server", native_control::server),
    ("native_tests", native_registry::clients),
    ("native_orders", native_orders::clients),
    ("native_other_end", native_peer_results::results),
    ("native_answer", native_control::answer),
    ("native_probing", native_probing::probing),
    ("server_policy", policy::clients),
];

/// Plays an input to the state machine of this name.
///
/// # Panics
/// The contract is broken, or has another name.
pub fn run(name: &str, input: &[u8]) {
    let known = CONTRACTS.iter().find(|(known, _)| *known == name);
    let (_, contract) = known.expect("a known contract");
    contract(input);
}
