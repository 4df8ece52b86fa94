//! How long the writes of a TCP sender take.

use tapeline_base::MonoTime;

use crate::counters::{DelayCounters, DelayPublisher};
use crate::histogram::HistogramRecorder;

/// Measures how long writes take.
#[derive(Debug)]
pub struct WriteTimes {
    /// Receives mean and extremes.
    pub publisher: DelayPublisher,
    /// Receives every duration.
    pub histogram: Option<HistogramRecorder>,
    counters: DelayCounters,
}

impl WriteTimes {
    /// Durations for these.
    #[must_use]
    pub fn new(publisher: DelayPublisher, histogram: Option<HistogramRecorder>) -> Self {
        Self {
            publisher,
            histogram,
            counters: DelayCounters::default(),
        }
    }

    /// A write began and ended at these times.
    #[inline]
    pub(crate) fn record(&mut self, began: MonoTime, now: MonoTime) {
        let took = now.since(began);
        let seconds = took.as_secs_f64();
        self.publisher.at(now, &self.counters);
        self.publisher.extreme(seconds);
        self.counters.delays.add(seconds);
        self.publisher.publish(&self.counters);
        if let Some(histogram) = &mut self.histogram {
            let nanos = i64::try_from(took.as_nanos()).unwrap_or(i64::MAX);
            histogram.record_untimed(nanos, now);
        }
    }
}
