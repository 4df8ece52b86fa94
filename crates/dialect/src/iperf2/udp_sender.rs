//! A UDP sender: the data, the final exchange, and what is reported of both. Clients, servers and
//! connect-backs share it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{BitRate, FlowTag, MonoTime, Placement, Tos, Transport, WallTime};
use tapeline_engine::{
    Cause, Content, Destination, Ending, Intervals, L4sMark, L4sSendEnd, L4sSendPlan, LengthChain,
    PacketGaps, Precision, SendCell, SendCounters, SendPublisher, Stop, Technique, UdpSendEnd,
    UdpSendPlan, run_l4s_sender, run_udp_sender,
};
use tapeline_report::{
    Endpoints, Event, MarkovReport, Measure, Notice, Phase, Row, ScheduleErrors, Silence, Span,
    Subject, TrafficOperation, UdpReceive,
};
use tapeline_stats::Moments;
use tapeline_sys::{Interest, UdpSocket, Wait, reason};
use tapeline_wire::iperf2::{L4sStamp, ServerReport, Timestamp};

use super::l4s::L4sSender;
use super::stamps::{FrameStamp, Settings, Stamp12, Stamp16, StampForm, datagram_template};
use super::udp_fin::{ClientFin, ClientFinStep};
use super::udp_traffic::Traffic;
use crate::native::client::FlowAnswers;
use crate::run::context::Context;
use crate::run::flow_end::report_ending;
use crate::sampler::{
    CounterCell, EndFacts, FlowEnd, FlowExtras, FlowStart, GroupKey, send_timing,
};

/// Longest wait between two looks at the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Largest datagram that anybody could answer with.
const MAX_ANSWER: usize = 65_536;

/// How a UDP sender ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fin {
    /// Final datagrams until the report comes.
    Exchange,
    /// One final datagram.
    Once,
}

/// A congestion-controlled sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct L4sOrder {
    /// Type of service; its ECN bits are the congestion control's.
    pub(crate) tos: Tos,
    /// Most bytes per second.
    pub(crate) fastest: Option<f64>,
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
    packet_gaps: Option<PacketGaps>,
}

impl From<UdpSendEnd> for DataEnd {
    fn from(end: UdpSendEnd) -> Self {
        Self {
            frame_errors: end.traffic.frame_clock().map(|clock| *clock.errors()),
            transitions: end.traffic.length_chain().map(LengthChain::transitions),
            group: end.group,
            packet_gaps: end.packet_gaps,
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
            packet_gaps: None,
            ending: end.ending,
            counters: end.counters,
            next_sequence: end.next_sequence,
        }
    }
}

/// A UDP sender with its final exchange.
pub(crate) struct UdpSending {
    pub(crate) context: Arc<Context>,
    pub(crate) tag: FlowTag,
    pub(crate) socket: Arc<UdpSocket>,
    /// Where to.
    pub(crate) to: Destination,
    pub(crate) form: StampForm,
    /// What the datagrams carry behind their number and time.
    pub(crate) settings: Settings,
    pub(crate) length: u32,
    pub(crate) start: MonoTime,
    pub(crate) deadline: Option<MonoTime>,
    pub(crate) bytes: Option<u64>,
    pub(crate) traffic: Traffic,
    /// Decides all that the traffic draws.
    pub(crate) seed: u64,
    /// How due times are waited for.
    pub(crate) precision: Precision,
    /// The clocks agree.
    pub(crate) trip_times: bool,
    /// Payload that is read.
    pub(crate) content: Option<Content>,
    /// Frames are marked in the way of 2.1.
    pub(crate) early_frames: bool,
    /// Congestion control instead of a pace.
    pub(crate) l4s: Option<L4sOrder>,
    pub(crate) interval: Option<Duration>,
    pub(crate) groups: Vec<GroupKey>,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) stop: Stop,
    /// Raised before the stop flag by whoever finds out that the peer is gone.
    pub(crate) gone: Stop,
    /// A server whose port is closed from the start is one error and no test. iperf goes on all the same.
    pub(crate) refusal_is_failure: bool,
    pub(crate) fin: Fin,
    /// Called with the server's answers.
    pub(crate) answers: Option<FlowAnswers>,
}
/// Share of the wanted rate below which the pacing counts as missed.
const PACING_MISSED: f64 = 0.99;

impl UdpSending {
    /// Sends on the calling thread until all is over; returns whether it failed.
    pub(crate) fn run(mut self) -> bool {
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
        if self.refusal_is_failure && (is_refused(&end.ending) || was_refused(&end.counters)) {
            self.report_refusal(reason(&std::io::ErrorKind::ConnectionRefused.into()));
            running.discard();
            return true;
        }
        self.report_pacing(&end.counters, end.ending.at);
        let mut failed = report_ending(
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
            self.report_traffic(end);
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
        self.report_traffic(end);
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
            self.report_l4s(&end);
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
    fn report_l4s(&self, end: &L4sSendEnd) {
        let words = if end.counters.writes > 0 && end.feedback.received == 0 {
            "the server does not answer L4S datagrams, so none could follow the first ones at once"
        } else if end.mark == L4sMark::NotEct {
            "the path does not carry ECN marks: congestion showed in losses alone"
        } else {
            return;
        };
        let text = format!("stream {}: {words}", self.tag.id);
        self.context.notice(Notice::Remark(text));
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
            ends_refused: self.refusal_is_failure,
            cell,
            stop: self.stop.clone(),
            stamp,
        }
    }

    /// What clocks and chains counted, and how the gaps were kept.
    fn report_traffic(&self, end: DataEnd) {
        self.context.reporter.event(Event::SendTiming(send_timing(
            self.tag,
            end.group,
            end.packet_gaps.as_ref(),
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

    fn report_pacing(&self, counters: &SendCounters, at: MonoTime) {
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

    fn observe(&self, datagram: &[u8], fin: &mut ClientFin) {
        let answers = self.answers.as_ref();
        if !answers.is_some_and(|answers| answers.observe(datagram)) {
            fin.received(datagram);
        }
    }

    /// Asks for the server's report until it comes; returns whether it came, from a server
    /// that received the end.
    fn await_report(&self, final_datagram: &[u8]) -> bool {
        let mut fin = ClientFin::new(self.context.now());
        let mut buffer = vec![0; MAX_ANSWER];
        let mut refusals = 0;
        let mut refusal = None;
        // The final datagram is out already.
        let _ = fin.next(self.context.now());
        loop {
            if self.stop.is_raised() {
                fin.hurry(self.context.now());
            }
            match fin.next(self.context.now()) {
                ClientFinStep::Send { full } => {
                    let short = final_datagram.len().min(16);
                    let datagram = if full {
                        final_datagram
                    } else {
                        &final_datagram[..short]
                    };
                    let _ = self.send(datagram);
                }
                ClientFinStep::Wait(until) => {
                    let wait = Wait::AtMost(until.since(self.context.now()).min(POLL_INTERVAL));
                    if !self
                        .socket
                        .wait_ready(Interest::READ, wait)
                        .unwrap_or(false)
                    {
                        continue;
                    }
                    match self.socket.recv_nonblocking(&mut buffer) {
                        Ok(length) => self.observe(&buffer[..length], &mut fin),
                        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                        Err(error) if self.refusal_is_failure => {
                            refusals += 1;
                            refusal = Some(reason(&error));
                        }
                        Err(error) => {
                            if refusals < 2 {
                                self.failed(TrafficOperation::ReadFin, &error);
                            }
                            refusals += 1;
                        }
                    }
                }
                ClientFinStep::Reported(report) => {
                    self.report_answer(&report);
                    // Whoever refused a datagram is not there any more.
                    return refusals == 0;
                }
                ClientFinStep::Unanswered { tries } => {
                    if let Some(reason) = refusal {
                        self.report_refusal(reason);
                        return false;
                    }
                    self.context.notice(Notice::NoServerReport {
                        tag: self.tag,
                        tries,
                    });
                    return false;
                }
            }
        }
    }

    fn report_refusal(&self, reason: String) {
        self.context.notice(Notice::NoReply {
            tag: self.tag,
            peer: self.peer,
            transport: Transport::Udp,
            silence: Silence::Refused(reason),
        });
    }

    fn failed(&self, operation: TrafficOperation, error: &std::io::Error) {
        self.context.notice(Notice::TrafficFailed {
            tag: self.tag,
            operation,
            transport: Transport::Udp,
            reason: reason(error),
        });
    }

    fn report_answer(&self, report: &ServerReport) {
        let ends = Endpoints {
            local: self.local,
            peer: self.peer,
            local_sends: true,
        };
        let event = reported(report, self.tag, ends, self.trip_times, self.context.wall());
        self.context.reporter.event(event);
    }
}

/// Whether the peer's port has refused what was sent.
fn is_refused(ending: &Ending) -> bool {
    match &ending.cause {
        Cause::Failed(_, error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        _ => false,
    }
}

/// Datagrams that may leave before the first refusal arrives from a port that is closed from the start.
const UNREFUSED: u64 = 10;

/// Whether every datagram was refused: the system reports each refusal with a later send. A server
/// that was lost on the way has taken more.
fn was_refused(counters: &SendCounters) -> bool {
    counters.refused > 0 && counters.writes.saturating_sub(counters.refused) <= UNREFUSED
}

/// A peer's report of a flow as an event.
pub(crate) fn reported(
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
        placement: Placement::default(),
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
        // A report does not distinguish late datagrams from repeated ones.
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

/// The first datagram of a flow: long enough for its settings.
pub(crate) fn first_datagram(settings: &Settings, length: u32) -> Vec<u8> {
    let length = (length as usize).max(settings.required_length());
    datagram_template(length, settings)
}

/// The time of day at a moment near to now.
pub(crate) fn wall_at(time: MonoTime, context: &Arc<Context>) -> Timestamp {
    let (now, wall) = (context.now(), context.wall());
    let ahead = time.since(now).as_nanos() as i64 - now.since(time).as_nanos() as i64;
    Timestamp::from(WallTime::from_nanos(wall.as_nanos().saturating_add(ahead)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_port_refuses_every_datagram_and_a_lost_way_refuses_none() {
        let counters = |writes, refused, unreachable| SendCounters {
            writes,
            refused,
            unreachable,
            ..SendCounters::default()
        };
        assert!(was_refused(&counters(100, 95, 0)));
        assert!(!was_refused(&counters(100, 50, 0)));
        assert!(!was_refused(&counters(40, 0, 1700)));
    }
}
