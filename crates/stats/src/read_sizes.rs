//! How large the reads from a stream socket were.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Number of bins, fixed by iperf 2's `Reads=Dist` column.
const BINS: usize = 8;

/// Number of reads and the histogram of their sizes, with iperf 2's bins: a read of n
/// bytes into a buffer of l falls into bin floor((n − 1) / floor(l / 8)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct ReadSizes {
    bin_width: u64,
    /// Number of reads that returned bytes.
    pub reads: u64,
    /// Reads per bin; they add up to `reads`.
    pub bins: [u64; BINS],
}

impl ReadSizes {
    /// For a receive buffer of `buffer_length` bytes.
    #[must_use]
    pub fn new(buffer_length: u64) -> Self {
        Self {
            // A buffer below 8 bytes would give bins of no width.
            bin_width: (buffer_length / BINS as u64).max(1),
            reads: 0,
            bins: [0; BINS],
        }
    }

    /// Width of a bin in bytes.
    #[must_use]
    pub fn bin_width(&self) -> u64 {
        self.bin_width
    }

    /// Counts a read that returned `bytes`; the end of the stream (0) is not a read.
    #[inline]
    pub fn record(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.reads += 1;
        // A length that 8 does not divide leaves a rest, which joins the last bin.
        let bin = ((bytes - 1) / self.bin_width).min(BINS as u64 - 1);
        self.bins[bin as usize] += 1;
    }

    /// Counts the reads of another flow with the same buffer length too.
    pub fn merge(&mut self, other: &Self) {
        self.reads += other.reads;
        for (own, others) in self.bins.iter_mut().zip(other.bins) {
            *own += others;
        }
    }

    /// The reads between two copies.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut interval = *self;
        interval.reads = self.reads.saturating_sub(earlier.reads);
        for (own, before) in interval.bins.iter_mut().zip(earlier.bins) {
            *own = own.saturating_sub(before);
        }
        interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_eighths_of_the_buffer() {
        let mut sizes = ReadSizes::new(131_072);
        assert_eq!(sizes.bin_width(), 16_384);
        for bytes in [1, 16_384, 16_385, 131_072, 0] {
            sizes.record(bytes);
        }
        assert_eq!(sizes.reads, 4);
        assert_eq!(sizes.bins, [2, 1, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn odd_and_tiny_buffers_stay_within_the_bins() {
        let mut odd = ReadSizes::new(1_023);
        odd.record(1_023);
        assert_eq!(odd.bins[7], 1);
        let mut tiny = ReadSizes::new(3);
        tiny.record(3);
        assert_eq!(tiny.bins[2], 1);
    }

    #[test]
    fn since_undoes_merge() {
        let mut earlier = ReadSizes::new(800);
        earlier.record(100);
        let mut interval = ReadSizes::new(800);
        interval.record(800);
        interval.record(150);
        let mut later = earlier;
        later.merge(&interval);
        assert_eq!(later.since(&earlier), interval);
    }
}
