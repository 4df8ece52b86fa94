//! What a sender counts.

use tapeline_base::MonoTime;

use super::{Extremes, FlowCell, Publisher, Words};

/// A sender's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounters {
    /// Payload bytes accepted by the kernel.
    pub bytes: u64,
    /// Blocks or datagrams written.
    pub writes: u64,
    /// Writes that failed without ending the flow.
    pub errors: u64,
    /// Of those, writes that timed out.
    pub timeouts: u64,
    /// Datagrams that left after their time.
    pub late: u64,
    /// Time of the last write.
    pub last: MonoTime,
}

/// Cell of a sender.
pub type SendCell = FlowCell<SendCounters, 6>;
/// The one writer of a [`SendCell`].
pub type SendPublisher = Publisher<SendCounters, 6>;

impl Words<6> for SendCounters {
    #[inline]
    fn to_words(&self, _: &Extremes) -> [u64; 6] {
        [
            self.bytes,
            self.writes,
            self.errors,
            self.timeouts,
            self.late,
            self.last.as_nanos(),
        ]
    }

    fn from_words([bytes, writes, errors, timeouts, late, last]: [u64; 6]) -> (Self, Extremes) {
        let counters = Self {
            bytes,
            writes,
            errors,
            timeouts,
            late,
            last: MonoTime::from_nanos(last),
        };
        (counters, Extremes::default())
    }
}
