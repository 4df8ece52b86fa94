//! Requests and responses, and connections without data.

use super::parts::{IPERF2, OURS, QPERF, SOCKPERF, TO_IPERF2, bar, row};
use crate::bench::contender::Contender;
use crate::bench::quantity::Bound::{AtLeast, AtMost};
use crate::bench::quantity::Quantity;
use crate::bench::row::{Bar, Place, Row, Transport, Workload};

/// Rows 26 to 30.
pub(crate) fn all() -> Vec<Row> {
    use Quantity::{
        Connects, CpuPerConnect, CpuPerTransaction, LeastRoundTrip, MeanRoundTrip, Transactions,
    };
    let exchange =
        |name: &str, title: &str, transport, place, contenders: &[Contender], bars| Row {
            bars,
            absent: "netperf, neper",
            ..row(
                name,
                title,
                Workload::Exchange { transport, place },
                contenders,
            )
        };
    let everyone = [OURS, IPERF2, QPERF, SOCKPERF];
    vec![
        exchange(
            "exchange-free",
            "TCP, requests and responses of 100 bytes, both processors free",
            Transport::Tcp,
            Place::Free,
            &everyone,
            vec![
                bar(26, Transactions, AtLeast(4.0), AtLeast(6.5)),
                bar(26, CpuPerTransaction, AtMost(0.5), AtMost(0.33)).against(TO_IPERF2),
                bar(27, LeastRoundTrip, AtMost(0.6), AtMost(0.5)).against(TO_IPERF2),
                bar(28, MeanRoundTrip, AtMost(0.4), AtMost(0.2)).against(TO_IPERF2),
            ],
        ),
        exchange(
            "exchange-one-processor",
            "TCP, requests and responses of 100 bytes, both ends on one processor",
            Transport::Tcp,
            Place::OneProcessor,
            &everyone,
            vec![
                Bar::new(26, Transactions, AtLeast(1.0)),
                Bar::new(26, Transactions, AtLeast(1.25)).against(TO_IPERF2),
                Bar::new(26, CpuPerTransaction, AtMost(0.75)).against(TO_IPERF2),
                Bar::new(27, LeastRoundTrip, AtMost(0.85)).against(TO_IPERF2),
            ],
        ),
        Row {
            absent: "netperf, neper; tapeline offers no requests over UDP (row 29)",
            ..exchange(
                "exchange-udp",
                "UDP, requests and responses of 100 bytes",
                Transport::Udp,
                Place::Free,
                &[QPERF, SOCKPERF],
                Vec::new(),
            )
        },
        Row {
            bars: vec![
                bar(30, Connects, AtLeast(2.2), AtLeast(2.8)).against(TO_IPERF2),
                Bar::new(30, CpuPerConnect, AtMost(0.4)).against(TO_IPERF2),
            ],
            absent: "netperf",
            ..row(
                "connects",
                "TCP, connections without data",
                Workload::Connects,
                // Quiet; 2.2.1 would leave out its summary too.
                &[OURS.with("-x C", ""), IPERF2],
            )
        },
        Row {
            bars: vec![
                bar(30, Connects, AtLeast(2.5), AtLeast(3.0)).against(TO_IPERF2),
                Bar::new(30, CpuPerConnect, AtMost(0.5)).against(TO_IPERF2),
            ],
            absent: "netperf",
            ..row(
                "connects-each",
                "TCP, connections without data, a line for each",
                Workload::Connects,
                &[OURS, IPERF2],
            )
        },
    ]
}
