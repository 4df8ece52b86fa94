//! Flows whose rows are added up.

use std::collections::{BTreeMap, HashMap};

use tapeline_base::{FlowTag, Role};
use tapeline_report::{Event, Measure, Row, Subject};

use super::GroupKind;
use super::sum::{add_up, distinct_flows};

/// Rows of the members until every active member has told the same interval.
#[derive(Debug)]
pub(super) struct Group {
    kind: GroupKind,
    /// Sum over a single flow too.
    single: bool,
    /// Directions of flows that are to come, and those that came.
    members: usize,
    joined: usize,
    /// Next interval that each active member will tell.
    active: HashMap<FlowTag, u64>,
    /// How many active members will tell each interval next.
    next: BTreeMap<u64, usize>,
    intervals: BTreeMap<u64, Vec<Row>>,
    totals: Vec<Row>,
    /// Datagrams that members sent, and how many members sent any.
    sent: (u64, usize),
}

impl Group {
    pub(super) fn new(kind: GroupKind, single: bool) -> Self {
        Self {
            kind,
            single,
            members: 0,
            joined: 0,
            active: HashMap::new(),
            next: BTreeMap::new(),
            intervals: BTreeMap::new(),
            totals: Vec::new(),
            sent: (0, 0),
        }
    }

    /// One of `members` directions of flows begins.
    pub(super) fn join(&mut self, tag: FlowTag, members: usize) {
        self.members = members;
        self.joined += 1;
        self.awaits(tag, 0);
    }

    /// An active member will tell interval `index` next.
    fn awaits(&mut self, tag: FlowTag, index: u64) {
        let before = self.active.insert(tag, index);
        *self.next.entry(index).or_default() += 1;
        self.awaits_no_more(before);
    }

    fn awaits_no_more(&mut self, index: Option<u64>) {
        if let Some(index) = index
            && let Some(members) = self.next.get_mut(&index)
        {
            *members -= 1;
            if *members == 0 {
                self.next.remove(&index);
            }
        }
    }

    /// Every member has begun and ended.
    pub(super) fn is_complete(&self) -> bool {
        self.is_idle() && self.joined >= self.members
    }

    /// Every member that began has ended.
    pub(super) fn is_idle(&self) -> bool {
        self.active.is_empty()
    }

    /// A member told an interval; returns the sums that are complete now.
    pub(super) fn interval(&mut self, tag: FlowTag, index: u64, row: Row) -> Vec<Event> {
        if self.active.contains_key(&tag) {
            self.awaits(tag, index + 1);
        }
        self.intervals.entry(index).or_default().push(row);
        self.complete_intervals()
    }

    /// A member ended; returns the interval sums that are complete now.
    pub(super) fn total(&mut self, tag: FlowTag, row: Row, sent: Option<u64>) -> Vec<Event> {
        let awaited = self.active.remove(&tag);
        self.awaits_no_more(awaited);
        self.totals.push(row);
        if let Some(datagrams) = sent {
            self.sent.0 += datagrams;
            self.sent.1 += 1;
        }
        self.complete_intervals()
    }

    /// The sum over everything.
    pub(super) fn finish(mut self) -> Vec<Event> {
        self.next.clear();
        let mut events = self.complete_intervals();
        let (datagrams, senders) = self.sent;
        if let Some(sum) = self.sum(&self.totals) {
            events.push(Event::Row(sum));
            // The ordering end tells it for a dual test too, of which it sends a half, but not
            // for one flow beside a working load.
            let told = match self.kind {
                GroupKind::Sum(Role::Client) => {
                    senders > 1 || senders > 0 && !self.totals.iter().any(is_stream)
                }
                GroupKind::Sum(Role::Server) => senders > 1,
                GroupKind::Duplex(_) => false,
            };
            if told {
                events.push(Event::Sent {
                    tag: None,
                    flows: distinct_flows(&self.totals),
                    datagrams,
                });
            }
        }
        events
    }

    fn complete_intervals(&mut self) -> Vec<Event> {
        let slowest = self.next.keys().next().copied().unwrap_or(u64::MAX);
        if self
            .intervals
            .keys()
            .next()
            .is_none_or(|first| *first >= slowest)
        {
            return Vec::new();
        }
        let rest = self.intervals.split_off(&slowest);
        let complete = std::mem::replace(&mut self.intervals, rest);
        complete
            .values()
            .filter_map(|rows| self.sum(rows))
            .map(Event::Row)
            .collect()
    }

    fn sum(&self, rows: &[Row]) -> Option<Row> {
        match self.kind {
            GroupKind::Sum(role) => {
                let flows = distinct_flows(rows);
                (flows > 1 || (self.single && flows == 1))
                    .then(|| add_up(rows, Subject::Sum { flows }, role))
                    .flatten()
            }
            GroupKind::Duplex(tag) => (rows.len() > 1)
                .then(|| add_up(rows, Subject::Duplex(tag), Role::Client))
                .flatten(),
        }
    }
}

fn is_stream(row: &Row) -> bool {
    matches!(row.measure, Measure::TcpSend(_) | Measure::TcpReceive(_))
}
