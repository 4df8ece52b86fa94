//! Shapes of traffic and what is sent.

use super::Section::Client;
use super::{Group, OptionId as Id, OptionSpec, Personalities, Sides};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Isochronous, None, "isochronous")
        .optional_value("FPS:MEAN,DEVIATION")
        .sides(Sides::CLIENT)
        .help(
            Group::Traffic,
            "frames of log-normal size, like video (default 60:20m,0)",
        )
        .details(
            "MEAN and DEVIATION are rates over all frames: k m g bits/s, K M G bytes/s; MEAN with \
             p behind it is datagrams per frame (UDP).",
        )
        .listed(&[(
            Client,
            "<frames-per-second>:<mean>,<deviation>",
            "frames of varying size, like video",
        )]),
    OptionSpec::new(Id::BurstPeriod, None, "burst-period")
        .value("SECONDS")
        .sides(Sides::CLIENT)
        .help(Group::Traffic, "send in bursts, one so often (default 1)"),
    OptionSpec::new(Id::BurstSize, None, "burst-size")
        .value("BYTES")
        .sides(Sides::CLIENT)
        .help(Group::Traffic, "bytes of a burst (default 1M)")
        .details("With -b and one of the two burst options the other follows from the rate."),
    OptionSpec::new(Id::NearCongestion, None, "near-congestion")
        .optional_value("FACTOR")
        .sides(Sides::CLIENT)
        .help(
            Group::Traffic,
            "after each write a pause of FACTOR round-trip times (TCP, default 0.5)",
        )
        .listed(&[(Client, "", "pause after writes, in round-trip times (TCP)")]),
    OptionSpec::new(Id::RandomSeed, None, "")
        .value("NUMBER")
        .manual_names(&["set-rand-seed"])
        .sides(Sides::CLIENT)
        .help(
            Group::Traffic,
            "random sizes and rates repeat with the same number",
        ),
    OptionSpec::new(Id::Pacing, None, "pacing")
        .value("precise|economical")
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(
            Group::Traffic,
            "how a UDP sender waits: spinning at the end (default), or asleep",
        )
        .details(
            "precise keeps gaps to a fraction of a microsecond and takes up to a processor; \
             economical only sleeps, and is off by what the system takes to wake.",
        ),
    OptionSpec::new(Id::FileInput, Some('F'), "file_input")
        .value("FILE")
        .manual_names(&["fileinput"])
        .sides(Sides::CLIENT)
        .variable(23, "IPERF_FILE_INPUT")
        .help(Group::Traffic, "send this file; the test ends with it")
        .listed(&[(Client, "<name>", "send the content of a file")]),
    OptionSpec::new(Id::StdinInput, Some('I'), "stdin_input")
        .sides(Sides::CLIENT)
        .variable(24, "IPERF_STDIN_INPUT")
        .help(Group::Traffic, "send standard input; the test ends with it")
        .listed(&[(Client, "", "send standard input")]),
    OptionSpec::new(Id::WorkingLoad, None, "working-load")
        .optional_value("up|down|bidir[,N]")
        .help(
            Group::Traffic,
            "N TCP flows beside the test (default bidir,1); a UDP server admits them",
        )
        .listed(&[(Client, "", "TCP flows beside the test")]),
    OptionSpec::new(Id::WorkingLoadCca, None, "working-load-cca")
        .value("NAME")
        .help(Group::Traffic, "TCP congestion control of the working load")
        .listed(&[(Client, "", "congestion control of the working load")]),
    OptionSpec::new(Id::UdpL4s, None, "udp-l4s")
        .sides(Sides::CLIENT)
        .help(
            Group::Traffic,
            "datagrams under L4S congestion control, marked ECT(1)",
        )
        .listed(&[(Client, "", "UDP under L4S congestion control")]),
    OptionSpec::new(Id::UdpL4sVideo, None, "udp-l4s-video")
        .optional_value("FPS:MEAN,DEVIATION")
        .sides(Sides::CLIENT)
        .help(Group::Traffic, "the same with --isochronous frames")
        .listed(&[(Client, "", "video frames under L4S congestion control")]),
    OptionSpec::new(Id::IncrDstIp, None, "incr-dstip")
        .sides(Sides::CLIENT)
        .help(
            Group::Addressing,
            "with -P each flow goes to the next address",
        )
        .listed(&[(Client, "", "with -P: count up the server's address")]),
    OptionSpec::new(Id::IncrDstPort, None, "incr-dstport")
        .sides(Sides::CLIENT)
        .help(Group::Addressing, "with -P each flow goes to the next port")
        .listed(&[(Client, "", "with -P: count up the server's port")]),
    OptionSpec::new(Id::IncrSrcIp, None, "incr-srcip")
        .sides(Sides::CLIENT)
        .help(
            Group::Addressing,
            "with -P each flow comes from the next address (needs -B)",
        )
        .listed(&[(Client, "", "with -P: count up the own address")]),
    OptionSpec::new(Id::IncrSrcPort, None, "incr-srcport")
        .sides(Sides::CLIENT)
        .help(
            Group::Addressing,
            "with -P each flow comes from the next port (needs -B with port)",
        )
        .listed(&[(Client, "", "with -P: count up the own port")]),
];
