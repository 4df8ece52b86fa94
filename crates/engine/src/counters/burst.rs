//! What a TCP receiver of stamped bursts counts.

use tapeline_base::MonoTime;
use tapeline_stats::{Moments, ReadSizes};

use super::{Extremes, FlowCell, Publisher, ReceiveCounters, Words};

/// The counters of a TCP receiver whose stream consists of stamped bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstCounters {
    /// What every TCP receiver counts.
    pub receive: ReceiveCounters,
    /// From the stamp of a burst, or its first byte where the clocks do not agree, to its
    /// last byte, seconds; complete bursts only.
    pub latency: Moments,
    /// Bytes of complete bursts.
    pub complete: u64,
    /// Numbers of bursts that were left out.
    pub skipped: u64,
    /// The stream held something else where a burst should begin: no more bursts from then on.
    pub broken: bool,
}

impl BurstCounters {
    /// Nothing received; `reads` with their bins.
    #[must_use]
    pub fn new(reads: ReadSizes) -> Self {
        Self {
            receive: ReceiveCounters {
                bytes: 0,
                reads,
                last: MonoTime::ZERO,
            },
            latency: Moments::EMPTY,
            complete: 0,
            skipped: 0,
            broken: false,
        }
    }
}

/// Cell of a receiver of bursts.
pub type BurstCell = FlowCell<BurstCounters, 23>;
/// The one writer of a [`BurstCell`]; its extremes are latencies.
pub type BurstPublisher = Publisher<BurstCounters, 23>;

/// Words of [`ReceiveCounters`].
const RECEIVE: usize = 12;

impl Words<23> for BurstCounters {
    #[inline]
    fn to_words(&self, extremes: &Extremes) -> [u64; 23] {
        let mut words = [0; 23];
        words[..RECEIVE].copy_from_slice(&self.receive.to_words(extremes));
        let [interval, low, high] = extremes.to_words();
        let m = &self.latency;
        words[RECEIVE..].copy_from_slice(&[
            m.count,
            m.mean.to_bits(),
            m.m2.to_bits(),
            m.min.to_bits(),
            m.max.to_bits(),
            self.complete,
            self.skipped,
            u64::from(self.broken),
            interval,
            low,
            high,
        ]);
        words
    }

    fn from_words(w: [u64; 23]) -> (Self, Extremes) {
        let receive = std::array::from_fn::<u64, RECEIVE, _>(|i| w[i]);
        let own = &w[RECEIVE..];
        let f = |i: usize| f64::from_bits(own[i]);
        let latency = if own[0] == 0 {
            Moments::EMPTY
        } else {
            Moments {
                count: own[0],
                mean: f(1),
                m2: f(2),
                min: f(3),
                max: f(4),
            }
        };
        let counters = Self {
            receive: ReceiveCounters::from_words(receive).0,
            latency,
            complete: own[5],
            skipped: own[6],
            broken: own[7] != 0,
        };
        (counters, Extremes::from_words([own[8], own[9], own[10]]))
    }
}
