//! What a request/response client counts.

use tapeline_base::MonoTime;
use tapeline_stats::Moments;

use super::{Extremes, FlowCell, Publisher, Words};

/// Words of the published counters.
const WORDS: usize = OWN + 3 * SERIES;
/// Words before the series of one-way delays.
const OWN: usize = 17;
/// Words of one [`DelaySeries`].
pub(super) const SERIES: usize = 7;

/// Delays of a flow, seconds, with the extremes of the running interval, which cannot be
/// subtracted as the rest can.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelaySeries {
    /// All delays of the flow.
    pub all: Moments,
    /// Smallest and largest of the running interval.
    interval: (f64, f64),
}

impl Default for DelaySeries {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl DelaySeries {
    /// No delay yet.
    pub const EMPTY: Self = Self {
        all: Moments::EMPTY,
        interval: (f64::INFINITY, f64::NEG_INFINITY),
    };

    /// Counts a delay, seconds.
    #[inline]
    pub fn add(&mut self, delay: f64) {
        self.all.add(delay);
        self.interval.0 = self.interval.0.min(delay);
        self.interval.1 = self.interval.1.max(delay);
    }

    /// A new interval begins.
    #[inline]
    pub fn restart(&mut self) {
        self.interval = Self::EMPTY.interval;
    }

    /// The delays of the interval that began with `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Moments {
        let delays = self.all.since(&earlier.all);
        if delays.is_empty() {
            delays
        } else {
            delays.with_extremes(self.interval.0, self.interval.1)
        }
    }

    pub(super) fn to_words(self) -> [u64; SERIES] {
        let m = &self.all;
        let floats = [m.mean, m.m2, m.min, m.max, self.interval.0, self.interval.1];
        let mut words = [m.count; SERIES];
        for (word, float) in words[1..].iter_mut().zip(floats) {
            *word = float.to_bits();
        }
        words
    }

    pub(super) fn from_words(words: &[u64]) -> Self {
        let float = |i: usize| f64::from_bits(words[i]);
        Self {
            all: Moments {
                count: words[0],
                mean: float(1),
                m2: float(2),
                min: float(3),
                max: float(4),
            },
            interval: (float(5), float(6)),
        }
    }
}

/// One-way delays between two ends whose clocks agree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OneWayDelays {
    /// To the server.
    pub transmit: DelaySeries,
    /// From the server.
    pub receive: DelaySeries,
    /// Absolute difference of the two.
    pub asymmetry: DelaySeries,
    /// Exchanges in which a delay was negative: the clocks do not agree. They count in none of
    /// the series.
    pub clock_errors: u64,
}

impl OneWayDelays {
    /// Counts the two delays of an exchange, nanoseconds.
    #[inline]
    pub fn add(&mut self, transmit_ns: i64, receive_ns: i64) {
        if transmit_ns < 0 || receive_ns < 0 {
            self.clock_errors += 1;
            return;
        }
        let (transmit, receive) = (transmit_ns as f64 * 1e-9, receive_ns as f64 * 1e-9);
        self.transmit.add(transmit);
        self.receive.add(receive);
        self.asymmetry.add((receive - transmit).abs());
    }

    /// A new interval begins.
    pub fn restart(&mut self) {
        self.transmit.restart();
        self.receive.restart();
        self.asymmetry.restart();
    }
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
    /// The published percentiles in seconds, known at the end; NaN before.
    pub percentiles: [f64; 5],
    /// One-way delays, where the clocks agree.
    pub one_way: OneWayDelays,
    /// Time of the last response.
    pub last: MonoTime,
}

/// Cell of a request/response client.
pub type ExchangeCell = FlowCell<ExchangeCounters, WORDS>;
/// The one writer of an [`ExchangeCell`]; its extremes are round trips.
pub type ExchangePublisher = Publisher<ExchangeCounters, WORDS>;

impl Words<WORDS> for ExchangeCounters {
    #[inline]
    fn to_words(&self, extremes: &Extremes) -> [u64; WORDS] {
        let [interval, low, high] = extremes.to_words();
        let m = &self.round_trips;
        let own = [
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
            self.percentiles[3].to_bits(),
            self.percentiles[4].to_bits(),
            interval,
            low,
            high,
            self.one_way.clock_errors,
        ];
        let mut words = [0; WORDS];
        let (front, series) = words.split_at_mut(own.len());
        front.copy_from_slice(&own);
        let delays = &self.one_way;
        for (slot, delays) in series.chunks_exact_mut(SERIES).zip([
            &delays.transmit,
            &delays.receive,
            &delays.asymmetry,
        ]) {
            slot.copy_from_slice(&delays.to_words());
        }
        words
    }

    fn from_words(w: [u64; WORDS]) -> (Self, Extremes) {
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
            percentiles: [f(8), f(9), f(10), f(11), f(12)],
            one_way: OneWayDelays {
                clock_errors: w[16],
                transmit: DelaySeries::from_words(&w[OWN..OWN + SERIES]),
                receive: DelaySeries::from_words(&w[OWN + SERIES..OWN + 2 * SERIES]),
                asymmetry: DelaySeries::from_words(&w[OWN + 2 * SERIES..]),
            },
        };
        (counters, Extremes::from_words([w[13], w[14], w[15]]))
    }
}
