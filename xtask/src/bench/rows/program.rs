//! The program by itself: start, size, rest.

use super::parts::{IPERF2, IPERF3, NUTTCP, OURS, bar, row};
use crate::bench::contender::{Contender, Tool};
use crate::bench::quantity::Bound::AtMost;
use crate::bench::quantity::Quantity;
use crate::bench::row::{Against, Row, Workload};

/// Rows 31 to 33.
pub(crate) fn all() -> Vec<Row> {
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
