//! What happened to a packet.

use crate::Head;

/// One packet's way through the relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Its first bytes.
    pub head: Head,
    /// Length of the IP packet in bytes.
    pub length: usize,
    /// When the relay took it, in nanoseconds since 1970.
    pub entered: u64,
    /// When the relay let it go on, in the same clock: never, once or twice.
    pub left: Vec<u64>,
}

impl Passage {
    /// Nanoseconds between coming in and first going out; nothing when it was lost.
    #[must_use]
    pub fn delay(&self) -> Option<u64> {
        Some(self.left.first()?.saturating_sub(self.entered))
    }
}
