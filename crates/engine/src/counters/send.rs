//! What a sender counts.

use tapeline_base::MonoTime;

use super::{Extremes, FlowCell, Publisher, Words};
use crate::frames::FrameCounts;

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
    /// Frames or bursts, where the traffic has any.
    pub frames: FrameCounts,
    /// Rate at which the kernel is to pace, bits per second; 0 for none.
    pub pacing_rate: u64,
    /// Time in which there was nothing to send because input was awaited, nanoseconds.
    pub input_awaited: u64,
    /// Datagrams: time in which sends waited for room in the host's queues, nanoseconds.
    pub room_awaited: u64,
    /// Time of the last write.
    pub last: MonoTime,
}

/// Cell of a sender.
pub type SendCell = FlowCell<SendCounters, 12>;
/// The one writer of a [`SendCell`].
pub type SendPublisher = Publisher<SendCounters, 12>;

impl Words<12> for SendCounters {
    #[inline]
    fn to_words(&self, _: &Extremes) -> [u64; 12] {
        [
            self.bytes,
            self.writes,
            self.errors,
            self.timeouts,
            self.late,
            self.last.as_nanos(),
            self.frames.sent,
            self.frames.missed,
            self.frames.slips,
            self.pacing_rate,
            self.input_awaited,
            self.room_awaited,
        ]
    }

    fn from_words(w: [u64; 12]) -> (Self, Extremes) {
        let counters = Self {
            bytes: w[0],
            writes: w[1],
            errors: w[2],
            timeouts: w[3],
            late: w[4],
            last: MonoTime::from_nanos(w[5]),
            frames: FrameCounts {
                sent: w[6],
                missed: w[7],
                slips: w[8],
            },
            pacing_rate: w[9],
            input_awaited: w[10],
            room_awaited: w[11],
        };
        (counters, Extremes::default())
    }
}
