//! Options for amount, rate and timing.

use super::Section::{Both, Client, Server};
use super::{Group, OptionId as Id, OptionSpec, Sides};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Time, Some('t'), "time")
        .value("SECONDS")
        .sides(Sides::ANY)
        .variable(15, "IPERF_TIME")
        .help(Group::Amount, "how long to send (default 10)")
        .details(
            "0 or less: until interrupted. At a server the listener and each test end after this \
             time. The last of -t and -n counts.",
        )
        .listed(&[
            (
                Server,
                "#",
                "seconds to listen and to receive (default: no limit)",
            ),
            (Client, "#", "seconds to send (default 10)"),
        ]),
    OptionSpec::new(Id::Num, Some('n'), "num")
        .value("BYTES")
        .sides(Sides::CLIENT)
        .variable(11, "IPERF_NUM")
        .help(Group::Amount, "bytes to send per flow, instead of -t")
        .listed(&[(Client, "#[kmgKMG]", "bytes to send (instead of -t)")]),
    OptionSpec::new(Id::Bandwidth, Some('b'), "bandwidth")
        .value("RATE")
        .variable(3, "IPERF_BANDWIDTH")
        .help(Group::Amount, "target rate per flow, bits/s or packets/s")
        .details(
            "10m is 10^7 bits/s, 10M is 10 x 2^20 bits/s, 1000pps is packets per second (UDP), \
             10m,2m varies with that mean and standard deviation. Default: 1 Mbit/s (2^20) for \
             UDP, unlimited for TCP; 0 is unlimited. At a server it limits the reads of TCP \
             tests.",
        )
        .listed(&[(
            Both,
            "#[kmgKMG | pps]",
            "rate to send (or read) at, bits/sec or packets/sec",
        )]),
    OptionSpec::new(Id::Len, Some('l'), "len")
        .value("BYTES")
        .variable(9, "IPERF_LEN")
        .help(
            Group::Amount,
            "bytes per write or read; for UDP the datagram",
        )
        .details(
            "Default: 1M for TCP, or 128K where a column or a rate depends on it; 1470 for UDP, \
             1450 over IPv6. A chain of lengths begins with <.",
        )
        .listed(&[(
            Both,
            "#[kmKM]",
            "bytes per read or write (Defaults: TCP=128K, v4 UDP=1470, v6 UDP=1450)",
        )]),
    OptionSpec::new(Id::Parallel, Some('P'), "parallel")
        .value("COUNT")
        .variable(28, "IPERF_PARALLEL")
        .help(
            Group::Amount,
            "parallel flows; at a server, connections to serve before it ends",
        )
        .listed(&[(Client, "#", "parallel flows")]),
    OptionSpec::new(Id::Interval, Some('i'), "interval")
        .value("SECONDS")
        .variable(8, "IPERF_INTERVAL")
        .help(Group::Output, "report every so many seconds")
        .details("At least 0.005; f is a row for each frame or burst.")
        .native_details("0 is no interval reports.")
        .listed(&[(Both, "#", "seconds between reports")]),
    OptionSpec::new(Id::NoConnectSync, None, "no-connect-sync")
        .sides(Sides::CLIENT)
        .help(
            Group::Amount,
            "let each flow send as soon as it is connected",
        )
        .listed(&[(
            Client,
            "",
            "do not wait for all connects before sending (-P)",
        )]),
    OptionSpec::new(Id::ConnectRetryTimer, None, "connect-retry-timer")
        .value("SECONDS")
        .sides(Sides::CLIENT)
        .help(
            Group::Amount,
            "pause between connect attempts (default 1, at least 0.01)",
        )
        .listed(&[(Client, "", "seconds between connect attempts")]),
    OptionSpec::new(Id::ConnectRetryTime, None, "connect-retry-time")
        .value("SECONDS")
        .sides(Sides::CLIENT)
        .help(Group::Amount, "keep trying to connect for this long")
        .details("With --connect-retry-timer alone: 10 seconds.")
        .listed(&[(Client, "", "seconds to keep trying to connect")]),
    OptionSpec::new(Id::IgnoreShutdown, None, "ignore-shutdown")
        .sides(Sides::CLIENT)
        .help(
            Group::Amount,
            "end a TCP test at the last write, not at the server's close",
        )
        .listed(&[(Client, "", "end at the last write, not at the TCP close")]),
    OptionSpec::new(Id::NoUdpFin, None, "no-udp-fin")
        .sides(Sides::CLIENT)
        .help(
            Group::Amount,
            "end a UDP test without the exchange that brings the server's report",
        )
        .listed(&[(
            Client,
            "",
            "no exchange of results at the end of a UDP test",
        )]),
    OptionSpec::new(Id::Ipg, None, "ipg")
        .value("SECONDS")
        .sides(Sides::CLIENT)
        .help(
            Group::Amount,
            "gap between datagrams; with --isochronous, within a frame",
        )
        .listed(&[(
            Client,
            "",
            "seconds between datagrams, or within an isochronous frame",
        )]),
    OptionSpec::new(Id::TxStartTime, None, "txstart-time")
        .value("TIME")
        .sides(Sides::CLIENT)
        .help(
            Group::Amount,
            "start sending at this time of day, in seconds since 1970",
        )
        .details("With a fraction, as in 1536014418.25; at most an hour ahead.")
        .listed(&[(Client, "", "unix time at which sending starts")]),
    OptionSpec::new(Id::TxDelayTime, None, "txdelay-time")
        .value("SECONDS")
        .sides(Sides::CLIENT)
        .help(Group::Amount, "wait so long between connecting and sending")
        .listed(&[(Client, "", "seconds between connecting and the first write")]),
    OptionSpec::new(Id::ConnectOnly, None, "connect-only")
        .optional_value("COUNT")
        .sides(Sides::CLIENT)
        .help(
            Group::Amount,
            "connect, and send nothing, COUNT times (0: no end)",
        )
        .details("Without COUNT until -t is over. -i is the time between two connects.")
        .listed(&[(Client, "", "measure connects, without data")]),
];
