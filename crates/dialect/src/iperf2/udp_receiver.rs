//! What arrives of a UDP flow: counted, and its end decided (pure: times and datagrams in); its counters, histograms
//! and rows of frames.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use tapeline_base::{Bytes, MonoTime, Tos, WallTime, whole_nanos};
use tapeline_engine::{
    ArrivedDatagram, DatagramCell, DatagramReceiver, DelayRecorder, Followers, FrameRecord,
    HistogramCell, HistogramRecorder, Intervals, ReceiverHistograms, RecordedDelays,
};
use tapeline_report::HistogramKind;
use tapeline_stats::HistogramShape;
use tapeline_wire::PacketFault;
use tapeline_wire::iperf2::{
    DatagramStamp, Micros, Millionths, ReportLayout, ServerReport, TransitTimes, limits,
};

use super::l4s::L4sReceiver;
use super::udp_fin::ReportAnswer;
use super::udp_reader::{FlowReader, Meaning};
use crate::plan::LatencyPlan;
use crate::sampler::{CounterCell, FlowExtras, FlowHistogram};

/// Time for data that the final datagram has overtaken. A client asks again after 10 ms.
const OVERTAKEN: Duration = Duration::from_millis(10);

/// A datagram and when it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    pub(crate) payload: &'a [u8],
    /// When the kernel received it.
    pub(crate) arrival: WallTime,
    /// It was longer than the buffer.
    pub(crate) truncated: bool,
    /// Its type of service, where it is known.
    pub(crate) tos: Option<Tos>,
    /// It came joined with others, and shares its arrival with them.
    pub(crate) joined: bool,
    pub(crate) now: MonoTime,
}

/// What a datagram did to its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// The flow goes on.
    Going,
    /// The flow has ended, by the final datagram with this stamp.
    Over(DatagramStamp),
    /// It belongs to another test, which it begins.
    NewTest,
}

/// A flow that is being received.
#[derive(Debug)]
pub(crate) struct UdpReceiver {
    reader: FlowReader,
    receiver: DatagramReceiver,
    began: MonoTime,
    /// The final datagram's stamp, and until when late data counts: it has overtaken data,
    /// or data is lost, and a moment shows which.
    closing: Option<(DatagramStamp, MonoTime)>,
    /// Answers each datagram of an L4S flow.
    l4s: Option<L4sReceiver>,
}

impl UdpReceiver {
    /// A flow that begins at `start`.
    pub(crate) fn new(reader: FlowReader, receiver: DatagramReceiver, start: MonoTime) -> Self {
        Self {
            receiver,
            reader,
            began: start,
            closing: None,
            l4s: None,
        }
    }

    /// The flow is congestion-controlled: its datagrams are answered.
    pub(crate) fn control_congestion(&mut self) {
        self.l4s = Some(L4sReceiver::default());
    }

    /// The acknowledgement of a datagram, at the time of day `wall`; nothing where none is wanted, or after
    /// the end.
    pub(crate) fn acknowledge(
        &mut self,
        content: &Datagram<'_>,
        wall: impl FnOnce() -> WallTime,
    ) -> Option<[u8; limits::L4S_ACK]> {
        let receiver = self.l4s.as_mut()?;
        let is_end = DatagramStamp::read_16(content.payload, true)?.is_fin();
        if is_end || self.closing.is_some() {
            return None;
        }
        let held = u64::try_from(wall().nanos_since(content.arrival)).unwrap_or(0);
        let held = Duration::from_nanos(held);
        receiver.answer(content.payload, content.tos, held, content.now)
    }

    /// Takes a datagram from the flow's source. [`publish`](Self::publish) after a batch.
    pub(crate) fn take(&mut self, content: &Datagram<'_>) -> Received {
        self.take_run(content, &mut std::iter::empty())
    }

    /// Takes a datagram from the flow's source, and of those that came joined with it, `rest`,
    /// the ones that only count on from it.
    #[inline]
    pub(crate) fn take_run<'a>(
        &mut self,
        content: &Datagram<'_>,
        rest: &mut (impl Iterator<Item = Datagram<'a>> + Clone),
    ) -> Received {
        let Some(seen) = self.reader.read(content.payload) else {
            return Received::Going;
        };
        let is_end = match seen.meaning {
            Meaning::Data => false,
            Meaning::End => true,
            Meaning::NewTest => return Received::NewTest,
        };
        // Repeated final datagrams count once.
        let repeated = is_end && self.closing.is_some();
        if !repeated {
            let arrived = ArrivedDatagram {
                sequence: seen.sequence,
                sent: seen.sent,
                arrival: content.arrival,
                length: content.payload.len(),
                truncated: content.truncated,
                marked: content.tos.is_some_and(Tos::is_congestion_experienced),
                joined: content.joined,
                frame: seen.frame,
            };
            let followers = if self.closing.is_none() && self.l4s.is_none() {
                let ahead = rest.clone().map(|content| content.payload);
                self.reader.followers(&seen, ahead)
            } else {
                Followers::default()
            };
            if let Some(last) = followers.count.checked_sub(1) {
                rest.nth(last as usize);
            }
            self.receiver.observe_run(&arrived, followers, content.now);
        }
        if is_end && !repeated {
            let stamp = DatagramStamp::read_16(content.payload, true).unwrap_or_default();
            self.closing = Some((stamp, content.now + OVERTAKEN));
        }
        match self.closing {
            Some((stamp, until)) if content.now >= until || self.receiver.missing() == 0 => {
                Received::Over(stamp)
            }
            _ => Received::Going,
        }
    }

    /// The final datagram's stamp when the time for late data is over.
    pub(crate) fn over_at(&self, now: MonoTime) -> Option<DatagramStamp> {
        self.closing
            .filter(|(_, until)| now >= *until)
            .map(|(stamp, _)| stamp)
    }

    /// Counts a packet of the flow that is faulty below UDP.
    pub(crate) fn note_fault(&mut self, fault: PacketFault) {
        let faults = self.receiver.link_faults();
        match fault {
            PacketFault::Length => faults.length += 1,
            PacketFault::Checksum => faults.checksum += 1,
            PacketFault::Unknown => faults.unknown += 1,
        }
    }

    /// Makes the counters visible to the sampler.
    pub(crate) fn publish(&mut self) {
        self.receiver.publish();
    }

    /// The flow has ended: what is incomplete is lost. Publishes.
    pub(crate) fn finish(&mut self) {
        self.receiver.finish();
    }

    /// Whether nothing has come behind the first datagram.
    pub(crate) fn is_lone(&self) -> bool {
        self.receiver.counters().received <= 1
    }

    /// Datagrams that have come, those that came twice once.
    pub(crate) fn received(&self) -> u64 {
        self.receiver.counters().received
    }

    /// Datagrams that have come, are missing, and came out of order.
    #[cfg(test)]
    pub(crate) fn in_order(&self) -> (u64, u64, u64) {
        let c = self.receiver.counters();
        (c.received, c.lost, c.out_of_order)
    }

    /// Bytes that have come.
    pub(crate) fn bytes(&self) -> u64 {
        self.receiver.counters().bytes
    }

    /// When something arrived last.
    pub(crate) fn last(&self) -> MonoTime {
        self.receiver.counters().last.max(self.began)
    }

    /// The newest of the sender's stamps.
    pub(crate) fn newest(&self) -> WallTime {
        self.reader.newest()
    }

    /// The report to the client, of the published counters.
    pub(crate) fn report(&self, enhanced: bool) -> ReportAnswer {
        let c = self.receiver.counters();
        let micros = |seconds: f64| Micros((seconds * 1e6).round() as i64);
        let span = self.last().since(self.began);
        let transit = if c.transit.count == 0 {
            TransitTimes::default()
        } else {
            TransitTimes {
                min: micros(c.transit.min),
                max: micros(c.transit.max),
                sum: micros(c.transit.mean * c.transit.count as f64),
                mean: micros(c.transit.mean),
                m2: Millionths::from_f64(c.transit.m2 * 1e12),
                last_difference: Micros(0),
                count: u32::try_from(c.transit.count).unwrap_or(u32::MAX),
                packets_per_second: if span.is_zero() {
                    0
                } else {
                    (c.total as f64 / span.as_secs_f64()) as u32
                },
            }
        };
        let report = ServerReport {
            layout: ReportLayout::Wide16,
            bytes: Bytes(c.bytes),
            duration: Micros::from_duration(span),
            lost: c.lost,
            out_of_order: c.out_of_order,
            datagrams: c.total,
            jitter: micros(c.jitter_mean_ns * 1e-9),
            transit,
            transit_valid: enhanced,
        };
        ReportAnswer {
            report,
            narrow: self.reader.is_narrow(),
        }
    }
}

/// Frames that may wait for their rows.
const LOGGED_FRAMES: usize = 1024;
/// How often rows of frames are reported.
const FRAME_ROWS: Duration = Duration::from_millis(100);

/// A UDP flow that is about to be received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UdpWatch {
    pub(crate) latency: LatencyPlan,
    /// The clocks agree.
    pub(crate) trip_times: bool,
    /// The peer is tapeline: the difference of the clocks will be known.
    pub(crate) recognised: bool,
    /// Datagrams say to which frame they belong.
    pub(crate) frames: bool,
    /// Congestion marks are reported.
    pub(crate) marks: bool,
    pub(crate) start: MonoTime,
    pub(crate) interval: Option<Duration>,
}

/// What the reporter is given of it.
pub(crate) struct Watched {
    pub(crate) cell: CounterCell,
    pub(crate) interval: Option<Duration>,
    pub(crate) histograms: Vec<FlowHistogram>,
    pub(crate) extras: FlowExtras,
}

impl UdpWatch {
    /// A receiver for numbers from `first` on, and what the reporter sees of it.
    pub(crate) fn open(self, first: u64) -> (DatagramReceiver, Watched) {
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
    let mut flow_histograms = Vec::new();
    let mut open = |kind, shape, in_micros| {
        let cell = Arc::new(HistogramCell::new(shape, intervals));
        flow_histograms.push(FlowHistogram {
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
    (recorders, flow_histograms)
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
        let (_, flow_histograms) = receiver_histograms(&plan, trip_times, frames, intervals);
        flow_histograms.iter().map(|one| one.kind).collect()
    }

    #[test]
    fn delays_need_clocks_that_agree() {
        use HistogramKind::{Frame, Jitter, Transit};
        assert_eq!(kinds(false, true), [Jitter]);
        assert_eq!(kinds(true, false), [Transit, Jitter]);
        assert_eq!(kinds(true, true), [Transit, Frame, Jitter]);
    }
}
