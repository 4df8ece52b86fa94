//! Readers of lines of text.

use crate::rule::{COUNT, Family, PERCENT, POSITIVE, Plausible, Read, Rule};

use Plausible::{Between, Text};

/// An interval of 1 s, as far as it is cut to it.
const SECOND: Plausible = Between(0.5, 2.5);
/// Bits per second of a test with `-b 20M`, on a busy machine too.
const TWENTY: Plausible = Plausible::Steady(5e6, 40e6);
/// The same with `-b 5M`.
const FIVE: Plausible = Between(1e6, 10e6);

/// Subject, interval, bytes, rate: what perfSONAR's tool looks for in every line.
const ROW: &str = r"(?m)^\[\s*(?<id>\d+|SUM)\s*\]\s+(?<start>[0-9.]+)\s*-\s*(?<end>[0-9.]+)\s+sec\s+(?<bytes>\d+(?:\.\d+)?\s+[PTGMK]?Bytes)\s+(?<rate>\d+(?:\.\d+)?\s+[PTGMK]?bits)/sec";
/// What emulators of networks look for: the last rate in what either end printed.
const LAST_RATE: &str = r"\] +0\.0+-[^\n]*? (?<rate>[\d.]+ \w*bits)/sec";
/// A row of a graphical front end, which asks for kilobits.
const KILOBITS: &str = r"\[\s*(?<id>\d+)\]\s+(?<start>\d+\.\d+)-\s*(?<end>\d+\.\d+)\s+sec\s+(?<bytes>\d+(?:\.\d+)? KBytes)\s+(?<rate>\d+(?:\.\d+)? Kbits)/sec";
/// The same of a receiver of datagrams.
const LOSSES: &str = r"\[\s*(?<id>\d+)\]\s+[\d.]+-[\d.]+\s+sec\s+\d+(?:\.\d+)? KBytes\s+(?<rate>\d+(?:\.\d+)? Kbits)/sec\s+(?<jitter>\d+\.\d+) ms\s+(?<lost>\d+)/\s*(?<total>\d+)\s+\((?<share>[\d.e+-]+)%\)";
const SERVER_REPORT: &str = r"Server Report:\n(?:\[ ID\][^\n]*\n)?\[\s*\d+\]\s+[\d.]+-(?<end>[\d.]+)\s+sec\s+(?<bytes>[\d.]+ [KMG]?Bytes)\s+(?<rate>[\d.]+ [KMG]?bits)/sec\s+(?<jitter>[\d.]+) ms\s+(?<lost>\d+)/\s*(?<total>\d+)";

const fn iperf2(name: &'static str, client: &'static str, read: Read, fields: Fields) -> Rule {
    Rule::new(Family::Iperf2, name, client, read, fields)
}

const fn iperf3(name: &'static str, client: &'static str, read: Read, fields: Fields) -> Rule {
    Rule::new(Family::Iperf3, name, client, read, fields)
}

type Fields = &'static [(&'static str, Plausible)];

pub(crate) const RULES: &[&Rule] = &[
    &iperf2(
        "mininet",
        "-t 2 -b 20M",
        Read::Lines(&[LAST_RATE]),
        &[("rate", TWENTY)],
    ),
    &iperf2(
        "mininet",
        "-t 2 -b 20M",
        Read::Lines(&[LAST_RATE]),
        &[("rate", TWENTY)],
    )
    .at_server(),
    &iperf2(
        "mininet, UDP",
        "-u -t 2 -b 5M",
        Read::Lines(&[LAST_RATE]),
        &[("rate", FIVE)],
    )
    .served("-u")
    .at_server(),
    &iperf2(
        "perfSONAR",
        "-t 2 -m -i 1 -P 2",
        Read::Lines(&[ROW, r"TCP window size:\s+(?<window>\d+(?:\.\d+)? \S?Byte)"]),
        // Half a second of a flow that starves on a busy machine.
        &[
            ("start", Between(0.0, 2.5)),
            ("end", Between(0.5, 5.0)),
            ("bytes", COUNT),
            ("rate", COUNT),
            ("window", POSITIVE),
        ],
    ),
    &iperf2(
        "perfSONAR, UDP",
        "-t 2 -m -i 1 -u -b 20M",
        Read::Lines(&[ROW]),
        &[("end", Between(0.5, 2.5)), ("bytes", POSITIVE), ("rate", TWENTY)],
    )
    .served("-u"),
    // A word on standard error is a failure to it.
    &iperf2(
        "perfSONAR, a rate that no host keeps",
        "-t 1 -i 1 -u -b 400G",
        Read::Lines(&[ROW]),
        &[("bytes", POSITIVE), ("rate", POSITIVE)],
    )
    .served("-u"),
    &iperf2(
        "a graphical front end",
        "-t 2 -i 1 -f k -b 20M",
        Read::Lines(&[KILOBITS]),
        &[
            ("id", Between(1.0, 99.0)),
            ("start", Between(0.0, 1.5)),
            ("end", Between(0.5, 2.5)),
            ("bytes", POSITIVE),
            ("rate", TWENTY),
        ],
    ),
    &iperf2(
        "a graphical front end, losses",
        "-t 2 -u -f k -b 5M",
        Read::Lines(&[LOSSES]),
        &[
            ("rate", FIVE),
            ("jitter", COUNT),
            ("lost", COUNT),
            ("total", POSITIVE),
            ("share", PERCENT),
        ],
    )
    .served("-u -f k")
    .at_server(),
    &iperf2(
        "a script for the server's report",
        "-u -t 2 -b 5M",
        Read::Lines(&[SERVER_REPORT]),
        &[
            ("end", Between(1.0, 4.0)),
            ("bytes", POSITIVE),
            ("rate", FIVE),
            ("jitter", COUNT),
            ("lost", COUNT),
            ("total", POSITIVE),
        ],
    )
    .served("-u"),
    &iperf2(
        "a playbook",
        "-f m -t 2 -b 20M",
        Read::Lines(&[r"(?<megabits>\d+(?:\.\d+)?) Mbits/sec"]),
        &[("megabits", Between(5.0, 40.0))],
    ),
    &iperf2(
        "a script for sums",
        "-P 3 -t 2 -i 1 -b 20M",
        Read::Lines(&[
            r"(?m)^\[SUM\]\s+[\d.]+-(?<end>[\d.]+) sec\s+(?<bytes>[\d.]+ [KMG]?Bytes)\s+(?<rate>[\d.]+ [KMG]?bits)/sec",
        ]),
        &[
            ("end", Between(0.5, 2.5)),
            ("bytes", POSITIVE),
            ("rate", Between(15e6, 120e6)),
        ],
    ),
    &iperf2(
        "a script for retries and round-trip times",
        "-e -t 2 -i 1 -b 20M",
        Read::Lines(&[
            r"/sec\s+(?<writes>\d+)/(?<errors>\d+)\s+(?<retries>\d+)\s[^\n]*/(?<rtt>\d+)\(\d+\) us",
        ]),
        &[
            ("writes", POSITIVE),
            ("errors", COUNT),
            ("retries", COUNT),
            ("rtt", POSITIVE),
        ],
    ),
    &iperf2(
        "a script for round trips",
        "--bounceback -t 2",
        Read::Lines(&[
            r"/sec\s+(?<count>\d+)=(?<mean>[\d.]+)/(?<least>[\d.]+)/(?<most>[\d.]+)/[\d.]+ ms[^\n]*RPS=(?<rps>[\d.e+]+)",
        ]),
        &[
            ("count", POSITIVE),
            ("mean", POSITIVE),
            ("least", POSITIVE),
            ("most", POSITIVE),
            ("rps", POSITIVE),
        ],
    ),
    // The packages of Debian and Ubuntu, which scripts are written for.
    &iperf2(
        "a script for four decimals",
        "-t 2 -i 1 -b 20M",
        Read::Lines(&[
            r"(?m)^\[\s*\d+\] 0\.0000-(?<end>\d\.\d{4}) sec\s+(?<bytes>[\d.]+ [KMG]?Bytes)\s+(?<rate>[\d.]+ [KMG]?bits)/sec$",
        ]),
        &[("end", Between(0.5, 2.5)), ("bytes", POSITIVE), ("rate", TWENTY)],
    )
    .with("IPERF_FASTSAMPLING=1"),
    &iperf3(
        "a playbook",
        "-t 2 -i 1 -b 20M",
        Read::Lines(&[
            r"(?<sent>[\d.]+ [KMG]?bits)/sec\s+(?<retries>\d+)\s+sender",
            r"(?<received>[\d.]+ [KMG]?bits)/sec\s+receiver",
            r"(?m)^\[\s*(?<id>\d+)\]\s+(?<start>\d+\.\d\d)-(?<end>\d+\.\d\d)\s+sec\s+(?<bytes>[\d.]+ [KMG]?Bytes)\s+(?<rate>[\d.]+ [KMG]?bits)/sec",
        ]),
        &[
            ("sent", TWENTY),
            ("retries", COUNT),
            ("received", TWENTY),
            ("id", Between(3.0, 99.0)),
            ("end", SECOND),
            ("bytes", POSITIVE),
            ("rate", TWENTY),
        ],
    ),
    &iperf3(
        "a script for losses",
        "-u -t 2 -b 5M -l 1000",
        Read::Lines(&[
            r"(?<jitter>[\d.]+) ms\s+(?<lost>\d+)/(?<total>\d+) \((?<share>[\d.e+-]+)%\)\s+(?<role>receiver)",
        ]),
        &[
            ("jitter", COUNT),
            ("lost", COUNT),
            ("total", POSITIVE),
            ("share", PERCENT),
            ("role", Text),
        ],
    ),
];
