//! What a TCP receiver counts.

use tapeline_base::MonoTime;
use tapeline_stats::{Moments, ReadSizes};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

use super::cell::{Counters, FlowCell, words};
use super::publisher::Publisher;

/// A TCP receiver's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct ReceiveCounters {
    /// Payload bytes.
    pub bytes: u64,
    /// Reads and their sizes.
    pub reads: ReadSizes,
    /// Time of the last read.
    pub last: MonoTime,
}

impl ReceiveCounters {
    /// Nothing received; `reads` with their bins.
    #[must_use]
    pub const fn new(reads: ReadSizes) -> Self {
        Self {
            bytes: 0,
            reads,
            last: MonoTime::ZERO,
        }
    }
}

/// Cell of a TCP receiver.
pub type ReceiveCell = FlowCell<ReceiveCounters, { words::<ReceiveCounters>() }>;
/// The one writer of a [`ReceiveCell`].
pub type ReceivePublisher = Publisher<ReceiveCounters, { words::<ReceiveCounters>() }>;

impl Counters for ReceiveCounters {
    fn unpublished() -> Self {
        Self::new(ReadSizes::new(0))
    }
}

/// The counters of a TCP receiver whose stream consists of stamped bursts.
#[derive(Clone, Copy, Debug, PartialEq, FromZeros, IntoBytes, Immutable)]
#[repr(C)]
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
    /// Published counters are whole words.
    pub(crate) rest: [u8; 7],
}

impl BurstCounters {
    /// Nothing received; `reads` with their bins.
    #[must_use]
    pub fn new(reads: ReadSizes) -> Self {
        Self {
            receive: ReceiveCounters::new(reads),
            latency: Moments::EMPTY,
            complete: 0,
            skipped: 0,
            broken: false,
            rest: [0; 7],
        }
    }
}

/// Cell of a receiver of bursts.
pub type BurstCell = FlowCell<BurstCounters, { words::<BurstCounters>() }>;
/// The one writer of a [`BurstCell`]; its extremes are latencies.
pub type BurstPublisher = Publisher<BurstCounters, { words::<BurstCounters>() }>;

impl Counters for BurstCounters {
    fn unpublished() -> Self {
        Self::new(ReadSizes::new(0))
    }
}
