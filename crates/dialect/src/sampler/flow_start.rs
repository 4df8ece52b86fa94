//! A flow as it is registered with the reporter: its counters, its groups, and how it ended.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use tapeline_base::{BitRate, FlowTag, MonoTime, Role};
use tapeline_engine::{
    BurstCell, BurstRecord, DatagramCell, DelayCell, FrameRecord, HistogramCell, ReceiveCell,
    RecordedDelays, RequestResponseCell, SendCell,
};
use tapeline_report::{BurstKind, Endpoints, HistogramKind};
use tapeline_sys::TcpConn;

use super::evidence::EndFacts;

/// The counters of one direction of a flow.
#[derive(Clone, Debug)]
pub(crate) enum CounterCell {
    /// TCP sender.
    TcpSend(Arc<SendCell>),
    /// TCP receiver.
    TcpReceive(Arc<ReceiveCell>),
    /// TCP receiver of stamped bursts, and what they are.
    TcpBursts(Arc<BurstCell>, BurstKind),
    /// UDP sender.
    UdpSend(Arc<SendCell>),
    /// UDP receiver.
    UdpReceive(Arc<DatagramCell>),
    /// Request/response client.
    Exchange(Arc<RequestResponseCell>),
}

/// A histogram that a flow's worker fills.
#[derive(Clone, Debug)]
pub(crate) struct FlowHistogram {
    pub(crate) kind: HistogramKind,
    pub(crate) cell: Arc<HistogramCell>,
    /// Bins are shown in microseconds rather than milliseconds.
    pub(crate) in_micros: bool,
    /// Reported at each interval's end too, not for the whole test alone.
    pub(crate) by_interval: bool,
}

/// What a group of flows adds up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// A SUM row over flows, as this end of the agreement reports it.
    Sum(Role),
    /// The two directions of one flow.
    Duplex(FlowTag),
}

/// Names a group, and says what it is to add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupKey {
    pub(crate) number: u64,
    pub(crate) kind: GroupKind,
    /// Directions of flows that belong to it; its sum waits for them.
    pub(crate) members: usize,
}

/// A flow begins.
#[derive(Debug)]
pub(crate) struct FlowStart {
    pub(crate) tag: FlowTag,
    pub(crate) cell: CounterCell,
    pub(crate) start: MonoTime,
    pub(crate) interval: Option<Duration>,
    pub(crate) endpoints: Endpoints,
    pub(crate) groups: Vec<GroupKey>,
    /// Connection whose TCP_INFO goes with the rows (senders).
    pub(crate) conn: Option<Arc<TcpConn>>,
    /// In the order of their lines.
    pub(crate) histograms: Vec<FlowHistogram>,
    /// What is reported in addition to the counters.
    pub(crate) extras: FlowExtras,
}

/// What some flows report in addition to their counters.
#[derive(Debug, Default)]
pub(crate) struct FlowExtras {
    /// The stamps of the data come from a clock that is said to agree with ours.
    pub(crate) trip_times: bool,
    /// Frames are counted (isochronous traffic).
    pub(crate) frames: bool,
    /// The sender is to pause between its writes.
    pub(crate) pauses: bool,
    /// Congestion marks are watched (UDP receivers).
    pub(crate) marks: bool,
    /// Transit times in buckets, reported with the total (UDP receivers).
    pub(crate) delays: Option<Arc<RecordedDelays>>,
    /// Packets are looked at below UDP too (UDP receivers).
    pub(crate) link: bool,
    /// Durations of writes (`--tcp-write-times`).
    pub(crate) write_times: Option<Arc<DelayCell>>,
    /// Bursts whose rows stand in place of those of intervals.
    pub(crate) bursts: Option<mpsc::Receiver<BurstRecord>>,
    /// The rate that a sender is to keep, or that is to come to a receiver.
    pub(crate) target: Option<BitRate>,
    /// Time at the start that does not count; the cell's intervals have a boundary there.
    pub(crate) omit: Duration,
    /// When the flow is to end, where that is agreed: what little comes behind it belongs to the
    /// interval that ends then.
    pub(crate) agreed_end: Option<MonoTime>,
    /// The same for frames of datagrams.
    pub(crate) frame_rows: Option<mpsc::Receiver<FrameRecord>>,
}

/// A flow has ended; its cell holds the final counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowEnd {
    pub(crate) at: MonoTime,
    /// Datagrams sent, the final one included (UDP senders).
    pub(crate) sent: Option<u64>,
    /// Datagrams that this host's own buffer dropped (UDP receivers).
    pub(crate) dropped: Option<u64>,
    /// What may have limited the flow.
    pub(crate) facts: EndFacts,
}
