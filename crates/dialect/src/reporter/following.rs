//! Flows that are followed by somebody beside the reader: running counters and totals.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tapeline_base::{FlowTag, MonoTime};
use tapeline_report::{Event, FlowEvidence, Phase, Row, Subject};

use super::measure::{Sample, sample_total};
use super::{CounterCell, FlowStart};

/// The flows of one test. They are followed while this lives.
#[derive(Debug, Default)]
pub(crate) struct Following {
    flows: Mutex<Vec<Followed>>,
}

#[derive(Debug)]
struct Followed {
    tag: FlowTag,
    /// From its start to its end.
    running: Option<(CounterCell, MonoTime)>,
    total: Option<Row>,
    evidence: Option<FlowEvidence>,
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

impl Following {
    /// Another flow, before its start.
    pub(crate) fn add(&self, tag: FlowTag) {
        lock(&self.flows).push(Followed {
            tag,
            running: None,
            total: None,
            evidence: None,
        });
    }

    /// Whether every flow has told its total.
    pub(crate) fn is_complete(&self) -> bool {
        lock(&self.flows).iter().all(|flow| flow.total.is_some())
    }

    /// The totals that were told.
    pub(crate) fn totals(&self) -> Vec<Row> {
        let flows = lock(&self.flows);
        flows.iter().filter_map(|flow| flow.total.clone()).collect()
    }

    /// What is known of the limits of a flow that has ended.
    pub(crate) fn evidence(&self, tag: FlowTag) -> Option<FlowEvidence> {
        let flows = lock(&self.flows);
        flows.iter().find(|flow| flow.tag == tag)?.evidence
    }

    /// The running counters.
    pub(crate) fn so_far(&self) -> SoFar {
        let mut sum = SoFar::default();
        for flow in lock(&self.flows).iter() {
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

    fn hear(&self, total: &Row, tag: FlowTag) {
        let mut flows = lock(&self.flows);
        let known = |flow: &&mut Followed| flow.tag == tag && flow.total.is_none();
        if let Some(flow) = flows.iter_mut().find(known) {
            flow.total = Some(total.clone());
        }
    }

    fn judge(&self, tag: FlowTag, evidence: FlowEvidence) {
        let mut flows = lock(&self.flows);
        let known = |flow: &&mut Followed| flow.tag == tag && flow.total.is_none();
        if let Some(flow) = flows.iter_mut().find(known) {
            flow.evidence = Some(evidence);
        }
    }

    fn start(&self, start: &FlowStart) {
        let mut flows = lock(&self.flows);
        let known = |flow: &&mut Followed| flow.tag == start.tag && flow.running.is_none();
        if let Some(flow) = flows.iter_mut().find(known) {
            flow.running = Some((start.cell.clone(), start.start));
        }
    }
}

fn datagrams_of(total: &Row) -> u64 {
    match &total.measure {
        tapeline_report::Measure::UdpSend(send) => send.writes,
        tapeline_report::Measure::UdpReceive(receive) => receive.received,
        _ => 0,
    }
}

/// Everybody who follows flows.
#[derive(Clone, Debug, Default)]
pub(super) struct Followers(Arc<Mutex<Vec<Weak<Following>>>>);

impl Followers {
    pub(super) fn open(&self) -> Arc<Following> {
        let following = Arc::new(Following::default());
        lock(&self.0).push(Arc::downgrade(&following));
        following
    }

    /// A flow begins.
    pub(super) fn start(&self, start: &FlowStart) {
        self.each(|following| following.start(start));
    }

    /// What is known of the limits of a flow, before its total.
    pub(super) fn judge(&self, tag: FlowTag, evidence: FlowEvidence) {
        self.each(|following| following.judge(tag, evidence));
    }

    pub(super) fn hear(&self, event: &Event) {
        if let Event::Row(row) = event
            && let (Subject::Flow(tag), Phase::Total) = (row.subject, row.phase)
        {
            self.each(|following| following.hear(row, tag));
        }
    }

    fn each(&self, tell: impl Fn(&Following)) {
        lock(&self.0).retain(|following| match following.upgrade() {
            Some(following) => {
                tell(&following);
                true
            }
            None => false,
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tapeline_base::{FlowId, WallTime};
    use tapeline_report::{Measure, Span, UdpSend};

    use super::*;

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
                measure: Measure::UdpSend(UdpSend {
                    writes: 2,
                    ..UdpSend::default()
                }),
            })
        };
        let followers = Followers::default();
        let following = followers.open();
        followers.hear(&total(1));
        assert!(following.totals().is_empty());
        following.add(tag);
        assert!(!following.is_complete());
        // A later flow of the same number is another test's.
        for bytes in [5, 6] {
            followers.hear(&total(bytes));
        }
        assert!(following.is_complete());
        let so_far = following.so_far();
        assert_eq!((so_far.bytes, so_far.datagrams, so_far.running), (5, 2, 0));
        drop(following);
        followers.hear(&total(7));
        assert!(lock(&followers.0).is_empty());
    }
}
