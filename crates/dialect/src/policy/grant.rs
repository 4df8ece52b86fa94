//! How long, how much and how fast a client's test may be.

use std::num::NonZeroU64;
use std::time::Duration;

use tapeline_base::{BitRate, Bytes, whole_nanos};
use tapeline_wire::native::Granted;

use crate::plan::Limits;

/// What a test may have, in each direction; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) time: Option<Duration>,
    /// Payload.
    pub(crate) bytes: Option<u64>,
    pub(crate) rate: Option<BitRate>,
}
/// What a flow may exceed its rate by: as much as a second of it.
const BURST: Duration = Duration::from_secs(1);
/// Blocks of a limited stream take at most this share of a second.
const BLOCKS_PER_SECOND: u64 = 10;
/// They are not shorter for it than this, bytes.
const SHORTEST_BLOCK: u32 = 1460;

impl From<Grant> for Granted {
    fn from(grant: Grant) -> Self {
        Self {
            nanoseconds: grant.time.map(whole_nanos).and_then(NonZeroU64::new),
            bytes: grant.bytes.and_then(NonZeroU64::new),
            rate: grant.rate.and_then(|rate| NonZeroU64::new(rate.0)),
        }
    }
}

impl Grant {
    /// What a foreign client's test is granted.
    pub(crate) fn foreign(limits: &Limits) -> Self {
        Self {
            time: Some(limits.longest),
            bytes: limits.bytes.map(|Bytes(bytes)| bytes),
            rate: limits.rate,
        }
    }

    /// The same, and no longer than `time`.
    pub(crate) fn within(self, time: Option<Duration>) -> Self {
        Self {
            time: self.time.into_iter().chain(time).min(),
            ..self
        }
    }

    /// What each of the `streams` of the test may have. They do not say how they share it: each has
    /// as much as the others.
    pub(crate) fn share(self, streams: u32) -> Self {
        let streams = u64::from(streams.max(1));
        Self {
            time: self.time,
            bytes: self.bytes.map(|bytes| (bytes / streams).max(1)),
            rate: self.rate.map(|rate| BitRate((rate.0 / streams).max(1))),
        }
    }

    /// Whether what a flow wants is more than this.
    pub(crate) fn is_exceeded_by(self, bytes: Option<u64>, rate: Option<BitRate>) -> bool {
        let more = |wanted: Option<u64>, max: Option<u64>| {
            wanted.zip(max).is_some_and(|(wanted, max)| wanted > max)
        };
        more(bytes, self.bytes) || more(rate.map(|rate| rate.0), self.rate.map(|rate| rate.0))
    }

    /// Whether a flow of so many bytes within `elapsed` had more than this.
    pub(crate) fn is_used_up(self, bytes: u64, elapsed: Duration) -> bool {
        let allowed = |rate: BitRate| {
            let bits = u128::from(rate.0) * (elapsed + BURST).as_millis() / 1000;
            bits / 8
        };
        self.is_exceeded_by(Some(bytes), None)
            || self
                .rate
                .is_some_and(|rate| u128::from(bytes) > allowed(rate))
    }

    /// The length of blocks of a stream with this share: not so long that single ones show.
    pub(crate) fn block(self, length: u32) -> u32 {
        let Some(BitRate(rate)) = self.rate else {
            return length;
        };
        let max = u32::try_from(rate / 8 / BLOCKS_PER_SECOND).unwrap_or(u32::MAX);
        length.min(max.max(SHORTEST_BLOCK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRANT: Grant = Grant {
        time: Some(Duration::from_secs(60)),
        bytes: Some(1000),
        rate: Some(BitRate(8000)),
    };

    #[test]
    fn streams_share_alike() {
        let share = GRANT.share(4);
        assert_eq!((share.bytes, share.rate), (Some(250), Some(BitRate(2000))));
        assert_eq!(share.time, GRANT.time);
        assert_eq!(GRANT.share(0), GRANT);
        // A share of nothing would be no limit at all.
        assert_eq!(GRANT.share(u32::MAX).bytes, Some(1));
        assert_eq!(Grant::default().share(3), Grant::default());
        let time = |seconds| GRANT.within(Some(Duration::from_secs(seconds))).time;
        assert_eq!(time(5), Some(Duration::from_secs(5)));
        assert_eq!(time(90), GRANT.time);
    }

    #[test]
    fn wishes_and_flows_are_measured_by_it() {
        assert!(!GRANT.is_exceeded_by(Some(1000), Some(BitRate(8000))));
        assert!(GRANT.is_exceeded_by(Some(1001), None));
        assert!(GRANT.is_exceeded_by(None, Some(BitRate(8001))));
        assert!(!Grant::default().is_exceeded_by(Some(u64::MAX), Some(BitRate(u64::MAX))));
        let second = Duration::from_secs(1);
        let fast = Grant {
            bytes: None,
            ..GRANT
        };
        // A second's worth may come at once, and no more than that.
        assert!(!fast.is_used_up(1000, Duration::ZERO) && fast.is_used_up(1001, Duration::ZERO));
        assert!(!fast.is_used_up(2000, second) && fast.is_used_up(2001, second));
        assert!(!GRANT.is_used_up(1000, second) && GRANT.is_used_up(1001, second));
        assert!(!Grant::default().is_used_up(u64::MAX, second));
    }

    #[test]
    fn slow_streams_have_short_blocks() {
        let block = |rate: u64| {
            let share = Grant {
                rate: Some(BitRate(rate)),
                ..Grant::default()
            };
            share.block(131_072)
        };
        assert_eq!(block(1), 1460);
        assert_eq!(block(1_000_000), 12_500);
        assert_eq!(block(u64::MAX), 131_072);
        assert_eq!(Grant::default().block(131_072), 131_072);
    }
}
