//! Readers of iperf3's JSON.

use crate::rule::{COUNT, Family, PERCENT, POSITIVE, Plausible, Read, Rule};

use Plausible::{Between, Keys, Text, Truth};

type Fields = &'static [(&'static str, Plausible)];

const fn document(name: &'static str, client: &'static str, fields: Fields) -> Rule {
    Rule::new(Family::Iperf3, name, client, Read::Document, fields)
}

/// Bits per second of a test with `-b 20M`, on a busy machine too.
const TWENTY: Plausible = Plausible::Steady(5e6, 40e6);
/// A processor's share; two processors have twice as much.
const PROCESSOR: Plausible = Between(0.0, 10_000.0);
/// Length of a test of 2 s.
const TWO_SECONDS: Plausible = Between(1.5, 4.0);

/// What an exporter needs of a TCP test.
const EXPORTED: Fields = &[
    ("end.sum_sent.seconds", TWO_SECONDS),
    ("end.sum_sent.bytes", POSITIVE),
    ("end.sum_sent.bits_per_second", TWENTY),
    ("end.sum_sent.retransmits", COUNT),
    ("end.sum_received.seconds", TWO_SECONDS),
    ("end.sum_received.bytes", POSITIVE),
    ("end.sum_received.bits_per_second", TWENTY),
];

/// What a measurement tool renames, of intervals and of the whole.
const STREAMS: Fields = &[
    ("intervals.*.streams.*.socket", POSITIVE),
    ("intervals.*.streams.*.start", Between(0.0, 2.0)),
    ("intervals.*.streams.*.end", Between(0.5, 3.0)),
    ("intervals.*.streams.*.seconds", Between(0.5, 1.5)),
    ("intervals.*.streams.*.bytes", POSITIVE),
    ("intervals.*.streams.*.bits_per_second", TWENTY),
    ("intervals.*.streams.*.retransmits", COUNT),
    ("intervals.*.streams.*.snd_cwnd", POSITIVE),
    ("intervals.*.streams.*.rtt", POSITIVE),
    ("intervals.*.streams.*.omitted", Truth),
    ("intervals.*.sum.start", Between(0.0, 2.0)),
    ("intervals.*.sum.end", Between(0.5, 3.0)),
    ("intervals.*.sum.bytes", POSITIVE),
    (
        "intervals.*.sum.bits_per_second",
        Plausible::Steady(10e6, 80e6),
    ),
    ("intervals.*.sum.retransmits", COUNT),
    ("intervals.*.sum.omitted", Truth),
    ("end.sum_sent.bytes", POSITIVE),
    ("end.sum_sent.bits_per_second", Between(10e6, 80e6)),
    ("end.sum_sent.retransmits", COUNT),
    ("end.sum_received.bits_per_second", Between(10e6, 80e6)),
    ("end.streams.*.sender.bits_per_second", TWENTY),
    ("end.streams.*.sender.mean_rtt", POSITIVE),
    ("end.streams.*.receiver.bits_per_second", TWENTY),
];

/// What the binding for Python makes attributes of, of any test.
const BINDING: Fields = &[
    ("start.timestamp.time", Text),
    ("start.timestamp.timesecs", POSITIVE),
    ("start.system_info", Text),
    ("start.version", Text),
    ("start.connected.*.local_host", Text),
    ("start.connected.*.local_port", POSITIVE),
    ("start.connected.*.remote_host", Text),
    ("start.connected.*.remote_port", POSITIVE),
    ("start.tcp_mss_default", POSITIVE),
    ("start.test_start.protocol", Text),
    ("start.test_start.num_streams", Between(1.0, 1.0)),
    ("start.test_start.blksize", POSITIVE),
    ("start.test_start.omit", Between(0.0, 0.0)),
    ("start.test_start.duration", Between(2.0, 2.0)),
    ("end.cpu_utilization_percent.host_total", PROCESSOR),
    ("end.cpu_utilization_percent.host_user", PROCESSOR),
    ("end.cpu_utilization_percent.host_system", PROCESSOR),
    ("end.cpu_utilization_percent.remote_total", PROCESSOR),
    ("end.cpu_utilization_percent.remote_user", PROCESSOR),
    ("end.cpu_utilization_percent.remote_system", PROCESSOR),
    ("end.sum_sent.bytes", POSITIVE),
    ("end.sum_sent.bits_per_second", POSITIVE),
    ("end.sum_sent.retransmits", COUNT),
    ("end.sum_received.bytes", POSITIVE),
    ("end.sum_received.bits_per_second", POSITIVE),
];

/// What monitoring of routers charts of a UDP test.
const LOSSES: Fields = &[
    ("end.sum.seconds", TWO_SECONDS),
    ("end.sum.bytes", POSITIVE),
    ("end.sum.bits_per_second", Between(1e6, 4e6)),
    ("end.sum.jitter_ms", COUNT),
    ("end.sum.lost_packets", COUNT),
    ("end.sum.packets", POSITIVE),
    ("end.sum.lost_percent", PERCENT),
];

/// Least, most and mean of all intervals: one more, of a few microseconds, spoils all three.
const STATISTICS: Fields = &[
    ("intervals.*.sum.start", Between(0.0, 2.0)),
    ("intervals.*.sum.seconds", Between(0.5, 1.5)),
    ("intervals.*.sum.bits_per_second", POSITIVE),
    ("intervals.*.streams.*.bits_per_second", POSITIVE),
];

/// Every member of a sum.
const SUMS: Fields = &[
    ("intervals.*.sum", Keys),
    ("intervals.*.streams.*", Keys),
    ("end", Keys),
    ("end.sum_sent", Keys),
    ("end.sum_received", Keys),
];

pub(crate) const RULES: &[&Rule] = &[
    &document("Prometheus exporter", "-J -t 2 -b 20M", EXPORTED),
    &document(
        "Prometheus exporter, reverse",
        "-J -t 2 -b 20M -R",
        EXPORTED,
    ),
    &document(
        "Prometheus exporter, UDP",
        "-J -u -t 2 -b 2M -l 1000",
        &[
            ("end.sum_sent.seconds", TWO_SECONDS),
            ("end.sum_sent.bytes", POSITIVE),
            ("end.sum_sent.bits_per_second", Between(1e6, 4e6)),
            ("end.sum_sent.packets", POSITIVE),
            ("end.sum_received.seconds", TWO_SECONDS),
            ("end.sum_received.bytes", POSITIVE),
            ("end.sum_received.bits_per_second", Between(1e6, 4e6)),
            ("end.sum.jitter_ms", COUNT),
            ("end.sum.lost_packets", COUNT),
            ("end.sum.packets", POSITIVE),
            ("end.sum.lost_percent", PERCENT),
        ],
    ),
    &document("perfSONAR", "-J -t 2 -i 1 -b 20M -P 2", STREAMS),
    &document(
        "perfSONAR, UDP",
        "-J -u -t 2 -i 1 -b 2M -l 1000",
        &[
            ("intervals.*.streams.*.bytes", POSITIVE),
            ("intervals.*.streams.*.bits_per_second", POSITIVE),
            ("intervals.*.streams.*.packets", POSITIVE),
            ("intervals.*.streams.*.omitted", Truth),
            ("intervals.*.sum.bytes", POSITIVE),
            ("intervals.*.sum.packets", POSITIVE),
            ("intervals.*.sum.omitted", Truth),
            ("end.sum.bytes", POSITIVE),
            ("end.sum.bits_per_second", POSITIVE),
            ("end.sum.jitter_ms", COUNT),
            ("end.sum.lost_packets", COUNT),
            ("end.sum.packets", POSITIVE),
            ("end.sum.lost_percent", PERCENT),
            ("end.streams.*.udp.packets", POSITIVE),
            ("end.streams.*.udp.lost_packets", COUNT),
        ],
    ),
    &document("openwisp-monitoring", "-J -t 2 -b 20M", EXPORTED),
    &document(
        "openwisp-monitoring, UDP",
        "-J -u -t 2 -b 2M -l 1000",
        LOSSES,
    ),
    &document("the binding for Python", "-J -t 2", BINDING),
    &document(
        "Kubernetes benchmarks",
        "-J -t 2 -b 20M -P 2",
        &[
            ("end.sum_sent.retransmits", COUNT),
            ("end.sum_sent.bits_per_second", Between(10e6, 80e6)),
            ("end.sum_received.bits_per_second", Between(10e6, 80e6)),
            ("end.cpu_utilization_percent.host_total", PROCESSOR),
            ("end.cpu_utilization_percent.remote_total", PROCESSOR),
        ],
    ),
    &document("statistics of intervals", "-J -t 2 -i 1", STATISTICS),
    &document(
        "statistics of intervals, reverse",
        "-J -t 2 -i 1 -R",
        STATISTICS,
    ),
    &document(
        "statistics of intervals, UDP",
        "-J -t 2 -i 1 -u -P 2 -b 50M -l 1024",
        STATISTICS,
    ),
    &document("members of sums", "-J -t 2 -i 1 -b 20M -P 2", SUMS),
    &document("members of sums, UDP", "-J -u -t 2 -i 1 -b 20M -P 2", SUMS),
    &document(
        "members of sums, both ways",
        "-J -t 2 -i 1 -b 20M --bidir",
        &[
            ("intervals.*.sum", Keys),
            ("intervals.*.sum_bidir_reverse", Keys),
            ("end.sum_sent_bidir_reverse", Keys),
            ("end.sum_received_bidir_reverse", Keys),
        ],
    ),
    // Plots of rates over time, from lines as they come.
    &Rule::new(
        Family::Iperf3,
        "plots over time",
        "--json-stream -t 2 -i 1 -b 20M",
        Read::Events,
        &[
            ("start.*.test_start.protocol", Text),
            ("interval.*.sum.start", Between(0.0, 2.0)),
            ("interval.*.sum.end", Between(0.5, 3.0)),
            ("interval.*.sum.bits_per_second", TWENTY),
            ("interval.*.streams.*.rtt", POSITIVE),
            ("end.*.sum_received.bits_per_second", TWENTY),
        ],
    ),
];
