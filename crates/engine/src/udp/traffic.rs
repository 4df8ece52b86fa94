//! Shapes of UDP traffic: when the next datagram leaves, and how long it is.

use std::time::Duration;

use tapeline_base::MonoTime;

use super::length_chain::LengthChain;
use crate::pacing::{
    Frame, FrameClock, FrameCounts, FrameSizes, Schedule, SteeredRate, VariableRate,
};

/// When a sender's datagrams leave and how long they are. Lengths never exceed the
/// template's.
#[derive(Debug)]
pub enum UdpTraffic {
    /// Equal datagrams, as fast as possible.
    Unpaced,
    /// Equal datagrams on a schedule.
    Paced(Schedule),
    /// Equal datagrams at a changing rate.
    Variable(VariableRate),
    /// Equal datagrams at a rate that another thread sets.
    Steered(SteeredRate),
    /// Frames or bursts at the ticks of a clock.
    Frames(FrameTraffic),
    /// Datagrams of changing length.
    Lengths(LengthTraffic),
}

/// Where a datagram stands in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePart {
    /// The frame.
    pub frame: Frame,
    /// Its bytes.
    pub size: u32,
    /// Bytes that remain of it, this datagram's included.
    pub remaining: u32,
}

/// Frames cut into datagrams.
#[derive(Debug)]
pub struct FrameTraffic {
    clock: FrameClock,
    sizes: FrameSizes,
    /// Length of a full datagram, bytes.
    full: u32,
    /// No datagram is shorter, bytes.
    shortest: u32,
    /// From one datagram of a frame to the next.
    gap: Duration,
    /// What is being sent: the frame, and when its next datagram is due.
    running: Option<(FramePart, MonoTime)>,
}

impl FrameTraffic {
    /// Frames at the ticks of `clock`, cut into datagrams of `full` bytes (at least 1); the
    /// last one of a frame is shorter, but has at least `shortest` bytes. Datagrams of a frame
    /// follow each other at once, or after `gap`.
    #[must_use]
    pub fn new(
        clock: FrameClock,
        sizes: FrameSizes,
        full: u32,
        shortest: u32,
        gap: Duration,
    ) -> Self {
        let full = full.max(1);
        Self {
            clock,
            sizes,
            full,
            shortest: shortest.clamp(1, full),
            gap,
            running: None,
        }
    }

    fn due(&self, now: MonoTime) -> MonoTime {
        match &self.running {
            Some((_, due)) => *due,
            None => self.clock.next(now).due,
        }
    }

    /// The datagram to send at `now`; begins a frame where none is running. A frame has at
    /// most `left` bytes.
    fn part(&mut self, now: MonoTime, left: u64) -> FramePart {
        if let Some((part, _)) = self.running {
            return part;
        }
        let frame = self.clock.next(now);
        self.clock.begin(frame, now);
        let max = u32::try_from(left).unwrap_or(u32::MAX);
        let drawn = self.sizes.draw().min(max);
        let size = self.with_a_full_tail(drawn);
        let part = FramePart {
            frame,
            size,
            remaining: size,
        };
        self.running = Some((part, now));
        part
    }

    /// A size whose last datagram is not too short.
    fn with_a_full_tail(&self, size: u32) -> u32 {
        let tail = size % self.full;
        if (1..self.shortest).contains(&tail) || size == 0 {
            size - tail + self.shortest
        } else {
            size
        }
    }

    fn sent(&mut self, bytes: u64, now: MonoTime) {
        let Some((part, due)) = &mut self.running else {
            return;
        };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        part.remaining = part.remaining.saturating_sub(bytes);
        *due += self.gap;
        // Datagrams that are late keep half the gap from each other.
        *due = (*due).max(now + self.gap / 2);
        if part.remaining == 0 {
            self.running = None;
        }
    }
}

/// Datagrams whose lengths a Markov chain draws.
#[derive(Debug)]
pub struct LengthTraffic {
    chain: LengthChain,
    pace: LengthPace,
}

/// What is kept constant while lengths change.
#[derive(Debug)]
pub enum LengthPace {
    /// Nothing: as fast as possible.
    Unpaced,
    /// Datagrams per second: a unit of the schedule is a datagram.
    Datagrams(Schedule),
    /// Bits per second: a unit of the schedule is a byte.
    Bytes(Schedule),
}

impl LengthTraffic {
    /// Datagrams with lengths of `chain` at this pace.
    #[must_use]
    pub fn new(chain: LengthChain, pace: LengthPace) -> Self {
        Self { chain, pace }
    }

    fn due(&self) -> Option<MonoTime> {
        match &self.pace {
            LengthPace::Unpaced => None,
            LengthPace::Datagrams(schedule) | LengthPace::Bytes(schedule) => Some(schedule.due()),
        }
    }

    fn sent(&mut self, bytes: u64, now: MonoTime) {
        match &mut self.pace {
            LengthPace::Unpaced => {}
            LengthPace::Datagrams(schedule) => schedule.sent(1, now),
            LengthPace::Bytes(schedule) => schedule.sent(bytes, now),
        }
        self.chain.step();
    }

    fn schedule(&self) -> Option<&Schedule> {
        match &self.pace {
            LengthPace::Unpaced => None,
            LengthPace::Datagrams(schedule) | LengthPace::Bytes(schedule) => Some(schedule),
        }
    }
}

impl UdpTraffic {
    /// On `schedule`, or as fast as possible without one.
    #[must_use]
    pub fn steady(schedule: Option<Schedule>) -> Self {
        schedule.map_or(Self::Unpaced, Self::Paced)
    }

    /// When the next datagram may leave, for a sender that is free at `now`; `None` is at
    /// once.
    #[inline]
    pub(crate) fn due(&self, now: MonoTime) -> Option<MonoTime> {
        match self {
            Self::Unpaced => None,
            Self::Paced(schedule) => Some(schedule.due()),
            Self::Variable(rate) => Some(rate.due()),
            Self::Steered(rate) => Some(rate.due()),
            Self::Frames(frames) => Some(frames.due(now)),
            Self::Lengths(lengths) => lengths.due(),
        }
    }

    /// A frame has begun and is not complete: it is finished even if the time is over.
    #[inline]
    pub(crate) fn is_in_frame(&self) -> bool {
        matches!(self, Self::Frames(frames) if frames.running.is_some())
    }

    /// Length of the next datagram that leaves at `now`, and its place in a frame. `full` is
    /// the template's length, `left` what may still be sent.
    #[inline]
    pub(crate) fn next(
        &mut self,
        now: MonoTime,
        full: usize,
        left: u64,
    ) -> (usize, Option<FramePart>) {
        match self {
            Self::Unpaced | Self::Paced(_) | Self::Variable(_) | Self::Steered(_) => (full, None),
            Self::Frames(frames) => {
                let part = frames.part(now, left);
                (part.remaining.min(frames.full) as usize, Some(part))
            }
            Self::Lengths(lengths) => (lengths.chain.length() as usize, None),
        }
    }

    /// Records that `datagrams` of `bytes` bytes together left at `now`.
    #[inline]
    pub(crate) fn sent(&mut self, datagrams: u64, bytes: u64, now: MonoTime) {
        match self {
            Self::Unpaced => {}
            Self::Paced(schedule) => schedule.sent(datagrams, now),
            Self::Variable(rate) => rate.sent(datagrams, now),
            Self::Steered(rate) => rate.sent(datagrams, now),
            Self::Frames(frames) => frames.sent(bytes, now),
            Self::Lengths(lengths) => lengths.sent(bytes, now),
        }
    }

    /// There was no room for a datagram; it is tried again, at the next due time of a schedule.
    pub(crate) fn failed(&mut self, now: MonoTime) {
        match self {
            Self::Paced(schedule) => schedule.sent(1, now),
            Self::Variable(rate) => rate.sent(1, now),
            Self::Steered(rate) => rate.sent(1, now),
            Self::Unpaced | Self::Frames(_) | Self::Lengths(_) => {}
        }
    }

    /// Time between equal datagrams, where it is fixed for the moment; `None` is unpaced.
    pub(crate) fn gap(&self) -> Option<Duration> {
        match self {
            Self::Unpaced => None,
            Self::Paced(schedule) => Some(schedule.gap()),
            Self::Variable(rate) => Some(rate.gap()),
            Self::Steered(rate) => Some(rate.gap()),
            Self::Frames(frames) => Some(frames.clock.period()),
            Self::Lengths(lengths) => lengths.schedule().map(Schedule::gap),
        }
    }

    /// The gap that is to be between all datagrams, if it is to be the same everywhere.
    pub(crate) fn steady_gap(&self) -> Option<Duration> {
        match self {
            Self::Paced(schedule) if schedule.burst() == 1 => Some(schedule.gap()),
            _ => None,
        }
    }

    /// Several datagrams may leave with one call: they are equal.
    pub(crate) fn is_uniform(&self) -> bool {
        match self {
            Self::Unpaced | Self::Paced(_) | Self::Variable(_) | Self::Steered(_) => true,
            Self::Frames(_) | Self::Lengths(_) => false,
        }
    }

    /// Datagrams that left after their time.
    #[must_use]
    pub fn late(&self) -> u64 {
        match self {
            Self::Unpaced => 0,
            Self::Paced(schedule) => schedule.late(),
            Self::Variable(rate) => rate.late(),
            Self::Steered(rate) => rate.late(),
            // Late frames have moments of their own.
            Self::Frames(_) => 0,
            Self::Lengths(lengths) => lengths.schedule().map_or(0, Schedule::late),
        }
    }

    #[inline]
    pub(crate) fn frames(&self) -> FrameCounts {
        match self {
            Self::Frames(frames) => frames.clock.counts(),
            _ => FrameCounts::default(),
        }
    }

    /// The clock of frames, if these are frames.
    #[must_use]
    pub fn frame_clock(&self) -> Option<&FrameClock> {
        match self {
            Self::Frames(frames) => Some(&frames.clock),
            _ => None,
        }
    }

    /// The chain of lengths, if lengths change.
    #[must_use]
    pub fn length_chain(&self) -> Option<&LengthChain> {
        match self {
            Self::Lengths(lengths) => Some(&lengths.chain),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> MonoTime {
        MonoTime::from_nanos(micros * 1000)
    }

    fn frames(mean: f64, gap: u64) -> UdpTraffic {
        let clock = FrameClock::new(at(0), Duration::from_micros(1000));
        let sizes = FrameSizes::new(mean, 0.0, 0);
        let gap = Duration::from_micros(gap);
        UdpTraffic::Frames(FrameTraffic::new(clock, sizes, 500, 112, gap))
    }

    /// Lengths, places and times of the first datagrams.
    fn datagrams(traffic: &mut UdpTraffic, count: usize) -> Vec<(usize, u64, u32, u32, u64)> {
        let mut now = at(0);
        (0..count)
            .map(|_| {
                now = now.max(traffic.due(now).expect("a time"));
                let (length, part) = traffic.next(now, 500, u64::MAX);
                let part = part.expect("a frame");
                traffic.sent(1, length as u64, now);
                let micros = now.as_nanos() / 1000;
                (length, part.frame.id, part.size, part.remaining, micros)
            })
            .collect()
    }

    #[test]
    fn frames_are_cut_into_datagrams() {
        let mut traffic = frames(1200.0, 0);
        assert_eq!(
            datagrams(&mut traffic, 6),
            [
                (500, 1, 1200, 1200, 0),
                (500, 1, 1200, 700, 0),
                (200, 1, 1200, 200, 0),
                (500, 2, 1200, 1200, 1000),
                (500, 2, 1200, 700, 1000),
                (200, 2, 1200, 200, 1000),
            ]
        );
        assert_eq!(traffic.frames().sent, 2);
        assert!(!traffic.is_in_frame());
    }

    #[test]
    fn a_tail_too_short_for_the_header_makes_the_frame_longer() {
        let mut traffic = frames(1001.0, 0);
        let seen = datagrams(&mut traffic, 3);
        assert_eq!(seen[2], (112, 1, 1112, 112, 0));
        let (length, part) = frames(3.0, 0).next(at(0), 500, u64::MAX);
        assert_eq!((length, part.expect("a frame").size), (112, 112));
    }

    #[test]
    fn datagrams_of_a_frame_keep_a_gap() {
        let times: Vec<u64> = datagrams(&mut frames(1500.0, 100), 4)
            .iter()
            .map(|datagram| datagram.4)
            .collect();
        assert_eq!(times, [0, 100, 200, 1000]);
    }

    #[test]
    fn a_frame_ends_with_what_may_be_sent() {
        let mut traffic = frames(1200.0, 0);
        let (length, part) = traffic.next(at(0), 500, 700);
        assert_eq!((length, part.expect("a frame").size), (500, 700));
        assert!(traffic.is_in_frame());
    }

    #[test]
    fn a_failed_datagram_keeps_its_place() {
        let mut traffic = frames(1200.0, 0);
        let first = traffic.next(at(0), 500, u64::MAX);
        traffic.failed(at(0));
        assert_eq!(traffic.next(at(0), 500, u64::MAX), first);
    }

    #[test]
    fn lengths_share_a_bit_rate() {
        let rows = [vec![0.0, 1.0], vec![1.0, 0.0]];
        let chain = LengthChain::new(&[100, 300], &rows, 1).expect("a chain");
        // 8 Mbit/s: a byte each microsecond.
        let schedule = Schedule::at_bit_rate(at(0), 8, 8_000_000).expect("a rate");
        let mut traffic =
            UdpTraffic::Lengths(LengthTraffic::new(chain, LengthPace::Bytes(schedule)));
        let mut seen = Vec::new();
        for _ in 0..4 {
            let now = traffic.due(at(0)).expect("a time");
            let (length, _) = traffic.next(now, 500, u64::MAX);
            traffic.sent(1, length as u64, now);
            seen.push((length, now.as_nanos() / 1000));
        }
        assert_eq!(seen, [(100, 0), (300, 100), (100, 400), (300, 500)]);
    }
}
