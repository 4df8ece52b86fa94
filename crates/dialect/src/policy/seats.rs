//! Places of foreign clients' tests and streams.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tapeline_wire::native::RefusalReason;

use super::Source;
use crate::plan::Limits;

/// A test of one stream, in the unit of [`Seats`]. A stream of a test of n takes an n-th of it:
/// iperf 2's connections do not say which test they belong to, only how many there are.
const WHOLE: u64 = 1 << 20;

/// Why a stream does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// More streams than a test may have.
    #[error("its test has {asked} streams, of {most} at most")]
    StreamsOfTest {
        /// Announced.
        asked: u32,
        /// The limit.
        most: u32,
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
    #[error("it orders blocks of {asked} bytes, of {most} at most")]
    Block {
        /// Ordered, bytes.
        asked: u32,
        /// The limit.
        most: u32,
    },
    /// More payload than a test may have.
    #[error("it asks for {asked} bytes, of {most} at most")]
    Bytes {
        /// Asked for.
        asked: u64,
        /// The limit.
        most: u64,
    },
    /// A port that the server connects to on nobody's order.
    #[error("it orders a connection to its port {asked}, below {lowest}")]
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
            Refusal::StreamsOfTest { most, .. } => Self::StreamsOfTest(most),
            Refusal::TestsOfSource(most) => Self::TestsOfAddress(most),
            Refusal::Tests(most) => Self::Tests(most),
            Refusal::Streams(most) => Self::Streams(most),
            Refusal::Block { most, .. } => Self::Block(most),
            Refusal::Bytes { .. } => Self::Bytes,
            Refusal::Port { lowest, .. } => Self::Port(lowest.into()),
        }
    }
}

/// Places that are taken.
#[derive(Debug, Default)]
pub(super) struct Seats {
    tests: u64,
    streams: u64,
    tests_of_source: HashMap<Source, u64>,
}

/// A place, until it is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    _taken: Arc<Taken>,
}

#[derive(Debug)]
struct Taken {
    seats: Arc<Mutex<Seats>>,
    source: Source,
    tests: u64,
    streams: u64,
}

fn lock(seats: &Mutex<Seats>) -> MutexGuard<'_, Seats> {
    seats.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a place for `count` of the `announced` streams of a test.
pub(super) fn take(
    seats: &Arc<Mutex<Seats>>,
    limits: &Limits,
    source: Source,
    announced: u32,
    count: u32,
) -> Result<Seat, Refusal> {
    if announced > limits.streams_of_test {
        return Err(Refusal::StreamsOfTest {
            asked: announced,
            most: limits.streams_of_test,
        });
    }
    let streams = u64::from(count.max(1));
    let tests = WHOLE * streams / u64::from(announced.max(1));
    let mut taken = lock(seats);
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
    Ok(Seat {
        _taken: Arc::new(Taken {
            seats: Arc::clone(seats),
            source,
            tests,
            streams,
        }),
    })
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut taken = lock(&self.seats);
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
        let seats = Arc::default();
        let limits = Limits {
            tests: 3,
            tests_of_source: 2,
            streams_of_test: 4,
            streams: 9,
            ..Limits::default()
        };
        let take = |last, announced, count| take(&seats, &limits, source(last), announced, count);
        let refused = |last, announced, count| take(last, announced, count).expect_err("no place");
        assert_eq!(
            refused(1, 5, 1),
            Refusal::StreamsOfTest { asked: 5, most: 4 }
        );
        // Eight connections of two tests of four, and a test of one.
        let eight: Vec<Seat> = (0..8).map(|_| take(1, 4, 1).expect("a place")).collect();
        assert_eq!(refused(1, 4, 1), Refusal::TestsOfSource(2));
        assert_eq!(refused(2, 2, 2), Refusal::Streams(9));
        let other = take(2, 1, 1).expect("a place");
        assert_eq!(refused(3, 1, 1), Refusal::Tests(3));
        drop(eight);
        let both = take(3, 4, 4).expect("places");
        let shared = both.clone();
        drop((other, both));
        assert_eq!(lock(&seats).streams, 4);
        drop(shared);
        let left = lock(&seats);
        assert!(left.tests == 0 && left.streams == 0 && left.tests_of_source.is_empty());
    }
}
