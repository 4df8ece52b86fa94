//! What a request/response client counts.

use tapeline_base::MonoTime;
use tapeline_stats::Moments;

use super::{Extremes, FlowCell, Publisher, Words};

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

/// Cell of a request/response client.
pub type ExchangeCell = FlowCell<ExchangeCounters, 14>;
/// The one writer of an [`ExchangeCell`]; its extremes are round trips.
pub type ExchangePublisher = Publisher<ExchangeCounters, 14>;

impl Words<14> for ExchangeCounters {
    #[inline]
    fn to_words(&self, extremes: &Extremes) -> [u64; 14] {
        let [interval, low, high] = extremes.to_words();
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
            interval,
            low,
            high,
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
        (counters, Extremes::from_words([w[11], w[12], w[13]]))
    }
}
