//! Socket options and the devices behind sockets.

use super::Arity::{Optional, Required, Switch};
use super::Section::{Both, Client};
use super::{Group, OptionId as Id, OptionSpec, Personalities, Sides};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Window, Some('w'), "window")
        .value("BYTES")
        .variable(17, "TCP_WINDOW_SIZE")
        .help(
            Group::Socket,
            "socket buffer: sending at a client, receiving at a server",
        )
        .listed(&[(Both, "#[KM]", "socket buffer (TCP window) size")]),
    OptionSpec::new(Id::PrintMss, Some('m'), "print_mss")
        .variable(10, "IPERF_PRINT_MSS")
        .help(Group::Socket, "show the TCP segment size")
        .listed(&[(Both, "", "show the TCP maximum segment size")]),
    OptionSpec::new(Id::Mss, Some('M'), "mss")
        .value("BYTES")
        .variable(25, "IPERF_MSS")
        .help(Group::Socket, "TCP maximum segment size")
        .listed(&[(Both, "#", "set the TCP maximum segment size (TCP_MAXSEG)")]),
    OptionSpec::new(Id::NoDelay, Some('N'), "nodelay")
        .variable(26, "IPERF_NODELAY")
        .help(
            Group::Socket,
            "send small TCP writes at once (Nagle's algorithm off)",
        )
        .listed(&[(Both, "", "switch Nagle's algorithm off (TCP_NODELAY)")]),
    OptionSpec::new(Id::Tos, Some('S'), "tos")
        .value("TOS")
        .variable(29, "IPERF_TOS")
        .help(Group::Socket, "type-of-service byte: a DSCP name or 0..255")
        .details("Names: af11..af43, cs0..cs7, ef, le, nqb; numbers also as 0x.. or 0.. (octal).")
        .listed(&[
            (Both, "#", "type-of-service byte (IP_TOS)"),
            (Client, "", "DSCP name or type-of-service byte"),
        ]),
    OptionSpec::new(Id::Dscp, None, "dscp")
        .value("DSCP")
        .sides(Sides::CLIENT)
        .help(Group::Socket, "DSCP 0..63 or its name; the ECN bits stay 0")
        .listed(&[(Client, "", "DSCP part of the type-of-service byte")]),
    OptionSpec::new(Id::TosOverride, None, "tos-override")
        .value("TOS")
        .sides(Sides::SERVER)
        .help(
            Group::Socket,
            "type of service of what the server sends (-R, --full-duplex)",
        ),
    OptionSpec::new(Id::TcpCongestion, Some('Z'), "tcp-congestion")
        .value("NAME")
        .manual_names(&["linux-congestion"])
        .variable(34, "IPERF_CONGESTION_CONTROL")
        .help(Group::Socket, "TCP congestion control")
        .listed(&[(Both, "<algo>", "TCP congestion control algorithm")]),
    OptionSpec::new(Id::TcpCca, None, "tcp-cca")
        .value("NAME")
        .help(Group::Socket, "the same as -Z"),
    OptionSpec::new(Id::Ttl, Some('T'), "ttl")
        .value("HOPS")
        .sides(Sides::CLIENT)
        .variable(30, "IPERF_TTL")
        .help(Group::Socket, "time to live, 1..255 (multicast default 1)")
        .listed(&[(Client, "#", "time to live (multicast default 1)")]),
    OptionSpec::later(
        Id::WorkingLoadCca,
        None,
        "working-load-cca",
        Required,
        "working loads",
    ),
    OptionSpec::later(
        Id::LocalOnly,
        None,
        "local-only",
        Optional,
        "sending without routes",
    ),
    OptionSpec::later(
        Id::FqRate,
        None,
        "fq-rate",
        Required,
        "pacing by the kernel",
    ),
    OptionSpec::later(
        Id::FqRateStep,
        None,
        "fq-rate-step",
        Required,
        "pacing by the kernel",
    ),
    OptionSpec::later(
        Id::FqRateStepInterval,
        None,
        "fq-rate-step-interval",
        Required,
        "pacing by the kernel",
    ),
    OptionSpec::later(
        Id::RxWindowClamp,
        None,
        "tcp-rx-window-clamp",
        Required,
        "clamping the receive window",
    ),
    OptionSpec::later(
        Id::WritePrefetch,
        None,
        "tcp-write-prefetch",
        Required,
        "limiting unsent data",
    ),
    OptionSpec::later(
        Id::QuickAck,
        None,
        "tcp-quickack",
        Switch,
        "quick acknowledgements",
    ),
    OptionSpec::later(
        Id::TxDelay,
        None,
        "tcp-tx-delay",
        Required,
        "delay added by the kernel",
    ),
    OptionSpec::later(
        Id::SkipRxCopy,
        None,
        "skip-rx-copy",
        Switch,
        "receiving without a copy",
    ),
    OptionSpec::later(
        Id::TapDevice,
        None,
        "tap-dev",
        Optional,
        "receiving on a TAP device",
    ),
    OptionSpec::later(
        Id::TunDevice,
        None,
        "tun-dev",
        Optional,
        "receiving on a TUN device",
    ),
    OptionSpec::later(
        Id::Realtime,
        Some('z'),
        "realtime",
        Switch,
        "real-time scheduling",
    ),
    OptionSpec::new(Id::SuggestWindowSize, Some('W'), "suggest_win_size")
        .variable(32, "IPERF_SUGGEST_WIN_SIZE")
        .only(Personalities::Iperf2),
];
