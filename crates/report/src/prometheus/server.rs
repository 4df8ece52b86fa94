//! A server's counters, and the results of its last tests.

use std::collections::{BTreeMap, HashMap, HashSet};

use tapeline_base::{FlowId, FlowTag, WallTime};

use super::family::{Distribution, Family, Labels, text};
use super::result::{self, MAX_FLOWS};
use crate::document::{Protocol, Report, ReportTracker, RunInfo, Step, TestShape, WARNING_IDS};
use crate::model::{Event, Measure, Phase, Row, Subject, Warning};

/// Conditions under which a client is sent away.
const REFUSALS: [&str; 2] = ["client-refused", "permit-key-refused"];
/// Flows of which is remembered which test they belong to.
const MAX_REMEMBERED: usize = 1 << 16;

/// What of a flow, or of all, was counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Payload over TCP, over UDP.
    sent: [u64; 2],
    received: [u64; 2],
    retransmits: u64,
    datagrams_sent: u64,
    datagrams: u64,
    lost: u64,
    lost_in_host: u64,
    reordered: u64,
    duplicates: u64,
}

const TCP: usize = 0;
const UDP: usize = 1;

impl Counts {
    fn from_row(row: &Row) -> Self {
        let mut counts = Self::default();
        match &row.measure {
            Measure::TcpSend(send) => {
                counts.sent[TCP] = row.bytes;
                counts.retransmits = send.retransmits.unwrap_or(0);
            }
            Measure::TcpReceive(_) => counts.received[TCP] = row.bytes,
            Measure::UdpSend(send) => {
                counts.sent[UDP] = row.bytes;
                counts.datagrams_sent = send.writes;
            }
            Measure::UdpReceive(receive) => {
                counts.received[UDP] = row.bytes;
                counts.datagrams = receive.received;
                counts.lost = receive.lost;
                counts.lost_in_host = receive.lost_in_host.unwrap_or(0);
                counts.reordered = receive.reordered;
                counts.duplicates = receive.duplicates;
            }
            Measure::RequestResponse(exchange) => {
                counts.sent[TCP] = exchange.sent;
                counts.received[TCP] = exchange.received;
                counts.retransmits = exchange.retransmits.unwrap_or(0);
            }
            // Rows of two directions, whose rows are reported too.
            Measure::Both { .. } => {}
        }
        counts
    }

    fn each(&mut self, other: &Self, join: fn(u64, u64) -> u64) {
        for way in [TCP, UDP] {
            self.sent[way] = join(self.sent[way], other.sent[way]);
            self.received[way] = join(self.received[way], other.received[way]);
        }
        for (own, other) in [
            (&mut self.retransmits, other.retransmits),
            (&mut self.datagrams_sent, other.datagrams_sent),
            (&mut self.datagrams, other.datagrams),
            (&mut self.lost, other.lost),
            (&mut self.lost_in_host, other.lost_in_host),
            (&mut self.reordered, other.reordered),
            (&mut self.duplicates, other.duplicates),
        ] {
            *own = join(*own, other);
        }
    }
}

/// Which test a flow is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TestKey {
    Iperf2(u32),
    Iperf3(u32),
    /// Nothing is known: one of its own.
    Flow(FlowId),
}

/// The metrics of a server, from what it reports.
#[derive(Debug)]
pub struct ServerMetrics {
    version: String,
    tracker: ReportTracker,
    /// The test of each flow.
    tests: HashMap<FlowId, TestKey>,
    /// What was counted of flows that run, at the ends of their intervals.
    counted: HashMap<FlowTag, Counts>,
    counts: Counts,
    /// Tests that have ended, by their labels.
    ended: BTreeMap<[String; 4], u64>,
    warnings: BTreeMap<&'static str, u64>,
    missed: u64,
    round_trips: Distribution,
    /// When the last total was reported.
    latest: Option<WallTime>,
    /// The last tests, by transport and direction, and when they ended.
    last: BTreeMap<[String; 2], (Option<WallTime>, Box<Report>)>,
}

impl ServerMetrics {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new(run_info: RunInfo) -> Self {
        Self {
            version: run_info.version.clone(),
            tracker: ReportTracker::without_intervals(run_info),
            tests: HashMap::new(),
            counted: HashMap::new(),
            counts: Counts::default(),
            ended: BTreeMap::new(),
            warnings: REFUSALS.into_iter().map(|id| (id, 0)).collect(),
            missed: 0,
            round_trips: Distribution::for_delays(),
            latest: None,
            last: BTreeMap::new(),
        }
    }

    /// Takes what has happened.
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::Connected(line) => {
                if let Some(test) = line.test {
                    self.remember(line.tag.id, TestKey::Iperf2(test.number));
                }
            }
            Event::TestStart(start) => {
                for (tag, _) in &start.flows {
                    self.remember(tag.id, TestKey::Iperf3(start.test));
                }
            }
            Event::Row(row) => self.row(row),
            Event::Idle => self.tests.clear(),
            _ => {}
        }
        for step in self.tracker.observe(event) {
            match step {
                Step::Warning { warning, .. } => self.warned(&warning),
                Step::End { report, .. } => self.ended(report),
                Step::Start { .. }
                | Step::Interval { .. }
                | Step::Progress { .. }
                | Step::Series(_) => {}
            }
        }
    }

    /// Rows of intervals that never came. What they had is counted at the ends of their flows.
    pub fn missed(&mut self, rows: u64) {
        self.missed += rows;
    }

    /// The metrics, while the flows of these numbers run.
    #[must_use]
    pub fn text(&self, running: &[FlowId]) -> String {
        let none = Labels::new;
        let mut families = vec![
            Family::build(&self.version),
            Family::gauge(
                "tapeline_server_streams_active",
                "Streams that run; both directions of a connection are one",
                [(none(), running.len() as f64)],
            ),
            Family::gauge(
                "tapeline_server_tests_active",
                "Tests that run",
                [(none(), self.tests_of(running) as f64)],
            ),
            self.tests_ended(),
            Family::counter(
                "tapeline_server_refused",
                "Clients that were sent away, by the name of the warning",
                REFUSALS.map(|id| {
                    let count = self.warnings.get(id).copied().unwrap_or(0);
                    (vec![("reason", id.to_owned())], count)
                }),
            ),
            Family::counter(
                "tapeline_server_warnings",
                "Warnings, by their names",
                self.warnings
                    .iter()
                    .map(|(id, count)| (vec![("id", (*id).to_owned())], *count)),
            ),
        ];
        families.extend(self.traffic());
        families.push(Family::histogram(
            "tapeline_server_rtt_seconds",
            "Smoothed round-trip times of TCP flows that the server sends, at the ends of intervals",
            [(none(), self.round_trips.clone())],
        ));
        families.push(Family::counter(
            "tapeline_server_intervals_dropped",
            "Rows of intervals that came too fast to be counted as they came",
            [(none(), self.missed)],
        ));
        // Numbers of a direction have a label of that name, too.
        let labelled = self.last.iter().map(|([transport, direction], last)| {
            let labels = vec![
                ("transport", transport.clone()),
                ("test_direction", direction.clone()),
            ];
            (labels, last)
        });
        let labelled: Vec<_> = labelled.collect();
        families.push(Family::gauge(
            "tapeline_test_end_time_seconds",
            "When the last test of a kind ended, seconds since 1970",
            labelled.iter().filter_map(|(labels, (ended, _))| {
                Some((labels.clone(), (*ended)?.as_nanos() as f64 * 1e-9))
            }),
        ));
        let results: Vec<(Labels, &Report)> = labelled
            .into_iter()
            .map(|(labels, (_, report))| (labels, &**report))
            .collect();
        families.extend(result::families(&results));
        text(families)
    }

    fn remember(&mut self, id: FlowId, test: TestKey) {
        if self.tests.len() < MAX_REMEMBERED || self.tests.contains_key(&id) {
            self.tests.insert(id, test);
        }
    }

    fn tests_of(&self, running: &[FlowId]) -> usize {
        let tests: HashSet<TestKey> = running
            .iter()
            .map(|id| self.tests.get(id).copied().unwrap_or(TestKey::Flow(*id)))
            .collect();
        tests.len()
    }

    fn row(&mut self, row: &Row) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        let counts = Counts::from_row(row);
        let known = self.counted.contains_key(&tag);
        let new = match row.phase {
            Phase::Omitted => return,
            Phase::Interval => {
                let counted = self.counted.entry(tag).or_default();
                counted.each(&counts, u64::saturating_add);
                counts
            }
            Phase::Total => {
                self.latest = Some(row.ended);
                // What came before its turn was counted as lost meanwhile.
                let counted = self.counted.remove(&tag).unwrap_or_default();
                let mut rest = counts;
                rest.each(&counted, u64::saturating_sub);
                rest
            }
        };
        self.counts.each(&new, u64::saturating_add);
        if let Measure::TcpSend(send) = &row.measure
            && let Some(micros) = send.state.and_then(|state| state.rtt_micros)
            && (row.phase == Phase::Interval || !known)
        {
            self.round_trips.add(f64::from(micros) * 1e-6, 1);
        }
    }

    fn warned(&mut self, warning: &Warning) {
        if let Some(id) = WARNING_IDS.iter().find(|id| **id == warning.id) {
            *self.warnings.entry(id).or_default() += 1;
        }
    }

    fn ended(&mut self, mut report: Box<Report>) {
        let test = &report.test;
        let protocol = match test.protocol {
            Some(Protocol::Iperf2) => "iperf2",
            Some(Protocol::Iperf3) => "iperf3",
            None => "unknown",
        };
        let transport = test.transport.unwrap_or("unknown").to_owned();
        let direction = match test.direction {
            Some(TestShape::Forward) => "forward",
            Some(TestShape::Reverse) => "reverse",
            Some(TestShape::Bidirectional) => "bidirectional",
            None => "unknown",
        }
        .to_owned();
        let result = match (test.complete, test.interrupted) {
            (true, _) => "complete",
            (false, true) => "interrupted",
            (false, false) => "failed",
        };
        let labels = [
            protocol.to_owned(),
            transport.clone(),
            direction.clone(),
            result.to_owned(),
        ];
        *self.ended.entry(labels).or_default() += 1;
        report.warnings.clear();
        if report.streams.len() > MAX_FLOWS {
            report.streams.clear();
        }
        self.last
            .insert([transport, direction], (self.latest, report));
    }

    fn tests_ended(&self) -> Family {
        let samples = self.ended.iter().map(|(labels, count)| {
            let [protocol, transport, direction, result] = labels.clone();
            let labels = vec![
                ("protocol", protocol),
                ("transport", transport),
                ("direction", direction),
                ("result", result),
            ];
            (labels, *count)
        });
        Family::counter(
            "tapeline_server_tests",
            "Tests that have ended: complete, failed or interrupted",
            samples,
        )
    }

    fn traffic(&self) -> [Family; 7] {
        let counts = &self.counts;
        let one = |name, help, count| Family::counter(name, help, [(Labels::new(), count)]);
        let way = |transport: &str, direction: &str| {
            vec![
                ("transport", transport.to_owned()),
                ("direction", direction.to_owned()),
            ]
        };
        let by_direction = |direction: &str| vec![("direction", direction.to_owned())];
        [
            Family::counter(
                "tapeline_server_bytes",
                "Payload, counted at the ends of intervals and flows",
                [
                    (way("tcp", "received"), counts.received[TCP]),
                    (way("tcp", "sent"), counts.sent[TCP]),
                    (way("udp", "received"), counts.received[UDP]),
                    (way("udp", "sent"), counts.sent[UDP]),
                ],
            ),
            Family::counter(
                "tapeline_server_datagrams",
                "Distinct datagrams",
                [
                    (by_direction("received"), counts.datagrams),
                    (by_direction("sent"), counts.datagrams_sent),
                ],
            ),
            one(
                "tapeline_server_datagrams_lost",
                "Datagrams of clients that did not arrive",
                counts.lost,
            ),
            one(
                "tapeline_server_datagrams_lost_in_host",
                "Of them, those that this host's socket dropped",
                counts.lost_in_host,
            ),
            one(
                "tapeline_server_datagrams_reordered",
                "Datagrams that arrived after a later one",
                counts.reordered,
            ),
            one(
                "tapeline_server_datagrams_duplicate",
                "Datagrams that arrived again",
                counts.duplicates,
            ),
            one(
                "tapeline_server_tcp_retransmits",
                "Segments that the server sent again",
                counts.retransmits,
            ),
        ]
    }
}
