//! Datagrams: as fast as it goes, and paced.

use super::parts::{AS_IPERF3, IPERF2, IPERF3, NUTTCP, OURS, TO_IPERF2, TO_NUTTCP, bar, row};
use crate::bench::contender::{Contender, Tool};
use crate::bench::quantity::Bound::{AtLeast, AtMost};
use crate::bench::quantity::Quantity::{self, CpuPerPacket, PacketRate};
use crate::bench::row::{Against, Bar, Row, Workload};

/// Rows 14 to 21.
pub(crate) fn full_rate() -> Vec<Row> {
    let flood = |name: &str, title: &str, length, contenders: &[Contender], bars| Row {
        bars,
        ..row(
            name,
            title,
            Workload::Flood { length, flows: 1 },
            contenders,
        )
    };
    let per_packet = OURS.without("udp-segmentation,udp-coalescing");
    let offloaded = IPERF3.with("--gsro", "");
    vec![
        flood(
            "udp-1470",
            "UDP, 1470 bytes, as fast as it goes",
            1470,
            &[OURS, IPERF2, IPERF3],
            vec![
                bar(14, PacketRate, AtLeast(18.0), AtLeast(28.0)),
                bar(15, CpuPerPacket, AtMost(0.055), AtMost(0.038)),
            ],
        ),
        flood(
            "udp-64",
            "UDP, 64 bytes, as fast as it goes",
            64,
            &[OURS, IPERF2, IPERF3],
            vec![
                bar(16, PacketRate, AtLeast(35.0), AtLeast(55.0)),
                bar(17, CpuPerPacket, AtMost(0.028), AtMost(0.018)),
            ],
        ),
        flood(
            "udp-1470-gsro",
            "UDP, 1470 bytes, against iperf3's offload",
            1470,
            &[OURS, offloaded, AS_IPERF3],
            vec![
                bar(18, PacketRate, AtLeast(1.2), AtLeast(1.5)).against(Against::Peer(offloaded)),
                bar(18, CpuPerPacket, AtMost(0.6), AtMost(0.45)).against(Against::Peer(offloaded)),
            ],
        ),
        flood(
            "udp-1470-to-iperf2",
            "UDP, 1470 bytes, to a server of iperf 2.2.1",
            1470,
            &[Contender::pair(Tool::Tapeline, Tool::Iperf221), IPERF2],
            vec![
                bar(19, PacketRate, AtLeast(1.3), AtLeast(3.0)),
                Bar::new(19, Quantity::CpuPerSentPacket, AtMost(0.25)),
            ],
        ),
        flood(
            "udp-1470-from-iperf2",
            "UDP, 1470 bytes, from a client of iperf 2.2.1",
            1470,
            &[Contender::pair(Tool::Iperf221, Tool::Tapeline), IPERF2],
            vec![bar(20, Quantity::Loss, AtMost(0.5), AtMost(0.01))],
        ),
        flood(
            "udp-1470-single",
            "UDP, 1470 bytes, one call for each datagram",
            1470,
            &[per_packet, IPERF2, IPERF3],
            vec![
                bar(21, PacketRate, AtLeast(1.05), AtLeast(1.15)),
                bar(21, CpuPerPacket, AtMost(0.95), AtMost(0.88)),
            ],
        ),
    ]
}

/// Rows 22 to 25.
pub(crate) fn paced() -> Vec<Row> {
    use Quantity::{GapMedian, RateErrorShare, SenderCpu};
    let paced = |name: &str, rate: u64, contenders: &[Contender], bars: Vec<Bar>| Row {
        bars,
        ..row(
            &format!("udp-paced-{name}"),
            &format!("UDP, 1470 bytes at {name}bit/s, seen by a packet socket"),
            Workload::Paced { rate },
            contenders,
        )
    };
    let everyone = [OURS, IPERF2, IPERF3, NUTTCP];
    let exact = bar(23, RateErrorShare, AtMost(1.0), AtMost(0.2)).against(Against::Nobody);
    vec![
        paced("1M", 1_000_000, &everyone, vec![exact]),
        paced(
            "10M",
            10_000_000,
            &everyone,
            vec![
                bar(22, GapMedian, AtMost(1.0), AtMost(0.5)).against(TO_NUTTCP),
                Bar::new(22, SenderCpu, AtMost(0.1)).against(TO_NUTTCP),
                bar(22, GapMedian, AtMost(0.15), AtMost(0.05)).against(TO_IPERF2),
                exact,
            ],
        ),
        paced(
            "100M",
            100_000_000,
            &everyone,
            vec![
                bar(22, GapMedian, AtMost(1.0), AtMost(0.5)).against(TO_NUTTCP),
                Bar::new(22, SenderCpu, AtMost(0.6)).against(TO_NUTTCP),
                bar(22, GapMedian, AtMost(0.02), AtMost(0.001)).against(TO_IPERF2),
                exact,
                Bar::new(25, Quantity::BackToBack, AtMost(0.02)).against(TO_IPERF2),
            ],
        ),
        paced(
            "1G",
            1_000_000_000,
            &everyone,
            vec![
                bar(22, GapMedian, AtMost(0.1), AtMost(0.005)).against(TO_IPERF2),
                exact,
            ],
        ),
        paced(
            "5G",
            5_000_000_000,
            &[OURS, IPERF2, IPERF3],
            vec![bar(24, Quantity::RateError, AtMost(0.5), AtMost(0.05)).against(Against::Nobody)],
        ),
    ]
}
