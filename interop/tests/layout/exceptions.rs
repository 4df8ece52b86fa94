//! Recordings that a run need not repeat.

/// A side of a recording whose kinds of lines differ here, and why.
struct Exception {
    name: &'static str,
    side: &'static str,
    #[allow(dead_code, reason = "for the reader")]
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        name: "client_sigint2_udp",
        side: "client",
        reason: "the first signal has ended the test in order before the second comes",
    },
    Exception {
        name: "client_sigint2_tcp",
        side: "client",
        reason: "the first signal has ended the test in order before the second comes",
    },
    Exception {
        name: "server_1_P2client",
        side: "client",
        reason: "2.2.1 shows no sum when one flow has to wait for the other",
    },
    Exception {
        name: "server_1_P2client",
        side: "server",
        reason: "2.2.1 shows no sum when one flow has to wait for the other",
    },
    Exception {
        name: "server_t2_during_udp",
        side: "client",
        reason: "a server whose time is over is gone and answers no more",
    },
];

/// What a client ends with when its server goes before the test is over: 2.2.1 reports success.
const LOST_SERVER: i32 = 1;

/// Recordings in which the server goes first.
const SERVER_GOES: &[&str] = &[
    "server_killed_tcp",
    "server_killed_tcp_e",
    "server_killed_udp",
    "server_sigint2_busy",
    "server_sigint2_busy_udp",
    "server_sigint_busy",
    "server_sigint_busy_udp",
    "server_sigterm2_busy",
    "server_sigterm_busy",
    "server_t2_during",
    "server_t2_during_udp",
];

/// The exit status of a side, where it is not the recorded one.
pub(crate) fn status(name: &str, side: &str) -> Option<i32> {
    (side == "client" && SERVER_GOES.contains(&name)).then_some(LOST_SERVER)
}

/// Whether the kinds of lines of a side may differ from the recording.
pub(crate) fn differs(name: &str, side: &str) -> bool {
    EXCEPTIONS
        .iter()
        .any(|exception| exception.name == name && exception.side == side)
}
