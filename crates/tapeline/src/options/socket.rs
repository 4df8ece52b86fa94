//! Socket options and the devices behind sockets.

use super::Section::{Both, Client, Server};
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
        .help(Group::Socket, "DSCP 0..63; the ECN bits stay 0")
        .native_details("Its names are read too.")
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
    OptionSpec::new(Id::LocalOnly, None, "local-only")
        .optional_value("0|1")
        .sides(Sides::CLIENT)
        .help(
            Group::Socket,
            "send to hosts on attached networks only (SO_DONTROUTE)",
        )
        .listed(&[(Client, "", "send without routes (SO_DONTROUTE)")]),
    OptionSpec::new(Id::FqRate, None, "fq-rate")
        .value("RATE")
        .sides(Sides::CLIENT)
        .help(
            Group::Socket,
            "pacing by the kernel (SO_MAX_PACING_RATE): k m g bits/s, K M G bytes/s",
        )
        .listed(&[(Client, "#[kmgKMG]", "rate of pacing by the kernel")]),
    OptionSpec::new(Id::FqRateStep, None, "fq-rate-step")
        .value("RATE")
        .sides(Sides::CLIENT)
        .help(Group::Socket, "what is added to --fq-rate at each step")
        .details("Without --fq-rate the first rate is the step itself.")
        .listed(&[(Client, "#[kmgKMG]", "step of the kernel's pacing rate")]),
    OptionSpec::new(Id::FqRateStepInterval, None, "fq-rate-step-interval")
        .value("SECONDS")
        .sides(Sides::CLIENT)
        .help(
            Group::Socket,
            "time between two steps of --fq-rate (default 1)",
        )
        .listed(&[(Client, "#", "seconds between steps of the pacing rate")]),
    OptionSpec::new(Id::RxWindowClamp, None, "tcp-rx-window-clamp")
        .value("BYTES")
        .sides(Sides::SERVER)
        .help(
            Group::Socket,
            "largest TCP window that is offered (TCP_WINDOW_CLAMP)",
        )
        .listed(&[(Server, "", "largest TCP receive window, bytes")]),
    OptionSpec::new(Id::WritePrefetch, None, "tcp-write-prefetch")
        .value("BYTES")
        .sides(Sides::CLIENT)
        .help(
            Group::Socket,
            "write only while less is unsent (TCP_NOTSENT_LOWAT)",
        )
        .native_details("With --trip-times 16K is used; 0 switches it off.")
        .listed(&[(
            Client,
            "",
            "write only while fewer bytes are unsent (TCP_NOTSENT_LOWAT)",
        )]),
    OptionSpec::new(Id::QuickAck, None, "tcp-quickack")
        .help(Group::Socket, "acknowledge at once (TCP_QUICKACK)")
        .listed(&[(Client, "", "acknowledge at once (TCP_QUICKACK)")]),
    OptionSpec::new(Id::TxDelay, None, "tcp-tx-delay")
        .value("MILLISECONDS")
        .help(
            Group::Socket,
            "delay that the kernel adds before sending (TCP_TX_DELAY)",
        )
        .details("Needs the packet scheduler fq on the way out.")
        .listed(&[(Both, "", "milliseconds that the kernel holds data back")]),
    OptionSpec::new(Id::SkipRxCopy, None, "skip-rx-copy")
        .sides(Sides::SERVER)
        .help(
            Group::Socket,
            "leave received TCP data in the kernel (MSG_TRUNC)",
        )
        .listed(&[(Server, "", "leave received data in the kernel (MSG_TRUNC)")]),
    OptionSpec::new(Id::ZeroCopy, None, "zero-copy")
        .only(Personalities::Native)
        .help(
            Group::Socket,
            "send TCP data without copying it into the kernel (splice)",
        )
        .details("At a server this is for what it sends (-R, --full-duplex)."),
    OptionSpec::new(Id::TapDevice, None, "tap-dev")
        .optional_value("DEVICE")
        .sides(Sides::SERVER)
        .help(
            Group::Socket,
            "receive UDP on this TAP device (default tap0)",
        )
        .listed(&[(Server, "#[<dev>]", "receive on a TAP device")]),
    OptionSpec::new(Id::TunDevice, None, "tun-dev")
        .optional_value("DEVICE")
        .refused(),
    OptionSpec::new(Id::Realtime, Some('z'), "realtime")
        .help(
            Group::Socket,
            "run before all other programs (needs privileges)",
        )
        .listed(&[(Both, "", "real-time scheduling")]),
    OptionSpec::new(Id::SuggestWindowSize, Some('W'), "suggest_win_size")
        .variable(32, "IPERF_SUGGEST_WIN_SIZE")
        .only(Personalities::Iperf2),
];
