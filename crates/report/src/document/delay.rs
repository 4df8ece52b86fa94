//! Delays, summed up.

use serde::Serialize;
use tapeline_stats::{DelayHistogram, Moments};

use super::millis;
use crate::model;

/// Count, mean, extremes and percentiles of delays, milliseconds. A percentile is known when at
/// least one sample lies above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
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
}

impl DelaySummary {
    /// Of moments in seconds; percentiles stay unknown. `None` without samples.
    pub(super) fn of_moments(moments: &Moments) -> Option<Self> {
        (moments.count > 0).then(|| Self {
            samples: Some(moments.count),
            min_ms: millis(moments.min),
            mean_ms: millis(moments.mean),
            max_ms: millis(moments.max),
            ..Self::default()
        })
    }

    /// With the percentiles of the same samples.
    pub(super) fn with_percentiles(mut self, histogram: &DelayHistogram) -> Self {
        let percentile = |percent| {
            let nanos = histogram.percentile(percent)?;
            millis(nanos as f64 * 1e-9)
        };
        self.p50_ms = percentile(50.0);
        self.p90_ms = percentile(90.0);
        self.p95_ms = percentile(95.0);
        self.p99_ms = percentile(99.0);
        self.p999_ms = percentile(99.9);
        self
    }

    /// Of samples in microseconds.
    pub(super) fn of_micros(samples: &[u32]) -> Option<Self> {
        let mut moments = Moments::EMPTY;
        let mut histogram = DelayHistogram::new();
        for micros in samples {
            moments.add(f64::from(*micros) * 1e-6);
            histogram.record(i64::from(*micros) * 1000);
        }
        Self::of_moments(&moments).map(|summary| summary.with_percentiles(&histogram))
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneWayDelay {
    /// The delays.
    #[serde(flatten)]
    pub delays: DelaySummary,
    /// What was taken out: the receiver's clock less the sender's.
    pub offset_ms: Option<f64>,
    /// The true delay is at most this far from the delay told.
    pub bound_ms: Option<f64>,
    /// What is known of the clocks.
    pub clock: DelayClock,
}

impl OneWayDelay {
    /// As told for a flow whose data this end `sends`.
    pub(super) fn told(delay: &model::OneWayDelay, sends: bool) -> Self {
        let (offset_ms, bound_ms, clock) = match delay.clock {
            model::DelayClock::Estimated(estimate) => {
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
            model::DelayClock::AssumedSynchronised => (None, None, DelayClock::AssumedSynchronised),
        };
        Self {
            delays: DelaySummary {
                samples: Some(delay.samples),
                min_ms: millis(delay.min),
                mean_ms: millis(delay.mean),
                max_ms: millis(delay.max),
                ..DelaySummary::default()
            },
            offset_ms,
            bound_ms,
            clock,
        }
    }

    /// Delays by two clocks that are said to agree.
    pub(super) fn assumed(moments: &Moments) -> Option<Self> {
        DelaySummary::of_moments(moments).map(|delays| Self {
            delays,
            offset_ms: None,
            bound_ms: None,
            clock: DelayClock::AssumedSynchronised,
        })
    }
}
