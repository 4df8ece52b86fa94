//! What stands out among the tests between many hosts, as data.

use serde::Serialize;

/// The number of a test that is shown and judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MatrixQuantity {
    /// The rate that arrived.
    Rate,
    /// The round trip.
    RoundTrip,
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "subject", rename_all = "snake_case")]
pub enum Subject {
    /// A host as a sender, to all others.
    Sender {
        /// Its name.
        host: String,
    },
    /// A host as a receiver, from all others.
    Receiver {
        /// Its name.
        host: String,
    },
    /// A host both ways.
    Host {
        /// Its name.
        host: String,
    },
    /// A path one way.
    Path {
        /// The host that sends.
        from: String,
        /// The host that receives.
        to: String,
    },
    /// A path both ways.
    BothWays {
        /// A host at one end.
        from: String,
        /// The host at its peer.
        to: String,
    },
}

/// A host or a path that is slower than the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The number that shows it.
    pub quantity: MatrixQuantity,
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// By how much it differs from what the others suggest, percent: below 0 of a rate.
    pub change_percent: f64,
    /// The same in median absolute deviations of its kind; `null` where those do not differ.
    pub deviations: Option<f64>,
    /// A sentence.
    pub text: String,
}
