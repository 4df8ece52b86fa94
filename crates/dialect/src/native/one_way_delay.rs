//! One-way delays by both ends' clocks: what these differ by at the time of an arrival is taken out.

use tapeline_base::WallTime;
use tapeline_report::{ClockEstimate, DelayClock, Measure, OneWayDelay, PeerResults, Row, Subject};
use tapeline_stats::{ClockFit, DelayCounts, DelayCourse, DelaySlice};

/// The delays of the flows of datagrams, by the receiver's totals: those of the peer, and this end's
/// own. `clock` is the estimate for the whole test, of which `fit` knows more.
pub(crate) fn delays(
    other: &PeerResults,
    own: &[Row],
    fit: &ClockFit,
    clock: ClockEstimate,
) -> Vec<OneWayDelay> {
    let of = |receiver| Correction {
        receiver,
        fit,
        clock,
    };
    let (there, back) = (of(Receiver::PeerResults), of(Receiver::ThisEnd));
    let totals = other.flows.iter().map(|flow| &flow.total);
    let there = totals.filter_map(|row| there.delay(row));
    let back = own.iter().filter_map(|row| back.delay(row));
    there.chain(back).collect()
}

/// Whose clock stamped the arrivals. The other one stamped the send_timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receiver {
    PeerResults,
    ThisEnd,
}

/// Takes the clocks' difference out.
#[derive(Clone, Copy, Debug)]
struct Correction<'a> {
    receiver: Receiver,
    fit: &'a ClockFit,
    clock: ClockEstimate,
}

impl Correction<'_> {
    fn delay(&self, row: &Row) -> Option<OneWayDelay> {
        let (Subject::Flow(tag), Measure::UdpReceive(receive)) = (row.subject, &row.measure) else {
            return None;
        };
        let transit = &receive.transit;
        // Who says that the clocks agree gets delays as measured.
        if transit.is_empty() || row.trip_times {
            return None;
        }
        let course = receive.delays.as_ref();
        let slices = course.map_or(&[][..], DelayCourse::slices);
        let extremes = slices.iter().map(|slice| {
            let longer = self.for_slice(slice);
            [slice.least, slice.largest].map(|delay| delay.saturating_add(longer))
        });
        let extremes = extremes.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        let counts = course.map_or_else(DelayCounts::default, |course| {
            course.moved(|slice| self.for_slice(slice))
        });
        let (extremes, mean, deviation, bounds) = match extremes {
            Some(extremes) => (
                extremes.map(seconds),
                transit.mean + self.mean(slices),
                deviation(&counts),
                (self.bound_of_mean(slices), self.bound_of_each(slices)),
            ),
            // Nothing shows when the delays were: what the clocks drifted apart is in them.
            None => {
                let longer = self.sign() * self.clock.offset;
                let drift = self.clock.skew.abs() * row.span.length().as_secs_f64() / 2.0;
                (
                    [transit.min + longer, transit.max + longer],
                    transit.mean + longer,
                    transit.stdev(),
                    (self.clock.bound, self.clock.bound + drift),
                )
            }
        };
        Some(OneWayDelay {
            tag,
            samples: transit.count,
            min: extremes[0],
            mean,
            max: extremes[1],
            deviation,
            counts,
            clock: DelayClock::Estimated(ClockEstimate {
                bound: bounds.0,
                certain: bounds.0 + self.clock.asymmetry(),
                ..self.clock
            }),
            bound_single: Some(bounds.1),
        })
    }

    /// Arrivals by the peer's clock have its difference in them, send_timing its negative.
    fn sign(&self) -> f64 {
        match self.receiver {
            Receiver::PeerResults => -1.0,
            Receiver::ThisEnd => 1.0,
        }
    }

    /// What this end's clock showed at an arrival.
    fn own_time(&self, arrival: WallTime) -> WallTime {
        match self.receiver {
            Receiver::ThisEnd => arrival,
            Receiver::PeerResults => {
                let ahead = nanos(self.clock.offset);
                WallTime::from_nanos(arrival.as_nanos().saturating_sub(ahead))
            }
        }
    }

    /// What is to be added to a slice's delays, nanoseconds.
    fn for_slice(&self, slice: &DelaySlice) -> i64 {
        let middle = self.own_time(slice.middle());
        nanos(self.sign() * self.fit.offset_at(middle))
    }

    /// What is added to all delays on average, seconds.
    fn mean(&self, slices: &[DelaySlice]) -> f64 {
        let weights = slices.iter().map(|slice| slice.counts.count() as f64);
        let all: f64 = weights.clone().sum();
        let parts = slices.iter().zip(weights);
        let sum: f64 = parts
            .map(|(slice, weight)| seconds(self.for_slice(slice)) * weight)
            .sum();
        sum / all.max(1.0)
    }

    /// Largest error of the mean, seconds: the difference of the clocks is a line, so that its error in the
    /// middle of all delays is the mean one.
    fn bound_of_mean(&self, slices: &[DelaySlice]) -> f64 {
        let start = slices
            .first()
            .map_or(WallTime::default(), |slice| slice.first);
        let parts = slices.iter().map(|slice| {
            let count = slice.counts.count() as f64;
            [count, count * seconds(slice.middle().nanos_since(start))]
        });
        let [count, sum] = parts.fold([0.0; 2], |sums, part| {
            [sums[0] + part[0], sums[1] + part[1]]
        });
        let middle = nanos(sum / f64::max(count, 1.0));
        let middle = WallTime::from_nanos(start.as_nanos().saturating_add(middle));
        self.fit.bound_at(self.own_time(middle))
    }

    /// Largest error of any delay, seconds: that of the offset in its slice, and half of what the clocks
    /// drift apart in that.
    fn bound_of_each(&self, slices: &[DelaySlice]) -> f64 {
        let bounds = slices.iter().map(|slice| {
            let [first, last] = [slice.first, slice.last].map(|time| self.own_time(time));
            let apart = seconds(last.nanos_since(first)).abs();
            let drift = self.fit.skew().abs() * apart / 2.0;
            self.fit.bound_at(first).max(self.fit.bound_at(last)) + drift
        });
        bounds.fold(0.0, f64::max)
    }
}

fn nanos(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

fn seconds(nanos: i64) -> f64 {
    nanos as f64 * 1e-9
}

/// Standard deviation, seconds.
fn deviation(counts: &DelayCounts) -> f64 {
    let all = counts.count();
    let sum = |value: &dyn Fn(f64) -> f64| {
        let points = counts.points().iter();
        let parts = points.map(|(delay, count)| value(seconds(*delay)) * *count as f64);
        parts.sum::<f64>()
    };
    if all < 2 {
        return 0.0;
    }
    let mean = sum(&|delay| delay) / all as f64;
    let squares = sum(&|delay| (delay - mean) * (delay - mean));
    (squares / (all - 1) as f64).sqrt()
}
