//! Which peer has which mode.

use interop::{Program, Transport};

use crate::mode::Mode;

/// Which side of a test a peer is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// Something that a peer cannot do, whoever is on the other side.
struct Limitation {
    program: Program,
    side: Side,
    transport: Transport,
    modes: &'static [&'static str],
    #[allow(dead_code, reason = "for the reader")]
    reason: &'static str,
}

/// Each was seen between that peer and iperf 2.2.1 as well.
const LIMITATIONS: &[Limitation] = &[
    Limitation {
        program: Program::Iperf221,
        side: Side::Server,
        transport: Transport::Tcp,
        modes: &["bounceback hold"],
        reason: "does not hold a request",
    },
    Limitation {
        program: Program::Iperf221,
        side: Side::Client,
        transport: Transport::Tcp,
        modes: &["file"],
        reason: "drops the last partial block of a file",
    },
    Limitation {
        program: Program::Iperf221,
        side: Side::Client,
        transport: Transport::Tcp,
        modes: &["connect only"],
        reason: "ignores the count of connections",
    },
    Limitation {
        program: Program::Iperf221,
        side: Side::Client,
        transport: Transport::Udp,
        modes: &["gap"],
        reason: "takes every gap for too long",
    },
    Limitation {
        program: Program::Iperf221,
        side: Side::Client,
        transport: Transport::Udp,
        modes: &["lengths by chance"],
        reason: "sends one datagram only",
    },
    Limitation {
        program: Program::Iperf221,
        side: Side::Server,
        transport: Transport::Udp,
        modes: &["destination addresses"],
        reason: "answers from another address than the one that was called",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Server,
        transport: Transport::Udp,
        modes: &["destination addresses"],
        reason: "answers from another address than the one that was called",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Client,
        transport: Transport::Tcp,
        modes: &[
            "bounceback sizes",
            "bounceback under load",
            "bounceback under load down",
        ],
        reason: "does not know the options",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Client,
        transport: Transport::Tcp,
        modes: &["bounceback trip-times"],
        reason: "prints one-way delays in a form of its own",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Client,
        transport: Transport::Tcp,
        modes: &["write histograms"],
        reason: "counts no writes",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Client,
        transport: Transport::Tcp,
        modes: &["connect only", "connect only and count"],
        reason: "ignores the count of connections and does not sum up",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Client,
        transport: Transport::Tcp,
        modes: &["file"],
        reason: "drops the last partial block of a file",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Client,
        transport: Transport::Udp,
        modes: &["isochronous trip-times", "isochronous histograms"],
        reason: "does not number its frames",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Client,
        transport: Transport::Udp,
        modes: &["gap", "bursts"],
        reason: "paces by its rate instead",
    },
    Limitation {
        program: Program::Iperf2014a,
        side: Side::Client,
        transport: Transport::Tcp,
        modes: &[
            "trip-times",
            "trip-times reverse",
            "trip-times full duplex",
            "trip-times parallel",
            "isochronous reverse",
            "isochronous",
            "isochronous trip-times",
            "bounceback in a row",
            "bounceback",
            "bounceback sizes",
            "bounceback hold",
            "bounceback trip-times",
            "bounceback without quick acknowledgements",
            "bounceback parallel",
            "bounceback under load",
            "bounceback under load down",
            "isochronous histograms",
            "bursts",
            "bursts trip-times",
            "write times",
            "peer detection",
            "peer detection trip-times",
            "histograms",
            "permit key refused",
            "connect only",
            "write histograms",
            "same numbers",
            "start time",
            "delayed start",
            "permit key",
            "near congestion",
            "paced by the kernel",
            "paced in steps",
            "file",
            "congestion control",
            "source ports",
            "source addresses",
            "write prefetch",
            "window clamp",
            "no copy",
            "quick acknowledgements",
            "local only",
        ],
        reason: "is older than the mode, or does something else by its name",
    },
    Limitation {
        program: Program::Iperf2014a,
        side: Side::Server,
        transport: Transport::Tcp,
        modes: &[
            "trip-times reverse",
            "trip-times",
            "trip-times parallel",
            "isochronous trip-times",
            "isochronous reverse",
            "isochronous histograms",
            "bounceback in a row",
            "bounceback",
            "bounceback sizes",
            "trip-times full duplex",
            "bounceback hold",
            "bounceback trip-times",
            "bounceback without quick acknowledgements",
            "bounceback parallel",
            "bounceback under load down",
            "bursts trip-times",
            "peer detection trip-times",
            "permit key",
            "bounceback under load",
            "permit key refused",
            "same numbers",
            "histograms",
        ],
        reason: "is older than the mode, or does something else by its name",
    },
    Limitation {
        program: Program::Iperf2014a,
        side: Side::Client,
        transport: Transport::Udp,
        modes: &[
            "trip-times",
            "trip-times full duplex",
            "trip-times reverse",
            "isochronous",
            "isochronous trip-times",
            "isochronous histograms",
            "bursts",
            "gap",
            "permit key refused",
            "same numbers",
            "start time",
            "lengths by chance",
            "source addresses",
            "delayed start",
            "local only",
        ],
        reason: "is older than the mode, or does something else by its name",
    },
    Limitation {
        program: Program::Iperf2014a,
        side: Side::Server,
        transport: Transport::Udp,
        modes: &[
            "trip-times",
            "isochronous trip-times",
            "trip-times full duplex",
            "isochronous histograms",
            "same numbers",
            "histograms",
            "histograms of other bins",
            "jitter histograms",
            "compatibility",
            "destination addresses",
            "one at a time",
        ],
        reason: "is older than the mode, or does something else by its name",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Server,
        transport: Transport::Tcp,
        modes: &["bounceback sizes", "same numbers"],
        reason: "does not know of it",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Client,
        transport: Transport::Tcp,
        modes: &["same numbers"],
        reason: "does not know of it",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Client,
        transport: Transport::Udp,
        modes: &["same numbers"],
        reason: "does not know of it",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Server,
        transport: Transport::Tcp,
        modes: &["bounceback hold"],
        reason: "does not hold a request",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Server,
        transport: Transport::Udp,
        modes: &[
            "isochronous trip-times",
            "isochronous histograms",
            "jitter histograms",
        ],
        reason: "does not show them",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Client,
        transport: Transport::Tcp,
        modes: &["paced in steps"],
        reason: "does not know the options",
    },
    Limitation {
        program: Program::Iperf221,
        side: Side::Server,
        transport: Transport::Udp,
        modes: &["source addresses"],
        reason: "may mix up flows that begin at the same time",
    },
    Limitation {
        program: Program::Iperf218,
        side: Side::Server,
        transport: Transport::Udp,
        modes: &["source addresses"],
        reason: "may mix up flows that begin at the same time",
    },
    Limitation {
        program: Program::Iperf2014a,
        side: Side::Server,
        transport: Transport::Udp,
        modes: &["source addresses"],
        reason: "may mix up flows that begin at the same time",
    },
];

/// Modes that tapeline does not have yet.
const PENDING: &[&str] = &[
    "bounceback under load",
    "bounceback under load down",
    "file",
];

/// Whether both programs have a mode.
pub(crate) fn has(mode: &Mode, client: Program, server: Program) -> bool {
    !PENDING.contains(&mode.name)
        && !LIMITATIONS.iter().any(|limitation| {
            let program = match limitation.side {
                Side::Client => client,
                Side::Server => server,
            };
            limitation.program == program
                && limitation.transport == mode.transport
                && limitation.modes.contains(&mode.name)
        })
}
