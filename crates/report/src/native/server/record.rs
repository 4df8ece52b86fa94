//! A server's test as far as events have reported it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tapeline_base::{FlowTag, WallTime};

use super::amount::Amount;
use super::intervals::Pending;
use crate::model::{
    Connected, ConnectionFlavour, ControlConnected, ControlPeer, LimitVerdict, PeerProgram, Row,
    TestStart, WarningId,
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
    /// When its first connection was there.
    pub(crate) begun: Option<WallTime>,
    /// The client's program, where that has said what it is.
    pub(crate) program: Option<PeerProgram>,
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
    /// Intervals that not all of its flows have reported.
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

    /// Whether a client of iperf 2's protocol sends and receives.
    pub(crate) fn is_both_ways(&self) -> bool {
        self.line
            .as_ref()
            .is_some_and(|line| line.connects_back || line.flavour == ConnectionFlavour::FullDuplex)
    }

    /// Whether its client is a tapeline that has not said yet which version it is.
    pub(crate) fn awaits_program(&self) -> bool {
        let line = self.line.as_ref();
        self.program.is_none() && line.is_some_and(|line| line.peer_is_tapeline)
    }

    /// Requests of a client that sends requests, as far as they have been answered.
    pub(crate) fn requests(&self) -> Option<u64> {
        let ConnectionFlavour::RequestResponse {
            request, response, ..
        } = self.line.as_ref()?.flavour
        else {
            return None;
        };
        // Both are counted together.
        let round_trip = u64::from(request) + u64::from(response);
        self.received?.bytes.checked_div(round_trip)
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
        if self.is_both_ways() {
            directions / 2
        } else {
            directions
        }
        .max(1)
    }
}
