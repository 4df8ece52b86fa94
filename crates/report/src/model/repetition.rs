//! Several runs of one test, and how sure their means are.

use serde::Serialize;
use tapeline_stats::{Certainty, LimitedBy};

use super::Trust;

/// Which way a flow's data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlowDirection {
    /// From the client to the server.
    Forward,
    /// From the server to the client.
    Reverse,
    /// Requests and their responses.
    RoundTrip,
}

impl FlowDirection {
    /// Its name in documents.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
            Self::RoundTrip => "round_trip",
        }
    }
}

/// What happens between the runs of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum Repetition {
    /// A run begins: what follows is of it alone.
    Begins {
        /// Its number, from 1.
        run: u32,
        /// Runs in any case.
        least: u32,
        /// The last one's number, unless the series ends before.
        most: u32,
    },
    /// The run has ended, and all of it was reported.
    Ends(Box<RunResult>),
    /// All runs have ended.
    Over(Box<Series>),
}

/// A number of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunValue {
    /// Which one.
    pub quantity: Quantity,
    /// Which way the data goes that it is of.
    pub direction: Option<FlowDirection>,
    /// The number, in the unit of the quantity.
    pub number: f64,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// Its numbers; none of a run that did not take place.
    pub values: Vec<RunValue>,
    /// What limited it, in the direction that is limited most, and how sure that is.
    pub limit: Option<(LimitedBy, Certainty)>,
    /// How far it is to be trusted; `None` of a test that carried no traffic.
    pub trust: Option<Trust>,
    /// Why it is in no mean, as far as that is known without the other runs.
    pub fault: Option<ExclusionReason>,
}

/// What several runs of one test, or of one method, came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "Series")
)]
pub struct Series<K = DirectedQuantity> {
    /// Runs that were begun.
    pub runs: u32,
    /// Runs that were to be made at most.
    pub max_runs: u32,
    /// Level of the confidence intervals, percent.
    pub confidence_percent: f64,
    /// `--precision`: how wide the interval of the main numbers may be, percent of their mean.
    pub requested_width_percent: Option<f64>,
    /// Whether it got so narrow; `null` without `--precision`.
    pub precise_enough: Option<bool>,
    /// It was ended by an interrupt.
    pub interrupted: bool,
    /// Runs whose numbers are in no mean.
    pub excluded: Vec<ExcludedRun>,
    /// The numbers.
    pub quantities: Vec<Spread<K>>,
}

/// A run whose numbers are in no mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExcludedRun {
    /// Its number, from 1.
    pub run: u32,
    /// Why.
    pub reason: ExclusionReason,
}

/// Why the numbers of a run are in no mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExclusionReason {
    /// The first one differs from all others by far.
    WarmUp,
    /// It was interrupted.
    Interrupted,
    /// It did not take place, or ended before its time.
    Failed,
}

/// A number that each run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Goodput: payload over time, as the receiver counted it, or the sender where the receiver's
    /// count is not known.
    BitsPerSecond,
    /// Lost datagrams, percent of those sent.
    LostPercent,
    /// Jitter of the receiver, milliseconds.
    JitterMs,
    /// Segments that were sent again.
    Retransmits,
    /// Mean round trip, milliseconds.
    RttMeanMs,
    /// Mean one-way delay, milliseconds.
    OneWayDelayMeanMs,
    /// Mean time to connect, milliseconds.
    ConnectMeanMs,
}

impl Quantity {
    /// Whether a test is about it, of data that goes this way.
    pub(crate) fn is_main(self, direction: Option<FlowDirection>) -> bool {
        match self {
            Self::BitsPerSecond | Self::ConnectMeanMs => true,
            Self::RttMeanMs => direction == Some(FlowDirection::RoundTrip),
            _ => false,
        }
    }

    /// Its name in documents.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::BitsPerSecond => "bits_per_second",
            Self::LostPercent => "lost_percent",
            Self::JitterMs => "jitter_ms",
            Self::Retransmits => "retransmits",
            Self::RttMeanMs => "rtt_mean_ms",
            Self::OneWayDelayMeanMs => "one_way_delay_mean_ms",
            Self::ConnectMeanMs => "connect_mean_ms",
        }
    }
}

/// A number of a test, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectedQuantity {
    /// The number.
    pub quantity: Quantity,
    /// Which way the data goes that it is of.
    pub direction: Option<FlowDirection>,
}

impl DirectedQuantity {
    /// Whether it is what its test is about: the rate, round trips of requests, times to connect.
    #[must_use]
    pub fn is_main(&self) -> bool {
        self.quantity.is_main(self.direction)
    }
}

/// A number over the runs that count.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "Spread")
)]
pub struct Spread<K = DirectedQuantity> {
    /// Which one.
    #[serde(flatten)]
    pub kind: K,
    /// Runs that it is known of, and that count.
    pub runs: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// Their standard deviation; known from two runs on.
    pub deviation: Option<f64>,
    /// Least.
    pub min: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// Lower end of the confidence interval of the mean; known from two runs on.
    pub ci_lower: Option<f64>,
    /// Upper end.
    pub ci_upper: Option<f64>,
    /// Its width, percent of the mean; unknown for a mean of 0.
    pub ci_width_percent: Option<f64>,
    /// Each run's, in their order, those that do not count among them.
    pub values: Vec<Option<f64>>,
}
