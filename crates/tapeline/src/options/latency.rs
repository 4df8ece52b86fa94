//! Delays: what is measured beside the amount of data, requests and responses.

use super::Section::{Both, Client, Server};
use super::{Group, OptionId as Id, OptionSpec, Sides};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::TripTimes, None, "trip-times")
        .sides(Sides::CLIENT)
        .help(
            Group::Latency,
            "one-way delays (the clocks of both ends must agree)",
        )
        .listed(&[(Client, "", "measure one-way delays (the clocks must agree)")]),
    OptionSpec::new(Id::WriteTimes, None, "tcp-write-times")
        .sides(Sides::CLIENT)
        .help(Group::Latency, "how long TCP writes take")
        .listed(&[(Client, "", "measure how long writes take")]),
    OptionSpec::new(Id::Histograms, None, "histograms")
        .alias("udp-histograms")
        .optional_value("WIDTH,BINS,LOW,HIGH")
        .help(
            Group::Latency,
            "distribution of the delays (default 100u,100000,5,95)",
        )
        .details(
            "WIDTH of a bin in microseconds (u, or nothing) or milliseconds (m), number of bins, \
             percentiles to show. At a client it is the time of TCP writes or of bounce-backs.",
        )
        .listed(&[
            (Both, "", "distributions of delays"),
            (Server, "", "distribution of one-way delays"),
            (Client, "", "distribution of write times"),
        ]),
    OptionSpec::new(Id::JitterHistograms, None, "jitter-histograms")
        .optional_value("MICROSECONDS")
        .sides(Sides::SERVER)
        .help(
            Group::Latency,
            "distribution of the UDP jitter, with bins so wide (default 100)",
        )
        .listed(&[(Server, "", "distribution of the UDP jitter")]),
    OptionSpec::new(Id::Bounceback, None, "bounceback")
        .optional_value("COUNT")
        .sides(Sides::CLIENT)
        .help(
            Group::Latency,
            "request and response over TCP: COUNT (default 10) in each period",
        )
        .listed(&[(
            Client,
            "",
            "request and response over TCP (-l is the size, default 100 bytes)",
        )]),
    OptionSpec::new(Id::BouncebackPeriod, None, "bounceback-period")
        .value("SECONDS")
        .sides(Sides::CLIENT)
        .help(
            Group::Latency,
            "time between bursts of requests (default 1; 0: back to back)",
        )
        .listed(&[(Client, "", "seconds between bursts of requests")]),
    OptionSpec::new(Id::BouncebackHold, None, "bounceback-hold")
        .value("MILLISECONDS")
        .sides(Sides::CLIENT)
        .help(
            Group::Latency,
            "how long the server holds a response back (default 0)",
        )
        .listed(&[(
            Client,
            "",
            "milliseconds that the server holds a response back",
        )]),
    OptionSpec::new(Id::BouncebackRequest, None, "bounceback-request")
        .value("BYTES")
        .sides(Sides::CLIENT)
        .help(
            Group::Latency,
            "size of a request, 68 to 1M (default 100, or -l)",
        ),
    OptionSpec::new(Id::BouncebackReply, None, "bounceback-reply")
        .value("BYTES")
        .sides(Sides::CLIENT)
        .help(
            Group::Latency,
            "size of a response, 68 to 1M (default: that of a request)",
        )
        .listed(&[(Client, "", "size of a response (default: as the request)")]),
    OptionSpec::new(Id::BouncebackTxDelay, None, "bounceback-txdelay")
        .value("SECONDS")
        .sides(Sides::CLIENT)
        .help(
            Group::Latency,
            "start the requests so long after the working load",
        )
        .listed(&[(
            Client,
            "",
            "seconds between the working load's start and the requests",
        )]),
    OptionSpec::new(Id::BouncebackNoQuickAck, None, "bounceback-no-quickack")
        .sides(Sides::CLIENT)
        .help(
            Group::Latency,
            "leave acknowledgements to the system during --bounceback",
        )
        .listed(&[(Client, "", "no TCP_QUICKACK during requests and responses")]),
    OptionSpec::new(Id::L2Checks, None, "l2checks")
        .help(
            Group::Latency,
            "check datagrams below IP: lengths and checksums (UDP, given at both ends)",
        )
        .details("The server needs the right to open packet sockets (Linux)."),
];
