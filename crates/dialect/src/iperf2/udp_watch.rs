//! What is watched of a UDP receiver: both ends of its counters, histograms and rows of
//! frames.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use tapeline_base::{MonoTime, whole_nanos};
use tapeline_engine::{
    DatagramCell, DatagramReceiver, DelayRecorder, FrameRecord, HistogramCell, HistogramRecorder,
    Intervals, ReceiverHistograms, RecordedDelays,
};
use tapeline_report::HistogramKind;
use tapeline_stats::HistogramShape;

use crate::plan::LatencyPlan;
use crate::reporter::{CounterCell, FlowExtras, FlowHistogram};

/// Frames that may wait for their rows.
const LOGGED_FRAMES: usize = 1024;
/// How often rows of frames are told.
const FRAME_ROWS: Duration = Duration::from_millis(100);

/// A UDP flow that is about to be received.
#[derive(Clone, Copy, Debug)]
pub(super) struct UdpWatch {
    pub(super) latency: LatencyPlan,
    /// The clocks agree.
    pub(super) trip_times: bool,
    /// The other end is tapeline: the difference of the clocks will be known.
    pub(super) recognised: bool,
    /// Datagrams say to which frame they belong.
    pub(super) frames: bool,
    /// Congestion marks are reported.
    pub(super) marks: bool,
    pub(super) start: MonoTime,
    pub(super) interval: Option<Duration>,
}

/// What the reporter is given of it.
pub(super) struct Watched {
    pub(super) cell: CounterCell,
    pub(super) interval: Option<Duration>,
    pub(super) histograms: Vec<FlowHistogram>,
    pub(super) extras: FlowExtras,
}

impl UdpWatch {
    /// A receiver for numbers from `first` on, and what the reporter sees of it.
    pub(super) fn open(self, first: u64) -> (DatagramReceiver, Watched) {
        let rows: Option<(_, mpsc::Receiver<FrameRecord>)> =
            (self.latency.by_frame && self.frames).then(|| mpsc::sync_channel(LOGGED_FRAMES));
        let interval = match &rows {
            Some(_) => self.interval.or(Some(FRAME_ROWS)),
            None => self.interval,
        };
        let (log, frame_rows) = rows.unzip();
        let intervals = Intervals::new(self.start, interval);
        let cell = Arc::new(DatagramCell::new(intervals));
        let (recorders, histograms) =
            receiver_histograms(&self.latency, self.trip_times, self.frames, intervals);
        let mut receiver =
            DatagramReceiver::new(first, Arc::clone(&cell), self.start).with_histograms(recorders);
        // Where nothing is known of the clocks, delays mean nothing.
        let delays = (self.trip_times || self.recognised).then(Arc::<RecordedDelays>::default);
        if let Some(delays) = &delays {
            receiver = receiver.with_delays(DelayRecorder::new(Arc::clone(delays)));
        }
        if let Some(log) = log {
            receiver = receiver.with_frame_log(log);
        }
        let watched = Watched {
            cell: CounterCell::UdpReceive(cell),
            interval,
            histograms,
            extras: FlowExtras {
                trip_times: self.trip_times,
                frames: self.frames,
                marks: self.marks,
                delays,
                frame_rows,
                ..FlowExtras::default()
            },
        };
        (receiver, watched)
    }
}

/// Both ends of the histograms that `plan` asks for: what the receiver fills, and what the
/// reporter reads. Delays are only counted where the clocks agree, and frames where there
/// are any.
fn receiver_histograms(
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
    let delay = |kind| delays.map(|plan| (kind, plan.into(), plan.in_micros));
    let transit = delay(HistogramKind::Transit);
    let frames = delay(HistogramKind::Frame).filter(|_| frames);
    let jitter = plan.jitter_histograms.map(|width| HistogramShape {
        width_ns: whole_nanos(width),
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
