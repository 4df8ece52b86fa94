//! What a UDP receiver counts.

use tapeline_base::MonoTime;
use tapeline_stats::Moments;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::cell::{Counters, FlowCell, words};
use super::delay::DelaySeries;
use super::publisher::Publisher;

/// Frames of which datagrams arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct FrameArrivals {
    /// Frames complete.
    pub received: u64,
    /// Frames of which something is missing.
    pub lost: u64,
    /// Arrival of a frame's last byte minus the time it was due, seconds.
    pub latency: DelaySeries,
}

/// What was wrong with packets of a flow below UDP, where somebody looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct LinkFaults {
    /// Lengths that do not fit together.
    pub length: u64,
    /// Wrong checksums.
    pub checksum: u64,
    /// Parts of datagrams.
    pub unknown: u64,
}

/// How losses and late datagrams lie in a flow. Its longest run and outage are known at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct ArrivalPattern {
    /// Largest reordering extent (RFC 4737): distinct datagrams that came between the first later one and a
    /// late one.
    pub longest_extent: u64,
    /// The same of datagrams that came in the running interval.
    pub interval_extent: u64,
    /// Runs of consecutive losses so far.
    pub loss_runs: u64,
    /// Datagrams of the longest one.
    pub longest_loss_run: u64,
    /// Longest time without an arrival that the sender does not account for, nanoseconds.
    pub outage_ns: u64,
    /// When it began, nanoseconds after the first arrival.
    pub outage_start_ns: u64,
}

/// A UDP receiver's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct DatagramCounters {
    /// Payload bytes, duplicates included, as iperf counts.
    pub bytes: u64,
    /// Distinct datagrams.
    pub received: u64,
    /// One more than the highest sequence number, counted from the first possible one.
    pub total: u64,
    /// Missing so far, late arrivals taken back.
    pub lost: u64,
    /// Arrived after a later one.
    pub reordered: u64,
    /// Arrived again.
    pub duplicates: u64,
    /// Sequence numbers skipped upward (iperf 2's lost counter, before correction).
    pub skipped: u64,
    /// Arrivals not above the highest number (iperf 2's out of order).
    pub out_of_order: u64,
    /// Datagrams longer than the receive buffer.
    pub truncated: u64,
    /// Running jitter, nanoseconds.
    pub jitter_ns: f64,
    /// Count and mean of all running jitter values, nanoseconds.
    pub jitter_count: u64,
    /// See `jitter_count`.
    pub jitter_mean_ns: f64,
    /// Transit times, seconds.
    pub transit: Moments,
    /// Frames, where the traffic has any.
    pub frames: FrameArrivals,
    /// Datagrams marked with congestion experienced (ECN).
    pub marked: u64,
    /// Datagrams that came joined with others and share their arrival.
    pub joined: u64,
    /// Faults below UDP.
    pub link: LinkFaults,
    /// How losses lie in the flow.
    pub pattern: ArrivalPattern,
    /// Time of the last datagram.
    pub last: MonoTime,
}

/// Cell of a UDP receiver.
pub type DatagramCell = FlowCell<DatagramCounters, { words::<DatagramCounters>() }>;
/// The one writer of a [`DatagramCell`]; its extremes are transit times.
pub type DatagramPublisher = Publisher<DatagramCounters, { words::<DatagramCounters>() }>;

impl Counters for DatagramCounters {}
