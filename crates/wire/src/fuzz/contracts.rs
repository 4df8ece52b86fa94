//! The contracts by the names of their fuzz targets.

use super::{iperf2, iperf3, native, packet};

/// Panics when the bytes break the decoder's contract.
pub type Contract = fn(&[u8]);

/// The messages by the names of their fuzz targets.
pub const CONTRACTS: [(&str, Contract); 19] = [
    ("tcp_client_header", iperf2::tcp_client_header),
    ("server_ack", iperf2::server_ack),
    ("burst_header", iperf2::burst_header),
    ("bounceback", iperf2::bounceback),
    ("udp_datagram", iperf2::udp_datagram),
    ("server_report", iperf2::server_report),
    ("l4s", iperf2::l4s),
    ("iperf3_cookie", iperf3::cookie),
    ("iperf3_length", iperf3::length),
    ("iperf3_state", iperf3::state),
    ("iperf3_parameters", iperf3::parameters),
    ("iperf3_results", iperf3::results),
    ("iperf3_datagram", iperf3::datagram),
    ("native_mark", native::mark),
    ("native_message", native::message),
    ("native_results", native::results),
    ("native_probe", native::probe),
    ("native_method", native::method),
    ("udp_packet", packet::udp_packet),
];

/// Runs the contract of a message on some bytes.
///
/// # Panics
/// The decoder breaks it.
pub fn run(message: &str, bytes: &[u8]) {
    let (_, contract) = CONTRACTS
        .iter()
        .find(|(name, _)| *name == message)
        .expect("a known message");
    contract(bytes);
}
