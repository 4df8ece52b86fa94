//! Places of foreign clients' tests and streams.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tapeline_base::MutexExt;
use tapeline_wire::native::RefusalReason;

use super::source::Source;
use crate::plan::Limits;

/// A test of one stream, in the unit of [`Slots`]. A stream of a test of n takes an n-th of it:
/// iperf 2's connections do not say which test they belong to, only how many there are.
const WHOLE: u64 = 1 << 20;

/// Why a stream does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// More streams than a test may have.
    #[error("its test has {asked} streams, of {max} at most")]
    StreamsOfTest {
        /// Announced.
        asked: u32,
        /// The limit.
        max: u32,
    },
    /// All places of a source are taken.
    #[error("{0} tests of its address run, which is the limit")]
    TestsOfSource(u32),
    /// All places are taken.
    #[error("{0} tests run, which is the limit")]
    Tests(u32),
    /// All streams are taken.
    #[error("{0} streams run, which is the limit")]
    Streams(u32),
    /// Longer blocks or messages than a client may order.
    #[error("it asks for blocks of {asked} bytes, of {max} at most")]
    Block {
        /// Ordered, bytes.
        asked: u32,
        /// The limit.
        max: u32,
    },
    /// More payload than a test may have.
    #[error("it asks for {asked} bytes, of {max} at most")]
    Bytes {
        /// Asked for.
        asked: u64,
        /// The limit.
        max: u64,
    },
    /// A port that the server connects to on nobody's order.
    #[error("it asks for a connection to its port {asked}, below {lowest}")]
    Port {
        /// Ordered.
        asked: u16,
        /// The lowest that may be.
        lowest: u16,
    },
}

impl From<Refusal> for RefusalReason {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::StreamsOfTest { max, .. } => Self::StreamsOfTest(max),
            Refusal::TestsOfSource(max) => Self::TestsOfAddress(max),
            Refusal::Tests(max) => Self::Tests(max),
            Refusal::Streams(max) => Self::Streams(max),
            Refusal::Block { max, .. } => Self::Block(max),
            Refusal::Bytes { .. } => Self::Bytes,
            Refusal::Port { lowest, .. } => Self::Port(lowest.into()),
        }
    }
}

/// Places that are taken.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    tests: u64,
    streams: u64,
    tests_of_source: HashMap<Source, u64>,
}

/// A place, until it is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    _taken: Arc<Taken>,
}

#[derive(Debug)]
struct Taken {
    slots: Arc<Mutex<Slots>>,
    source: Source,
    tests: u64,
    streams: u64,
}

/// Takes a place for `count` of the `announced` streams of a test.
pub(crate) fn acquire(
    slots: &Arc<Mutex<Slots>>,
    limits: &Limits,
    source: Source,
    announced: u32,
    count: u32,
) -> Result<Slot, Refusal> {
    if announced > limits.streams_of_test {
        return Err(Refusal::StreamsOfTest {
            asked: announced,
            max: limits.streams_of_test,
        });
    }
    let streams = u64::from(count.max(1));
    let tests = WHOLE * streams / u64::from(announced.max(1));
    let mut taken = slots.lock_unpoisoned();
    let own = taken.tests_of_source.get(&source).copied().unwrap_or(0) + tests;
    if own > WHOLE * u64::from(limits.tests_of_source) {
        return Err(Refusal::TestsOfSource(limits.tests_of_source));
    }
    if taken.tests + tests > WHOLE * u64::from(limits.tests) {
        return Err(Refusal::Tests(limits.tests));
    }
    if taken.streams + streams > u64::from(limits.streams) {
        return Err(Refusal::Streams(limits.streams));
    }
    taken.tests += tests;
    taken.streams += streams;
    taken.tests_of_source.insert(source, own);
    drop(taken);
    Ok(Slot {
        _taken: Arc::new(Taken {
            slots: Arc::clone(slots),
            source,
            tests,
            streams,
        }),
    })
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut taken = self.slots.lock_unpoisoned();
        taken.tests -= self.tests;
        taken.streams -= self.streams;
        if let Some(own) = taken.tests_of_source.get_mut(&self.source) {
            *own -= self.tests;
            if *own == 0 {
                taken.tests_of_source.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn source(last: u8) -> Source {
        Source::from(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)))
    }

    #[test]
    fn places_are_counted_by_source_and_in_all_and_come_back() {
        let slots = Arc::default();
        let limits = Limits {
            tests: 3,
            tests_of_source: 2,
            streams_of_test: 4,
            streams: 9,
            ..Limits::default()
        };
        let acquire =
            |last, announced, count| acquire(&slots, &limits, source(last), announced, count);
        let refused =
            |last, announced, count| acquire(last, announced, count).expect_err("no place");
        assert_eq!(
            refused(1, 5, 1),
            Refusal::StreamsOfTest { asked: 5, max: 4 }
        );
        // Eight connections of two tests of four, and a test of one.
        let eight: Vec<Slot> = (0..8).map(|_| acquire(1, 4, 1).expect("a place")).collect();
        assert_eq!(refused(1, 4, 1), Refusal::TestsOfSource(2));
        assert_eq!(refused(2, 2, 2), Refusal::Streams(9));
        let other = acquire(2, 1, 1).expect("a place");
        assert_eq!(refused(3, 1, 1), Refusal::Tests(3));
        drop(eight);
        let both = acquire(3, 4, 4).expect("places");
        let shared = both.clone();
        drop((other, both));
        assert_eq!(slots.lock_unpoisoned().streams, 4);
        drop(shared);
        let left = slots.lock_unpoisoned();
        assert!(left.tests == 0 && left.streams == 0 && left.tests_of_source.is_empty());
    }
}
