//! Round trips of a small flow of probes next to a test's traffic (`docs/dev/protocol.md`, section 2.4).

use std::time::Duration;

use tapeline_stats::{BufferbloatGrade, DelayCounts, Moments};

/// Probes of a part of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeSeries {
    /// Probes that were sent.
    pub sent: u64,
    /// Round trips of those that were answered, nanoseconds; the time in the server is not in them.
    pub round_trips: DelayCounts,
}

/// How much longer the path takes while the test's traffic flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedLatency {
    /// After the traffic.
    pub idle: ProbeSeries,
    /// While it flowed.
    pub loaded: ProbeSeries,
    /// How long it flowed.
    pub load: Duration,
    /// Median under load less the idle median, seconds; `None` without either.
    pub increase: Option<f64>,
    /// The same of the way to the peer, where the clocks could be compared.
    pub increase_there: Option<f64>,
    /// The same of the way back.
    pub increase_back: Option<f64>,
    /// The grade of the increase; `None` where the load was too short or the round trips too few.
    pub grade: Option<BufferbloatGrade>,
}

impl LoadedLatency {
    /// The same by another idle path; what was known of each way by itself is not.
    #[must_use]
    pub fn with_idle(self, idle: ProbeSeries) -> Self {
        let median = |series: &ProbeSeries| series.round_trips.percentile(50.0);
        let increase = median(&self.loaded)
            .zip(median(&idle))
            .map(|(loaded, idle)| loaded.saturating_sub(idle) as f64 * 1e-9);
        let enough = self.loaded.round_trips.count() >= BufferbloatGrade::LEAST_SAMPLES
            && self.load >= BufferbloatGrade::LEAST_LOAD;
        Self {
            idle,
            increase,
            increase_there: None,
            increase_back: None,
            grade: increase
                .filter(|_| enough)
                .map(BufferbloatGrade::of_increase),
            ..self
        }
    }

    /// Of several flows on one idle path: the probes of all.
    #[must_use]
    pub fn joined(all: &[&Self]) -> Option<Self> {
        let first = all.iter().find(|one| one.idle.round_trips.count() > 0)?;
        let mut loaded = ProbeSeries::default();
        for one in all {
            loaded.sent += one.loaded.sent;
            loaded.round_trips.merge(&one.loaded.round_trips);
        }
        let load = all.iter().map(|one| one.load).max().unwrap_or_default();
        let joined = Self {
            loaded,
            load,
            ..Self::default()
        };
        Some(joined.with_idle(first.idle.clone()))
    }
}

/// Round trips of a client's probes (`docs/dev/protocol.md`, section 2.4) that were answered in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeDelays {
    /// Seconds; the time in the server is not in them. At least one.
    pub round_trips: Moments,
}
