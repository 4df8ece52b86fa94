//! What each technique is worth: with it and without.

use super::parts::{OURS, row};
use crate::bench::quantity::Bound::{AtLeast, AtMost};
use crate::bench::quantity::Quantity::{self, CpuPerGigabyte as Cpu, CpuPerPacket, PacketRate};
use crate::bench::row::{Bar, Place, Row, Streams, Transport, Workload};

/// With and without each technique.
pub(crate) fn all() -> Vec<Row> {
    let one = Workload::Streams(Streams::ONE);
    let flood = Workload::Flood {
        length: 1470,
        flows: 1,
    };
    let less = |quantity| Bar::new(0, quantity, AtMost(1.0));
    let more = |quantity| Bar::new(0, quantity, AtLeast(1.0));
    [
        ("udp-segmentation", flood, more(PacketRate)),
        ("udp-coalescing", flood, less(CpuPerPacket)),
        // A call reads one group of large datagrams, but many groups of small ones.
        (
            "receive-batch",
            Workload::Flood {
                length: 64,
                flows: 1,
            },
            less(CpuPerPacket),
        ),
        ("receive-rest", flood, less(CpuPerPacket)),
        ("receive-buffer", flood, less(Quantity::Loss)),
        (
            "flow-sockets",
            Workload::Flood {
                length: 1470,
                flows: 4,
            },
            more(PacketRate),
        ),
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
