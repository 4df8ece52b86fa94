//! What must hold for any received bytes, one function per message. The property tests, the
//! replay of the fuzzing corpora and the fuzz targets share them.

mod iperf2;
mod iperf3;
mod native;
mod packet;

/// A check panics when the bytes break the decoder's contract.
pub(crate) type Check = fn(&[u8]);

/// The messages by the names of their fuzz targets.
pub(crate) const CHECKS: [(&str, Check); 18] = [
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
    ("udp_packet", packet::udp_packet),
];

/// Runs the check of a message on some bytes.
pub(crate) fn run(message: &str, bytes: &[u8]) {
    let (_, check) = CHECKS
        .iter()
        .find(|(name, _)| *name == message)
        .expect("a known message");
    check(bytes);
}
