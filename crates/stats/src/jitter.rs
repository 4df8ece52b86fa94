//! Interarrival jitter.

use std::num::NonZeroU64;

use crate::moments::Moments;

/// Share of a new difference in the running estimate (RFC 3550, section 6.4.1).
const GAIN: f64 = 1.0 / 16.0;
/// Share of the running estimate that remains.
const KEPT: f64 = 1.0 - GAIN;

/// The running interarrival jitter J of RFC 3550 (section 6.4.1, appendix A.8) over
/// transit times in nanoseconds. A constant clock offset cancels.
///
/// Feed packets in the order of arrival, late ones too, and leave out duplicates. A loss does not
/// reset J.
#[derive(Clone, Copy, Debug, Default)]
pub struct Jitter {
    previous: Option<i64>,
    skip_next: bool,
    difference: i64,
    totals: JitterTotals,
}

/// What a snapshot needs of a [`Jitter`]: a plain value to copy and subtract.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JitterTotals {
    /// The running J after the last packet, nanoseconds.
    pub current: f64,
    /// The running J values after each difference, nanoseconds.
    pub running: Moments,
}

impl Jitter {
    /// No packet yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a packet whose receive time minus send stamp is `transit_ns`.
    ///
    /// Returns the running J in nanoseconds, or nothing for the first packet and for
    /// one whose difference is skipped.
    #[inline]
    pub fn observe(&mut self, transit_ns: i64) -> Option<f64> {
        let previous = self.previous.replace(transit_ns)?;
        if std::mem::take(&mut self.skip_next) {
            return None;
        }
        self.difference = transit_ns.saturating_sub(previous);
        let totals = &mut self.totals;
        totals.current += (self.difference.unsigned_abs() as f64 - totals.current) * GAIN;
        totals.running.add(totals.current);
        Some(totals.current)
    }

    /// Counts `count` packets with the transit time of the one before: their differences are 0,
    /// so that J becomes a geometric series, which is summed up at once.
    #[inline]
    pub fn observe_equal(&mut self, count: u64) {
        if count == 0 || self.previous.is_none() {
            return;
        }
        let skipped = u64::from(std::mem::take(&mut self.skip_next));
        let Some(rest) = NonZeroU64::new(count - skipped) else {
            return;
        };
        self.difference = 0;
        let totals = &mut self.totals;
        totals.running.merge(&series(totals.current, rest));
        totals.current *= power(rest.get());
    }

    /// The next packet begins a frame: its difference to the previous packet says
    /// nothing about the network and is left out (iperf 2, isochronous traffic).
    #[inline]
    pub fn skip_next_difference(&mut self) {
        self.skip_next = self.previous.is_some();
    }

    /// The last unsmoothed difference of transit times, signed nanoseconds (the
    /// sample of iperf 2's jitter histogram is its absolute value, RFC 3393's IPDV it
    /// is when the packets had consecutive numbers). Valid after
    /// [`observe`](Self::observe) returned a value.
    #[must_use]
    pub fn difference_ns(&self) -> i64 {
        self.difference
    }

    /// The running J, nanoseconds; 0 before the second packet.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn current_ns(&self) -> f64 {
        self.totals.current
    }

    /// A copy for a snapshot.
    #[must_use]
    pub fn totals(&self) -> JitterTotals {
        self.totals
    }
}

/// What remains of J after `count` differences of 0.
fn power(count: u64) -> f64 {
    KEPT.powi(i32::try_from(count).unwrap_or(i32::MAX))
}

/// The moments of J·k, J·k², … J·kⁿ for k = [`KEPT`] and n = `count`.
fn series(start: f64, count: NonZeroU64) -> Moments {
    let n = count.get() as f64;
    let last = power(count.get());
    let sum = start * KEPT * (1.0 - last) / GAIN;
    let squares = start * start * KEPT * KEPT * (1.0 - last * last) / (1.0 - KEPT * KEPT);
    let mean = sum / n;
    Moments {
        count: count.get(),
        mean,
        m2: (squares - sum * mean).max(0.0),
        min: start * last,
        max: start * KEPT,
    }
}

impl JitterTotals {
    /// Arithmetic mean of all running J values in nanoseconds: what iperf 2 prints as
    /// jitter in its totals. Nothing when there was no difference.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.running.count > 0).then_some(self.running.mean)
    }

    /// The interval between two copies: J at its end, and the running values in it
    /// (extremes as in [`Moments::since`]).
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            current: self.current,
            running: self.running.since(&earlier.running),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transit times of the methodology's vector: S = 0, 20, ... ms.
    const TRANSITS_MS: [f64; 6] = [5.0, 6.0, 4.5, 7.0, 5.0, 4.0];
    const RUNNING_MS: [f64; 5] = [0.0625, 0.152_344, 0.299_072, 0.405_380, 0.442_544];

    fn nanos(milliseconds: f64) -> i64 {
        (milliseconds * 1e6) as i64
    }

    #[test]
    fn vector_of_the_methodology() {
        let mut jitter = Jitter::new();
        assert_eq!(jitter.observe(nanos(TRANSITS_MS[0])), None);
        for (transit, expected) in TRANSITS_MS[1..].iter().zip(RUNNING_MS) {
            let running = jitter.observe(nanos(*transit)).unwrap();
            assert!((running / 1e6 - expected).abs() < 1e-6, "{running}");
        }
        assert!((jitter.current_ns() / 1e6 - 0.442_544).abs() < 1e-6);
        let mean = jitter.totals().mean().unwrap();
        assert!((mean / 1e6 - 0.272_368).abs() < 1e-6);
        assert_eq!(jitter.difference_ns(), -1_000_000);
    }

    #[test]
    fn equal_transit_times_at_once_are_as_one_by_one() {
        for (count, skip) in [
            (1, false),
            (1, true),
            (43, false),
            (43, true),
            (5000, false),
        ] {
            let mut single = Jitter::new();
            for transit in [0, 900, 100, 40_000] {
                single.observe(transit);
            }
            if skip {
                single.skip_next_difference();
            }
            let mut many = single;
            many.observe_equal(count);
            for _ in 0..count {
                single.observe(40_000);
            }
            // Both go on from the same state.
            for jitter in [&mut single, &mut many] {
                jitter.observe(41_600);
            }
            let (one, all) = (single.totals(), many.totals());
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
            assert_eq!(one.running.count, all.running.count);
            assert!(close(one.current, all.current), "{one:?} {all:?}");
            assert!(close(one.running.mean, all.running.mean), "{one:?} {all:?}");
            assert!(close(one.running.m2, all.running.m2), "{one:?} {all:?}");
            assert!(close(one.running.min, all.running.min), "{one:?} {all:?}");
            assert_eq!(one.running.max, all.running.max);
        }
    }

    #[test]
    fn one_packet_has_no_jitter() {
        let mut jitter = Jitter::new();
        jitter.observe(7);
        assert_eq!(jitter.totals().mean(), None);
        assert_eq!(jitter.current_ns(), 0.0);
    }

    #[test]
    fn a_clock_offset_cancels() {
        let run = |offset: i64| {
            let mut jitter = Jitter::new();
            for transit in TRANSITS_MS {
                jitter.observe(nanos(transit) + offset);
            }
            jitter.current_ns()
        };
        assert_eq!(run(0), run(-86_400_000_000_000));
    }

    #[test]
    fn a_frame_boundary_is_left_out_but_starts_the_next_difference() {
        let mut jitter = Jitter::new();
        jitter.observe(0);
        jitter.observe(160);
        jitter.skip_next_difference();
        assert_eq!(jitter.observe(1_000_000), None);
        assert_eq!(jitter.current_ns(), 10.0);
        assert_eq!(jitter.observe(1_000_010), Some(10.0));
        assert_eq!(jitter.totals().running.count, 2);
    }

    #[test]
    fn absurd_stamps_do_not_overflow() {
        let mut jitter = Jitter::new();
        jitter.observe(i64::MIN);
        assert!(jitter.observe(i64::MAX).unwrap().is_finite());
    }

    #[test]
    fn an_interval_keeps_j_and_subtracts_the_mean() {
        let mut jitter = Jitter::new();
        jitter.observe(0);
        jitter.observe(1_600);
        let earlier = jitter.totals();
        jitter.observe(0);
        let interval = jitter.totals().since(&earlier);
        assert_eq!(interval.current, 193.75);
        assert_eq!(interval.running.count, 1);
        assert!((interval.mean().unwrap() - 193.75).abs() < 1e-9);
    }
}
