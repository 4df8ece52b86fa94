//! Directions of a test and how the peers greet.

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
];
