//! Directions, traffic shapes and kinds of test.

use super::Arity::{Optional, Required, Switch};
use super::Section::{Both, Client};
use super::{Group, OptionId as Id, OptionSpec, Sides};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Reverse, Some('R'), "reverse")
        .sides(Sides::CLIENT)
        .help(Group::Direction, "the server sends")
        .listed(&[(Client, "", "the server sends, the client receives")]),
    OptionSpec::new(Id::FullDuplex, None, "full-duplex")
        .sides(Sides::CLIENT)
        .help(Group::Direction, "both send at once on the same connection")
        .listed(&[(Client, "", "both ends send on one socket")]),
    OptionSpec::new(Id::DualTest, Some('d'), "dualtest")
        .sides(Sides::CLIENT)
        .variable(5, "IPERF_DUALTEST")
        .help(
            Group::Direction,
            "both send at once; the server connects back",
        )
        .listed(&[(
            Client,
            "",
            "both directions at once, each on its own socket",
        )]),
    OptionSpec::new(Id::Tradeoff, Some('r'), "tradeoff")
        .sides(Sides::CLIENT)
        .variable(13, "IPERF_TRADEOFF")
        .help(
            Group::Direction,
            "both send, one after the other; the server connects back",
        )
        .listed(&[(Client, "", "both directions, one after the other")]),
    OptionSpec::new(Id::PeerDetect, Some('X'), "peer-detect")
        .manual_names(&["peerdetect"])
        .sides(Sides::CLIENT)
        .variable(33, "IPERF_PEER_DETECT")
        .help(
            Group::Direction,
            "ask for the server's version before the test (TCP)",
        )
        .listed(&[(Client, "", "exchange versions with the server first")]),
    OptionSpec::new(Id::Compatibility, Some('C'), "compatibility")
        .variable(21, "IPERF_COMPAT")
        .sides(Sides::CLIENT)
        .help(
            Group::Direction,
            "send no test header (for iperf 1.7 servers)",
        )
        .listed(&[(Both, "", "for old versions: no extra messages")]),
    OptionSpec::later(
        Id::Bounceback,
        None,
        "bounceback",
        Optional,
        "bounce-back tests",
    ),
    OptionSpec::later(
        Id::BouncebackPeriod,
        None,
        "bounceback-period",
        Required,
        "bounce-back tests",
    ),
    OptionSpec::later(
        Id::BouncebackHold,
        None,
        "bounceback-hold",
        Required,
        "bounce-back tests",
    ),
    OptionSpec::later(
        Id::BouncebackRequest,
        None,
        "bounceback-request",
        Required,
        "bounce-back tests",
    ),
    OptionSpec::later(
        Id::BouncebackReply,
        None,
        "bounceback-reply",
        Required,
        "bounce-back tests",
    ),
    OptionSpec::later(
        Id::BouncebackNoQuickAck,
        None,
        "bounceback-no-quickack",
        Switch,
        "bounce-back tests",
    ),
    OptionSpec::later(Id::BurstPeriod, None, "burst-period", Required, "bursts"),
    OptionSpec::later(Id::BurstSize, None, "burst-size", Required, "bursts"),
    OptionSpec::later(
        Id::Isochronous,
        None,
        "isochronous",
        Optional,
        "isochronous traffic",
    ),
    OptionSpec::later(
        Id::WorkingLoad,
        None,
        "working-load",
        Optional,
        "working loads",
    ),
    OptionSpec::later(Id::TripTimes, None, "trip-times", Switch, "one-way delays"),
    OptionSpec::later(
        Id::WriteTimes,
        None,
        "tcp-write-times",
        Switch,
        "write times",
    ),
    OptionSpec::later(Id::Histograms, None, "histograms", Optional, "histograms")
        .alias("udp-histograms"),
    OptionSpec::later(
        Id::JitterHistograms,
        None,
        "jitter-histograms",
        Optional,
        "jitter histograms",
    ),
    OptionSpec::later(
        Id::L2Checks,
        None,
        "l2checks",
        Switch,
        "checks of the link layer",
    ),
    OptionSpec::later(
        Id::IncrDstIp,
        None,
        "incr-dstip",
        Switch,
        "counting up addresses",
    ),
    OptionSpec::later(
        Id::IncrDstPort,
        None,
        "incr-dstport",
        Switch,
        "counting up ports",
    ),
    OptionSpec::later(
        Id::IncrSrcIp,
        None,
        "incr-srcip",
        Switch,
        "counting up addresses",
    ),
    OptionSpec::later(
        Id::IncrSrcPort,
        None,
        "incr-srcport",
        Switch,
        "counting up ports",
    ),
    OptionSpec::later(
        Id::FileInput,
        Some('F'),
        "file_input",
        Required,
        "payload from a file",
    )
    .manual_names(&["fileinput"])
    .variable(23, "IPERF_FILE_INPUT"),
    OptionSpec::later(
        Id::StdinInput,
        Some('I'),
        "stdin_input",
        Switch,
        "payload from standard input",
    )
    .variable(24, "IPERF_STDIN_INPUT"),
    OptionSpec::later(
        Id::UdpL4s,
        None,
        "udp-l4s",
        Switch,
        "L4S congestion control for UDP",
    ),
    OptionSpec::later(
        Id::UdpL4sVideo,
        None,
        "udp-l4s-video",
        Optional,
        "L4S congestion control for UDP",
    ),
    OptionSpec::later(Id::PermitKey, None, "permit-key", Optional, "permit keys"),
    OptionSpec::later(
        Id::PermitKeyTimeout,
        None,
        "permit-key-timeout",
        Required,
        "permit keys",
    ),
    OptionSpec::later(
        Id::TestExchangeTimeout,
        None,
        "test-exchange-timeout",
        Required,
        "a time limit for the header exchange",
    ),
    OptionSpec::later(
        Id::SyncTransferId,
        None,
        "sync-transfer-id",
        Switch,
        "the client's ids in the server's rows",
    ),
];
