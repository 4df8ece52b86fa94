//! The rows of the targets, one after the other, and one for each technique.

use super::contender::{Contender, Tool};
use super::quantity::Bound::{AtLeast, AtMost};
use super::quantity::{Bound, Quantity};
use super::row::{
    Against, Bar, Congestion, Direction, PathKind, Place, Row, Streams, Transport, Workload,
};

const OURS: Contender = Contender::both(Tool::Tapeline);
const AS_IPERF3: Contender = Contender::both(Tool::TapelineAsIperf3);
const IPERF2: Contender = Contender::both(Tool::Iperf221);
const IPERF3: Contender = Contender::both(Tool::Iperf3);
const NUTTCP: Contender = Contender::both(Tool::Nuttcp);
const SOCKPERF: Contender = Contender::both(Tool::Sockperf);
const QPERF: Contender = Contender::both(Tool::Qperf);

const BOTH: &[PathKind] = &[PathKind::Loopback, PathKind::Veth];
const LOOPBACK: &[PathKind] = &[PathKind::Loopback];
const VETH: &[PathKind] = &[PathKind::Veth];
const CUBIC: &[Congestion] = &[Congestion::Cubic];
const CUBIC_AND_SYSTEM: &[Congestion] = &[Congestion::Cubic, Congestion::System];

const TO_IPERF2: Against = Against::Peer(IPERF2);
const TO_NUTTCP: Against = Against::Peer(NUTTCP);

use Quantity::{CpuPerGigabyte as Cpu, CpuPerPacket, PacketRate, Throughput};

/// All rows, in the order of the targets.
pub(crate) fn all() -> Vec<Row> {
    let mut rows = tcp_one_stream();
    rows.extend(tcp_shapes());
    rows.extend(tcp_many());
    rows.extend(udp_full_rate());
    rows.extend(udp_paced());
    rows.extend(exchanges());
    rows.extend(the_program());
    rows.extend(tcp_paced());
    rows.extend(techniques());
    rows
}

/// A row without bars over both paths, with cubic where TCP is in play.
fn row(name: &str, title: &str, workload: Workload, contenders: &[Contender]) -> Row {
    Row {
        name: name.to_owned(),
        title: title.to_owned(),
        workload,
        contenders: contenders.to_vec(),
        paths: BOTH,
        congestion: match workload {
            Workload::Streams(_) => CUBIC,
            _ => &[],
        },
        bars: Vec::new(),
        system_bars: Vec::new(),
        absent: "",
    }
}

const fn bar(number: u32, quantity: Quantity, must: Bound, stretch: Bound) -> Bar {
    Bar::new(number, quantity, must).stretch(stretch)
}

/// Rows 1, 2, 5, and 34, whose memory is that of the same run.
fn tcp_one_stream() -> Vec<Row> {
    let bars = |throughput, cpu| {
        vec![
            bar(throughput, Throughput, AtLeast(1.0), AtLeast(1.1)),
            bar(throughput, Throughput, AtLeast(1.1), AtLeast(1.4)).against(TO_IPERF2),
            bar(cpu, Cpu, AtMost(1.0), AtMost(0.9)),
            bar(cpu, Cpu, AtMost(0.8), AtMost(0.7)).against(TO_IPERF2),
        ]
    };
    // The congestion control paces in software: every program ends at the same rate.
    let system_bars = |throughput, cpu| {
        vec![
            Bar::new(throughput, Throughput, AtLeast(0.97)),
            Bar::new(cpu, Cpu, AtMost(0.85)).against(TO_IPERF2),
        ]
    };
    let memory = |quantity| bar(34, quantity, AtMost(1.0), AtMost(0.7)).against(TO_IPERF2);
    let mut forward = bars(1, 2);
    forward.extend([
        memory(Quantity::ClientMemory),
        memory(Quantity::ServerMemory),
    ]);
    let reverse = Streams {
        direction: Direction::Reverse,
        ..Streams::ONE
    };
    vec![
        Row {
            bars: forward,
            system_bars: system_bars(1, 2),
            congestion: CUBIC_AND_SYSTEM,
            absent: "netperf, neper",
            ..row(
                "tcp-one-stream",
                "TCP, one stream",
                Workload::Streams(Streams::ONE),
                &[OURS, IPERF2, IPERF3, AS_IPERF3],
            )
        },
        Row {
            bars: bars(5, 5),
            system_bars: system_bars(5, 5),
            congestion: CUBIC_AND_SYSTEM,
            ..row(
                "tcp-reverse",
                "TCP, one stream, reverse",
                Workload::Streams(reverse),
                &[OURS, IPERF2, IPERF3, AS_IPERF3],
            )
        },
    ]
}

/// Rows 3, 4, 6, 7.
fn tcp_shapes() -> Vec<Row> {
    let skipping = [
        OURS.with("", "--skip-rx-copy"),
        IPERF2.with("", "--skip-rx-copy"),
        IPERF3.with("--skip-rx-copy", ""),
    ];
    let zero_copy = [
        AS_IPERF3.with("-Z --skip-rx-copy", ""),
        IPERF3.with("-Z --skip-rx-copy", ""),
    ];
    let duplex = Streams {
        direction: Direction::Duplex,
        ..Streams::ONE
    };
    let small = |length| Streams {
        length: Some(length),
        nodelay: true,
        ..Streams::ONE
    };
    let everyone = [OURS, IPERF2, IPERF3];
    let small_bars = vec![
        Bar::new(7, Throughput, AtLeast(1.0)),
        Bar::new(7, Cpu, AtMost(1.0)),
    ];
    let mut smallest_bars = small_bars.clone();
    smallest_bars.extend([
        bar(7, Throughput, AtLeast(3.0), AtLeast(7.0)).only(PathKind::Loopback),
        bar(7, Cpu, AtMost(0.3), AtMost(0.1)).only(PathKind::Loopback),
    ]);
    vec![
        Row {
            bars: vec![bar(3, Cpu, AtMost(0.7), AtMost(0.55))],
            absent: "neper",
            ..row(
                "tcp-skip-copy",
                "TCP, one stream, received data dropped in the kernel",
                Workload::Streams(Streams::ONE),
                &skipping,
            )
        },
        Row {
            bars: vec![bar(4, Cpu, AtMost(0.55), AtMost(0.4))],
            paths: LOOPBACK,
            ..row(
                "tcp-zero-copy",
                "TCP, one stream, zero-copy sender, received data dropped in the kernel",
                Workload::Streams(Streams::ONE),
                &zero_copy,
            )
        },
        Row {
            bars: vec![
                bar(6, Throughput, AtLeast(1.0), AtLeast(1.15)),
                Bar::new(6, Throughput, AtLeast(1.1)).against(TO_IPERF2),
                bar(6, Cpu, AtMost(1.0), AtMost(0.85)),
            ],
            absent: "neper",
            ..row(
                "tcp-duplex",
                "TCP, both directions at once, their sum",
                Workload::Streams(duplex),
                &everyone,
            )
        },
        Row {
            bars: smallest_bars,
            ..row(
                "tcp-writes-100",
                "TCP, writes of 100 bytes without delay",
                Workload::Streams(small("100")),
                &everyone,
            )
        },
        Row {
            bars: small_bars,
            ..row(
                "tcp-writes-1k",
                "TCP, writes of 1 KiB without delay",
                Workload::Streams(small("1K")),
                &everyone,
            )
        },
    ]
}

/// Rows 8 to 13.
fn tcp_many() -> Vec<Row> {
    let many = |count: u32, contenders: &[Contender], bars: Vec<Bar>| Row {
        bars,
        ..row(
            &format!("tcp-{count}-streams"),
            &format!("TCP, {count} streams"),
            Workload::Streams(Streams::many(count)),
            contenders,
        )
    };
    let everyone = [OURS, IPERF2, IPERF3];
    let few = |throughput, cpu| {
        vec![
            bar(8, Throughput, AtLeast(throughput), AtLeast(1.15)),
            bar(8, Cpu, AtMost(cpu), AtMost(0.85)),
        ]
    };
    let thousand = Streams {
        seconds: Some(2.0),
        ..Streams::many(1000)
    };
    let ten_thousand = Streams {
        seconds: Some(1.0),
        ..Streams::many(10_000)
    };
    vec![
        many(2, &everyone, few(1.0, 1.0)),
        many(8, &everyone, few(1.0, 1.0)),
        many(64, &everyone, few(1.1, 0.9)),
        many(
            128,
            &everyone,
            vec![
                bar(9, Throughput, AtLeast(1.3), AtLeast(2.0)).against(TO_IPERF2),
                Bar::new(9, Cpu, AtMost(0.9)).against(TO_IPERF2),
            ],
        ),
        Row {
            workload: Workload::Streams(thousand),
            absent: "neper; iperf3 has at most 128 streams",
            ..many(
                1000,
                &[OURS, IPERF2],
                vec![
                    bar(10, Throughput, AtLeast(1.5), AtLeast(1.7)).against(TO_IPERF2),
                    Bar::new(10, Cpu, AtMost(0.55)).against(TO_IPERF2),
                    Bar::new(11, Quantity::WallTime, AtMost(0.6)).against(TO_IPERF2),
                    bar(11, Quantity::WallTime, AtMost(2.5), AtMost(2.2)).against(Against::Nobody),
                    bar(12, Quantity::BothMemory, AtMost(0.08), AtMost(0.03)).against(TO_IPERF2),
                ],
            )
        },
        Row {
            workload: Workload::Streams(ten_thousand),
            paths: LOOPBACK,
            absent: "neper",
            ..many(
                10_000,
                &[OURS, IPERF2],
                vec![
                    bar(13, Quantity::WallTime, AtMost(6.0), AtMost(3.0)).against(Against::Nobody),
                    bar(13, Quantity::BothMemory, AtMost(250.0), AtMost(60.0))
                        .against(Against::Nobody),
                    Bar::new(13, Throughput, AtLeast(5.0)).against(TO_IPERF2),
                    Bar::new(13, Cpu, AtMost(0.15)).against(TO_IPERF2),
                ],
            )
        },
    ]
}

/// Rows 14 to 21.
fn udp_full_rate() -> Vec<Row> {
    let flood = |name: &str, title: &str, length, contenders: &[Contender], bars| Row {
        bars,
        ..row(name, title, Workload::Flood { length }, contenders)
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
fn udp_paced() -> Vec<Row> {
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

/// Rows 26 to 30.
fn exchanges() -> Vec<Row> {
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
    ]
}

/// Rows 31 to 33.
fn the_program() -> Vec<Row> {
    use Quantity::{BinarySize, IdleCpu, StartTime, StaticBinarySize};
    let alone = |name: &str, title: &str, workload, contenders: &[Contender], bars| Row {
        paths: &[],
        bars,
        ..row(name, title, workload, contenders)
    };
    vec![
        alone(
            "start",
            "Start and exit (`-v`)",
            Workload::Starts,
            &[
                OURS,
                Contender::both(Tool::SystemIperf),
                NUTTCP,
                Contender::both(Tool::Qperf),
            ],
            vec![
                bar(31, StartTime, AtMost(0.7), AtMost(0.5))
                    .against(Against::Peer(Contender::both(Tool::SystemIperf))),
            ],
        ),
        alone(
            "size",
            "Size of the binary",
            Workload::Size,
            &[OURS],
            vec![
                bar(32, BinarySize, AtMost(1.6), AtMost(1.0)).against(Against::Nobody),
                bar(32, StaticBinarySize, AtMost(2.6), AtMost(2.0)).against(Against::Nobody),
            ],
        ),
        alone(
            "idle",
            "An idle server",
            Workload::Idle,
            &[OURS, IPERF2, IPERF3],
            vec![bar(33, IdleCpu, AtMost(0.15), AtMost(0.0)).against(Against::Nobody)],
        ),
    ]
}

/// Row 35.
fn tcp_paced() -> Vec<Row> {
    [("100M", 0.1), ("1G", 0.25)]
        .map(|(rate, to_iperf2)| {
            let streams = Streams {
                rate: Some(rate),
                ..Streams::ONE
            };
            Row {
                paths: VETH,
                bars: vec![
                    bar(35, Cpu, AtMost(1.1), AtMost(0.8)).against(Against::Peer(IPERF3)),
                    Bar::new(35, Cpu, AtMost(to_iperf2)).against(TO_IPERF2),
                ],
                ..row(
                    &format!("tcp-paced-{rate}"),
                    &format!("TCP at {rate}bit/s"),
                    Workload::Streams(streams),
                    &[OURS, IPERF2, IPERF3],
                )
            }
        })
        .into()
}

/// With and without each technique.
fn techniques() -> Vec<Row> {
    let one = Workload::Streams(Streams::ONE);
    let flood = Workload::Flood { length: 1470 };
    let less = |quantity| Bar::new(0, quantity, AtMost(1.0));
    let more = |quantity| Bar::new(0, quantity, AtLeast(1.0));
    [
        ("udp-segmentation", flood, more(PacketRate)),
        ("udp-coalescing", flood, less(CpuPerPacket)),
        // A call reads one group of large datagrams, but many groups of small ones.
        (
            "receive-batch",
            Workload::Flood { length: 64 },
            less(CpuPerPacket),
        ),
        ("receive-rest", flood, less(CpuPerPacket)),
        ("receive-buffer", flood, less(Quantity::Loss)),
        (
            "pacing-spin",
            Workload::Paced { rate: 10_000_000 },
            less(Quantity::GapMedian),
        ),
        ("repeated-chunk", one, less(Cpu)),
        (
            "low-water-mark",
            Workload::Streams(Streams {
                length: Some("100"),
                nodelay: true,
                ..Streams::ONE
            }),
            less(Cpu),
        ),
        (
            "yield-spin",
            Workload::Exchange {
                transport: Transport::Tcp,
                place: Place::Free,
            },
            more(Quantity::Transactions),
        ),
        (
            "polled-workers",
            Workload::Streams(Streams::many(1000)),
            less(Quantity::BothMemory),
        ),
    ]
    .map(|(name, workload, bar)| Row {
        bars: vec![bar],
        ..row(
            &format!("technique-{name}"),
            &format!("With and without {name}"),
            workload,
            &[OURS, OURS.without(name)],
        )
    })
    .into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_of_the_targets_is_there_once() {
        let rows = all();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), rows.len());
        let numbers: BTreeSet<u32> = rows
            .iter()
            .flat_map(|row| row.bars.iter().map(|bar| bar.number))
            .filter(|number| *number > 0)
            .collect();
        // Row 29 is for programs that offer requests over UDP.
        let expected: BTreeSet<u32> = (1..=35).filter(|number| *number != 29).collect();
        assert_eq!(numbers, expected);
    }

    #[test]
    fn bars_compare_with_contenders_of_their_row() {
        for row in all() {
            for bar in row.bars.iter().chain(&row.system_bars) {
                if let Against::Peer(peer) = bar.against {
                    assert!(row.contenders[1..].contains(&peer), "{}", row.name);
                }
            }
            let labels: BTreeSet<String> = row.contenders.iter().map(Contender::label).collect();
            assert_eq!(labels.len(), row.contenders.len(), "{}", row.name);
        }
    }

    #[test]
    fn rows_are_chosen_by_number_or_name() {
        let named = |word: &str| -> Vec<String> {
            let rows = all().into_iter().filter(|row| row.is_meant(word));
            rows.map(|row| row.name).collect()
        };
        assert_eq!(named("15"), ["udp-1470"]);
        assert_eq!(named("2"), ["tcp-one-stream"]);
        assert_eq!(named("tcp-paced"), ["tcp-paced-100M", "tcp-paced-1G"]);
        assert!(named("nothing").is_empty());
    }
}
