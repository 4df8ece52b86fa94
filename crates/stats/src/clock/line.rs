//! How two clocks differ over a test: offset and skew with their bounds, from exchanges of readings.
//!
//! An exchange proves two limits of the difference: T3 − T4 from below, T2 − T1 from above. Over
//! time these limits are two clouds of points with a free strip between them, as wide as the
//! quickest round trip; the difference of the clocks is a straight line in the strip:
//!
//! ```text
//!   T2 − T1    .  .   . .     .          what waited on its way lies far from the strip
//!              ..  . .   .   .  .
//!             ─────────────────────     ┐
//!               the clocks' difference  │ widest strip that is free of points
//!             ─────────────────────     ┘
//!   T3 − T4      .  ..  .   .
//!             .    .     . .  .
//! ```
//!
//! If the quiet path takes as long there as back, the difference is the middle of the widest strip
//! (methodology 14.2, 14.4). What waited in queues only lies further away, so exchanges during the
//! test cannot spoil what those in quiet times say.

use tapeline_base::WallTime;

use super::exchange::ClockExchange;

/// Exchanges that are kept.
const KEPT: usize = 4096;
/// A larger skew is a step or an error.
const LARGEST_SKEW: f64 = 500e-6;
/// Order of the residual from whose distance to the smallest the unseen rest is estimated.
const ORDER: usize = 7;
/// Reach of the unseen rest in units of that distance: of 97.5 % of samples whose density rises
/// linearly from its smallest value.
const REACH: f64 = 1.78;
/// What reading a clock, and waking up to do so, may take longer at one end than at the other, seconds.
const READING: f64 = 30e-6;

/// Collects exchanges over a test.
#[derive(Clone, Debug, Default)]
pub struct ClockLine {
    points: Vec<Point>,
    exchanges: u64,
    origin: Option<Origin>,
}

/// What numbers are relative to, so that they are small.
#[derive(Clone, Copy, Debug)]
struct Origin {
    time: WallTime,
    offset_ns: i64,
}

/// An exchange, seconds.
#[derive(Clone, Copy, Debug)]
struct Point {
    time: f64,
    /// T2 − T1 without the origin's offset: the clocks' difference plus the way there.
    forward: f64,
    /// T4 − T3 with the origin's offset: the way back minus the clocks' difference.
    backward: f64,
}

impl Point {
    fn round_trip(&self) -> f64 {
        self.forward + self.backward
    }
}

/// The difference of two clocks as a line over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockFit {
    origin: WallTime,
    origin_offset: f64,
    /// The line that fits best.
    best: Line,
    /// The lines of the smallest and the largest skew that fit about as well.
    extremes: [Line; 2],
    /// What both ends' quickest readings may have waited, seconds.
    rest: f64,
    /// Smallest round trip, seconds.
    pub round_trip: f64,
    /// Exchanges seen.
    pub exchanges: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    at_origin: f64,
    slope: f64,
}

impl Line {
    fn at(&self, time: f64) -> f64 {
        self.at_origin + self.slope * time
    }
}

impl ClockLine {
    /// No exchange yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts an exchange; they come in the order of time.
    pub fn observe(&mut self, exchange: &ClockExchange) {
        self.exchanges += 1;
        let origin = *self.origin.get_or_insert(Origin {
            time: exchange.client_send,
            offset_ns: exchange.asymmetry_ns() / 2,
        });
        if self.points.len() == KEPT {
            self.thin();
        }
        let seconds = |nanos: i64| nanos as f64 * 1e-9;
        self.points.push(Point {
            time: seconds(exchange.client_send.nanos_since(origin.time)),
            forward: seconds(exchange.forward_ns().saturating_sub(origin.offset_ns)),
            backward: seconds(exchange.backward_ns().saturating_add(origin.offset_ns)),
        });
    }

    /// Keeps the quicker one of each two neighbours.
    fn thin(&mut self) {
        let quicker = |pair: &[Point]| {
            let quick = |a: &&Point, b: &&Point| a.round_trip().total_cmp(&b.round_trip());
            pair.iter().min_by(quick).copied()
        };
        self.points = self.points.chunks(2).filter_map(quicker).collect();
    }

    /// The difference of the clocks; nothing before the first exchange.
    #[must_use]
    pub fn fit(&self) -> Option<ClockFit> {
        let origin = self.origin?;
        let round_trips = self.points.iter().map(Point::round_trip);
        let round_trip = round_trips.min_by(f64::total_cmp)?.max(0.0);
        let slope = self.widest();
        let (forward, backward) = self.edges(slope);
        let residual = |edge: f64, value: fn(&Point) -> f64, sign: f64| {
            let points = self.points.iter();
            rest(points.map(|p| value(p) + sign * slope * p.time - edge))
        };
        let there = residual(forward, |p| p.forward, -1.0).unwrap_or(round_trip);
        let back = residual(backward, |p| p.backward, 1.0).unwrap_or(round_trip);
        let tolerance = there + back;
        let fits = |other: f64| self.width(other) >= forward + backward - tolerance;
        let extremes =
            [-LARGEST_SKEW, LARGEST_SKEW].map(|limit| self.line(furthest(slope, limit, fits)));
        Some(ClockFit {
            origin: origin.time,
            origin_offset: origin.offset_ns as f64 * 1e-9,
            best: self.line(slope),
            extremes,
            rest: there.max(back) / 2.0,
            round_trip,
            exchanges: self.exchanges,
        })
    }

    /// Smallest way there and back at time 0, if the clocks differ by a line of this slope.
    fn edges(&self, slope: f64) -> (f64, f64) {
        let start = (f64::INFINITY, f64::INFINITY);
        self.points.iter().fold(start, |(there, back), p| {
            let drift = slope * p.time;
            (there.min(p.forward - drift), back.min(p.backward + drift))
        })
    }

    fn width(&self, slope: f64) -> f64 {
        let (there, back) = self.edges(slope);
        there + back
    }

    fn line(&self, slope: f64) -> Line {
        let (there, back) = self.edges(slope);
        Line {
            at_origin: (there - back) / 2.0,
            slope,
        }
    }

    /// The slope of the widest strip. The width is a concave function of the slope; where several
    /// slopes are as good, their middle.
    fn widest(&self) -> f64 {
        let (mut low, mut high) = (-LARGEST_SKEW, LARGEST_SKEW);
        for _ in 0..60 {
            let third = (high - low) / 3.0;
            let (left, right) = (low + third, high - third);
            let (at_left, at_right) = (self.width(left), self.width(right));
            // Differences below a nanosecond are rounding.
            if (at_left - at_right).abs() < 1e-10 {
                (low, high) = (left, right);
            } else if at_left < at_right {
                low = left;
            } else {
                high = right;
            }
        }
        (low + high) / 2.0
    }
}

/// The slope nearest to `limit` that still fits, between `inside`, which does, and `limit`.
fn furthest(inside: f64, limit: f64, fits: impl Fn(f64) -> bool) -> f64 {
    if fits(limit) {
        return limit;
    }
    let (mut good, mut bad) = (inside, limit);
    for _ in 0..40 {
        let middle = (good + bad) / 2.0;
        if fits(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

/// What the smallest of some waiting times may still hide; nothing with too few of them.
fn rest(times: impl Iterator<Item = f64>) -> Option<f64> {
    let mut times: Vec<f64> = times.collect();
    if times.len() <= ORDER {
        return None;
    }
    times.sort_by(f64::total_cmp);
    Some((times[ORDER] - times[0]) * REACH)
}

impl ClockFit {
    /// The other clock minus one's own at this time of one's own, seconds.
    #[must_use]
    pub fn offset_at(&self, time: WallTime) -> f64 {
        self.origin_offset + self.best.at(self.seconds(time))
    }

    /// How much faster the other clock runs, seconds per second.
    #[must_use]
    pub fn skew(&self) -> f64 {
        self.best.slope
    }

    /// Largest error of [`offset_at`](Self::offset_at) at a time, seconds, if the quiet path takes as long
    /// there as back; nineteen times in twenty.
    #[must_use]
    pub fn bound_at(&self, time: WallTime) -> f64 {
        // No error of a moment is larger than half a round trip.
        self.spread_at(time) + (self.rest + READING).min(self.round_trip / 2.0)
    }

    /// Largest error of [`offset_at`](Self::offset_at) at a time, seconds, whatever the path is like: half
    /// of the smallest round trip, and what the exchanges leave open at that time.
    #[must_use]
    pub fn certain_at(&self, time: WallTime) -> f64 {
        self.spread_at(time) + self.round_trip / 2.0
    }

    /// How far lines that keep to all limits lie apart from the best one at a time, seconds.
    fn spread_at(&self, time: WallTime) -> f64 {
        let time = self.seconds(time);
        let best = self.best.at(time);
        let apart = self
            .extremes
            .iter()
            .map(|line| (line.at(time) - best).abs());
        apart.fold(0.0, f64::max)
    }

    fn seconds(&self, time: WallTime) -> f64 {
        time.nanos_since(self.origin) as f64 * 1e-9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// An exchange at a time of the client's clock: ways there and back, and the difference of the clocks.
    fn exchange(at: i64, there: i64, back: i64, offset: i64) -> ClockExchange {
        let wall = WallTime::from_nanos;
        let received = at + there + offset;
        ClockExchange {
            client_send: wall(at),
            server_receive: wall(received),
            server_send: wall(received + 1_000),
            client_receive: wall(at + there + 1_000 + back),
        }
    }

    /// Waiting times that are small now and then.
    fn waiting(index: i64) -> i64 {
        (index * 7_919) % 97 * 10_000
    }

    #[test]
    fn offset_and_skew_of_a_path_with_queues_are_found() {
        let (offset, skew) = (5 * SECOND, 20e-6);
        let mut line = ClockLine::new();
        let truth = |at: i64| offset + (at as f64 * skew) as i64;
        for index in 0..100 {
            let at = index * SECOND / 10;
            let (there, back) = (waiting(index), waiting(index + 31));
            // Queues on the way there during the test.
            let queue = if (24..76).contains(&index) {
                30_000_000
            } else {
                0
            };
            line.observe(&exchange(
                at,
                10_000_000 + there + queue,
                10_000_000 + back,
                truth(at),
            ));
        }
        let fit = line.fit().expect("an estimate");
        let middle = WallTime::from_nanos(5 * SECOND);
        let error = (fit.offset_at(middle) - truth(5 * SECOND) as f64 * 1e-9).abs();
        assert!(error <= fit.bound_at(middle), "{error} {fit:?}");
        assert!(fit.bound_at(middle) < 0.4e-3, "{fit:?}");
        assert!((fit.skew() - skew).abs() < 20e-6, "{fit:?}");
        let certain = fit.certain_at(middle);
        assert!(
            (certain - 10e-3).abs() < 0.6e-3 && certain > fit.bound_at(middle),
            "{fit:?}"
        );
    }

    #[test]
    fn what_only_a_drift_or_a_queue_can_explain_widens_the_bound() {
        let mut line = ClockLine::new();
        for index in 0..50 {
            let queued = 40_000_000 + waiting(index);
            line.observe(&exchange(index * SECOND / 10, queued, 10_000_000, 0));
        }
        for index in 0..24 {
            let (there, back) = (waiting(index), waiting(index + 31));
            let at = 10 * SECOND + index * 6_000_000;
            line.observe(&exchange(at, 10_000_000 + there, 10_000_000 + back, 0));
        }
        let fit = line.fit().expect("an estimate");
        let bound = |second: i64| fit.bound_at(WallTime::from_nanos(second * SECOND));
        assert!(bound(0) > 1e-3, "{fit:?}");
        assert!(bound(10) < 0.6e-3, "{fit:?}");
    }

    #[test]
    fn few_exchanges_say_no_more_than_is_certain() {
        assert_eq!(ClockLine::new().fit(), None);
        let mut line = ClockLine::new();
        line.observe(&exchange(0, 10_000_000, 10_000_000, SECOND));
        let fit = line.fit().expect("an estimate");
        let now = WallTime::from_nanos(0);
        assert!((fit.offset_at(now) - 1.0).abs() < 1e-6, "{fit:?}");
        assert!(fit.bound_at(now) >= fit.round_trip / 2.0, "{fit:?}");
    }

    #[test]
    fn a_long_test_keeps_what_is_quick() {
        let mut line = ClockLine::new();
        for index in 0..3 * KEPT as i64 {
            let there = if index % 2 == 0 { 1_000_000 } else { 9_000_000 };
            line.observe(&exchange(index * SECOND / 5, there, 1_000_000, 0));
        }
        assert!(line.points.len() <= KEPT);
        let fit = line.fit().expect("an estimate");
        assert!(
            fit.round_trip < 2.1e-3 && fit.exchanges == 3 * KEPT as u64,
            "{fit:?}"
        );
    }
}
