//! How a result of another program was taken over.

use serde::Serialize;

/// A result of another program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Imported {
    /// What it was read from: `iperf3-json`, `iperf3-text`, `iperf2-csv` or `iperf2-text`.
    pub from: &'static str,
    /// How finely its numbers were told; `null` where they were not rounded.
    pub resolution: Option<Resolution>,
}

/// One unit of the last digit that a text told of the largest number of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resolution {
    /// Of begins and ends.
    pub seconds: Option<f64>,
    /// Of payload.
    pub bytes: Option<f64>,
    /// Of rates.
    pub bits_per_second: Option<f64>,
    /// Of jitter and delays.
    pub milliseconds: Option<f64>,
}
