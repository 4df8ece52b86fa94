//! The result of `rfc6349`: TCP throughput beside what the path allows.

mod findings;
mod forms;
mod page;
mod result;
#[cfg(test)]
mod tests;

pub use result::{
    Bottleneck, BottleneckSource, DirectionResult, Headline, Ideal, IdleRoundTrip, LightLoad,
    Rfc6349Result, RoundTripSource, RunPhase, Simultaneous, TransferPoint, TransferRun,
};
