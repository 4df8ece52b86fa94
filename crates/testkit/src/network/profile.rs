//! What a simulated link does to its traffic.

use std::time::Duration;

use tapeline_base::{BitRate, MonoTime};

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that begins.
    Client,
    /// The end that answers.
    Server,
}

impl Side {
    /// The opposite end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// Position in an array with one item per side.
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }
}

/// A time in which nothing gets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// First moment of it.
    pub from: MonoTime,
    /// First moment after it; [`MonoTime::FAR`] for a link that stays cut.
    pub until: MonoTime,
}

impl Cut {
    /// Whether the link is cut at `now`.
    #[must_use]
    pub fn covers(&self, now: MonoTime) -> bool {
        self.from <= now && now < self.until
    }
}

/// One direction of a datagram link. The default is perfect: no delay, no limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkProfile {
    /// Time under way.
    pub delay: Duration,
    /// Random time on top, from 0 to this. Alone it does not change the order.
    pub jitter: Duration,
    /// Probability of loss, 0 to 1.
    pub loss: f64,
    /// Probability that a second copy arrives, at the same time or later.
    pub duplicate: f64,
    /// Probability that later datagrams overtake this one.
    pub reorder: f64,
    /// How much longer an overtaken datagram is under way.
    pub reorder_by: Duration,
    /// Probability that one bit is flipped.
    pub corrupt: f64,
    /// Bottleneck; datagrams queue before it. None for no limit.
    pub rate: Option<BitRate>,
    /// Bytes that the bottleneck's queue holds; what does not fit is lost. None for no
    /// limit.
    pub queue: Option<u64>,
    /// Times in which everything sent is lost.
    pub cuts: Vec<Cut>,
}

/// One direction of a byte-stream link. The default is perfect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamProfile {
    /// Time under way.
    pub delay: Duration,
    /// Random time on top, from 0 to this; never changes the order.
    pub jitter: Duration,
    /// Bottleneck. None for no limit.
    pub rate: Option<BitRate>,
    /// Bytes written and not yet read, at most; further writes are short. None for no
    /// limit.
    pub window: Option<usize>,
    /// Largest piece that arrives at once; each piece has a random length up to it.
    /// None: what was written together arrives together.
    pub piece: Option<usize>,
    /// Times in which nothing arrives; it does so afterwards, as if retransmitted.
    pub cuts: Vec<Cut>,
}
