//! Durations that a worker measures beside its other counters.

use tapeline_stats::Moments;

use super::{Extremes, FlowCell, Publisher, Words};

/// A series of durations: of writes, of one-way delays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelayCounters {
    /// The durations, seconds.
    pub delays: Moments,
}

/// Cell of a series of durations.
pub type DelayCell = FlowCell<DelayCounters, 8>;
/// The one writer of a [`DelayCell`]; its extremes are the durations'.
pub type DelayPublisher = Publisher<DelayCounters, 8>;

impl Words<8> for DelayCounters {
    #[inline]
    fn to_words(&self, extremes: &Extremes) -> [u64; 8] {
        let m = &self.delays;
        let [interval, low, high] = extremes.to_words();
        [
            m.count,
            m.mean.to_bits(),
            m.m2.to_bits(),
            m.min.to_bits(),
            m.max.to_bits(),
            interval,
            low,
            high,
        ]
    }

    fn from_words(w: [u64; 8]) -> (Self, Extremes) {
        let f = |i: usize| f64::from_bits(w[i]);
        let delays = if w[0] == 0 {
            Moments::EMPTY
        } else {
            Moments {
                count: w[0],
                mean: f(1),
                m2: f(2),
                min: f(3),
                max: f(4),
            }
        };
        (Self { delays }, Extremes::from_words([w[5], w[6], w[7]]))
    }
}
