//! Accounting for the datagrams of one flow as they arrive.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};
use tapeline_stats::{Arrival, Jitter, Loss, SequenceTracker, Transit};

use crate::counters::{DatagramCell, DatagramCounters, DatagramPublisher, LinkFaults};
use crate::frame_receive::{ArrivedFrame, FrameTracker};
use crate::histogram::HistogramRecorder;

/// One arrived datagram, as the protocol read it.
#[derive(Clone, Copy, Debug)]
pub struct ArrivedDatagram {
    /// Its number.
    pub sequence: u64,
    /// The sender's stamp.
    pub sent: WallTime,
    /// When the kernel received it.
    pub arrival: WallTime,
    /// Payload length, bytes.
    pub length: usize,
    /// It was longer than the buffer.
    pub truncated: bool,
    /// It met congestion on the way (ECN).
    pub marked: bool,
    /// The frame it belongs to.
    pub frame: Option<ArrivedFrame>,
}

/// Histograms that are wanted of a receiver.
#[derive(Debug, Default)]
pub struct ReceiverHistograms {
    /// Transit times of datagrams.
    pub transit: Option<HistogramRecorder>,
    /// Latencies of frames.
    pub frames: Option<HistogramRecorder>,
    /// Absolute differences of consecutive transit times.
    pub jitter: Option<HistogramRecorder>,
}

/// A complete frame, for rows of frames.
#[derive(Clone, Copy, Debug)]
pub struct FrameRecord {
    /// Arrival of the first datagram.
    pub start: MonoTime,
    /// Arrival of the last byte.
    pub end: MonoTime,
    /// Arrival of the last byte minus the time the frame was due, seconds.
    pub latency: Option<f64>,
    /// Smallest and largest transit time since the record before, seconds.
    pub extremes: (f64, f64),
    /// The flow's counters then.
    pub counters: DatagramCounters,
}

/// Tells of complete frames. When its reader is too slow, frames are left out.
#[derive(Debug)]
struct FrameLog {
    give: SyncSender<FrameRecord>,
    /// Arrival of the frame's first datagram, by the kernel's clock: many are fetched at once.
    began: WallTime,
    extremes: (f64, f64),
}

/// No transit time yet.
const NO_EXTREMES: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

/// What one flow received. Owned by the thread that reads the socket.
#[derive(Debug)]
pub struct DatagramReceiver {
    tracker: SequenceTracker,
    jitter: Jitter,
    transit: Transit,
    frames: FrameTracker,
    histograms: ReceiverHistograms,
    log: Option<FrameLog>,
    counters: DatagramCounters,
    publisher: DatagramPublisher,
}

impl DatagramReceiver {
    /// A receiver for numbers from `first` on.
    #[must_use]
    pub fn new(first: u64, cell: Arc<DatagramCell>, now: MonoTime) -> Self {
        let counters = DatagramCounters {
            last: now,
            transit: Transit::EMPTY.moments,
            ..DatagramCounters::default()
        };
        let publisher = DatagramPublisher::new(cell);
        publisher.publish(&counters);
        Self {
            tracker: SequenceTracker::new(first),
            jitter: Jitter::new(),
            transit: Transit::EMPTY,
            frames: FrameTracker::default(),
            histograms: ReceiverHistograms::default(),
            log: None,
            counters,
            publisher,
        }
    }

    /// Fills these histograms too.
    #[must_use]
    pub fn with_histograms(mut self, histograms: ReceiverHistograms) -> Self {
        self.histograms = histograms;
        self
    }

    /// Tells of each frame that is complete.
    #[must_use]
    pub fn with_frame_log(mut self, give: SyncSender<FrameRecord>) -> Self {
        self.log = Some(FrameLog {
            give,
            began: WallTime::default(),
            extremes: NO_EXTREMES,
        });
        self
    }

    /// Counts one datagram. Call [`publish`](Self::publish) after a batch of them.
    #[inline]
    pub fn observe(&mut self, datagram: &ArrivedDatagram, now: MonoTime) -> Arrival {
        if self.publisher.is_behind_boundary(now) {
            self.gather();
            self.publisher.at(now, &self.counters);
            self.counters.frames.latency.restart();
        }
        self.counters.bytes += datagram.length as u64;
        self.counters.truncated += u64::from(datagram.truncated);
        self.counters.marked += u64::from(datagram.marked);
        self.counters.last = now;
        let arrival = self.tracker.observe(datagram.sequence);
        match arrival {
            Arrival::InOrder { .. } => {
                let completed = self.observe_frame(datagram, now);
                let transit = self.observe_transit(datagram, now);
                let differs = self.jitter.observe(transit).is_some();
                if let Some(histogram) = self.histograms.jitter.as_mut().filter(|_| differs) {
                    let difference = self.jitter.difference_ns().saturating_abs();
                    histogram.record(difference, now, datagram.arrival);
                }
                self.tell_frame(completed, datagram.arrival, now);
            }
            Arrival::Reordered { .. } => {
                // A late datagram has a delay, but no place in the jitter series.
                let completed = self.observe_frame(datagram, now);
                self.observe_transit(datagram, now);
                self.tell_frame(completed, datagram.arrival, now);
            }
            Arrival::Duplicate | Arrival::TooOld => {}
        }
        arrival
    }

    /// Counts a datagram's transit time, nanoseconds.
    #[inline]
    fn observe_transit(&mut self, datagram: &ArrivedDatagram, now: MonoTime) -> i64 {
        let transit = datagram.arrival.nanos_since(datagram.sent);
        self.transit.observe(transit);
        self.publisher.extreme(transit as f64 * 1e-9);
        if let Some(histogram) = &mut self.histograms.transit {
            histogram.record(transit, now, datagram.arrival);
        }
        if let Some(log) = &mut self.log {
            let seconds = transit as f64 * 1e-9;
            log.extremes.0 = log.extremes.0.min(seconds);
            log.extremes.1 = log.extremes.1.max(seconds);
        }
        transit
    }

    /// Tells of a frame that a datagram has completed.
    #[inline]
    fn tell_frame(&mut self, completed: Option<Option<i64>>, arrival: WallTime, now: MonoTime) {
        let (Some(latency), true) = (completed, self.log.is_some()) else {
            return;
        };
        self.gather();
        if let Some(log) = &mut self.log {
            let lasted = u64::try_from(arrival.nanos_since(log.began)).unwrap_or(0);
            let _ = log.give.try_send(FrameRecord {
                start: now - Duration::from_nanos(lasted),
                end: now,
                latency: latency.map(|nanos| nanos as f64 * 1e-9),
                extremes: std::mem::replace(&mut log.extremes, NO_EXTREMES),
                counters: self.counters,
            });
        }
    }

    /// Counts a datagram's part of its frame; returns the latency of one that is complete.
    #[inline]
    fn observe_frame(&mut self, datagram: &ArrivedDatagram, now: MonoTime) -> Option<Option<i64>> {
        let frame = datagram.frame.as_ref()?;
        let counts = &mut self.counters.frames;
        let progress = self
            .frames
            .observe(frame, datagram.length, datagram.arrival, counts);
        if progress.begins {
            // The pause between frames says nothing about the network.
            self.jitter.skip_next_difference();
            if let Some(log) = &mut self.log {
                log.began = datagram.arrival;
            }
        }
        if let (Some(Some(latency)), Some(histogram)) =
            (progress.completed, &mut self.histograms.frames)
        {
            histogram.record(latency, now, datagram.arrival);
        }
        progress.completed
    }

    /// The flow has ended: frames that are incomplete are lost, if any datagram is; else the
    /// sender did not send more of them. Publishes.
    pub fn finish(&mut self) {
        if self.missing() > 0 {
            self.frames.finish(&mut self.counters.frames);
        }
        self.publish();
    }

    /// What is wrong below UDP; to be counted up by whoever looks.
    pub fn link_faults(&mut self) -> &mut LinkFaults {
        &mut self.counters.link
    }

    /// Makes the counters visible to the sampler.
    pub fn publish(&mut self) {
        self.gather();
        self.publisher.publish(&self.counters);
    }

    /// Brings the counters up to what the accumulators hold.
    fn gather(&mut self) {
        let counts = self.tracker.counts();
        let jitter = self.jitter.totals();
        let c = &mut self.counters;
        c.received = counts.received;
        c.total = counts.span;
        c.lost = counts.lost();
        c.reordered = counts.reordered;
        c.duplicates = counts.duplicates;
        c.skipped = counts.skipped();
        c.out_of_order = counts.out_of_order();
        c.jitter_ns = jitter.current;
        c.jitter_count = jitter.running.count;
        c.jitter_mean_ns = jitter.running.mean;
        c.transit = self.transit.moments;
    }

    /// The counters as last published.
    #[must_use]
    pub fn counters(&self) -> &DatagramCounters {
        &self.counters
    }

    /// Loss, with runs; `sent` when the sender's own count is known.
    #[must_use]
    pub fn loss(&self, sent: Option<u64>) -> Loss {
        self.tracker.finish(sent)
    }

    /// Numbers missing so far, below the highest seen.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.tracker.counts().lost()
    }

    /// Highest number seen.
    #[must_use]
    pub fn highest(&self) -> Option<u64> {
        self.tracker.highest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Intervals;

    fn datagram(sequence: u64, sent_ms: i64, arrived_ms: i64) -> ArrivedDatagram {
        ArrivedDatagram {
            sequence,
            sent: WallTime::from_nanos(sent_ms * 1_000_000),
            arrival: WallTime::from_nanos(arrived_ms * 1_000_000),
            length: 100,
            truncated: false,
            marked: false,
            frame: None,
        }
    }

    #[test]
    fn duplicates_and_reordering_are_kept_apart() {
        let cell = Arc::new(DatagramCell::new(Intervals::new(MonoTime::ZERO, None)));
        let mut receiver = DatagramReceiver::new(1, Arc::clone(&cell), MonoTime::ZERO);
        let arrivals = [1, 2, 3, 6, 4, 5, 7, 7, 10, 8];
        for (i, sequence) in arrivals.into_iter().enumerate() {
            let at = 5 + 20 * i as i64;
            receiver.observe(&datagram(sequence, 20 * i as i64, at), MonoTime::ZERO);
        }
        receiver.publish();
        let c = cell.read();
        assert_eq!((c.received, c.duplicates, c.reordered), (9, 1, 3));
        assert_eq!((c.lost, c.total), (1, 10));
        assert_eq!((c.skipped, c.out_of_order), (4, 4));
        assert_eq!(c.bytes, 1000);
        assert_eq!(c.transit.count, 9);
        assert!((c.transit.mean - 0.005).abs() < 1e-12);
    }
}
