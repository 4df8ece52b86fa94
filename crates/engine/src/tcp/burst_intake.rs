//! A received stream of stamped bursts: their latency, and what is missing.
//!
//! ```text
//!  preamble? │ header, payload │ header, payload │ …
//!            └──── burst ──────┘
//! ```
//!
//! Reads are cut where a burst is expected to end, so that one call takes a burst and the
//! time after it is the arrival of the burst's last byte. Where the guess is wrong the
//! bytes are distinguished all the same. When something else stands where a burst should
//! begin, only bytes are counted from then on.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use tapeline_base::{Clock, MonoTime, WallTime};
use tapeline_stats::ReadSizes;
use tapeline_sys::SystemClock;

use super::receive::{Intake, NextRead};
use crate::counters::{BurstCell, BurstCounters, BurstPublisher};
use crate::histogram::HistogramRecorder;

/// Most bytes of a preamble or a burst's header.
const HELD: usize = 256;

/// What the header of a burst says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstHead {
    /// Its number, from 1.
    pub id: u32,
    /// Its bytes, the header included.
    pub size: u32,
    /// When it was written.
    pub written: WallTime,
}

/// What stands before the first burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// So many bytes in all are needed to see.
    Need(usize),
    /// So many bytes; none is 0.
    Length(usize),
}

/// Reads the protocol's own bytes in a stream of bursts.
pub trait BurstFormat: Send {
    /// Bytes of a burst's header, 1 to 256.
    const HEADER: usize;
    /// Reads a header; `None` when it cannot be one.
    fn head(&self, header: &[u8]) -> Option<BurstHead>;
    /// What stands before the first burst, of which `bytes` have arrived.
    fn preamble(&self, bytes: &[u8]) -> Preamble;
}

/// From when on a burst's latency counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyFrom {
    /// The sender's stamp: the clocks agree.
    Stamp,
    /// The arrival of the first byte.
    FirstByte,
}

/// A complete burst, for rows of bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstRecord {
    /// Arrival of the first byte.
    pub start: MonoTime,
    /// Arrival of the last byte.
    pub end: MonoTime,
    /// Bytes.
    pub bytes: u64,
    /// Reads that it took.
    pub reads: ReadSizes,
    /// Latency, seconds.
    pub latency: f64,
}

/// Orders for a [`BurstIntake`].
#[derive(Debug)]
pub struct BurstPlan {
    /// Cell for the counters.
    pub cell: Arc<BurstCell>,
    /// Longest read, bytes: makes the bins of their sizes.
    pub length: usize,
    /// Bytes that were received before (the test header) and count.
    pub already: u64,
    /// From when on latency counts.
    pub latency_from: LatencyFrom,
    /// Payload is left in the kernel: headers are read alone.
    pub discard: bool,
    /// Receives every latency.
    pub histogram: Option<HistogramRecorder>,
    /// Receives every burst; full, it loses some.
    pub log: Option<SyncSender<BurstRecord>>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Preamble,
    Header,
    Payload { left: usize },
    Broken,
}

/// Distinguishes bursts and measures them.
#[derive(Debug)]
pub struct BurstIntake<F> {
    format: F,
    plan: BurstPlan,
    counters: BurstCounters,
    publisher: BurstPublisher,
    place: Place,
    /// Bytes of a preamble or header that have arrived.
    held: [u8; HELD],
    count: usize,
    /// Bytes that preamble or header need in all.
    needed: usize,
    head: BurstHead,
    first_byte: MonoTime,
    /// Reads before the burst.
    before: ReadSizes,
    /// Size of the burst before, the guess for the next.
    usual: usize,
}

impl<F: BurstFormat> BurstIntake<F> {
    /// Nothing of the stream read yet. `preamble`: something may stand before the first burst.
    #[must_use]
    pub fn new(format: F, plan: BurstPlan, preamble: bool, now: MonoTime) -> Self {
        let mut counters = BurstCounters::new(ReadSizes::new(plan.length as u64));
        counters.receive.last = now;
        if plan.already > 0 {
            counters.receive.bytes = plan.already;
            counters.receive.reads.record(plan.already);
        }
        let publisher = BurstPublisher::new(Arc::clone(&plan.cell));
        publisher.publish(&counters);
        let mut intake = Self {
            format,
            plan,
            before: counters.receive.reads,
            counters,
            publisher,
            place: Place::Preamble,
            held: [0; HELD],
            count: 0,
            needed: 0,
            head: BurstHead {
                id: 0,
                size: 0,
                written: WallTime::default(),
            },
            first_byte: now,
            usual: F::HEADER,
        };
        if preamble {
            intake.look_at_preamble(now);
        } else {
            intake.begin_bursts(0, now);
        }
        intake
    }

    /// Decides on what stands before the first burst, by the bytes held.
    fn look_at_preamble(&mut self, now: MonoTime) {
        match self.format.preamble(&self.held[..self.count]) {
            Preamble::Need(needed) if needed > self.count && needed <= HELD => {
                self.needed = needed;
            }
            Preamble::Need(_) => self.give_up(),
            Preamble::Length(length) if length <= self.count => self.begin_bursts(length, now),
            Preamble::Length(length) if length <= HELD => self.needed = length,
            Preamble::Length(_) => self.give_up(),
        }
    }

    /// Bursts begin; what is held beyond `used` bytes is the front of the first ones.
    fn begin_bursts(&mut self, used: usize, now: MonoTime) {
        let (held, count) = (self.held, self.count);
        self.count = 0;
        self.needed = F::HEADER;
        self.place = Place::Header;
        self.sort(&held[used..count], now);
    }

    fn give_up(&mut self) {
        self.place = Place::Broken;
        self.counters.broken = true;
    }

    /// Takes bytes of one read that returned at `now`.
    fn sort(&mut self, mut data: &[u8], now: MonoTime) {
        while !data.is_empty() {
            match self.place {
                Place::Preamble | Place::Header => {
                    if self.count == 0 {
                        self.first_byte = now;
                    }
                    let take = (self.needed - self.count).min(data.len());
                    self.held[self.count..self.count + take].copy_from_slice(&data[..take]);
                    self.count += take;
                    data = &data[take..];
                    if self.count == self.needed {
                        self.held_is_complete(now);
                    }
                }
                Place::Payload { left } => {
                    let take = left.min(data.len());
                    data = &data[take..];
                    self.pass(left - take, now);
                }
                Place::Broken => return,
            }
        }
    }

    fn held_is_complete(&mut self, now: MonoTime) {
        if matches!(self.place, Place::Preamble) {
            return self.look_at_preamble(now);
        }
        let head = self.format.head(&self.held[..F::HEADER]);
        let Some(head) = head.filter(|head| head.size as usize >= F::HEADER) else {
            return self.give_up();
        };
        let gap = head.id.saturating_sub(self.head.id.saturating_add(1));
        self.counters.skipped += u64::from(gap);
        self.head = head;
        self.count = 0;
        self.pass(head.size as usize - F::HEADER, now);
    }

    /// `left` bytes of the burst are still to come.
    fn pass(&mut self, left: usize, now: MonoTime) {
        if left > 0 {
            self.place = Place::Payload { left };
            return;
        }
        self.needed = F::HEADER;
        self.place = Place::Header;
        self.usual = self.head.size as usize;
        self.complete(now);
    }

    fn complete(&mut self, now: MonoTime) {
        let wall = SystemClock.wall();
        let latency_ns = match self.plan.latency_from {
            LatencyFrom::Stamp => wall.nanos_since(self.head.written),
            LatencyFrom::FirstByte => {
                i64::try_from(now.since(self.first_byte).as_nanos()).unwrap_or(i64::MAX)
            }
        };
        let latency = latency_ns as f64 * 1e-9;
        let counters = &mut self.counters;
        self.publisher.extreme(latency);
        counters.latency.add(latency);
        counters.complete += u64::from(self.head.size);
        if let Some(histogram) = &mut self.plan.histogram {
            histogram.record(latency_ns, now, wall);
        }
        if let Some(log) = &self.plan.log {
            let _ = log.try_send(BurstRecord {
                start: self.first_byte,
                end: now,
                bytes: u64::from(self.head.size),
                reads: counters.receive.reads.since(&self.before),
                latency,
            });
            self.before = counters.receive.reads;
        }
    }
}

impl<F: BurstFormat> Intake for BurstIntake<F> {
    #[inline]
    fn bytes(&self) -> u64 {
        self.counters.receive.bytes
    }

    #[inline]
    fn last(&self) -> MonoTime {
        self.counters.receive.last
    }

    fn next_read(&self, length: usize) -> NextRead {
        let (wanted, content) = match self.place {
            Place::Preamble => (self.needed - self.count, true),
            Place::Header if self.plan.discard => (F::HEADER - self.count, true),
            Place::Header => (self.usual.saturating_sub(self.count), true),
            Place::Payload { left } => (left, false),
            Place::Broken => (length, false),
        };
        NextRead {
            length: wanted.clamp(1, length),
            content,
        }
    }

    fn take(&mut self, count: usize, data: &[u8], now: MonoTime) {
        self.publisher.at(now, &self.counters);
        let receive = &mut self.counters.receive;
        receive.bytes += count as u64;
        receive.reads.record(count as u64);
        receive.last = now;
        if data.is_empty() {
            // Payload that stayed in the kernel: never more than the burst has left.
            if let Place::Payload { left } = self.place {
                self.pass(left.saturating_sub(count), now);
            }
        } else {
            self.sort(data, now);
        }
        self.publisher.publish(&self.counters);
    }

    fn publish(&self) {
        self.publisher.publish(&self.counters);
    }

    fn next_boundary(&self) -> MonoTime {
        self.publisher.next_boundary()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::counters::Intervals;

    /// Asks for 40 bytes before it knows that they are bursts.
    struct Late;

    impl BurstFormat for Late {
        const HEADER: usize = 4;

        fn head(&self, header: &[u8]) -> Option<BurstHead> {
            Tiny.head(header)
        }

        fn preamble(&self, bytes: &[u8]) -> Preamble {
            if bytes.len() < 40 {
                Preamble::Need(40)
            } else {
                Preamble::Length(0)
            }
        }
    }

    /// Headers of four bytes: a mark, number, size, and a stamp of 0.
    struct Tiny;

    impl BurstFormat for Tiny {
        const HEADER: usize = 4;

        fn head(&self, header: &[u8]) -> Option<BurstHead> {
            (header[0] == b'H').then(|| BurstHead {
                id: u32::from(header[1]),
                size: u32::from(header[2]),
                written: WallTime::default(),
            })
        }

        fn preamble(&self, bytes: &[u8]) -> Preamble {
            match bytes {
                [] => Preamble::Need(2),
                [b'P', length, ..] => Preamble::Length(usize::from(*length)),
                _ => Preamble::Length(0),
            }
        }
    }

    fn at(millis: u64) -> MonoTime {
        MonoTime::from_nanos(millis * 1_000_000)
    }

    fn intake(preamble: bool) -> (BurstIntake<Tiny>, mpsc::Receiver<BurstRecord>) {
        intake_of(Tiny, preamble)
    }

    fn intake_of<F: BurstFormat>(
        format: F,
        preamble: bool,
    ) -> (BurstIntake<F>, mpsc::Receiver<BurstRecord>) {
        let (give, log) = mpsc::sync_channel(100);
        let plan = BurstPlan {
            cell: Arc::new(BurstCell::new(Intervals::new(at(0), None))),
            length: 64,
            already: 0,
            latency_from: LatencyFrom::FirstByte,
            discard: false,
            histogram: None,
            log: Some(give),
        };
        (BurstIntake::new(format, plan, preamble, at(0)), log)
    }

    fn burst(id: u8, size: u8) -> Vec<u8> {
        let mut bytes = vec![b'H', id, size, 0];
        bytes.resize(usize::from(size), b'x');
        bytes
    }

    #[test]
    fn bursts_are_distinguished_however_the_stream_is_cut() {
        let mut stream = vec![b'P', 7, 0, 0, 0, 0, 0];
        for (id, size) in [(1, 10), (2, 4), (5, 30), (6, 30)] {
            stream.extend(burst(id, size));
        }
        for cut in 1..=stream.len() {
            let (mut intake, log) = intake(true);
            for (part, millis) in stream.chunks(cut).zip(1..) {
                intake.take(part.len(), part, at(millis));
            }
            let counters = intake.counters;
            assert_eq!(counters.receive.bytes, stream.len() as u64, "{cut}");
            assert_eq!((counters.latency.count, counters.complete), (4, 74));
            assert_eq!(counters.skipped, 2);
            assert!(!counters.broken);
            let bytes: Vec<u64> = log.try_iter().map(|record| record.bytes).collect();
            assert_eq!(bytes, [10, 4, 30, 30]);
        }
    }

    #[test]
    fn latency_ends_with_the_last_byte() {
        let (mut intake, log) = intake(false);
        let bytes = burst(1, 20);
        intake.take(4, &bytes[..4], at(10));
        intake.take(10, &bytes[4..14], at(20));
        assert_eq!(intake.next_read(64).length, 6);
        intake.take(6, &bytes[14..], at(35));
        let record = log.try_recv().expect("a burst");
        assert_eq!((record.start, record.end), (at(10), at(35)));
        assert!((record.latency - 0.025).abs() < 1e-12);
        assert_eq!(record.reads.reads, 3);
        // The next one is expected to be as long.
        assert_eq!(
            intake.next_read(64),
            NextRead {
                length: 20,
                content: true
            }
        );
    }

    #[test]
    fn a_preamble_may_be_missing() {
        let (mut intake, _log) = intake(true);
        let bytes = burst(1, 20);
        assert_eq!(intake.next_read(64).length, 2);
        intake.take(2, &bytes[..2], at(1));
        intake.take(18, &bytes[2..], at(2));
        assert_eq!(intake.counters.latency.count, 1);
    }

    #[test]
    fn something_else_in_place_of_a_burst_is_counted_only() {
        for wrong in [&b"nonsense"[..], &[b'H', 1, 3, 0]] {
            let (mut intake, _log) = intake(false);
            intake.take(20, &burst(1, 20), at(1));
            intake.take(wrong.len(), wrong, at(2));
            intake.take(20, &burst(2, 20), at(3));
            assert!(intake.counters.broken);
            assert_eq!(intake.counters.latency.count, 1);
            assert_eq!(intake.counters.receive.bytes, 40 + wrong.len() as u64);
        }
    }

    #[test]
    fn bursts_within_what_was_taken_for_a_preamble_are_not_lost() {
        let mut stream = Vec::new();
        for (id, size) in [(1, 10), (2, 4), (3, 12), (4, 30)] {
            stream.extend(burst(id, size));
        }
        for cut in [1, 7, 40, 56] {
            let (mut intake, log) = intake_of(Late, true);
            for part in stream.chunks(cut) {
                intake.take(part.len(), part, at(1));
            }
            let bytes: Vec<u64> = log.try_iter().map(|record| record.bytes).collect();
            assert_eq!(bytes, [10, 4, 12, 30], "{cut}");
        }
    }

    #[test]
    fn no_stream_stops_the_intake() {
        let mut random = tapeline_stats::Random::seeded(11);
        for _ in 0..3_000 {
            let (mut intake, _log) = intake(random.bits() & 1 == 0);
            let mut total = 0;
            for _ in 0..20 {
                let count = intake.next_read(64).length;
                assert!((1..=64).contains(&count));
                let count = 1 + (random.bits() as usize) % count;
                // Mostly headers and small numbers, so that bursts happen.
                let data: Vec<u8> = (0..count)
                    .map(|_| match random.bits() % 4 {
                        0 => b'H',
                        1 => b'P',
                        _ => (random.bits() % 70) as u8,
                    })
                    .collect();
                intake.take(count, &data, at(total));
                total += count as u64;
            }
            assert_eq!(intake.bytes(), total);
        }
    }
}
