//! What workers count, and the cells they publish it through.
//!
//! Each kind of flow has one plain struct of counters that only grow (extremes apart)
//! and one cell type; the sampler subtracts two snapshots.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// Smallest and largest sample of the current and the previous interval. Extremes
/// cannot be subtracted, so the writer keeps them per epoch; the sampler opens epochs.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    epoch: u64,
    current: (f64, f64),
    previous: (f64, f64),
}

const NO_EXTREMES: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

impl Default for Extremes {
    fn default() -> Self {
        Self {
            epoch: 0,
            current: NO_EXTREMES,
            previous: NO_EXTREMES,
        }
    }
}

impl Extremes {
    fn roll(&mut self, epoch: u64) {
        if epoch != self.epoch {
            self.previous = if epoch == self.epoch + 1 {
                self.current
            } else {
                NO_EXTREMES
            };
            self.current = NO_EXTREMES;
            self.epoch = epoch;
        }
    }

    fn add(&mut self, sample: f64) {
        self.current.0 = self.current.0.min(sample);
        self.current.1 = self.current.1.max(sample);
    }

    /// Those of the epoch that `opened` closed.
    fn closed_by(&self, opened: u64) -> (f64, f64) {
        if self.epoch + 1 == opened {
            self.current
        } else if self.epoch == opened {
            self.previous
        } else {
            NO_EXTREMES
        }
    }
}

/// A cell for `N` words plus the epoch that the sampler opens at interval ends.
#[derive(Debug, Default)]
pub struct FlowCell<const N: usize> {
    words: SnapshotCell<N>,
    epoch: AtomicU64,
}

impl<const N: usize> FlowCell<N> {
    /// Opens the next epoch and returns its number: called by the sampler alone.
    fn next_epoch(&self) -> u64 {
        self.epoch.fetch_add(1, Ordering::AcqRel) + 1
    }
}

/// Cell of a sender.
pub type SendCell = FlowCell<6>;
/// Cell of a TCP receiver.
pub type ReceiveCell = FlowCell<12>;
/// Cell of a UDP receiver.
pub type DatagramCell = FlowCell<24>;
/// Cell of a request/response client.
pub type ExchangeCell = FlowCell<16>;

impl SendCell {
    /// Publishes the worker's counters.
    #[inline]
    pub fn publish(&self, c: &SendCounters) {
        let last = c.last.as_nanos();
        self.words
            .publish(&[c.bytes, c.writes, c.errors, c.timeouts, c.late, last]);
    }

    /// The newest counters.
    #[must_use]
    pub fn read(&self) -> SendCounters {
        let [bytes, writes, errors, timeouts, late, last] = self.words.read();
        SendCounters {
            bytes,
            writes,
            errors,
            timeouts,
            late,
            last: MonoTime::from_nanos(last),
        }
    }
}

impl ReceiveCell {
    /// Publishes the worker's counters.
    #[inline]
    pub fn publish(&self, c: &ReceiveCounters) {
        let b = &c.reads.bins;
        self.words.publish(&[
            c.bytes,
            c.reads.reads,
            c.last.as_nanos(),
            b[0],
            b[1],
            b[2],
            b[3],
            b[4],
            b[5],
            b[6],
            b[7],
            c.reads.bin_width(),
        ]);
    }

    /// The newest counters.
    #[must_use]
    pub fn read(&self) -> ReceiveCounters {
        let w = self.words.read();
        let mut reads = ReadSizes::new(w[11].saturating_mul(8));
        reads.reads = w[1];
        reads.bins.copy_from_slice(&w[3..11]);
        ReceiveCounters {
            bytes: w[0],
            reads,
            last: MonoTime::from_nanos(w[2]),
        }
    }
}

/// Keeps a UDP receiver's extremes beside its counters and publishes both.
#[derive(Debug)]
pub struct DatagramPublisher {
    cell: Arc<DatagramCell>,
    extremes: Extremes,
}

impl DatagramPublisher {
    /// The one writer of `cell`.
    #[must_use]
    pub fn new(cell: Arc<DatagramCell>) -> Self {
        Self {
            cell,
            extremes: Extremes::default(),
        }
    }

    /// Takes a transit time into the extremes of the interval, seconds.
    #[inline]
    pub fn extreme(&mut self, transit: f64) {
        self.extremes.add(transit);
    }

    /// Notices that the sampler has opened a new interval: call before a batch.
    #[inline]
    pub fn roll(&mut self) {
        self.extremes.roll(self.cell.epoch.load(Ordering::Acquire));
    }

    /// Publishes the counters: call after a batch.
    #[inline]
    pub fn publish(&self, c: &DatagramCounters) {
        let e = &self.extremes;
        self.cell.words.publish(&[
            c.bytes,
            c.received,
            c.total,
            c.lost,
            c.reordered,
            c.duplicates,
            c.skipped,
            c.out_of_order,
            c.truncated,
            c.jitter_ns.to_bits(),
            c.jitter_count,
            c.jitter_mean_ns.to_bits(),
            c.transit.count,
            c.transit.mean.to_bits(),
            c.transit.m2.to_bits(),
            c.transit.min.to_bits(),
            c.transit.max.to_bits(),
            c.last.as_nanos(),
            e.epoch,
            e.current.0.to_bits(),
            e.current.1.to_bits(),
            e.previous.0.to_bits(),
            e.previous.1.to_bits(),
            0,
        ]);
    }
}

impl DatagramCell {
    fn decode(&self) -> (DatagramCounters, Extremes) {
        let w = self.words.read();
        let f = |i: usize| f64::from_bits(w[i]);
        let counters = DatagramCounters {
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
            epoch: w[18],
            current: (f(19), f(20)),
            previous: (f(21), f(22)),
        };
        (counters, extremes)
    }

    /// The newest counters.
    #[must_use]
    pub fn read(&self) -> DatagramCounters {
        self.decode().0
    }

    /// Closes an interval: the newest counters, and the interval's extreme transit times.
    pub fn close_interval(&self) -> (DatagramCounters, (f64, f64)) {
        let opened = self.next_epoch();
        let (counters, extremes) = self.decode();
        (counters, extremes.closed_by(opened))
    }
}

/// Keeps a request/response client's extremes beside its counters and publishes both.
#[derive(Debug)]
pub struct ExchangePublisher {
    cell: Arc<ExchangeCell>,
    extremes: Extremes,
}

impl ExchangePublisher {
    /// The one writer of `cell`.
    #[must_use]
    pub fn new(cell: Arc<ExchangeCell>) -> Self {
        Self {
            cell,
            extremes: Extremes::default(),
        }
    }

    /// Takes a round trip into the extremes and publishes the counters.
    #[inline]
    pub fn publish(&mut self, c: &ExchangeCounters, round_trip: Option<f64>) {
        self.extremes.roll(self.cell.epoch.load(Ordering::Acquire));
        if let Some(sample) = round_trip {
            self.extremes.add(sample);
        }
        let (e, m) = (&self.extremes, &c.round_trips);
        self.cell.words.publish(&[
            c.sent,
            c.received,
            c.last.as_nanos(),
            m.count,
            m.mean.to_bits(),
            m.m2.to_bits(),
            m.min.to_bits(),
            m.max.to_bits(),
            c.percentiles[0].to_bits(),
            c.percentiles[1].to_bits(),
            c.percentiles[2].to_bits(),
            e.epoch,
            e.current.0.to_bits(),
            e.current.1.to_bits(),
            e.previous.0.to_bits(),
            e.previous.1.to_bits(),
        ]);
    }
}

impl ExchangeCell {
    fn decode(&self) -> (ExchangeCounters, Extremes) {
        let w = self.words.read();
        let f = |i: usize| f64::from_bits(w[i]);
        let counters = ExchangeCounters {
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
            epoch: w[11],
            current: (f(12), f(13)),
            previous: (f(14), f(15)),
        };
        (counters, extremes)
    }

    /// The newest counters.
    #[must_use]
    pub fn read(&self) -> ExchangeCounters {
        self.decode().0
    }

    /// Closes an interval: the newest counters, and the interval's extreme round trips.
    pub fn close_interval(&self) -> (ExchangeCounters, (f64, f64)) {
        let opened = self.next_epoch();
        let (counters, extremes) = self.decode();
        (counters, extremes.closed_by(opened))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let cell = Arc::new(DatagramCell::default());
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

        let receive = ReceiveCell::default();
        let mut reads = ReadSizes::new(131_072);
        reads.record(131_072);
        reads.record(5);
        let c = ReceiveCounters {
            bytes: 131_077,
            reads,
            last: MonoTime::from_nanos(3),
        };
        receive.publish(&c);
        assert_eq!(receive.read(), c);
    }

    #[test]
    fn extremes_belong_to_their_interval() {
        let cell = Arc::new(DatagramCell::default());
        let mut publisher = DatagramPublisher::new(Arc::clone(&cell));
        let mut seen = vec![];
        for (batch, closes) in [
            (vec![3.0, 1.0], true),
            (vec![], true),
            (vec![9.0, 8.0], true),
        ] {
            publisher.roll();
            for t in &batch {
                publisher.extreme(*t);
            }
            seen.extend(batch);
            publisher.publish(&counters(&seen));
            if closes {
                let (_, extremes) = cell.close_interval();
                match seen.len() {
                    2 if cell.epoch.load(Ordering::Relaxed) == 1 => {
                        assert_eq!(extremes, (1.0, 3.0))
                    }
                    2 => assert_eq!(extremes, NO_EXTREMES),
                    _ => assert_eq!(extremes, (8.0, 9.0)),
                }
            }
        }
    }

    #[test]
    fn a_worker_that_rolls_before_the_sampler_reads_loses_nothing() {
        let mut extremes = Extremes::default();
        extremes.add(5.0);
        extremes.roll(1);
        extremes.add(7.0);
        assert_eq!(extremes.closed_by(1), (5.0, 5.0));
        assert_eq!(extremes.closed_by(2), (7.0, 7.0));
    }
}
