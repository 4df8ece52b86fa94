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
    Exception {
        name: "tcp_X",
        side: "client",
        reason: "what -X asks for is shown: the server's version",
    },
    Exception {
        name: "tcp_X_legacy",
        side: "client",
        reason: "what -X asks for is shown: the server's version",
    },
    Exception {
        name: "tcp_X_triptimes",
        side: "client",
        reason: "what -X asks for is shown: the server's version",
    },
    Exception {
        name: "tcp_bounceback_triptimes",
        side: "server",
        reason: "2.2.1 shows columns for bursts that do not exist, all zero",
    },
    Exception {
        name: "tcp_connectonly",
        side: "server",
        reason: "2.2.1 prints its connections with (null) in place of a number",
    },
    Exception {
        name: "tcp_connectonly_3",
        side: "server",
        reason: "2.2.1 prints its connections with (null) in place of a number",
    },
    Exception {
        name: "tcp_connectonly_e",
        side: "server",
        reason: "2.2.1 prints its connections with (null) in place of a number",
    },
    Exception {
        name: "tcp_connectonly_n",
        side: "server",
        reason: "2.2.1 prints its connections with (null) in place of a number",
    },
    Exception {
        name: "tcp_x_D",
        side: "server",
        reason: "-x leaves out what it names",
    },
    Exception {
        name: "tcp_x_M_P2",
        side: "client",
        reason: "-x leaves out what it names",
    },
    Exception {
        name: "tcp_x_M_P2",
        side: "server",
        reason: "-x leaves out what it names",
    },
    Exception {
        name: "udp_xC",
        side: "client",
        reason: "-x leaves out what it names",
    },
    Exception {
        name: "udp_P2_histograms",
        side: "server",
        reason: "2.2.1 had mixed up the flows: one of them shows intervals without data",
    },
    Exception {
        name: "udp_if_isoch",
        side: "server",
        reason: "2.2.1 shows no row",
    },
    Exception {
        name: "udp_markov",
        side: "client",
        reason: "2.2.1 sent one datagram, and no chain",
    },
    Exception {
        name: "udp_markov_legacy",
        side: "client",
        reason: "2.2.1 sent one datagram, and no chain",
    },
    Exception {
        name: "udp_markov",
        side: "server",
        reason: "2.2.1 sent one datagram, and no chain",
    },
    Exception {
        name: "udp_markov_legacy",
        side: "server",
        reason: "2.2.1 sent one datagram, and no chain",
    },
    Exception {
        name: "udp_incrdstip",
        side: "client",
        reason: "2.2.1 had lost one of the flows",
    },
    Exception {
        name: "udp_incrdstip",
        side: "server",
        reason: "2.2.1 had lost one of the flows",
    },
    Exception {
        name: "udp_l2checks",
        side: "server",
        reason: "2.2.1 counts checksums that are left to the interface as errors",
    },
    Exception {
        name: "udp_triptimes_legacyserver",
        side: "client",
        reason: "rows of a client with --trip-times are enhanced over UDP, too",
    },
    Exception {
        name: "tcp_bounceback_load",
        side: "server",
        reason: "2.2.1 sums a test and its load as if they were one test",
    },
    Exception {
        name: "tcp_bounceback_load_down2",
        side: "server",
        reason: "2.2.1 sums a test and its load as if they were one test",
    },
    Exception {
        name: "udp_workload",
        side: "server",
        reason: "2.2.1 sums a test and its load as if they were one test",
    },
    Exception {
        name: "tcp_permitkey_bad",
        side: "client",
        reason: "a client whose key is refused says so, where 2.2.1 shows a test of no length",
    },
    Exception {
        name: "tcp_permitkey_gen",
        side: "client",
        reason: "a client whose key is refused says so, where 2.2.1 shows a test of no length",
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
