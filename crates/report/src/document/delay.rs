//! Delays, summed up.

use serde::Serialize;
use tapeline_stats::{DelayCounts, Moments, PUBLISHED_PERCENTILES};

use super::figures::{millis, seconds};
use crate::model;

/// Quantiles from the least to the largest delay.
const QUANTILES: usize = 21;

/// Count, mean, extremes and percentiles of delays, milliseconds. A percentile is known when at
/// least one sample lies above it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelaySummary {
    /// How many were measured.
    pub samples: Option<u64>,
    /// Least.
    pub min_ms: Option<f64>,
    /// Arithmetic mean.
    pub mean_ms: Option<f64>,
    /// Median.
    pub p50_ms: Option<f64>,
    /// 90th percentile.
    pub p90_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// 99.9th percentile.
    pub p999_ms: Option<f64>,
    /// Largest.
    pub max_ms: Option<f64>,
    /// The delays that 0, 5, 10 and so on up to 100 % of all do not exceed; known of 20 samples or more.
    pub quantiles_ms: Option<Vec<f64>>,
    /// The delays one by one where they are known, for forms that count them in buckets.
    #[serde(skip)]
    pub(crate) counts: DelayCounts,
}

impl DelaySummary {
    /// Of moments in seconds; percentiles stay unknown. `None` without samples.
    pub(crate) fn from_moments(moments: &Moments) -> Option<Self> {
        (moments.count > 0).then(|| Self {
            samples: Some(moments.count),
            min_ms: millis(moments.min),
            mean_ms: millis(moments.mean),
            max_ms: millis(moments.max),
            ..Self::default()
        })
    }

    /// With the published percentiles of the same samples, seconds.
    pub(crate) fn with_percentiles(self, percentiles: [Option<f64>; 5]) -> Self {
        let [p50_ms, p90_ms, p95_ms, p99_ms, p999_ms] =
            percentiles.map(|seconds| seconds.and_then(millis));
        Self {
            p50_ms,
            p90_ms,
            p95_ms,
            p99_ms,
            p999_ms,
            ..self
        }
    }

    /// With the percentiles and quantiles of the same samples.
    pub(crate) fn with_counts(self, counts: &DelayCounts) -> Self {
        let seconds = |nanos: i64| nanos as f64 * 1e-9;
        let percentiles =
            PUBLISHED_PERCENTILES.map(|percent| counts.percentile(percent).map(seconds));
        let least = counts.points().first().map(|(delay, _)| *delay);
        let quantiles = (0..QUANTILES).map(|step| {
            let nanos = match step {
                0 => least,
                _ => counts.percentile(100.0 * step as f64 / (QUANTILES - 1) as f64),
            };
            nanos.map(seconds).and_then(millis)
        });
        let quantiles_ms = quantiles.collect();
        Self {
            quantiles_ms,
            counts: counts.clone(),
            ..self.with_percentiles(percentiles)
        }
    }

    /// Of round trips one by one.
    fn from_counts(counts: &DelayCounts) -> Self {
        let mut moments = Moments::EMPTY;
        for (nanos, count) in counts.points() {
            moments.add_many(*nanos as f64 * 1e-9, *count);
        }
        let summary = Self::from_moments(&moments).unwrap_or(Self {
            samples: Some(0),
            ..Self::default()
        });
        summary.with_counts(counts)
    }

    /// Of samples in microseconds.
    pub(crate) fn from_micros(samples: &[u32]) -> Option<Self> {
        let moments: Moments = samples
            .iter()
            .map(|micros| f64::from(*micros) * 1e-6)
            .collect();
        let counts: DelayCounts = samples
            .iter()
            .map(|micros| i64::from(*micros) * 1000)
            .collect();
        Self::from_moments(&moments).map(|summary| summary.with_counts(&counts))
    }
}

/// Round trips of a small flow of probes: how much longer the path takes while the test's traffic flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyUnderLoad {
    /// Round trips after the traffic, on the quiet path.
    pub idle: DelaySummary,
    /// Round trips while it flowed.
    pub loaded: DelaySummary,
    /// How long it flowed.
    pub load_seconds: f64,
    /// Probes that were sent while it flowed.
    pub probes_sent: u64,
    /// Of them, those that were answered: `samples` of `loaded`.
    pub probes_answered: u64,
    /// Median under load less the idle median.
    pub increase_ms: Option<f64>,
    /// The same of the 95th percentiles.
    pub increase_p95_ms: Option<f64>,
    /// The increase of the way from client to server.
    pub increase_to_server_ms: Option<f64>,
    /// The increase of the way back.
    pub increase_from_server_ms: Option<f64>,
    /// `A+` (less than 5 ms), `A` (30), `B` (60), `C` (200), `D` (400) or `F`; unknown of a load shorter than 5 s and of
    /// fewer than 50 round trips.
    pub bufferbloat_grade: Option<&'static str>,
}

impl LatencyUnderLoad {
    /// As told.
    pub(crate) fn new(latency: &model::LoadedLatency) -> Self {
        let [idle, loaded] =
            [&latency.idle, &latency.loaded].map(|one| DelaySummary::from_counts(&one.round_trips));
        let higher = loaded.p95_ms.zip(idle.p95_ms);
        Self {
            load_seconds: seconds(latency.load),
            probes_sent: latency.loaded.sent,
            probes_answered: latency.loaded.round_trips.count(),
            increase_ms: latency.increase.and_then(millis),
            increase_p95_ms: higher.and_then(|(loaded, idle)| millis((loaded - idle) / 1e3)),
            increase_to_server_ms: latency.increase_there.and_then(millis),
            increase_from_server_ms: latency.increase_back.and_then(millis),
            bufferbloat_grade: latency.grade.map(tapeline_stats::BufferbloatGrade::letter),
            idle,
            loaded,
        }
    }
}

/// What is known of the two clocks that a one-way delay is measured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DelayClock {
    /// Their difference was estimated and taken out.
    Estimated,
    /// They are said to agree (`--trip-times`); nothing was taken out.
    AssumedSynchronised,
    /// Nothing is known.
    Unknown,
}

/// One-way delays.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneWayDelay {
    /// The delays.
    #[serde(flatten)]
    pub delays: DelaySummary,
    /// What was taken out: the receiver's clock less the sender's.
    pub clock_offset_ms: Option<f64>,
    /// The true mean is at most this far from the mean told, if the path without queues takes as long
    /// there as back.
    pub error_ms: Option<f64>,
    /// The same whatever the path is like.
    pub error_worst_case_ms: Option<f64>,
    /// Minimum, maximum and percentiles are at most this far from the true ones, if the path without queues
    /// takes as long there as back.
    pub error_single_ms: Option<f64>,
    /// The same whatever the path is like.
    pub error_single_worst_case_ms: Option<f64>,
    /// What is known of the clocks.
    pub clock: DelayClock,
}

impl OneWayDelay {
    /// As told for a flow whose data this end `sends`.
    pub(crate) fn measured(delay: &model::OneWayDelay, sends: bool) -> Self {
        let estimate = match delay.clock {
            model::DelayClock::Estimated(estimate) => Some(estimate),
            model::DelayClock::AssumedSynchronised => None,
        };
        let single = delay.bound_single;
        let certain = estimate
            .zip(single)
            .map(|(clock, bound)| bound + clock.asymmetry());
        let (clock_offset_ms, error_ms, clock) = match estimate {
            Some(estimate) => {
                // The other end's clock less this end's.
                let offset = if sends {
                    estimate.offset
                } else {
                    -estimate.offset
                };
                (
                    millis(offset),
                    millis(estimate.bound),
                    DelayClock::Estimated,
                )
            }
            None => (None, None, DelayClock::AssumedSynchronised),
        };
        let summary = DelaySummary {
            samples: Some(delay.samples),
            min_ms: millis(delay.min),
            mean_ms: millis(delay.mean),
            max_ms: millis(delay.max),
            ..DelaySummary::default()
        };
        Self {
            delays: summary.with_counts(&delay.counts),
            clock_offset_ms,
            error_ms,
            error_worst_case_ms: estimate.and_then(|clock| millis(clock.certain)),
            error_single_ms: single.and_then(millis),
            error_single_worst_case_ms: certain.and_then(millis),
            clock,
        }
    }

    /// Delays by two clocks that are said to agree, with the same one by one where they are known.
    pub(crate) fn assumed(moments: &Moments, counts: Option<&DelayCounts>) -> Option<Self> {
        let none = DelayCounts::default();
        DelaySummary::from_moments(moments).map(|delays| Self {
            delays: delays.with_counts(counts.unwrap_or(&none)),
            clock_offset_ms: None,
            error_ms: None,
            error_worst_case_ms: None,
            error_single_ms: None,
            error_single_worst_case_ms: None,
            clock: DelayClock::AssumedSynchronised,
        })
    }
}
