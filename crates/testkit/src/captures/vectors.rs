//! Captured messages of iperf 2: JSON lists of messages, with the fields that another decoder read from them.

/// Headers that TCP clients send.
pub const TCP_CLIENT_HEADER: &str = include_str!("../../captures/iperf2-tcp-client-header.json");
/// Answers of TCP servers to them.
pub const TCP_SERVER_ACK: &str = include_str!("../../captures/iperf2-tcp-server-ack.json");
/// Headers of bursts.
pub const TCP_BURST_HEADER: &str = include_str!("../../captures/iperf2-tcp-burst-header.json");
/// Requests and replies.
pub const BOUNCEBACK: &str = include_str!("../../captures/iperf2-bounceback.json");
/// Datagrams of clients.
pub const UDP_DATAGRAM: &str = include_str!("../../captures/iperf2-udp-datagram.json");
/// Final datagrams, and the reports of servers.
pub const UDP_FIN_REPORT: &str = include_str!("../../captures/iperf2-udp-fin-report.json");
/// Datagrams and acknowledgements of L4S flows.
pub const UDP_L4S: &str = include_str!("../../captures/iperf2-udp-l4s.json");
/// What versions before 2.1 send.
pub const LEGACY: &str = include_str!("../../captures/iperf2-legacy.json");

/// Every list.
pub const ALL: [&str; 8] = [
    TCP_CLIENT_HEADER,
    TCP_SERVER_ACK,
    TCP_BURST_HEADER,
    BOUNCEBACK,
    UDP_DATAGRAM,
    UDP_FIN_REPORT,
    UDP_L4S,
    LEGACY,
];
