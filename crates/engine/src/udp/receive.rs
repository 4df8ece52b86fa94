//! Accounting for the datagrams of one flow as they arrive.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tapeline_base::{MonoTime, WallTime, whole_nanos};
use tapeline_stats::{Arrival, Jitter, Loss, OutageWatch, SequenceTracker, Transit};

use super::frame_receive::{ArrivedFrame, FrameTracker};
use crate::counters::{
    ArrivalPattern, DatagramCell, DatagramCounters, DatagramPublisher, LinkFaults,
};
use crate::delay_recorder::DelayRecorder;
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
    /// It came joined with others, and shares its arrival with them.
    pub joined: bool,
    /// The frame it belongs to.
    pub frame: Option<ArrivedFrame>,
}

/// Datagrams that count on from one that arrived with them: consecutive numbers, the same send
/// stamp, the same arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Followers {
    /// How many.
    pub count: u64,
    /// Their payloads together, bytes.
    pub bytes: u64,
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

/// Reports complete frames. When its reader is too slow, frames are left out.
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
    delays: Option<DelayRecorder>,
    /// By the stamps of arrival, as if they were of a steady clock.
    outages: OutageWatch,
    /// The first of them.
    first: Option<MonoTime>,
    /// The last one.
    latest: MonoTime,
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
            delays: None,
            outages: OutageWatch::default(),
            first: None,
            latest: MonoTime::ZERO,
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

    /// Counts each transit time in buckets too.
    #[must_use]
    pub fn with_delays(mut self, delays: DelayRecorder) -> Self {
        self.delays = Some(delays);
        self
    }

    /// Reports each frame that is complete.
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
            self.counters.pattern.interval_extent = 0;
        }
        self.counters.bytes += datagram.length as u64;
        self.counters.truncated += u64::from(datagram.truncated);
        self.counters.marked += u64::from(datagram.marked);
        self.counters.joined += u64::from(datagram.joined);
        self.counters.last = now;
        let stamp = u64::try_from(datagram.arrival.as_nanos()).unwrap_or(0);
        let stamp = MonoTime::from_nanos(stamp);
        self.first.get_or_insert(stamp);
        self.latest = stamp;
        let arrival = self.tracker.observe(datagram.sequence);
        self.outages.observe(stamp, datagram.sent, arrival);
        match arrival {
            Arrival::InOrder { .. } => {
                let completed = self.observe_frame(datagram, now);
                self.observe_jitter(datagram, now);
                self.record_frame(completed, datagram.arrival, now);
            }
            Arrival::Reordered { extent } => {
                let longest = &mut self.counters.pattern.interval_extent;
                *longest = extent.max(*longest);
                // Jitter is about the order of arrival (RFC 3550), whatever the numbers are.
                let completed = self.observe_frame(datagram, now);
                self.observe_jitter(datagram, now);
                self.record_frame(completed, datagram.arrival, now);
            }
            Arrival::Duplicate | Arrival::TooOld => {}
        }
        arrival
    }

    /// Counts one datagram and those that count on from it, as [`observe`](Self::observe) would
    /// one by one.
    #[inline]
    pub fn observe_run(&mut self, first: &ArrivedDatagram, followers: Followers, now: MonoTime) {
        let arrival = self.observe(first, now);
        if followers.count == 0 {
            return;
        }
        if matches!(arrival, Arrival::InOrder { .. }) && !self.wants_each() {
            self.observe_followers(first, followers, now);
        } else {
            self.observe_each(first, followers, now);
        }
    }

    /// Somebody wants to see each datagram.
    fn wants_each(&self) -> bool {
        let ReceiverHistograms {
            transit,
            frames,
            jitter,
        } = &self.histograms;
        transit.is_some() || frames.is_some() || jitter.is_some() || self.log.is_some()
    }

    /// `first` was in order: the rest is too, and each takes as long as the first did.
    #[inline]
    fn observe_followers(&mut self, first: &ArrivedDatagram, rest: Followers, now: MonoTime) {
        let c = &mut self.counters;
        c.bytes += rest.bytes;
        c.truncated += rest.count * u64::from(first.truncated);
        c.marked += rest.count * u64::from(first.marked);
        c.joined += rest.count * u64::from(first.joined);
        c.last = now;
        self.tracker.observe_next(rest.count);
        let transit = first.arrival.nanos_since(first.sent);
        self.transit.observe_many(transit, rest.count);
        if let Some(delays) = &mut self.delays {
            delays.record(transit, rest.count, first.arrival);
        }
        self.jitter.observe_equal(rest.count);
    }

    #[cold]
    fn observe_each(&mut self, first: &ArrivedDatagram, rest: Followers, now: MonoTime) {
        let mut left = rest.bytes;
        for ahead in 1..=rest.count {
            // Only the last one may be shorter.
            let length = left.min(first.length as u64);
            left -= length;
            let next = ArrivedDatagram {
                sequence: first.sequence + ahead,
                length: length as usize,
                ..*first
            };
            self.observe(&next, now);
        }
    }

    /// Counts a datagram's transit time, and how it differs from the one before.
    #[inline]
    fn observe_jitter(&mut self, datagram: &ArrivedDatagram, now: MonoTime) {
        let transit = self.observe_transit(datagram, now);
        let differs = self.jitter.observe(transit).is_some();
        if let Some(histogram) = self.histograms.jitter.as_mut().filter(|_| differs) {
            let difference = self.jitter.difference_ns().saturating_abs();
            histogram.record(difference, now, datagram.arrival);
        }
    }

    /// Counts a datagram's transit time, nanoseconds.
    #[inline]
    fn observe_transit(&mut self, datagram: &ArrivedDatagram, now: MonoTime) -> i64 {
        let transit = datagram.arrival.nanos_since(datagram.sent);
        self.transit.observe(transit);
        self.publisher.extreme(transit as f64 * 1e-9);
        if let Some(delays) = &mut self.delays {
            delays.record(transit, 1, datagram.arrival);
        }
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

    /// Reports a frame that a datagram has completed.
    #[inline]
    fn record_frame(&mut self, completed: Option<Option<i64>>, arrival: WallTime, now: MonoTime) {
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
        self.counters.pattern = self.pattern();
        self.publish();
    }

    fn pattern(&self) -> ArrivalPattern {
        let runs = self.tracker.loss_runs();
        let arrivals = self.tracker.counts().received.max(1);
        let span = self
            .first
            .map_or(Duration::ZERO, |first| self.latest.since(first));
        let spacing = Duration::from_nanos(whole_nanos(span) / arrivals);
        let outage = self.outages.longest(spacing).zip(self.first);
        ArrivalPattern {
            longest_extent: self.tracker.counts().longest_extent,
            interval_extent: self.counters.pattern.interval_extent,
            loss_runs: runs.count,
            longest_loss_run: runs.longest,
            outage_ns: outage.map_or(0, |(longest, _)| whole_nanos(longest.length)),
            outage_start_ns: outage.map_or(0, |(longest, first)| {
                whole_nanos(longest.start.since(first))
            }),
        }
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
        c.pattern.loss_runs = self.tracker.open_runs();
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
            joined: false,
            frame: None,
        }
    }

    #[test]
    fn runs_count_as_their_datagrams_do() {
        let receiver = || {
            let cell = Arc::new(DatagramCell::new(Intervals::new(MonoTime::ZERO, None)));
            DatagramReceiver::new(1, cell, MonoTime::ZERO)
        };
        let (mut single, mut runs) = (receiver(), receiver());
        // First number, followers, transit time in milliseconds: in order, behind a gap, into
        // the gap, again, and onwards.
        for (sequence, followers, transit) in [
            (1, 43, 5),
            (60, 43, 9),
            (45, 9, 30),
            (45, 9, 40),
            (104, 0, 2),
            (105, 63, 7),
        ] {
            let first = ArrivedDatagram {
                joined: followers > 0,
                ..datagram(sequence, 100, 100 + transit)
            };
            let rest = Followers {
                count: followers,
                bytes: followers * 100,
            };
            runs.observe_run(&first, rest, MonoTime::ZERO);
            for ahead in 0..=followers {
                let next = ArrivedDatagram {
                    sequence: sequence + ahead,
                    ..first
                };
                single.observe(&next, MonoTime::ZERO);
            }
        }
        single.publish();
        runs.publish();
        let (one, all) = (*single.counters(), *runs.counters());
        assert!(
            (one.jitter_ns - all.jitter_ns).abs() < 1e-3,
            "{one:?} {all:?}"
        );
        assert!((one.jitter_mean_ns - all.jitter_mean_ns).abs() < 1e-3);
        assert!((one.transit.mean - all.transit.mean).abs() < 1e-12);
        assert!((one.transit.m2 - all.transit.m2).abs() < 1e-9);
        let exact = DatagramCounters {
            jitter_ns: one.jitter_ns,
            jitter_mean_ns: one.jitter_mean_ns,
            transit: one.transit,
            ..all
        };
        assert_eq!(one, exact);
        assert_eq!((all.received, all.lost, all.duplicates), (163, 5, 10));
        assert_eq!(single.loss(None), runs.loss(None));
    }

    #[test]
    fn the_end_reports_how_losses_lie_in_the_flow() {
        let cell = Arc::new(DatagramCell::new(Intervals::new(MonoTime::ZERO, None)));
        let mut receiver = DatagramReceiver::new(1, Arc::clone(&cell), MonoTime::ZERO);
        // 3 is lost, 5 to 8 are; 10 comes two too late; nothing comes for 240 ms.
        let arrivals = [
            (1, 10),
            (2, 20),
            (4, 40),
            (9, 280),
            (11, 290),
            (12, 300),
            (10, 310),
        ];
        for (sequence, at) in arrivals {
            receiver.observe(&datagram(sequence, at - 5, at), MonoTime::ZERO);
        }
        assert_eq!(cell.read().pattern, ArrivalPattern::default());
        receiver.publish();
        let so_far = ArrivalPattern {
            interval_extent: 2,
            loss_runs: 2,
            ..ArrivalPattern::default()
        };
        assert_eq!(cell.read().pattern, so_far);
        receiver.finish();
        let expected = ArrivalPattern {
            longest_extent: 2,
            interval_extent: 2,
            loss_runs: 2,
            longest_loss_run: 4,
            // What is beyond their mean distance, 300 ms for seven of them.
            outage_ns: 240_000_000 - 42_857_142,
            outage_start_ns: 30_000_000,
        };
        assert_eq!(cell.read().pattern, expected);
    }

    #[test]
    fn each_interval_has_its_own_extent_and_all_runs_so_far() {
        let second = Some(Duration::from_secs(1));
        let cell = Arc::new(DatagramCell::new(Intervals::new(MonoTime::ZERO, second)));
        let mut receiver = DatagramReceiver::new(1, Arc::clone(&cell), MonoTime::ZERO);
        let mut observe = |at: u64, sequences: &[u64]| {
            for sequence in sequences {
                let now = MonoTime::ZERO + Duration::from_millis(at);
                receiver.observe(&datagram(*sequence, 0, at as i64), now);
            }
            receiver.publish();
        };
        let losses = |index| {
            let pattern = cell.close_interval(index).counters.pattern;
            (pattern.interval_extent, pattern.loss_runs)
        };
        // 2 comes two too late, and 5 out of the run of 5 and 6.
        observe(100, &[1, 3, 4, 2, 7, 5]);
        assert_eq!(losses(0), (2, 1));
        observe(1100, &[8, 10, 9, 12]);
        assert_eq!((losses(0), losses(1)), ((2, 1), (1, 2)));
        // 6 comes behind eight others with higher numbers.
        observe(2100, &[13, 11, 6]);
        assert_eq!((losses(1), losses(2)), ((1, 2), (8, 0)));
    }

    #[test]
    fn late_datagrams_have_their_place_in_the_jitter() {
        let cell = Arc::new(DatagramCell::new(Intervals::new(MonoTime::ZERO, None)));
        let mut receiver = DatagramReceiver::new(1, Arc::clone(&cell), MonoTime::ZERO);
        // Number, departure and arrival in milliseconds: 2 is overtaken, 3 comes twice.
        let arrivals = [(1, 0, 8), (3, 2, 9), (3, 2, 9), (2, 1, 11), (4, 3, 14)];
        let mut expected = 0.0;
        let mut transits = Vec::new();
        for (at, (sequence, sent, arrived)) in arrivals.into_iter().enumerate() {
            receiver.observe(&datagram(sequence, sent, arrived), MonoTime::ZERO);
            if at != 2 {
                transits.push((arrived - sent) as f64 * 1e6);
            }
        }
        for pair in transits.windows(2) {
            expected += ((pair[1] - pair[0]).abs() - expected) / 16.0;
        }
        receiver.publish();
        let jitter = cell.read().jitter_ns;
        assert!((jitter - expected).abs() < 1.0, "{jitter} {expected}");
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
