//! The histograms of a UDP receiver.

use std::sync::Arc;

use tapeline_engine::{HistogramCell, HistogramRecorder, Intervals, ReceiverHistograms};
use tapeline_report::HistogramKind;
use tapeline_stats::HistogramShape;

use super::banner::histogram_shape;
use crate::plan::LatencyPlan;
use crate::reporter::FlowHistogram;

/// Both ends of the histograms that `plan` asks for: what the receiver fills, and what the
/// reporter reads. Delays are only counted where the clocks agree, and frames where there
/// are any.
pub(super) fn receiver_histograms(
    plan: &LatencyPlan,
    trip_times: bool,
    frames: bool,
    intervals: Intervals,
) -> (ReceiverHistograms, Vec<FlowHistogram>) {
    let mut told = Vec::new();
    let mut open = |kind, shape, in_micros| {
        let cell = Arc::new(HistogramCell::new(shape, intervals));
        told.push(FlowHistogram {
            kind,
            cell: Arc::clone(&cell),
            in_micros,
            by_interval: true,
        });
        HistogramRecorder::new(cell)
    };
    let delays = plan.histograms.filter(|_| trip_times);
    let delay = |kind| delays.map(|plan| (kind, histogram_shape(plan), plan.in_micros));
    let transit = delay(HistogramKind::Transit);
    let frames = delay(HistogramKind::Frame).filter(|_| frames);
    let jitter = plan.jitter_histograms.map(|width| HistogramShape {
        width_ns: u64::try_from(width.as_nanos()).unwrap_or(u64::MAX),
        ..HistogramShape::JITTER
    });
    let recorders = ReceiverHistograms {
        transit: transit.map(|(kind, shape, micros)| open(kind, shape, micros)),
        frames: frames.map(|(kind, shape, micros)| open(kind, shape, micros)),
        jitter: jitter.map(|shape| open(HistogramKind::Jitter, shape, true)),
    };
    (recorders, told)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tapeline_base::MonoTime;

    use super::*;
    use crate::plan::HistogramPlan;

    fn kinds(trip_times: bool, frames: bool) -> Vec<HistogramKind> {
        let plan = LatencyPlan {
            histograms: Some(HistogramPlan::default()),
            jitter_histograms: Some(Duration::from_micros(10)),
            ..LatencyPlan::default()
        };
        let intervals = Intervals::new(MonoTime::ZERO, None);
        let (_, told) = receiver_histograms(&plan, trip_times, frames, intervals);
        told.iter().map(|one| one.kind).collect()
    }

    #[test]
    fn delays_need_clocks_that_agree() {
        use HistogramKind::{Frame, Jitter, Transit};
        assert_eq!(kinds(false, true), [Jitter]);
        assert_eq!(kinds(true, false), [Transit, Jitter]);
        assert_eq!(kinds(true, true), [Transit, Frame, Jitter]);
    }
}
