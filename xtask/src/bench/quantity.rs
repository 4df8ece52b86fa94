//! What a run of a program yields, and the bounds that are set for it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Quantity {
    /// What the receivers got, over the time in which they got it.
    Throughput,
    /// Processor time of both ends for each gigabyte received.
    CpuPerGigabyte,
    /// From the client's start to the last report of either end.
    WallTime,
    ClientMemory,
    ServerMemory,
    BothMemory,
    /// Datagrams received.
    PacketRate,
    /// Processor time of both ends for each datagram received.
    CpuPerPacket,
    /// Processor time of the client for each datagram sent.
    CpuPerSentPacket,
    Loss,
    GapMedian,
    GapTail,
    BackToBack,
    RateError,
    /// The rate's error as a share of what is allowed: 0.005 %, or one datagram.
    RateErrorShare,
    /// Share of a processor that the sender uses.
    SenderCpu,
    Transactions,
    CpuPerTransaction,
    LeastRoundTrip,
    MeanRoundTrip,
    Connects,
    CpuPerConnect,
    StartTime,
    /// Peak memory of a run that only prints the version.
    StartMemory,
    IdleCpu,
}

/// How a quantity is shown and compared.
struct Facts {
    name: &'static str,
    unit: &'static str,
    digits: usize,
    better: Better,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Better {
    More,
    Less,
}

impl Quantity {
    const fn facts(self) -> Facts {
        use Better::{Less, More};
        let (name, unit, digits, better) = match self {
            Self::Throughput => ("throughput", "Gbit/s", 2, More),
            Self::CpuPerGigabyte => ("CPU of both ends", "s/GB", 3, Less),
            Self::WallTime => ("wall time", "s", 2, Less),
            Self::ClientMemory => ("peak memory, client", "MB", 1, Less),
            Self::ServerMemory => ("peak memory, server", "MB", 1, Less),
            Self::BothMemory => ("peak memory, both ends", "MB", 1, Less),
            Self::PacketRate => ("datagrams received", "k/s", 1, More),
            Self::CpuPerPacket => ("CPU of both ends per datagram received", "us", 3, Less),
            Self::CpuPerSentPacket => ("CPU of the client per datagram sent", "us", 3, Less),
            Self::Loss => ("loss", "%", 2, Less),
            Self::GapMedian => ("gap error p50", "us", 2, Less),
            Self::GapTail => ("gap error p99", "us", 2, Less),
            Self::BackToBack => ("back-to-back share", "%", 3, Less),
            Self::RateError => ("rate error", "%", 4, Less),
            Self::RateErrorShare => ("rate error by what is allowed", "", 2, Less),
            Self::SenderCpu => ("CPU of the sender", "% of a core", 1, Less),
            Self::Transactions => ("transactions", "k/s", 1, More),
            Self::CpuPerTransaction => ("CPU of both ends per transaction", "us", 2, Less),
            Self::LeastRoundTrip => ("shortest round trip", "us", 1, Less),
            Self::MeanRoundTrip => ("mean round trip", "us", 1, Less),
            Self::Connects => ("connects", "k/s", 1, More),
            Self::CpuPerConnect => ("CPU of both ends per connect", "us", 1, Less),
            Self::StartTime => ("start and exit", "ms", 2, Less),
            Self::StartMemory => ("peak memory at -v", "MB", 1, Less),
            Self::IdleCpu => ("CPU of an idle server in 5 s", "ms", 2, Less),
        };
        Facts {
            name,
            unit,
            digits,
            better,
        }
    }

    /// Its name in tables.
    pub(crate) const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Its unit.
    pub(crate) const fn unit(self) -> &'static str {
        self.facts().unit
    }

    /// A value as tables show it.
    pub(crate) fn shown(self, value: f64) -> String {
        format!("{value:.*}", self.facts().digits)
    }

    /// The better one of two values.
    pub(crate) fn best(self, a: f64, b: f64) -> f64 {
        match self.facts().better {
            Better::More => a.max(b),
            Better::Less => a.min(b),
        }
    }

    /// Whether it is the share of an event so rare that a round may see none: its ratio is that
    /// of the sums over the rounds.
    pub(crate) const fn is_rare(self) -> bool {
        matches!(self, Self::BackToBack | Self::Loss)
    }
}

/// The figures of one run.
pub(crate) type Sample = BTreeMap<Quantity, f64>;

/// A bound for a ratio or a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Bound {
    /// At least this much.
    AtLeast(f64),
    /// At most this much.
    AtMost(f64),
}

impl Bound {
    /// Whether a value meets it.
    pub(crate) fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, ">= {bound}"),
            Self::AtMost(bound) => write!(f, "<= {bound}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_include_their_value() {
        assert!(Bound::AtLeast(1.5).is_met(1.5) && !Bound::AtLeast(1.5).is_met(1.49));
        assert!(Bound::AtMost(0.8).is_met(0.8) && !Bound::AtMost(0.8).is_met(0.81));
        assert_eq!(Bound::AtMost(0.055).to_string(), "<= 0.055");
        assert_eq!(Quantity::Throughput.best(1.0, 2.0), 2.0);
        assert_eq!(Quantity::Loss.best(1.0, 2.0), 1.0);
        assert_eq!(Quantity::CpuPerPacket.shown(0.12345), "0.123");
    }
}
