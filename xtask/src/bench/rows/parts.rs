//! What rows are made of.

use crate::bench::contender::{Contender, Tool};
use crate::bench::quantity::{Bound, Quantity};
use crate::bench::row::{Against, Bar, Congestion, PathKind, Row, Workload};

pub(crate) const OURS: Contender = Contender::both(Tool::Tapeline);
pub(crate) const AS_IPERF3: Contender = Contender::both(Tool::TapelineAsIperf3);
pub(crate) const IPERF2: Contender = Contender::both(Tool::Iperf221);
pub(crate) const IPERF3: Contender = Contender::both(Tool::Iperf3);
pub(crate) const NUTTCP: Contender = Contender::both(Tool::Nuttcp);
pub(crate) const SOCKPERF: Contender = Contender::both(Tool::Sockperf);
pub(crate) const QPERF: Contender = Contender::both(Tool::Qperf);

pub(crate) const BOTH: &[PathKind] = &[PathKind::Loopback, PathKind::Veth];
pub(crate) const LOOPBACK: &[PathKind] = &[PathKind::Loopback];
pub(crate) const VETH: &[PathKind] = &[PathKind::Veth];
pub(crate) const CUBIC: &[Congestion] = &[Congestion::Cubic];
pub(crate) const CUBIC_AND_SYSTEM: &[Congestion] = &[Congestion::Cubic, Congestion::System];

pub(crate) const TO_IPERF2: Against = Against::Peer(IPERF2);
pub(crate) const TO_NUTTCP: Against = Against::Peer(NUTTCP);

/// A row without bars over both paths, with cubic where TCP is in play.
pub(crate) fn row(name: &str, title: &str, workload: Workload, contenders: &[Contender]) -> Row {
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

pub(crate) const fn bar(number: u32, quantity: Quantity, must: Bound, stretch: Bound) -> Bar {
    Bar::new(number, quantity, must).stretch(stretch)
}
