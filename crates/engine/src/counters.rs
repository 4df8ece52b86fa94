//! What workers count, and the cells they publish it through.
//!
//! Each kind of flow has one plain struct of counters that only grow (extremes apart)
//! and one cell type; the sampler subtracts two snapshots.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_stats::{Moments, ReadSizes};

use crate::cell::SnapshotCell;

/// A sender's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounters {
    /// Payload bytes accepted by the kernel.
    pub bytes: u64,
    /// Blocks or datagrams written.
    pub writes: u64,
    /// Writes that failed without ending the flow.
    pub errors: u64,
    /// Of those, writes that timed out.
    pub timeouts: u64,
    /// Datagrams that left after their time.
    pub late: u64,
    /// Time of the last write.
    pub last: MonoTime,
}

/// A TCP receiver's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveCounters {
    /// Payload bytes.
    pub bytes: u64,
    /// Reads and their sizes.
    pub reads: ReadSizes,
    /// Time of the last read.
    pub last: MonoTime,
}

/// A UDP receiver's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
    /// Time of the last datagram.
    pub last: MonoTime,
}

/// A request/response client's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExchangeCounters {
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Round-trip times, seconds.
    pub round_trips: Moments,
    /// 50th, 90th, 99th percentile in seconds, known at the end; NaN before.
    pub percentiles: [f64; 3],
    /// Time of the last response.
    pub last: MonoTime,
}

/// When a flow's intervals end, as its worker watches it: the worker itself notes its
/// counters at the first event behind a boundary, so rows are exact even when the sampler
/// is late.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    start: MonoTime,
    length: Option<Duration>,
}

impl Intervals {
    /// Intervals of `length` from `start`; `None` has no boundaries.
    #[must_use]
    pub fn new(start: MonoTime, length: Option<Duration>) -> Self {
        Self {
            start,
            length: length.filter(|length| !length.is_zero()),
        }
    }

    /// When interval `index` (from 0) ends.
    #[must_use]
    pub fn end_of(&self, index: u64) -> Option<MonoTime> {
        let nanos = self
            .length?
            .as_nanos()
            .saturating_mul(u128::from(index) + 1);
        Some(self.start + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// The interval that `now` lies in.
    fn index_at(&self, now: MonoTime) -> u64 {
        self.length.map_or(0, |length| {
            u64::try_from(now.since(self.start).as_nanos() / length.as_nanos()).unwrap_or(u64::MAX)
        })
    }
}

/// What a worker keeps to notice boundaries.
#[derive(Debug)]
struct Watch {
    intervals: Intervals,
    index: u64,
    next: MonoTime,
}

impl Watch {
    fn new(intervals: Intervals) -> Self {
        Self {
            intervals,
            index: 0,
            next: intervals.end_of(0).unwrap_or(MonoTime::FAR),
        }
    }

    /// The number of boundaries passed, when `now` lies behind a new one.
    #[inline]
    fn passed(&mut self, now: MonoTime) -> Option<u64> {
        if now < self.next {
            return None;
        }
        self.index = self.intervals.index_at(now);
        self.next = self.intervals.end_of(self.index).unwrap_or(MonoTime::FAR);
        Some(self.index)
    }
}

/// Published counters: the newest, and those at the last boundary that the worker passed.
#[derive(Debug)]
pub struct FlowCell<const N: usize> {
    newest: SnapshotCell<N>,
    mark: SnapshotCell<N>,
    /// Boundaries passed when `mark` was taken; 0 before the first.
    marked: AtomicU64,
    intervals: Intervals,
}

impl<const N: usize> FlowCell<N> {
    /// A cell for a flow with these intervals.
    #[must_use]
    pub fn new(intervals: Intervals) -> Self {
        Self {
            newest: SnapshotCell::default(),
            mark: SnapshotCell::default(),
            marked: AtomicU64::new(0),
            intervals,
        }
    }

    fn set_mark(&self, words: &[u64; N], boundaries: u64) {
        self.mark.publish(words);
        self.marked.store(boundaries, Ordering::Release);
    }

    /// The words at the end of interval `index`, and how many boundaries they cover (more
    /// than one when the worker was watched too rarely).
    fn at_end_of(&self, index: u64) -> ([u64; N], u64) {
        // Nothing happened behind the boundary unless the mark says so afterwards.
        let newest = self.newest.read();
        loop {
            let boundaries = self.marked.load(Ordering::Acquire);
            if boundaries <= index {
                return (newest, index + 1);
            }
            let words = self.mark.read();
            if self.marked.load(Ordering::Acquire) == boundaries {
                return (words, boundaries);
            }
        }
    }
}

/// Counters of an interval's end.
#[derive(Clone, Copy, Debug)]
pub struct Closed<C> {
    /// The counters.
    pub counters: C,
    /// Smallest and largest sample of the interval; infinite without one.
    pub extremes: (f64, f64),
    /// Boundaries covered: the number of the interval that follows.
    pub next: u64,
}

const NO_EXTREMES: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

/// Smallest and largest sample of the running interval. Extremes cannot be subtracted, so
/// the worker starts them anew behind each boundary.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    interval: u64,
    range: (f64, f64),
}

impl Default for Extremes {
    fn default() -> Self {
        Self {
            interval: 0,
            range: NO_EXTREMES,
        }
    }
}

impl Extremes {
    fn add(&mut self, sample: f64) {
        self.range.0 = self.range.0.min(sample);
        self.range.1 = self.range.1.max(sample);
    }

    fn of_interval(&self, index: u64) -> (f64, f64) {
        if self.interval == index {
            self.range
        } else {
            NO_EXTREMES
        }
    }
}

/// Cell of a sender.
pub type SendCell = FlowCell<6>;
/// Cell of a TCP receiver.
pub type ReceiveCell = FlowCell<12>;
/// Cell of a UDP receiver.
pub type DatagramCell = FlowCell<21>;
/// Cell of a request/response client.
pub type ExchangeCell = FlowCell<14>;

impl SendCounters {
    fn to_words(self) -> [u64; 6] {
        let last = self.last.as_nanos();
        [
            self.bytes,
            self.writes,
            self.errors,
            self.timeouts,
            self.late,
            last,
        ]
    }

    fn from_words([bytes, writes, errors, timeouts, late, last]: [u64; 6]) -> Self {
        Self {
            bytes,
            writes,
            errors,
            timeouts,
            late,
            last: MonoTime::from_nanos(last),
        }
    }
}

impl SendCell {
    /// The newest counters.
    #[must_use]
    pub fn read(&self) -> SendCounters {
        SendCounters::from_words(self.newest.read())
    }

    /// The counters at the end of interval `index`.
    #[must_use]
    pub fn close_interval(&self, index: u64) -> Closed<SendCounters> {
        let (words, next) = self.at_end_of(index);
        Closed {
            counters: SendCounters::from_words(words),
            extremes: NO_EXTREMES,
            next,
        }
    }
}

impl ReceiveCounters {
    fn to_words(self) -> [u64; 12] {
        let b = &self.reads.bins;
        let last = self.last.as_nanos();
        let (reads, width) = (self.reads.reads, self.reads.bin_width());
        [
            self.bytes, reads, last, b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], width,
        ]
    }

    fn from_words(w: [u64; 12]) -> Self {
        let mut reads = ReadSizes::new(w[11].saturating_mul(8));
        reads.reads = w[1];
        reads.bins.copy_from_slice(&w[3..11]);
        Self {
            bytes: w[0],
            reads,
            last: MonoTime::from_nanos(w[2]),
        }
    }
}

impl ReceiveCell {
    /// The newest counters.
    #[must_use]
    pub fn read(&self) -> ReceiveCounters {
        ReceiveCounters::from_words(self.newest.read())
    }

    /// The counters at the end of interval `index`.
    #[must_use]
    pub fn close_interval(&self, index: u64) -> Closed<ReceiveCounters> {
        let (words, next) = self.at_end_of(index);
        Closed {
            counters: ReceiveCounters::from_words(words),
            extremes: NO_EXTREMES,
            next,
        }
    }
}

impl DatagramCounters {
    fn to_words(self, e: &Extremes) -> [u64; 21] {
        [
            self.bytes,
            self.received,
            self.total,
            self.lost,
            self.reordered,
            self.duplicates,
            self.skipped,
            self.out_of_order,
            self.truncated,
            self.jitter_ns.to_bits(),
            self.jitter_count,
            self.jitter_mean_ns.to_bits(),
            self.transit.count,
            self.transit.mean.to_bits(),
            self.transit.m2.to_bits(),
            self.transit.min.to_bits(),
            self.transit.max.to_bits(),
            self.last.as_nanos(),
            e.interval,
            e.range.0.to_bits(),
            e.range.1.to_bits(),
        ]
    }

    fn from_words(w: [u64; 21]) -> (Self, Extremes) {
        let f = |i: usize| f64::from_bits(w[i]);
        let counters = Self {
            bytes: w[0],
            received: w[1],
            total: w[2],
            lost: w[3],
            reordered: w[4],
            duplicates: w[5],
            skipped: w[6],
            out_of_order: w[7],
            truncated: w[8],
            jitter_ns: f(9),
            jitter_count: w[10],
            jitter_mean_ns: f(11),
            transit: Moments {
                count: w[12],
                mean: f(13),
                m2: f(14),
                min: f(15),
                max: f(16),
            },
            last: MonoTime::from_nanos(w[17]),
        };
        let extremes = Extremes {
            interval: w[18],
            range: (f(19), f(20)),
        };
        (counters, extremes)
    }
}

impl DatagramCell {
    /// The newest counters.
    #[must_use]
    pub fn read(&self) -> DatagramCounters {
        DatagramCounters::from_words(self.newest.read()).0
    }

    /// The counters at the end of interval `index`, and the interval's extreme transits.
    #[must_use]
    pub fn close_interval(&self, index: u64) -> Closed<DatagramCounters> {
        let (words, next) = self.at_end_of(index);
        let (counters, extremes) = DatagramCounters::from_words(words);
        Closed {
            counters,
            extremes: extremes.of_interval(index),
            next,
        }
    }
}

impl ExchangeCounters {
    fn to_words(self, e: &Extremes) -> [u64; 14] {
        let m = &self.round_trips;
        [
            self.sent,
            self.received,
            self.last.as_nanos(),
            m.count,
            m.mean.to_bits(),
            m.m2.to_bits(),
            m.min.to_bits(),
            m.max.to_bits(),
            self.percentiles[0].to_bits(),
            self.percentiles[1].to_bits(),
            self.percentiles[2].to_bits(),
            e.interval,
            e.range.0.to_bits(),
            e.range.1.to_bits(),
        ]
    }

    fn from_words(w: [u64; 14]) -> (Self, Extremes) {
        let f = |i: usize| f64::from_bits(w[i]);
        let counters = Self {
            sent: w[0],
            received: w[1],
            last: MonoTime::from_nanos(w[2]),
            round_trips: Moments {
                count: w[3],
                mean: f(4),
                m2: f(5),
                min: f(6),
                max: f(7),
            },
            percentiles: [f(8), f(9), f(10)],
        };
        let extremes = Extremes {
            interval: w[11],
            range: (f(12), f(13)),
        };
        (counters, extremes)
    }
}

impl ExchangeCell {
    /// The newest counters.
    #[must_use]
    pub fn read(&self) -> ExchangeCounters {
        ExchangeCounters::from_words(self.newest.read()).0
    }

    /// The counters at the end of interval `index`, and the interval's extreme round trips.
    #[must_use]
    pub fn close_interval(&self, index: u64) -> Closed<ExchangeCounters> {
        let (words, next) = self.at_end_of(index);
        let (counters, extremes) = ExchangeCounters::from_words(words);
        Closed {
            counters,
            extremes: extremes.of_interval(index),
            next,
        }
    }
}

/// The one writer of a [`SendCell`].
#[derive(Debug)]
pub struct SendPublisher {
    cell: Arc<SendCell>,
    watch: Watch,
}

impl SendPublisher {
    /// The one writer of `cell`.
    #[must_use]
    pub fn new(cell: Arc<SendCell>) -> Self {
        let watch = Watch::new(cell.intervals);
        Self { cell, watch }
    }

    /// Call before counting an event of time `now`.
    #[inline]
    pub fn at(&mut self, now: MonoTime, counters: &SendCounters) {
        if let Some(boundaries) = self.watch.passed(now) {
            self.cell.set_mark(&counters.to_words(), boundaries);
        }
    }

    /// Call after counting.
    #[inline]
    pub fn publish(&self, counters: &SendCounters) {
        self.cell.newest.publish(&counters.to_words());
    }
}

/// The one writer of a [`ReceiveCell`].
#[derive(Debug)]
pub struct ReceivePublisher {
    cell: Arc<ReceiveCell>,
    watch: Watch,
}

impl ReceivePublisher {
    /// The one writer of `cell`.
    #[must_use]
    pub fn new(cell: Arc<ReceiveCell>) -> Self {
        let watch = Watch::new(cell.intervals);
        Self { cell, watch }
    }

    /// Call before counting an event of time `now`.
    #[inline]
    pub fn at(&mut self, now: MonoTime, counters: &ReceiveCounters) {
        if let Some(boundaries) = self.watch.passed(now) {
            self.cell.set_mark(&counters.to_words(), boundaries);
        }
    }

    /// Call after counting.
    #[inline]
    pub fn publish(&self, counters: &ReceiveCounters) {
        self.cell.newest.publish(&counters.to_words());
    }
}

/// The one writer of a [`DatagramCell`], with the extremes of the running interval.
#[derive(Debug)]
pub struct DatagramPublisher {
    cell: Arc<DatagramCell>,
    watch: Watch,
    extremes: Extremes,
}

impl DatagramPublisher {
    /// The one writer of `cell`.
    #[must_use]
    pub fn new(cell: Arc<DatagramCell>) -> Self {
        let watch = Watch::new(cell.intervals);
        Self {
            cell,
            watch,
            extremes: Extremes::default(),
        }
    }

    /// Whether `now` lies behind a boundary that has not been marked yet.
    #[inline]
    #[must_use]
    pub fn is_behind_boundary(&self, now: MonoTime) -> bool {
        now >= self.watch.next
    }

    /// Call before counting an event of time `now`.
    #[inline]
    pub fn at(&mut self, now: MonoTime, counters: &DatagramCounters) {
        if let Some(boundaries) = self.watch.passed(now) {
            self.cell
                .set_mark(&counters.to_words(&self.extremes), boundaries);
            self.extremes = Extremes {
                interval: boundaries,
                range: NO_EXTREMES,
            };
        }
    }

    /// Takes a transit time into the extremes of the interval, seconds.
    #[inline]
    pub fn extreme(&mut self, transit: f64) {
        self.extremes.add(transit);
    }

    /// Call after counting.
    #[inline]
    pub fn publish(&self, counters: &DatagramCounters) {
        self.cell.newest.publish(&counters.to_words(&self.extremes));
    }
}

/// The one writer of an [`ExchangeCell`], with the extremes of the running interval.
#[derive(Debug)]
pub struct ExchangePublisher {
    cell: Arc<ExchangeCell>,
    watch: Watch,
    extremes: Extremes,
}

impl ExchangePublisher {
    /// The one writer of `cell`.
    #[must_use]
    pub fn new(cell: Arc<ExchangeCell>) -> Self {
        let watch = Watch::new(cell.intervals);
        Self {
            cell,
            watch,
            extremes: Extremes::default(),
        }
    }

    /// Call before counting an event of time `now`.
    #[inline]
    pub fn at(&mut self, now: MonoTime, counters: &ExchangeCounters) {
        if let Some(boundaries) = self.watch.passed(now) {
            self.cell
                .set_mark(&counters.to_words(&self.extremes), boundaries);
            self.extremes = Extremes {
                interval: boundaries,
                range: NO_EXTREMES,
            };
        }
    }

    /// Takes a round trip into the extremes, seconds.
    #[inline]
    pub fn extreme(&mut self, round_trip: f64) {
        self.extremes.add(round_trip);
    }

    /// Call after counting.
    #[inline]
    pub fn publish(&self, counters: &ExchangeCounters) {
        self.cell.newest.publish(&counters.to_words(&self.extremes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonoTime {
        MonoTime::from_nanos(millis * 1_000_000)
    }

    fn seconds() -> Intervals {
        Intervals::new(at(0), Some(Duration::from_secs(1)))
    }

    fn counters(transits: &[f64]) -> DatagramCounters {
        let mut transit = Moments::EMPTY;
        for t in transits {
            transit.add(*t);
        }
        DatagramCounters {
            received: transits.len() as u64,
            transit,
            jitter_ns: 1.5,
            ..DatagramCounters::default()
        }
    }

    #[test]
    fn every_counter_survives_the_cell() {
        let cell = Arc::new(DatagramCell::new(seconds()));
        let publisher = DatagramPublisher::new(Arc::clone(&cell));
        let mut c = counters(&[1.0, 3.0]);
        c.bytes = 1;
        c.total = 2;
        c.lost = 3;
        c.reordered = 4;
        c.duplicates = 5;
        c.skipped = 6;
        c.out_of_order = 7;
        c.truncated = 8;
        c.jitter_count = 9;
        c.jitter_mean_ns = 0.25;
        c.last = MonoTime::from_nanos(10);
        publisher.publish(&c);
        assert_eq!(cell.read(), c);

        let receive = Arc::new(ReceiveCell::new(seconds()));
        let mut reads = ReadSizes::new(131_072);
        reads.record(131_072);
        reads.record(5);
        let c = ReceiveCounters {
            bytes: 131_077,
            reads,
            last: MonoTime::from_nanos(3),
        };
        ReceivePublisher::new(Arc::clone(&receive)).publish(&c);
        assert_eq!(receive.read(), c);
    }

    #[test]
    fn a_late_sampler_still_sees_the_boundary() {
        let cell = Arc::new(SendCell::new(seconds()));
        let mut publisher = SendPublisher::new(Arc::clone(&cell));
        let mut c = SendCounters::default();
        for millis in [100, 900, 1010, 1020] {
            publisher.at(at(millis), &c);
            c.bytes += 1;
            publisher.publish(&c);
        }
        // Read at 1.02 s: two events belong to the first interval, two to the second.
        let closed = cell.close_interval(0);
        assert_eq!((closed.counters.bytes, closed.next), (2, 1));
        assert_eq!(cell.close_interval(1).counters.bytes, 4);
    }

    #[test]
    fn a_sampler_that_missed_a_boundary_gets_one_long_interval() {
        let cell = Arc::new(SendCell::new(seconds()));
        let mut publisher = SendPublisher::new(Arc::clone(&cell));
        let mut c = SendCounters::default();
        for millis in [500, 1500, 2500] {
            publisher.at(at(millis), &c);
            c.bytes += 1;
            publisher.publish(&c);
        }
        let closed = cell.close_interval(0);
        assert_eq!((closed.counters.bytes, closed.next), (2, 2));
    }

    #[test]
    fn an_idle_flow_has_empty_intervals() {
        let cell = Arc::new(SendCell::new(seconds()));
        let publisher = SendPublisher::new(Arc::clone(&cell));
        let c = SendCounters {
            bytes: 7,
            ..SendCounters::default()
        };
        publisher.publish(&c);
        for index in 0..3 {
            let closed = cell.close_interval(index);
            assert_eq!((closed.counters.bytes, closed.next), (7, index + 1));
        }
    }

    #[test]
    fn extremes_belong_to_their_interval() {
        let cell = Arc::new(DatagramCell::new(seconds()));
        let mut publisher = DatagramPublisher::new(Arc::clone(&cell));
        let mut seen = vec![];
        for (millis, transit) in [(100, 3.0), (200, 1.0), (2100, 9.0), (2200, 8.0)] {
            publisher.at(at(millis), &counters(&seen));
            publisher.extreme(transit);
            seen.push(transit);
            publisher.publish(&counters(&seen));
            if millis == 200 {
                assert_eq!(cell.close_interval(0).extremes, (1.0, 3.0));
                assert_eq!(cell.close_interval(1).extremes, NO_EXTREMES);
            }
        }
        assert_eq!(cell.close_interval(2).extremes, (8.0, 9.0));
    }
}
