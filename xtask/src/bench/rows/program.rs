//! The program by itself: start, rest.

use super::parts::{IPERF2, IPERF3, NUTTCP, OURS, bar, row};
use crate::bench::contender::{Contender, Tool};
use crate::bench::quantity::Bound::AtMost;
use crate::bench::quantity::Quantity;
use crate::bench::row::{Against, Row, Workload};

/// Rows 31 to 33.
pub(crate) fn all() -> Vec<Row> {
    use Quantity::{IdleCpu, StartTime};
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
            "start-memory",
            "Code and data that a start touches (`-v`)",
            Workload::StartMemory,
            &[OURS, Contender::both(Tool::SystemIperf), NUTTCP],
            vec![
                bar(32, Quantity::StartMemory, AtMost(1.0), AtMost(0.7))
                    .against(Against::Peer(Contender::both(Tool::SystemIperf))),
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
