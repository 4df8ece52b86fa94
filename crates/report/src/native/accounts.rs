//! What is reported at the end of a test, collected for each test that a server runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tapeline_base::{FlowId, FlowTag};

use super::summary::Summary;
use super::text_parts::Headline;
use crate::model::{
    Connected, HistogramRow, LimitVerdict, PeerResults, Phase, ProcessorUse, Row, Subject,
    TestStart,
};

/// Bytes from which on a cost says more about the bytes than about the start of a program.
const MIN_COST_BYTES: u64 = 100_000_000;
/// Lines that the summary has of the peer.
const MAX_PEER_LINES: usize = 64;
/// Verdicts that the summary shows: a busy server may never come to one.
const MAX_VERDICTS: usize = 64;
/// Histograms that the summary shows.
const MAX_HISTOGRAMS: usize = 64;
/// Connections that are kept until their flows end.
const MAX_CONNECTIONS: usize = 1 << 16;

/// What makes flows a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// A client runs one.
    Client,
    /// A server saw that they belong together (iperf 2).
    Served(u32),
    /// A server was reported so (iperf3).
    Announced(u32),
    /// Nothing is known.
    Flow(FlowId),
}

/// What a test cost at both ends: processor time for its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    own: Option<ProcessorUse>,
    /// Seconds for each 10^9 bytes.
    other: Option<f64>,
}

impl Cost {
    /// Takes what this process used.
    pub(crate) fn own(&mut self, used: &ProcessorUse) {
        if used.phase == Phase::Total {
            self.own = Some(*used);
        }
    }

    /// Takes what the peer used.
    pub(crate) fn other(&mut self, end: &PeerResults) {
        let bytes = end.flows.iter().map(|flow| flow.total.bytes);
        let bytes = bytes.fold(0, u64::saturating_add);
        let time = end.cpu.zip(end.seconds);
        self.other = time.map(|(cpu, seconds)| per_gigabyte(cpu.total / 100.0 * seconds, bytes));
    }

    /// `cost     0.412 s/GB  processor time here, 45 % CPU, 0.530 s/GB there`, of a test that
    /// moved so many bytes.
    pub(crate) fn headline(&self, bytes: u64) -> Option<Headline> {
        let own = self.own.filter(|_| bytes >= MIN_COST_BYTES)?;
        let time = own.cpu.total / 100.0 * own.span.as_secs_f64();
        let mut details = vec![
            "processor time here".to_owned(),
            format!("{:.0} % CPU", own.cpu.total),
        ];
        details.extend(self.other.map(|other| format!("{other:.3} s/GB there")));
        let number = format!("{:.3} s/GB", per_gigabyte(time, bytes));
        Some(("cost", number, details))
    }
}

fn per_gigabyte(seconds: f64, bytes: u64) -> f64 {
    seconds / (bytes.max(1) as f64 / 1e9)
}

/// One test.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) summary: Summary,
    /// What limited it.
    pub(crate) limit_verdicts: Vec<LimitVerdict>,
    /// Histograms of the whole test.
    pub(crate) histograms: Vec<HistogramRow>,
    pub(crate) cost: Cost,
    /// Closing lines of the peer and of the clocks.
    pub(crate) peer_lines: Vec<Headline>,
}

impl Account {
    pub(crate) fn judged(&mut self, limit_verdict: &LimitVerdict) {
        if self.limit_verdicts.len() < MAX_VERDICTS {
            self.limit_verdicts.push(limit_verdict.clone());
        }
    }

    pub(crate) fn histogram(&mut self, row: &HistogramRow) {
        if self.histograms.len() < MAX_HISTOGRAMS {
            self.histograms.push(row.clone());
        }
    }

    pub(crate) fn peer_lines(&mut self, lines: impl IntoIterator<Item = Headline>) {
        let room = MAX_PEER_LINES.saturating_sub(self.peer_lines.len());
        self.peer_lines.extend(lines.into_iter().take(room));
    }
}

/// The tests that are not over.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    /// This process waits for others.
    serves: bool,
    open: BTreeMap<Key, Account>,
    owners: HashMap<FlowId, Key>,
    /// A server's connections: their flows may be reported to be a test's later.
    connections: HashMap<FlowId, Connected>,
    /// Several tests have run since nothing did.
    several: bool,
}

impl Accounts {
    pub(crate) fn serve(&mut self, serves: bool) {
        self.serves = serves;
    }

    pub(crate) fn serves(&self) -> bool {
        self.serves
    }

    pub(crate) fn connected(&mut self, line: &Connected) {
        if !self.serves {
            return self.client().summary.connected(line);
        }
        if self.connections.len() >= MAX_CONNECTIONS {
            self.connections.clear();
        }
        self.connections.insert(line.tag.id, line.clone());
        if let Some(test) = line.test {
            self.owners.insert(line.tag.id, Key::Served(test.number));
        }
    }

    pub(crate) fn announced(&mut self, start: &TestStart) {
        for (tag, _) in start.flows.iter().filter(|_| self.serves) {
            self.owners.insert(tag.id, Key::Announced(start.test));
        }
    }

    /// The account of a flow's test.
    pub(crate) fn of(&mut self, tag: FlowTag) -> &mut Account {
        let key = match self.owners.get(&tag.id) {
            _ if !self.serves => Key::Client,
            Some(key) => *key,
            None => Key::Flow(tag.id),
        };
        self.several |= !self.open.is_empty() && !self.open.contains_key(&key);
        self.open.entry(key).or_default()
    }

    /// Of a client's test.
    pub(crate) fn client(&mut self) -> &mut Account {
        self.open.entry(Key::Client).or_default()
    }

    /// Of the test that runs alone.
    pub(crate) fn only(&mut self) -> Option<&mut Account> {
        if !self.serves {
            return Some(self.client());
        }
        let alone = !self.several;
        self.open.values_mut().next().filter(|_| alone)
    }

    pub(crate) fn row(&mut self, row: &Row) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        let line = match row.phase {
            Phase::Total => self.connections.remove(&tag.id),
            Phase::Interval | Phase::Omitted => None,
        };
        let summary = &mut self.of(tag).summary;
        if let Some(line) = line {
            summary.connected(&line);
        }
        summary.add(row);
        if let Some(endpoints) = row.endpoints {
            summary.meets(endpoints.peer.ip());
        }
    }

    /// Of the test of the first flow that the peer tells of.
    pub(crate) fn peer_results(&mut self, end: &PeerResults) -> &mut Account {
        let tag = end.flows.first().and_then(|flow| match flow.total.subject {
            Subject::Flow(tag) => Some(tag),
            Subject::Sum { .. } | Subject::Duplex(_) => None,
        });
        match tag {
            Some(tag) => self.of(tag),
            None => self.client(),
        }
    }

    /// Takes the accounts of the tests of flows that are over.
    pub(crate) fn over(&mut self, flows: &[FlowTag]) -> Vec<Account> {
        let mut keys = BTreeSet::new();
        for tag in flows {
            let key = self.owners.remove(&tag.id);
            keys.insert(key.unwrap_or(Key::Flow(tag.id)));
            self.connections.remove(&tag.id);
        }
        let accounts = keys.iter().filter_map(|key| self.open.remove(key));
        accounts.collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Takes what is left: nothing runs.
    pub(crate) fn take(&mut self) -> Vec<Account> {
        self.several = false;
        self.owners.clear();
        std::mem::take(&mut self.open).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::CpuUse;

    #[test]
    fn a_cost_is_processor_time_for_bytes() {
        let mut cost = Cost::default();
        assert_eq!(cost.headline(MIN_COST_BYTES), None);
        let used = |phase, total| ProcessorUse {
            phase,
            span: Duration::from_secs(10),
            cpu: CpuUse {
                total,
                ..CpuUse::default()
            },
        };
        cost.own(&used(Phase::Total, 50.0));
        cost.own(&used(Phase::Interval, 80.0));
        cost.other(&PeerResults::default());
        let (_, number, details) = cost.headline(10_000_000_000).expect("a cost");
        assert_eq!(number, "0.500 s/GB");
        assert_eq!(details, ["processor time here", "50 % CPU"]);
        assert_eq!(cost.headline(MIN_COST_BYTES - 1), None);
    }
}
