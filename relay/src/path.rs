//! What happens to packets on their way.

use std::time::Duration;

use crate::{Link, Policer};

/// One direction of a [`crate::Relay`].
///
/// A packet meets the policer, the link, and then the delay. Those, jitter, aggregation and
/// `dropped` are everyone's. The other faults hit numbered datagrams only, see
/// [`crate::Head::number`]: the end of a test and its answers pass, so that a count of faults does
/// not depend on how often they are repeated.
#[derive(Debug, Clone, Default)]
pub struct Path {
    /// Time on the way.
    pub delay: Duration,
    /// Further time that varies. Packets wait for those before them and never overtake.
    pub jitter: Jitter,
    /// What is above a rate is dropped.
    pub policer: Option<Policer>,
    /// What is above a rate waits.
    pub link: Option<Link>,
    /// Packets leave together, once in this time, as a radio link sends them; 0 for each by itself.
    pub aggregation: Duration,
    /// Packets of any kind that never arrive.
    pub dropped: Selection,
    /// Datagrams that never arrive.
    pub lost: Selection,
    /// Datagrams that arrive twice, at the same time.
    pub doubled: Selection,
    /// Datagrams that are held back, for `holding`, and overtaken meanwhile.
    pub held: Selection,
    /// How long those are held back.
    pub holding: Duration,
    /// Beginning of all random choices.
    pub seed: u64,
}

impl Path {
    /// A path of constant delay.
    #[must_use]
    pub fn with_delay(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }
}

/// How the delay varies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Jitter {
    /// Not at all.
    #[default]
    None,
    /// By a random time up to this.
    Uniform(Duration),
    /// By these times in turn.
    Steps(Vec<Duration>),
}

/// Which packets, or numbered datagrams, a fault hits, counted from 0 in the order of their arrival
/// at the relay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Selection {
    /// None.
    #[default]
    None,
    /// One in every `period`, the one at `place`.
    Periodic {
        /// Length of the cycle, at least 1.
        period: u64,
        /// Place in it, from 0.
        place: u64,
    },
    /// Random ones.
    Random {
        /// How many in a million.
        per_million: u64,
    },
}
