//! What is measured in addition to the amount of data.

use std::time::Duration;

use tapeline_base::whole_nanos;
use tapeline_stats::HistogramShape;

/// Measurements of time that a test is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyPlan {
    /// `--trip-times`: the clocks agree, one-way delays are wanted. Servers learn it from
    /// the client.
    pub trip_times: bool,
    /// `--tcp-write-times`.
    pub write_times: bool,
    /// `--histograms`.
    pub histograms: Option<HistogramPlan>,
    /// `--jitter-histograms`: width of a bin.
    pub jitter_histograms: Option<Duration>,
    /// `-i f`: a row for each frame or burst.
    pub by_frame: bool,
}

/// Bins of a delay histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistogramPlan {
    /// Width of a bin.
    pub width: Duration,
    /// The width was given, or is shown, in microseconds rather than milliseconds.
    pub in_micros: bool,
    /// Number of bins.
    pub bins: u32,
    /// Lower percentile shown, 0..100.
    pub low: f64,
    /// Upper percentile shown, 0..100.
    pub high: f64,
}

impl Default for HistogramPlan {
    /// iperf 2.2.1's: 100 us, 100000 bins, 5 and 95 %.
    fn default() -> Self {
        Self {
            width: Duration::from_micros(100),
            in_micros: true,
            bins: 100_000,
            low: 5.0,
            high: 95.0,
        }
    }
}

impl From<HistogramPlan> for HistogramShape {
    /// The bins as `stats` counts them.
    fn from(plan: HistogramPlan) -> Self {
        Self {
            width_ns: whole_nanos(plan.width),
            bins: plan.bins,
            lower_percent: plan.low,
            upper_percent: plan.high,
        }
    }
}

/// Requests and responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestResponsePlan {
    /// Size of a request, bytes (68 to 1 MiB).
    pub request: u32,
    /// Size of a response, bytes (68 to 1 MiB).
    pub response: u32,
    /// How long the server holds a response back.
    pub hold: Duration,
    /// So many requests at each tick of this clock; `None` runs back to back.
    pub burst: Option<(u32, Duration)>,
    /// TCP_QUICKACK on both ends.
    pub quickack: bool,
}

impl RequestResponsePlan {
    /// Requests and responses of `size` bytes, back to back.
    #[must_use]
    pub fn back_to_back(size: u32) -> Self {
        Self {
            request: size,
            response: size,
            hold: Duration::ZERO,
            burst: None,
            quickack: true,
        }
    }
}

/// `--working-load`: TCP flows next to the test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingLoad {
    /// Which way.
    pub direction: LoadDirection,
    /// How many flows.
    pub flows: usize,
    /// `--working-load-cca`.
    pub congestion: Option<String>,
}

/// Which way a working load runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadDirection {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
    /// Both.
    Both,
}
