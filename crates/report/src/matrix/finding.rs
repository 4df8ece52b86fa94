//! What stands out among the tests between many hosts, as data.

use serde::Serialize;

use super::cell::Measured;

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

impl MatrixQuantity {
    /// Both, in the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::Rate, Self::RoundTrip];

    /// It of a test: bits per second, or seconds.
    #[must_use]
    pub fn of(self, measured: &Measured) -> Option<f64> {
        match self {
            Self::Rate => measured.rate,
            Self::RoundTrip => measured.rtt,
        }
    }
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
        /// The host at one end.
        from: String,
        /// The host at its peer.
        to: String,
    },
}

impl Subject {
    /// Whether a test from one host to another is part of it.
    #[must_use]
    pub fn covers(&self, sender: &str, receiver: &str) -> bool {
        match self {
            Self::Sender { host } => host == sender,
            Self::Receiver { host } => host == receiver,
            Self::Host { host } => host == sender || host == receiver,
            Self::Path { from, to } => (from.as_str(), to.as_str()) == (sender, receiver),
            Self::BothWays { from, to } => {
                let ends = (from.as_str(), to.as_str());
                ends == (sender, receiver) || ends == (receiver, sender)
            }
        }
    }

    /// Whether it is about all that a host sends, and all that it receives.
    #[must_use]
    pub fn is_host(&self, name: &str) -> (bool, bool) {
        match self {
            Self::Sender { host } => (host == name, false),
            Self::Receiver { host } => (false, host == name),
            Self::Host { host } => (host == name, host == name),
            Self::Path { .. } | Self::BothWays { .. } => (false, false),
        }
    }
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
    /// By how much it differs from what the others suggest, percent: below 0 of a rate. Of both ways
    /// the larger difference.
    pub change_percent: f64,
    /// The same in median absolute deviations of its kind; `null` where the others do not differ.
    pub deviations: Option<f64>,
    /// A sentence.
    pub text: String,
}
