//! What limited the tests whose flows have ended: evidence of both ends is collected until no
//! more will come.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_base::{FlowTag, Transport};
use tapeline_report::{
    Event, FlowEvidence, LimitVerdict, Measure, PeerLimits, PeerResults, Row, Subject, TestEnd,
};
use tapeline_stats::{
    HostEvidence, ReceiverEvidence, SenderEvidence, StreamTimes, judge_datagrams, judge_stream,
};

/// Tests that wait for their verdict; beyond that, the oldest is judged as it is.
const MAX_CASES: usize = 4096;
/// The flows of one direction of a test: its number, and whether this end sends.
type CaseKey = (u64, bool);

/// A direction of a test.
#[derive(Debug)]
struct Case {
    flows: Vec<FlowTag>,
    transport: Transport,
    sender: Option<SenderEvidence>,
    receiver: Option<ReceiverEvidence>,
    /// What an iperf 2 server reports, in place of a receiver that reports more.
    reported: Option<ReceiverEvidence>,
}

/// Collects evidence, and judges.
#[derive(Debug, Default)]
pub(crate) struct VerdictCollector {
    cases: BTreeMap<CaseKey, Case>,
    /// This process is a client: its peer may report more until the process ends.
    is_client: bool,
    /// Peers that have begun to speak, in either way, and have not sent their results.
    speaking: usize,
}

impl VerdictCollector {
    /// A flow of test `number` has ended.
    pub(crate) fn flow_ended(
        &mut self,
        number: u64,
        tag: FlowTag,
        transport: Transport,
        evidence: FlowEvidence,
    ) -> Vec<Event> {
        let sends = matches!(evidence, FlowEvidence::Sender(_));
        let case = self.cases.entry((number, sends)).or_insert_with(|| Case {
            flows: Vec::new(),
            transport,
            sender: None,
            receiver: None,
            reported: None,
        });
        case.flows.push(tag);
        case.add(evidence);
        if self.cases.len() > MAX_CASES {
            let first = self.cases.pop_first();
            return first
                .into_iter()
                .map(|(key, case)| judge(key, case))
                .collect();
        }
        Vec::new()
    }

    /// Observes what is reported; returns the verdicts that follow from it, to be reported behind.
    pub(crate) fn observe(&mut self, event: &Event) -> Vec<Event> {
        match event {
            Event::Connecting(banner) => self.is_client |= !banner.connect_back,
            Event::PeerFound { .. } | Event::ControlConnected(_) => self.speaking += 1,
            Event::ServerReport { row, .. } => self.server_report(row),
            Event::PeerResults(end) => {
                self.speaking = self.speaking.saturating_sub(1);
                self.peer_results(end);
                let reported: Vec<FlowTag> = end
                    .flows
                    .iter()
                    .filter_map(|flow| tag_of(&flow.total))
                    .collect();
                return self.conclude(|case| case.flows.iter().any(|tag| reported.contains(tag)));
            }
            Event::NoPeerResults(_) => self.speaking = self.speaking.saturating_sub(1),
            Event::TestEnd(end) => {
                self.speaking = self.speaking.saturating_sub(1);
                self.test_end(end);
                let reported: Vec<FlowTag> = end.peer_totals.iter().filter_map(tag_of).collect();
                return self.conclude(|case| case.flows.iter().any(|tag| reported.contains(tag)));
            }
            _ => {}
        }
        Vec::new()
    }

    /// Nothing more is to come of a server's test with these flows.
    pub(crate) fn over(&mut self, flows: &[FlowTag]) -> Vec<Event> {
        self.conclude(|case| case.flows.iter().any(|tag| flows.contains(tag)))
    }

    /// No flow runs any more. A client's peer may still send what it received.
    pub(crate) fn idle(&mut self) -> Vec<Event> {
        if self.is_client || self.speaking > 0 {
            return Vec::new();
        }
        self.conclude(|_| true)
    }

    /// Judges what is left.
    pub(crate) fn close(&mut self) -> Vec<Event> {
        self.conclude(|_| true)
    }

    fn conclude(&mut self, which: impl Fn(&Case) -> bool) -> Vec<Event> {
        let cases = std::mem::take(&mut self.cases);
        let (due, kept) = cases.into_iter().partition(|(_, case)| which(case));
        self.cases = kept;
        let due: BTreeMap<CaseKey, Case> = due;
        due.into_iter()
            .map(|(key, case)| judge(key, case))
            .collect()
    }

    /// The receiver's count that iperf 2's server sends back.
    fn server_report(&mut self, row: &Row) {
        let (Measure::UdpReceive(udp), Some(tag)) = (&row.measure, tag_of(row)) else {
            return;
        };
        let same = |known: &FlowTag| known.id == tag.id;
        let sent = self.cases.iter_mut().filter(|((_, sends), _)| *sends);
        for (_, case) in sent.filter(|(_, case)| case.flows.iter().any(same)) {
            let flow = ReceiverEvidence {
                expected: Some(udp.total),
                lost: Some(udp.lost),
                ..ReceiverEvidence::default()
            };
            case.reported = Some(case.reported.map_or(flow, |known| known.merge(flow)));
        }
    }

    /// What the peer counted in an iperf3 test.
    fn test_end(&mut self, end: &TestEnd) {
        let host = HostEvidence {
            busy: end.peer_cpu.map(|cpu| (cpu.total / 100.0).min(1.0)),
            ..HostEvidence::default()
        };
        for row in &end.peer_totals {
            self.add(row, peer_evidence(row, host));
        }
    }

    /// What another tapeline counted.
    fn peer_results(&mut self, end: &PeerResults) {
        for flow in &end.flows {
            let host = HostEvidence {
                busy: flow.limits.thread_cpu,
                ..HostEvidence::default()
            };
            if let Some(evidence) = flow.evidence {
                self.add(&flow.total, evidence);
                continue;
            }
            let evidence = match peer_evidence(&flow.total, host) {
                FlowEvidence::Sender(sender) => FlowEvidence::Sender(SenderEvidence {
                    stream: stream_times(&flow.limits),
                    retransmits: sender.retransmits.or(flow.limits.retransmits),
                    ..sender
                }),
                FlowEvidence::Receiver(receiver) => FlowEvidence::Receiver(ReceiverEvidence {
                    socket_drops: flow.limits.socket_drops,
                    backlog_drops: end.host.softnet,
                    ..receiver
                }),
            };
            self.add(&flow.total, evidence);
        }
    }

    /// Adds what the peer knows of one of this end's flows.
    fn add(&mut self, row: &Row, evidence: FlowEvidence) {
        let Some(tag) = tag_of(row) else { return };
        let other_sends = matches!(evidence, FlowEvidence::Sender(_));
        let wanted = |((_, sends), case): &(&CaseKey, &mut Case)| {
            *sends != other_sends && case.flows.contains(&tag)
        };
        if let Some((_, case)) = self.cases.iter_mut().find(wanted) {
            case.add(evidence);
        }
    }
}

impl Case {
    fn add(&mut self, evidence: FlowEvidence) {
        match evidence {
            FlowEvidence::Sender(flow) => {
                self.sender = Some(self.sender.map_or(flow, |known| known.merge(flow)));
            }
            FlowEvidence::Receiver(flow) => {
                self.receiver = Some(self.receiver.map_or(flow, |known| known.merge(flow)));
            }
        }
    }
}

/// What the peer's total of a flow says of its limits.
fn peer_evidence(total: &Row, host: HostEvidence) -> FlowEvidence {
    let longest = u64::try_from(total.span.length().as_micros()).unwrap_or(u64::MAX);
    let sender = SenderEvidence {
        host,
        micros: longest,
        longest,
        ..SenderEvidence::default()
    };
    let receiver = ReceiverEvidence {
        host,
        longest,
        ..ReceiverEvidence::default()
    };
    match &total.measure {
        Measure::TcpSend(send) => FlowEvidence::Sender(SenderEvidence {
            retransmits: send.retransmits,
            ..sender
        }),
        Measure::UdpSend(send) => FlowEvidence::Sender(SenderEvidence {
            datagrams: Some(send.writes),
            ..sender
        }),
        Measure::UdpReceive(receive) => FlowEvidence::Receiver(ReceiverEvidence {
            lost: Some(receive.lost),
            expected: Some(receive.total),
            ..receiver
        }),
        Measure::TcpReceive(_) | Measure::Both { .. } | Measure::RequestResponse(_) => {
            FlowEvidence::Receiver(receiver)
        }
    }
}

fn stream_times(limits: &PeerLimits) -> Option<StreamTimes> {
    let micros = |time: Option<Duration>| u64::try_from(time?.as_micros()).ok();
    Some(StreamTimes {
        busy: micros(limits.busy)?,
        receive_window: micros(limits.receive_window_limited)?,
        send_buffer: micros(limits.send_buffer_limited)?,
    })
}

fn tag_of(row: &Row) -> Option<FlowTag> {
    match row.subject {
        Subject::Flow(tag) => Some(tag),
        Subject::Sum { .. } | Subject::Duplex(_) => None,
    }
}

fn judge((_, local_sends): CaseKey, case: Case) -> Event {
    let sender = case.sender.unwrap_or_default();
    let receiver = case.receiver.or(case.reported).unwrap_or_default();
    let verdict = match case.transport {
        Transport::Tcp => judge_stream(&sender, &receiver),
        Transport::Udp => judge_datagrams(&sender, &receiver),
    };
    Event::LimitVerdict(Box::new(LimitVerdict {
        flows: case.flows,
        transport: case.transport,
        local_sends,
        sender,
        receiver,
        verdict,
    }))
}

#[cfg(test)]
mod tests {
    use tapeline_base::{FlowId, Placement, WallTime};
    use tapeline_report::{PeerFlow, PeerProgram, Phase, Span, UdpReceive};
    use tapeline_stats::{LimitedBy, RateTarget, Verdict};

    use super::*;

    fn tag(id: u32) -> FlowTag {
        FlowTag {
            id: FlowId(id),
            reversed: false,
        }
    }

    /// A flow of one second that sent all that it was to send.
    fn sent(id: u32) -> (u64, FlowTag, Transport, FlowEvidence) {
        let sender = SenderEvidence {
            micros: 1_000_000,
            rate: Some(RateTarget {
                asked: 1e6,
                reached: 1e6,
            }),
            datagrams: Some(1000),
            queue_drops: Some(0),
            ..SenderEvidence::default()
        };
        (1, tag(id), Transport::Udp, FlowEvidence::Sender(sender))
    }

    fn received(id: u32, lost: u64) -> Row {
        Row {
            subject: Subject::Flow(tag(id)),
            phase: Phase::Total,
            span: Span {
                start: Duration::ZERO,
                end: Duration::from_secs(1),
            },
            ended: WallTime::default(),
            bytes: 1,
            endpoints: None,
            trip_times: false,
            placement: Placement::default(),
            measure: Measure::UdpReceive(UdpReceive {
                total: 1000,
                lost,
                ..UdpReceive::default()
            }),
        }
    }

    fn ended(collector: &mut VerdictCollector, flow: (u64, FlowTag, Transport, FlowEvidence)) {
        let (number, tag, transport, evidence) = flow;
        assert_eq!(collector.flow_ended(number, tag, transport, evidence), []);
    }

    fn verdicts(events: &[Event]) -> Vec<&Verdict> {
        let judged = events.iter().filter_map(|event| match event {
            Event::LimitVerdict(limit_verdict) => Some(&limit_verdict.verdict),
            _ => None,
        });
        judged.collect()
    }

    #[test]
    fn alone_an_end_is_judged_when_nothing_runs() {
        let mut collector = VerdictCollector::default();
        for id in 1..=2 {
            ended(&mut collector, sent(id));
        }
        let events = collector.idle();
        let [verdict] = verdicts(&events)[..] else {
            panic!("{events:?}");
        };
        assert_eq!(verdict.limited_by, Some(LimitedBy::RequestedRate));
        assert_eq!(collector.close(), []);
    }

    #[test]
    fn a_peer_that_speaks_is_waited_for_and_both_ends_count() {
        let mut collector = VerdictCollector::default();
        assert_eq!(
            collector.observe(&Event::PeerFound {
                program: PeerProgram::default(),
                flows: Vec::new(),
            }),
            []
        );
        ended(&mut collector, sent(1));
        ended(&mut collector, sent(2));
        assert_eq!(collector.idle(), []);
        for (id, lost) in [(1, 300), (2, 200)] {
            let report = Event::ServerReport {
                row: received(id, lost),
                enhanced: false,
            };
            assert_eq!(collector.observe(&report), []);
        }
        let flows = [(1, 300), (2, 200)].map(|(id, lost)| PeerFlow {
            total: received(id, lost),
            limits: PeerLimits {
                socket_drops: Some(lost),
                ..PeerLimits::default()
            },
            evidence: None,
            round_trips: Vec::new(),
        });
        let end = PeerResults {
            flows: flows.into(),
            ..PeerResults::default()
        };
        let events = collector.observe(&Event::PeerResults(Box::new(end)));
        let [verdict] = verdicts(&events)[..] else {
            panic!("{events:?}");
        };
        assert_eq!(verdict.limited_by, Some(LimitedBy::ReceiveBuffer));
    }

    #[test]
    fn what_an_old_server_reports_counts() {
        let mut collector = VerdictCollector {
            is_client: true,
            ..VerdictCollector::default()
        };
        ended(&mut collector, sent(1));
        assert_eq!(collector.idle(), []);
        let row = received(1, 100);
        let report = Event::ServerReport {
            row,
            enhanced: false,
        };
        assert_eq!(collector.observe(&report), []);
        let events = collector.close();
        let [verdict] = verdicts(&events)[..] else {
            panic!("{events:?}");
        };
        assert_eq!(verdict.limited_by, Some(LimitedBy::Network));
    }
}
