//! What a sender counts.

use tapeline_base::MonoTime;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::cell::{Counters, FlowCell, words};
use super::publisher::Publisher;
use crate::pacing::FrameCounts;

/// A sender's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct SendCounters {
    /// Payload bytes accepted by the kernel.
    pub bytes: u64,
    /// Blocks or datagrams written.
    pub writes: u64,
    /// Writes that failed without ending the flow.
    pub errors: u64,
    /// Of the errors, writes that timed out.
    pub timeouts: u64,
    /// Of the errors, sends of datagrams that failed because the peer's port is closed (ECONNREFUSED): an
    /// earlier datagram's answer, which says nothing about room on this host.
    pub refused: u64,
    /// Of the errors, sends of datagrams for which this host has no way to the peer (EHOSTUNREACH,
    /// ENETUNREACH, ENETDOWN).
    pub unreachable: u64,
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
pub type SendCell = FlowCell<SendCounters, { words::<SendCounters>() }>;
/// The one writer of a [`SendCell`].
pub type SendPublisher = Publisher<SendCounters, { words::<SendCounters>() }>;

impl Counters for SendCounters {}
