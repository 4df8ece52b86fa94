//! What a peer cannot do, whoever its peer is.

use interop::{Program, Transport};

use crate::mode::Mode;

/// Which side of a test a peer is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

struct Limitation {
    program: Program,
    side: Side,
    transport: Option<Transport>,
    mode: &'static str,
    reason: &'static str,
}

/// Each was seen between that peer and iperf 2.2.1 as well.
const LIMITATIONS: [Limitation; 6] = [
    Limitation {
        program: Program::Iperf2014a,
        side: Side::Client,
        transport: Some(Transport::Tcp),
        mode: "reverse bytes",
        reason: "sends no end of test with -R -n and waits for ever",
    },
    Limitation {
        program: Program::Iperf2014a,
        side: Side::Client,
        transport: None,
        mode: "dual",
        reason: "its -d asks for no connection back and then waits for one",
    },
    Limitation {
        program: Program::Iperf2014a,
        side: Side::Client,
        transport: None,
        mode: "tradeoff",
        reason: "its -r asks for no connection back and then waits for one",
    },
    Limitation {
        program: Program::Iperf2014a,
        side: Side::Server,
        transport: Some(Transport::Udp),
        mode: "tradeoff",
        reason: "its UDP server does not send back after -r",
    },
    Limitation {
        program: Program::Iperf2014a,
        side: Side::Client,
        transport: Some(Transport::Tcp),
        mode: "full duplex",
        reason: "reads and writes in turn with --full-duplex and shows the sum alone",
    },
    Limitation {
        program: Program::Iperf2014a,
        side: Side::Client,
        transport: Some(Transport::Udp),
        mode: "full duplex",
        reason: "shows the sum of both directions alone, without losses",
    },
];

/// Why a mode cannot be run between two programs, or nothing when it can.
pub(crate) fn limitation(
    client: Program,
    server: Program,
    transport: Transport,
    mode: &str,
) -> Option<&'static str> {
    let applies = |limitation: &&Limitation| {
        let program = match limitation.side {
            Side::Client => client,
            Side::Server => server,
        };
        limitation.program == program
            && limitation.mode == mode
            && limitation.transport.is_none_or(|of| of == transport)
    };
    LIMITATIONS
        .iter()
        .find(applies)
        .map(|limitation| limitation.reason)
}

/// Bytes that a TCP client may count too many: with `-i`, 2.0.14a counts its last write twice.
pub(crate) fn overcount(client: Program, mode: &Mode) -> u64 {
    const WRITE: u64 = 128 * 1024;
    if client == Program::Iperf2014a && mode.intervals > 0 {
        WRITE
    } else {
        0
    }
}
