//! What workers count, and the cells they publish it through.
//!
//! Each kind of flow has one plain struct of counters that only grow (extremes apart). Its
//! worker publishes it through a [`Publisher`] into a [`FlowCell`]; the sampler subtracts
//! two snapshots.

mod burst;
mod cell;
mod datagram;
mod delay;
mod exchange;
mod extremes;
mod intervals;
mod publisher;
mod receive;
mod send;

pub use burst::{BurstCell, BurstCounters, BurstPublisher};
pub use cell::{Closed, FlowCell};
pub use datagram::{
    ArrivalPattern, DatagramCell, DatagramCounters, DatagramPublisher, FrameArrivals, LinkFaults,
};
pub use delay::{DelayCell, DelayCounters, DelayPublisher};
pub use exchange::{DelaySeries, ExchangeCell, ExchangeCounters, ExchangePublisher, OneWayDelays};
pub use extremes::Extremes;
pub use intervals::Intervals;
pub(crate) use intervals::Watch;
pub use publisher::Publisher;
pub use receive::{ReceiveCell, ReceiveCounters, ReceivePublisher};
pub use send::{SendCell, SendCounters, SendPublisher};

/// Counters as the words of a cell.
pub trait Words<const N: usize>: Copy {
    /// The counters, with the extremes of the running interval where the kind has any.
    fn to_words(&self, extremes: &Extremes) -> [u64; N];
    /// The way back.
    fn from_words(words: [u64; N]) -> (Self, Extremes);
}

#[cfg(test)]
mod tests;
