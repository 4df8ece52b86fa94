//! A server's test as far as it has been told.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tapeline_base::FlowTag;

use super::amount::Amount;
use super::intervals::Pending;
use crate::model::{
    Connected, ConnectionFlavour, ControlConnected, ControlPeer, LimitVerdict, Row, TestStart,
    WarningId,
};
use crate::tracker::{TestKey, TestRecord};

/// A test of a client.
#[derive(Debug, Default)]
pub(crate) struct ServedTest {
    /// The line of its start has been printed.
    pub(crate) announced: bool,
    pub(crate) peer: Option<IpAddr>,
    pub(crate) control: bool,
    pub(crate) start: Option<TestStart>,
    /// Its first connection.
    pub(crate) line: Option<Connected>,
    /// Connections so far.
    pub(crate) connections: usize,
    /// Directions of flows that have not ended, and whether this end sends, where that is known.
    pub(crate) running: BTreeMap<FlowTag, Option<bool>>,
    pub(crate) received: Option<Amount>,
    pub(crate) sent: Option<Amount>,
    pub(crate) verdicts: Vec<LimitVerdict>,
    /// Why it ended before its time, and the name of that.
    pub(crate) failure: Option<(String, Option<WarningId>)>,
    /// Intervals that not all of its flows have told.
    pub(crate) pending: Pending,
}

impl TestRecord for ServedTest {
    fn new(_: TestKey) -> Self {
        Self::default()
    }

    fn connected(&mut self, line: Connected) {
        self.peer.get_or_insert(line.peer.ip());
        self.connections += 1;
        self.line.get_or_insert(line);
    }

    fn started(&mut self, start: &TestStart) {
        self.start = Some(start.clone());
    }
}

impl ServedTest {
    /// Takes a control connection of iperf3.
    pub(crate) fn controlled(&mut self, control: &ControlConnected) {
        self.control = true;
        if let ControlPeer::Accepted(peer) = control.peer {
            self.peer = Some(peer.ip());
        }
    }

    /// Takes the total of a flow.
    pub(crate) fn total(&mut self, row: &Row) {
        let way = if row.measure.sends() {
            &mut self.sent
        } else {
            &mut self.received
        };
        way.get_or_insert_default().add(row);
    }

    /// Flows that run the way of this row's, which is `tag`'s.
    pub(crate) fn beside(&mut self, tag: FlowTag, row: &Row) -> usize {
        let sends = row.measure.sends();
        self.running.insert(tag, Some(sends));
        let flows = self.running.iter();
        let alike = flows.filter(|(one, known)| match known {
            Some(known) => *known == sends,
            None => one.reversed == tag.reversed,
        });
        alike.count()
    }

    /// Whether all of its flows have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.running.is_empty() && (self.received.is_some() || self.sent.is_some())
    }

    /// Flows in each direction, where that is known.
    pub(crate) fn streams(&self) -> usize {
        if let Some(start) = &self.start {
            return start.streams as usize;
        }
        let line = self.line.as_ref();
        let directions = line
            .and_then(|line| line.test?.flows)
            .map_or(self.connections, |flows| flows as usize);
        let duplex = line.is_some_and(|line| line.flavour == ConnectionFlavour::FullDuplex);
        if duplex { directions / 2 } else { directions }.max(1)
    }
}
