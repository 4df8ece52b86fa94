//! Flows that somebody other than the reader follows: running counters and totals, and rows that are kept.

use std::sync::{Arc, Mutex, Weak};

use tapeline_base::{FlowTag, MonoTime, MutexExt};
use tapeline_report::{Event, FlowEvidence, Phase, Row, Subject};
use tapeline_wire::native::MAX_ROUND_TRIPS;

use super::flow_start::{CounterCell, FlowStart};
use super::measure::{Sample, sample_total};

/// The flows of one test. They are followed while this lives.
#[derive(Debug, Default)]
pub(crate) struct FlowTotals {
    flows: Mutex<Vec<FlowTotal>>,
    peer_report: Mutex<PeerReport>,
}

/// Whether the client of a followed test sends what it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PeerReport {
    /// It has not come yet.
    #[default]
    Awaited,
    /// It is here, and will send it.
    Here,
    /// It has sent it, or is given up.
    Complete,
}

#[derive(Debug)]
struct FlowTotal {
    tag: FlowTag,
    /// From its start to its end.
    running: Option<(CounterCell, MonoTime)>,
    total: Option<Row>,
    evidence: Option<FlowEvidence>,
    round_trips: Vec<u32>,
}

/// What a flow came to.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) total: Row,
    /// What is known of its limits.
    pub(crate) evidence: Option<FlowEvidence>,
    /// Smoothed round trips of a TCP sender at the ends of its rows, microseconds; of the total
    /// where there is no other row. No more than [`MAX_ROUND_TRIPS`] and one.
    pub(crate) round_trips: Vec<u32>,
}

/// What the flows have come to so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SoFar {
    pub(crate) bytes: u64,
    pub(crate) datagrams: u64,
    pub(crate) running: u32,
    /// When the first one started.
    pub(crate) since: Option<MonoTime>,
}

impl FlowTotals {
    /// Another flow, before its start.
    pub(crate) fn add(&self, tag: FlowTag) {
        self.flows.lock_unpoisoned().push(FlowTotal {
            tag,
            running: None,
            total: None,
            evidence: None,
            round_trips: Vec::new(),
        });
    }

    /// The client will send what it has counted.
    pub(crate) fn client_is_here(&self) {
        *self.peer_report.lock_unpoisoned() = PeerReport::Here;
    }

    /// The client has sent what it has counted, or is given up.
    pub(crate) fn client_is_complete(&self) {
        *self.peer_report.lock_unpoisoned() = PeerReport::Complete;
    }

    /// Whether every flow has reported its total.
    pub(crate) fn is_complete(&self) -> bool {
        self.flows
            .lock_unpoisoned()
            .iter()
            .all(|flow| flow.total.is_some())
    }

    /// The totals that were reported.
    pub(crate) fn totals(&self) -> Vec<Row> {
        let flows = self.flows.lock_unpoisoned();
        flows.iter().filter_map(|flow| flow.total.clone()).collect()
    }

    /// The flows that have reported their totals.
    pub(crate) fn counted(&self) -> Vec<Counted> {
        let flows = self.flows.lock_unpoisoned();
        let counted = flows.iter().filter_map(|flow| {
            Some(Counted {
                total: flow.total.clone()?,
                evidence: flow.evidence,
                round_trips: flow.round_trips.clone(),
            })
        });
        counted.collect()
    }

    /// The running counters.
    pub(crate) fn so_far(&self) -> SoFar {
        let mut sum = SoFar::default();
        for flow in self.flows.lock_unpoisoned().iter() {
            let (bytes, datagrams) = match (&flow.running, &flow.total) {
                (_, Some(total)) => (total.bytes, datagrams_of(total)),
                (Some((cell, _)), None) => {
                    sum.running += 1;
                    let sample: Sample = sample_total(cell, None);
                    (sample.bytes(), sample.datagrams(cell))
                }
                (None, None) => continue,
            };
            if let Some((_, start)) = &flow.running {
                sum.since = Some(sum.since.map_or(*start, |since| since.min(*start)));
            }
            sum.bytes = sum.bytes.saturating_add(bytes);
            sum.datagrams = sum.datagrams.saturating_add(datagrams);
        }
        sum
    }

    fn observe(&self, row: &Row, tag: FlowTag) {
        let mut flows = self.flows.lock_unpoisoned();
        let known = |flow: &&mut FlowTotal| flow.tag == tag && flow.total.is_none();
        let Some(flow) = flows.iter_mut().find(known) else {
            return;
        };
        let is_total = row.phase == Phase::Total;
        if let Some(micros) = round_trip(row)
            && (flow.round_trips.is_empty() || !is_total)
            && flow.round_trips.len() <= MAX_ROUND_TRIPS
        {
            flow.round_trips.push(micros);
        }
        if is_total {
            flow.total = Some(row.clone());
        }
    }

    fn judge(&self, tag: FlowTag, evidence: FlowEvidence) {
        let mut flows = self.flows.lock_unpoisoned();
        let known = |flow: &&mut FlowTotal| flow.tag == tag && flow.total.is_none();
        if let Some(flow) = flows.iter_mut().find(known) {
            flow.evidence = Some(evidence);
        }
    }

    fn start(&self, start: &FlowStart) {
        let mut flows = self.flows.lock_unpoisoned();
        let known = |flow: &&mut FlowTotal| flow.tag == start.tag && flow.running.is_none();
        if let Some(flow) = flows.iter_mut().find(known) {
            flow.running = Some((start.cell.clone(), start.start));
        }
    }
}

/// Smoothed round trip of a TCP sender at the end of a row, microseconds.
fn round_trip(row: &Row) -> Option<u32> {
    match &row.measure {
        tapeline_report::Measure::TcpSend(send) => send.state?.rtt_micros,
        _ => None,
    }
}

fn datagrams_of(total: &Row) -> u64 {
    match &total.measure {
        tapeline_report::Measure::UdpSend(send) => send.writes,
        tapeline_report::Measure::UdpReceive(receive) => receive.received,
        _ => 0,
    }
}

/// Rows that are kept; of a longer test the first intervals and the totals.
const MAX_ROWS: usize = 16_384;

/// Keeps the rows of some flows while it lives.
#[derive(Debug)]
pub(crate) struct FlowRows {
    flows: Vec<FlowTag>,
    rows: Mutex<Vec<Row>>,
}

impl FlowRows {
    /// The rows that were reported so far, in their order.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.rows.lock_unpoisoned().clone()
    }

    fn observe(&self, row: &Row, tag: FlowTag) {
        if self.flows.contains(&tag) {
            let mut rows = self.rows.lock_unpoisoned();
            if row.phase == Phase::Total || rows.len() < MAX_ROWS {
                rows.push(row.clone());
            }
        }
    }
}

/// Everybody other than the reader who follows flows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subscribers {
    totals: Arc<Mutex<Vec<Weak<FlowTotals>>>>,
    rows: Arc<Mutex<Vec<Weak<FlowRows>>>>,
}

impl Subscribers {
    /// Follows the running counters and totals of flows from now on.
    pub(crate) fn follow_totals(&self) -> Arc<FlowTotals> {
        let totals = Arc::new(FlowTotals::default());
        self.totals.lock_unpoisoned().push(Arc::downgrade(&totals));
        totals
    }

    /// Keeps the rows of these flows from now on.
    pub(crate) fn keep_rows(&self, flows: Vec<FlowTag>) -> Arc<FlowRows> {
        let kept = Arc::new(FlowRows {
            flows,
            rows: Mutex::default(),
        });
        self.rows.lock_unpoisoned().push(Arc::downgrade(&kept));
        kept
    }

    /// A flow begins.
    pub(crate) fn start(&self, start: &FlowStart) {
        each(&self.totals, |totals| totals.start(start));
    }

    /// What is known of the limits of a flow, before its total.
    pub(crate) fn judge(&self, tag: FlowTag, evidence: FlowEvidence) {
        each(&self.totals, |totals| totals.judge(tag, evidence));
    }

    /// An event is passed on to the reader.
    pub(crate) fn observe(&self, event: &Event) {
        if let Event::Row(row) = event
            && let Subject::Flow(tag) = row.subject
        {
            each(&self.rows, |rows| rows.observe(row, tag));
            each(&self.totals, |totals| totals.observe(row, tag));
        }
    }

    /// Whether the client of a flow's test speaks, where that is followed.
    pub(crate) fn peer_report(&self, tag: FlowTag) -> Option<PeerReport> {
        let followed = self.totals.lock_unpoisoned();
        let of = |totals: &Arc<FlowTotals>| {
            totals
                .flows
                .lock_unpoisoned()
                .iter()
                .any(|flow| flow.tag == tag)
        };
        let mut known = followed.iter().rev().filter_map(Weak::upgrade);
        known
            .find(of)
            .map(|totals| *totals.peer_report.lock_unpoisoned())
    }
}

/// Does something with those that live, and forgets the others.
fn each<T>(subscribers: &Mutex<Vec<Weak<T>>>, act: impl Fn(&T)) {
    subscribers
        .lock_unpoisoned()
        .retain(|subscriber| match subscriber.upgrade() {
            Some(subscriber) => {
                act(&subscriber);
                true
            }
            None => false,
        });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tapeline_base::{FlowId, Placement, WallTime};
    use tapeline_report::{Measure, Span, TcpSend, TcpState, UdpSend};

    use super::*;

    #[test]
    fn the_round_trips_of_a_sender_are_those_at_the_ends_of_its_intervals() {
        let tag = FlowTag {
            id: FlowId(3),
            reversed: false,
        };
        let row = |phase, micros| {
            Event::Row(Row {
                subject: Subject::Flow(tag),
                phase,
                span: Span::default(),
                ended: WallTime::default(),
                bytes: 1,
                endpoints: None,
                trip_times: false,
                placement: Placement::default(),
                measure: Measure::TcpSend(TcpSend {
                    state: Some(TcpState {
                        rtt_micros: Some(micros),
                        ..TcpState::default()
                    }),
                    ..TcpSend::default()
                }),
            })
        };
        for (intervals, expected) in [(0, vec![9]), (2, vec![0, 1])] {
            let subscribers = Subscribers::default();
            let totals = subscribers.follow_totals();
            totals.add(tag);
            for micros in 0..intervals {
                subscribers.observe(&row(Phase::Interval, micros));
            }
            subscribers.observe(&row(Phase::Total, 9));
            assert_eq!(totals.counted()[0].round_trips, expected);
        }
    }

    #[test]
    fn a_flow_is_complete_with_its_first_total() {
        let tag = FlowTag {
            id: FlowId(3),
            reversed: false,
        };
        let total = |bytes| {
            Event::Row(Row {
                subject: Subject::Flow(tag),
                phase: Phase::Total,
                span: Span {
                    start: Duration::ZERO,
                    end: Duration::from_secs(1),
                },
                ended: WallTime::default(),
                bytes,
                endpoints: None,
                trip_times: false,
                placement: Placement::default(),
                measure: Measure::UdpSend(UdpSend {
                    writes: 2,
                    ..UdpSend::default()
                }),
            })
        };
        let subscribers = Subscribers::default();
        let totals = subscribers.follow_totals();
        subscribers.observe(&total(1));
        assert!(totals.totals().is_empty());
        totals.add(tag);
        assert!(!totals.is_complete());
        // A later flow of the same number is another test's.
        for bytes in [5, 6] {
            subscribers.observe(&total(bytes));
        }
        assert!(totals.is_complete());
        let so_far = totals.so_far();
        assert_eq!((so_far.bytes, so_far.datagrams, so_far.running), (5, 2, 0));
        assert!(totals.counted()[0].round_trips.is_empty());
        drop(totals);
        subscribers.observe(&total(7));
        assert!(subscribers.rows.lock_unpoisoned().is_empty());
    }

    fn row(id: u32, phase: Phase) -> Event {
        Event::Row(Row {
            subject: Subject::Flow(tag(id)),
            phase,
            span: Span {
                start: Duration::ZERO,
                end: Duration::from_secs(1),
            },
            ended: WallTime::default(),
            bytes: 1,
            endpoints: None,
            trip_times: false,
            placement: Placement::default(),
            measure: Measure::UdpSend(UdpSend::default()),
        })
    }

    fn tag(id: u32) -> FlowTag {
        FlowTag {
            id: FlowId(id),
            reversed: false,
        }
    }

    #[test]
    fn a_tap_keeps_its_own_flows_rows_and_not_too_many() {
        let subscribers = Subscribers::default();
        let kept = subscribers.keep_rows(vec![tag(1), tag(2)]);
        for id in 1..=3 {
            subscribers.observe(&row(id, Phase::Interval));
        }
        subscribers.observe(&Event::Idle);
        assert_eq!(kept.rows().len(), 2);
        for _ in 0..2 * MAX_ROWS {
            subscribers.observe(&row(1, Phase::Interval));
        }
        subscribers.observe(&row(1, Phase::Total));
        let rows = kept.rows();
        assert_eq!(rows.len(), MAX_ROWS + 1);
        assert_eq!(rows[MAX_ROWS].phase, Phase::Total);
        drop(kept);
        subscribers.observe(&row(1, Phase::Total));
        assert!(subscribers.rows.lock_unpoisoned().is_empty());
    }
}
