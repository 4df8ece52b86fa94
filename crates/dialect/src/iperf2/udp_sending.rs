//! A UDP sender: the data, the final exchange, and what is told of both. Clients, servers and
//! connect-backs share it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{BitRate, FlowTag, MonoTime, Tos, Transport, WallTime};
use tapeline_engine::{
    Cause, Content, Destination, Ending, Intervals, L4sMark, L4sSendEnd, L4sSendPlan, LengthChain,
    Precision, SendCell, SendCounters, SendPublisher, Spacing, Stop, Technique, UdpSendEnd,
    UdpSendPlan, run_l4s_sender, run_udp_sender,
};
use tapeline_report::{
    Endpoints, Event, MarkovReport, Measure, Notice, Phase, Row, ScheduleErrors, Span, Subject,
    TrafficOperation, UdpReceive,
};
use tapeline_stats::Moments;
use tapeline_sys::{Interest, UdpSocket, Wait, reason};
use tapeline_wire::iperf2::{L4sStamp, ServerReport};

use super::client::SharedContext;
use super::closing::{Closing, ClosingStep};
use super::flows::tell_ending;
use super::l4s::L4sSender;
use super::stamps::{FrameStamp, Settings, Stamp12, Stamp16, StampForm, datagram_template};
use super::udp_client::{first_datagram, wall_at};
use super::udp_traffic::Traffic;
use crate::departures::departures;
use crate::native::FlowAnswers;
use crate::reporter::{CounterCell, EndFacts, FlowEnd, FlowExtras, FlowStart, GroupKey};

/// Longest wait between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(20);
/// Largest datagram that anybody could answer with.
const MAX_ANSWER: usize = 65_536;

/// How a UDP sender ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fin {
    /// Final datagrams until the report comes.
    Exchange,
    /// One final datagram.
    Once,
}

/// A congestion-controlled sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct L4sOrder {
    /// Type of service; its ECN bits are the congestion control's.
    pub(super) tos: Tos,
    /// Most bytes per second.
    pub(super) fastest: Option<f64>,
}

/// How the data of a sender ended.
struct DataEnd {
    ending: Ending,
    counters: SendCounters,
    next_sequence: u64,
    /// How late frames began, seconds.
    frame_errors: Option<Moments>,
    /// How often each length followed each.
    transitions: Option<Vec<Vec<u64>>>,
    /// Most datagrams of a call.
    group: usize,
    /// How gaps were kept.
    spacing: Option<Spacing>,
}

impl From<UdpSendEnd> for DataEnd {
    fn from(end: UdpSendEnd) -> Self {
        Self {
            frame_errors: end.traffic.frame_clock().map(|clock| *clock.errors()),
            transitions: end.traffic.length_chain().map(LengthChain::transitions),
            group: end.group,
            spacing: end.spacing,
            ending: end.ending,
            counters: end.counters,
            next_sequence: end.next_sequence,
        }
    }
}

impl From<L4sSendEnd> for DataEnd {
    fn from(end: L4sSendEnd) -> Self {
        Self {
            frame_errors: end.frames.map(|clock| *clock.errors()),
            transitions: None,
            group: 1,
            spacing: None,
            ending: end.ending,
            counters: end.counters,
            next_sequence: end.next_sequence,
        }
    }
}

/// A UDP sender with its final exchange.
pub(super) struct UdpSending {
    pub(super) context: SharedContext,
    pub(super) tag: FlowTag,
    pub(super) socket: Arc<UdpSocket>,
    /// Where to.
    pub(super) to: Destination,
    pub(super) form: StampForm,
    /// What the datagrams carry behind their number and time.
    pub(super) settings: Settings,
    pub(super) length: u32,
    pub(super) start: MonoTime,
    pub(super) deadline: Option<MonoTime>,
    pub(super) bytes: Option<u64>,
    pub(super) traffic: Traffic,
    /// Decides all that the traffic draws.
    pub(super) seed: u64,
    /// How due times are waited for.
    pub(super) precision: Precision,
    /// The clocks agree.
    pub(super) trip_times: bool,
    /// Payload that is read.
    pub(super) content: Option<Content>,
    /// Frames are told in the way of 2.1.
    pub(super) early_frames: bool,
    /// Congestion control instead of a pace.
    pub(super) l4s: Option<L4sOrder>,
    pub(super) interval: Option<Duration>,
    pub(super) groups: Vec<GroupKey>,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) stop: Stop,
    /// Raised before the stop flag by whoever finds out that the peer is gone.
    pub(super) gone: Stop,
    pub(super) fin: Fin,
    /// Told of the server's answers.
    pub(super) answers: Option<FlowAnswers>,
}

/// Share of the wanted rate below which the pacing counts as missed.
const PACING_MISSED: f64 = 0.99;

impl UdpSending {
    /// Sends on the calling thread until all is over; returns whether it failed.
    pub(super) fn run(mut self) -> bool {
        let cell = Arc::new(SendCell::new(Intervals::new(self.start, self.interval)));
        let running = self.context.reporter.start(FlowStart {
            tag: self.tag,
            cell: CounterCell::UdpSend(Arc::clone(&cell)),
            start: self.start,
            interval: self.interval,
            endpoints: Endpoints {
                local: self.local,
                peer: self.peer,
                local_sends: true,
            },
            groups: self.groups.clone(),
            conn: None,
            histograms: Vec::new(),
            extras: FlowExtras {
                target: self.steady_rate(),
                trip_times: self.trip_times,
                frames: self.traffic.marked_frames().is_some(),
                ..FlowExtras::default()
            },
        });
        let _ = self
            .socket
            .set_send_timeout(Some(tapeline_engine::SEND_LIMIT));
        let end = self.send_data(Arc::clone(&cell));
        if let Some(answers) = &self.answers {
            answers.take_over();
        }
        self.tell_pacing(&end.counters, end.ending.at);
        let mut failed = tell_ending(
            &self.context,
            self.tag,
            Transport::Udp,
            self.start,
            &end.ending,
        );
        if self.gone.is_raised() && matches!(end.ending.cause, Cause::Stopped) {
            self.context.notice(Notice::PeerGone { tag: self.tag });
            failed = true;
        }

        if end.counters.writes == 0 && self.fin == Fin::Exchange {
            // Nothing has left: nobody knows of the flow.
            running.end(FlowEnd {
                at: end.ending.at,
                sent: Some(0),
                ..FlowEnd::default()
            });
            self.tell_traffic(end);
            return failed;
        }
        // The final datagram counts as one of the flow, on both sides.
        let mut final_datagram = datagram_template(self.length as usize, &self.settings);
        let sent = self.send_final(&mut final_datagram, end.next_sequence);
        let mut counters = end.counters;
        if sent.is_ok() {
            counters.bytes += final_datagram.len() as u64;
            counters.writes += 1;
        }
        SendPublisher::new(Arc::clone(&cell)).publish(&counters);
        running.end(FlowEnd {
            at: self.context.now(),
            sent: Some(counters.writes),
            dropped: None,
            facts: EndFacts {
                thread: end.ending.thread,
                group: Some(end.group),
                ..EndFacts::default()
            },
        });
        self.tell_traffic(end);
        if let Err(error) = sent {
            self.failed(TrafficOperation::WriteFin, &error);
        }
        // A server that refuses the test has nothing to report.
        let refused = self.answers.as_ref().is_some_and(FlowAnswers::is_refused);
        if self.fin == Fin::Exchange && !refused {
            failed |= !self.await_report(&final_datagram);
        }
        failed
    }

    /// Sends the data, with the stamp that its form and traffic want.
    fn send_data(&mut self, cell: Arc<SendCell>) -> DataEnd {
        let frames = self.traffic.marked_frames().map(|frames| FrameStamp {
            period_micros: frames.period_micros(),
            start: wall_at(self.start, &self.context),
            early: self.early_frames,
        });
        if let Some(order) = self.l4s {
            let end = run_l4s_sender(self.l4s_plan(cell, order, frames));
            self.tell_l4s(&end);
            return end.into();
        }
        match (self.form, frames) {
            (StampForm::Narrow, _) => run_udp_sender(self.send_plan(cell, Stamp12)),
            (StampForm::Wide, None) => run_udp_sender(self.send_plan(cell, Stamp16)),
            (StampForm::Wide, Some(stamp)) => run_udp_sender(self.send_plan(cell, stamp)),
        }
        .into()
    }

    /// What hindered the congestion control.
    fn tell_l4s(&self, end: &L4sSendEnd) {
        let words = if end.counters.writes > 0 && end.feedback.received == 0 {
            "the server does not answer L4S datagrams, so none could follow the first ones at once"
        } else if end.mark == L4sMark::NotEct {
            "the path does not carry ECN marks: congestion showed in losses alone"
        } else {
            return;
        };
        let text = format!("flow {}: {words}", self.tag.id);
        self.context.notice(Notice::Text(text));
    }

    fn l4s_plan(
        &self,
        cell: Arc<SendCell>,
        order: L4sOrder,
        frames: Option<FrameStamp>,
    ) -> L4sSendPlan<L4sSender> {
        let shortest = self.settings.required_length().max(L4sStamp::END);
        let length = (self.length as usize).max(shortest);
        L4sSendPlan {
            socket: Arc::clone(&self.socket),
            template: datagram_template(length, &self.settings),
            shortest,
            tos: order.tos,
            first_sequence: self.form.first_sequence(),
            start: self.start,
            deadline: self.deadline,
            bytes: self.bytes,
            fastest: order.fastest,
            frames: self.traffic.frames(self.start, self.seed),
            cell,
            stop: self.stop.clone(),
            protocol: L4sSender::new(frames),
        }
    }

    fn send_plan<S>(&mut self, cell: Arc<SendCell>, stamp: S) -> UdpSendPlan<S> {
        // The first datagram carries the settings, however short the others or the whole
        // test are.
        let shortest = self.bytes.map_or(self.length, |bytes| {
            self.length.min(u32::try_from(bytes).unwrap_or(u32::MAX))
        });
        let first = ((shortest as usize) < self.settings.required_length())
            .then(|| first_datagram(&self.settings, shortest));
        UdpSendPlan {
            socket: Arc::clone(&self.socket),
            to: self.to,
            template: datagram_template(self.length as usize, &self.settings),
            first,
            first_sequence: self.form.first_sequence(),
            start: self.start,
            deadline: self.deadline,
            bytes: self.bytes,
            bytes_from: MonoTime::ZERO,
            traffic: self.traffic.engine(self.start, self.length, self.seed),
            content: self.content.take(),
            precision: self.context.techniques.precision(self.precision),
            segmentation: self.context.techniques.uses(Technique::UdpSegmentation),
            cell,
            stop: self.stop.clone(),
            stamp,
        }
    }

    /// What clocks and chains counted, and how the gaps were kept.
    fn tell_traffic(&self, end: DataEnd) {
        self.context.reporter.event(Event::Departures(departures(
            self.tag,
            end.group,
            end.spacing.as_ref(),
            end.counters.late,
        )));
        if let (Some(errors), Some(_)) = (end.frame_errors, self.traffic.marked_frames()) {
            self.context
                .reporter
                .event(Event::ScheduleErrors(ScheduleErrors {
                    tag: self.tag,
                    errors,
                }));
        }
        if let (Traffic::Lengths { chain, .. }, Some(counts)) = (&self.traffic, end.transitions) {
            self.context.reporter.event(Event::Markov(MarkovReport {
                tag: self.tag,
                text: chain.text.clone(),
                lengths: chain.lengths.clone(),
                probabilities: chain.transitions.clone(),
                counts,
            }));
        }
    }

    /// The rate that is to be kept, if it is ours to choose.
    fn steady_rate(&self) -> Option<BitRate> {
        let rate = self.traffic.steady_rate(self.length);
        rate.filter(|_| self.l4s.is_none() && self.content.is_none())
    }

    fn tell_pacing(&self, counters: &SendCounters, at: MonoTime) {
        let Some(BitRate(wanted)) = self.steady_rate() else {
            return;
        };
        let span = at.since(self.start);
        let reached = tapeline_base::BitRate::over(counters.bytes, span);
        let enough = counters.writes > 100 && span > Duration::from_millis(500);
        if enough && wanted > 0 && reached < wanted as f64 * PACING_MISSED {
            self.context.notice(Notice::PacingMissed {
                tag: self.tag,
                wanted,
                reached: reached as u64,
            });
        }
    }

    fn send_final(&self, datagram: &mut [u8], next: u64) -> std::io::Result<usize> {
        self.form.write_final(datagram, next, self.context.wall());
        // The first attempt may return the refusal of an earlier datagram.
        self.send(datagram).or_else(|_| self.send(datagram))
    }

    fn send(&self, datagram: &[u8]) -> std::io::Result<usize> {
        self.to.send(&self.socket, datagram)
    }

    fn heard(&self, datagram: &[u8], closing: &mut Closing) {
        let answers = self.answers.as_ref();
        if !answers.is_some_and(|answers| answers.heard(datagram)) {
            closing.received(datagram);
        }
    }

    /// Asks for the server's report until it comes; returns whether it came, from a server
    /// that heard the end.
    fn await_report(&self, final_datagram: &[u8]) -> bool {
        let mut closing = Closing::new(self.context.now());
        let mut buffer = vec![0; MAX_ANSWER];
        let mut refusals = 0;
        // The final datagram is out already.
        let _ = closing.next(self.context.now());
        loop {
            if self.stop.is_raised() {
                closing.hurry(self.context.now());
            }
            match closing.next(self.context.now()) {
                ClosingStep::Send { full } => {
                    let short = final_datagram.len().min(16);
                    let datagram = if full {
                        final_datagram
                    } else {
                        &final_datagram[..short]
                    };
                    let _ = self.send(datagram);
                }
                ClosingStep::Wait(until) => {
                    let wait = Wait::AtMost(until.since(self.context.now()).min(LOOK));
                    if !self
                        .socket
                        .wait_ready(Interest::READ, wait)
                        .unwrap_or(false)
                    {
                        continue;
                    }
                    match self.socket.recv_nonblocking(&mut buffer) {
                        Ok(length) => self.heard(&buffer[..length], &mut closing),
                        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                        Err(error) => {
                            if refusals < 2 {
                                self.failed(TrafficOperation::ReadFin, &error);
                            }
                            refusals += 1;
                        }
                    }
                }
                ClosingStep::Reported(report) => {
                    self.tell_report(&report);
                    // Whoever refused a datagram is not there any more.
                    return refusals == 0;
                }
                ClosingStep::Unanswered { tries } => {
                    self.context.notice(Notice::NoServerReport {
                        tag: self.tag,
                        tries,
                    });
                    return false;
                }
            }
        }
    }

    fn failed(&self, operation: TrafficOperation, error: &std::io::Error) {
        self.context.notice(Notice::TrafficFailed {
            tag: self.tag,
            operation,
            transport: Transport::Udp,
            reason: reason(error),
        });
    }

    fn tell_report(&self, report: &ServerReport) {
        let ends = Endpoints {
            local: self.local,
            peer: self.peer,
            local_sends: true,
        };
        let told = reported(report, self.tag, ends, self.trip_times, self.context.wall());
        self.context.reporter.event(told);
    }
}

/// A peer's report of a flow as it is told.
pub(super) fn reported(
    report: &ServerReport,
    tag: FlowTag,
    ends: Endpoints,
    trip_times: bool,
    now: WallTime,
) -> Event {
    let end = report.duration.duration().unwrap_or_default();
    let row = Row {
        subject: Subject::Flow(tag),
        phase: Phase::Total,
        span: Span {
            start: Duration::ZERO,
            end,
        },
        ended: now,
        bytes: report.bytes.0,
        endpoints: Some(ends),
        trip_times: trip_times && report.transit_valid,
        measure: Measure::UdpReceive(report_numbers(report, end)),
    };
    Event::ServerReport {
        row,
        enhanced: report.transit_valid,
    }
}

/// A peer's report in the model's units.
fn report_numbers(report: &ServerReport, span: Duration) -> UdpReceive {
    let transit = &report.transit;
    let seconds = |micros: i64| micros as f64 * 1e-6;
    let moments = if transit.count == 0 {
        Moments::EMPTY
    } else {
        Moments {
            count: u64::from(transit.count),
            mean: seconds(transit.mean.0),
            m2: transit.m2.as_f64() * 1e-12,
            min: seconds(transit.min.0),
            max: seconds(transit.max.0),
        }
    };
    let received = report.datagrams.saturating_sub(report.lost);
    let jitter = Some(seconds(report.jitter.0));
    UdpReceive {
        received,
        total: report.datagrams,
        lost: report.lost,
        // A report does not tell late datagrams from repeated ones.
        reordered: 0,
        duplicates: 0,
        out_of_order: report.out_of_order,
        lost_in_host: None,
        jitter,
        jitter_mean: jitter,
        transit: moments,
        reads: 0,
        timeouts: 0,
        truncated: 0,
        packets_per_second: if span.is_zero() {
            0.0
        } else {
            report.datagrams as f64 / span.as_secs_f64()
        },
        ..UdpReceive::default()
    }
}
