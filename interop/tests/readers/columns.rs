//! Readers of comma-separated values.

use crate::rule::{COUNT, Family, PERCENT, POSITIVE, Plausible, Read, Rule};

use Plausible::{Between, Text};

/// A date such as 20261123030209, as a number.
const DATE: Plausible = Between(2e13, 3e13);
const PORT: Plausible = Between(0.0, 65_535.0);
/// Bits per second of a test with `-b 20M`, on a busy machine too.
const TWENTY: Plausible = Plausible::Steady(5e6, 40e6);

const fn rule(name: &'static str, client: &'static str, read: Read, fields: Fields) -> Rule {
    Rule::new(Family::Iperf2, name, client, read, fields)
}

type Fields = &'static [(&'static str, Plausible)];

pub(crate) const RULES: &[&Rule] = &[
    &rule(
        "columns of TCP",
        "-y C -t 2 -i 1 -b 20M",
        Read::Columns(
            9,
            &[
                ("date", 0),
                ("local", 1),
                ("local port", 2),
                ("peer", 3),
                ("peer port", 4),
                ("flow", 5),
                ("seconds", 6),
                ("bytes", 7),
                ("rate", 8),
            ],
        ),
        &[
            ("date", DATE),
            ("local", Text),
            ("local port", PORT),
            ("peer", Text),
            ("peer port", PORT),
            ("flow", POSITIVE),
            ("seconds", Between(0.5, 2.5)),
            ("bytes", POSITIVE),
            ("rate", TWENTY),
        ],
    ),
    &rule(
        "columns of flows and their sum",
        "-y C -t 2 -P 2 -b 10M",
        Read::Columns(9, &[("flow", 5), ("rate", 8)]),
        &[("flow", Between(-1.0, 99.0)), ("rate", Between(2e6, 40e6))],
    ),
    &rule(
        "columns of losses",
        "-u -t 2 -b 5M",
        Read::Columns(
            14,
            &[
                ("rate", 8),
                ("jitter", 9),
                ("lost", 10),
                ("total", 11),
                ("share", 12),
                ("out of order", 13),
            ],
        ),
        &[
            ("rate", Between(1e6, 10e6)),
            ("jitter", COUNT),
            ("lost", COUNT),
            ("total", POSITIVE),
            ("share", PERCENT),
            ("out of order", COUNT),
        ],
    )
    .served("-u -y C")
    .at_server(),
    &rule(
        "columns by their names",
        "-y C -e -t 2 -i 1 -b 20M",
        Read::Headed,
        &[
            ("istart", Between(0.0, 1.5)),
            ("iend", Between(0.5, 2.5)),
            ("bytes", POSITIVE),
            ("speed", TWENTY),
            ("writecnt", POSITIVE),
            ("tcpretry", COUNT),
            ("tcprtt", POSITIVE),
        ],
    ),
];
