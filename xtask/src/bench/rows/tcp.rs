//! Streams over TCP: one, many, small writes, both directions, paced.

use super::parts::{
    AS_IPERF3, CUBIC_AND_SYSTEM, IPERF2, IPERF3, LOOPBACK, OURS, TO_IPERF2, VETH, bar, row,
};
use crate::bench::contender::Contender;
use crate::bench::quantity::Bound::{AtLeast, AtMost};
use crate::bench::quantity::Quantity::{self, CpuPerGigabyte as Cpu, Throughput};
use crate::bench::row::{Against, Bar, Direction, PathKind, Row, Streams, Workload};

/// Rows 1, 2, 5, and 34, whose memory is that of the same run.
pub(crate) fn one_stream() -> Vec<Row> {
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
pub(crate) fn shapes() -> Vec<Row> {
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
pub(crate) fn many() -> Vec<Row> {
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

/// Row 35.
pub(crate) fn paced() -> Vec<Row> {
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
