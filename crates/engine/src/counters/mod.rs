//! What workers count, and the cells they publish it through.
//!
//! Each kind of flow has one plain struct of counters that only grow (extremes apart). Its
//! worker publishes it through a [`Publisher`] into a [`FlowCell`]; the sampler subtracts
//! two snapshots.

mod cell;
mod datagram;
mod delay;
mod intervals;
mod publisher;
mod receive;
mod request_response;
mod send;
mod snapshot;

pub use cell::{Closed, Counters, FlowCell};
pub use datagram::{
    ArrivalPattern, DatagramCell, DatagramCounters, DatagramPublisher, FrameArrivals, LinkFaults,
};
pub use delay::{DelayCell, DelayCounters, DelayPublisher, DelaySeries};
pub use intervals::Intervals;
pub(crate) use intervals::Watch;
pub use publisher::Publisher;
pub use receive::{
    BurstCell, BurstCounters, BurstPublisher, ReceiveCell, ReceiveCounters, ReceivePublisher,
};
pub use request_response::{
    OneWayDelays, RequestResponseCell, RequestResponseCounters, RequestResponsePublisher,
};
pub use send::{SendCell, SendCounters, SendPublisher};
pub use snapshot::SnapshotCell;

#[cfg(test)]
mod tests;
