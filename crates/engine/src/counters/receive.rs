//! What a TCP receiver counts.

use tapeline_base::MonoTime;
use tapeline_stats::ReadSizes;

use super::{Extremes, FlowCell, Publisher, Words};

/// A TCP receiver's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveCounters {
    /// Payload bytes.
    pub bytes: u64,
    /// Reads and their sizes.
    pub reads: ReadSizes,
    /// Time of the last read.
    pub last: MonoTime,
}

/// Cell of a TCP receiver.
pub type ReceiveCell = FlowCell<ReceiveCounters, 12>;
/// The one writer of a [`ReceiveCell`].
pub type ReceivePublisher = Publisher<ReceiveCounters, 12>;

impl Words<12> for ReceiveCounters {
    #[inline]
    fn to_words(&self, _: &Extremes) -> [u64; 12] {
        let b = &self.reads.bins;
        let last = self.last.as_nanos();
        let (reads, width) = (self.reads.reads, self.reads.bin_width());
        [
            self.bytes, reads, last, b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], width,
        ]
    }

    fn from_words(w: [u64; 12]) -> (Self, Extremes) {
        let mut reads = ReadSizes::new(w[11].saturating_mul(8));
        reads.reads = w[1];
        reads.bins.copy_from_slice(&w[3..11]);
        let counters = Self {
            bytes: w[0],
            reads,
            last: MonoTime::from_nanos(w[2]),
        };
        (counters, Extremes::default())
    }
}
