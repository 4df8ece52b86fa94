//! A test of iperf3's forms as far as it has been observed.

use std::time::Duration;

use tapeline_base::{FlowTag, Role};

use super::amounts::{Amount, Loss};
use super::flow::{Iperf3Flow, Iperf3Interval, place};
use crate::model::{
    ClientBanner, Connected, ConnectionFlavour, ControlConnected, ControlPeer, Measure, Phase, Row,
    Subject, TestDirection, TestEnd, TestLimit, TestStart, TestTransport,
};
use crate::tracker::{TestKey, TestRecord};

/// The streams of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// From the server to the client, in a test of both directions.
    pub(crate) reverse: bool,
    /// This end sends.
    pub(crate) sends: bool,
    /// Numbers of the flows, ascending.
    pub(crate) flows: Vec<usize>,
}

/// A test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Iperf3Record {
    pub(crate) control: Option<ControlConnected>,
    pub(crate) start: Option<TestStart>,
    pub(crate) flows: Vec<Iperf3Flow>,
    pub(crate) end: Option<TestEnd>,
    /// The peer's count is not known, where it is a stream without loss: this end's is
    /// reported for both (tests over iperf 2's protocol, which none announces).
    pub(crate) mirrored: bool,
    /// Why such a test fails.
    pub(crate) condition: Option<String>,
    /// Connections of flows that are not known yet.
    lines: Vec<Connected>,
    open: Vec<Iperf3Interval>,
    /// How many were reported that count.
    intervals: u64,
}

impl TestRecord for Iperf3Record {
    /// Over iperf 2's protocol, nothing announces a test.
    fn new(key: TestKey) -> Self {
        Self {
            mirrored: !matches!(key, TestKey::Announced(_)),
            ..Self::default()
        }
    }

    fn connected(&mut self, line: Connected) {
        self.lines.push(line);
    }

    fn started(&mut self, start: &TestStart) {
        let mut lines = std::mem::take(&mut self.lines);
        let flows = start.flows.iter().map(|(tag, sends)| {
            let line = lines.iter().position(|line| line.tag == *tag);
            Iperf3Flow::new(*tag, *sends, line.map(|at| lines.remove(at)))
        });
        self.flows = flows.collect();
        self.start = Some(start.clone());
    }
}

impl Iperf3Record {
    /// Takes a flow that was not announced, and all that are connected at the same time. Which end
    /// sends shows when a flow reports its first row; until then it is taken for the same.
    pub(crate) fn adopt(
        &mut self,
        tag: FlowTag,
        row: &Row,
        lines: Vec<Connected>,
        banner: Option<&ClientBanner>,
    ) {
        let sends = row.measure.sends();
        for line in lines {
            let both = line.flavour == ConnectionFlavour::FullDuplex;
            let flow = Iperf3Flow::new(line.tag, sends, Some(line.clone()));
            self.flows.push(flow);
            if both {
                let other = FlowTag {
                    reversed: !line.tag.reversed,
                    ..line.tag
                };
                let flow = Iperf3Flow::new(other, !sends, Some(line));
                self.flows.push(flow);
            }
        }
        let known = self.index(tag).or_else(|| {
            // A connection's line may name the direction that carries nothing.
            let silent = |flow: &Iperf3Flow| flow.tag.id == tag.id && !flow.has_spoken();
            self.flows.iter().position(silent)
        });
        match known {
            Some(known) => {
                self.flows[known].tag = tag;
                self.flows[known].sends = sends;
            }
            None => {
                // The other direction of a connection.
                let mut lines = self.flows.iter().filter_map(|flow| flow.connected.as_ref());
                let line = lines.find(|line| line.tag.id == tag.id).cloned();
                self.flows.push(Iperf3Flow::new(tag, sends, line));
            }
        }
        // The directions of one connection differ.
        let other = self.flows.iter_mut();
        for flow in other.filter(|flow| flow.tag.id == tag.id && flow.tag != tag) {
            flow.sends = !sends;
        }
        let mut start = match self.start.take() {
            Some(start) => start,
            None => unannounced_start(row, banner),
        };
        let flows = self.flows.iter();
        start.flows = flows.map(|flow| (flow.tag, flow.sends)).collect();
        start.direction = direction(&start);
        let streams = match start.direction {
            TestDirection::Bidirectional => start.flows.len().div_ceil(2),
            TestDirection::Forward | TestDirection::Reverse => start.flows.len(),
        };
        start.streams = u32::try_from(streams).unwrap_or(u32::MAX);
        self.start = Some(start);
    }

    /// The number of a flow.
    pub(crate) fn index(&self, tag: FlowTag) -> Option<usize> {
        self.flows.iter().position(|flow| flow.tag == tag)
    }

    /// Number of a stream's socket, as iperf3 would have it.
    pub(crate) fn socket(flow: usize) -> u64 {
        5 + 2 * flow as u64
    }

    /// Which end reports it; a client's where nothing says so.
    pub(crate) fn role(&self) -> Role {
        match (&self.start, &self.control) {
            (Some(start), _) => start.role,
            (None, Some(control)) => match control.peer {
                ControlPeer::ConnectingTo { .. } => Role::Client,
                ControlPeer::Accepted(_) => Role::Server,
            },
            (None, None) => Role::Client,
        }
    }

    /// Directions, the client's first.
    pub(crate) fn lanes(&self) -> Vec<Lane> {
        let Some(start) = &self.start else {
            return Vec::new();
        };
        let lane = |reverse: bool, sends: bool| Lane {
            reverse,
            sends,
            flows: (0..self.flows.len())
                .filter(|flow| self.flows[*flow].sends == sends)
                .collect(),
        };
        let client = start.role == Role::Client;
        match start.direction {
            TestDirection::Forward => vec![lane(false, client)],
            TestDirection::Reverse => vec![lane(false, !client)],
            TestDirection::Bidirectional => vec![lane(false, client), lane(true, !client)],
        }
    }

    /// Takes a row of a flow; returns the intervals that are complete now.
    pub(crate) fn row(&mut self, flow: usize, row: &Row) -> Vec<Iperf3Interval> {
        if row.phase == Phase::Total {
            let interval = self.start.as_ref().and_then(|start| start.interval);
            if let Some(rest) = self.flows[flow].remainder(row, interval) {
                self.flows[flow].observe(&rest);
                self.enter(flow, rest);
            }
            self.flows[flow].total = Some(row.clone());
        } else {
            self.flows[flow].observe(row);
            self.enter(flow, row.clone());
        }
        self.complete(false)
    }

    /// Takes a flow out; those behind it move up.
    pub(crate) fn remove(&mut self, flow: usize) -> Iperf3Flow {
        for interval in &mut self.open {
            interval.rows.retain(|(number, _)| *number != flow);
            let behind = interval.rows.iter_mut();
            for (number, _) in behind.filter(|(number, _)| *number > flow) {
                *number -= 1;
            }
        }
        self.open.retain(|interval| !interval.rows.is_empty());
        self.flows.remove(flow)
    }

    fn enter(&mut self, flow: usize, row: Row) {
        if let Some(interval) = self.open.iter_mut().find(|one| one.takes(flow, &row)) {
            let at = interval.rows.partition_point(|(other, _)| *other < flow);
            interval.rows.insert(at, (flow, row));
            return;
        }
        let place = place(&row);
        let at = self.open.partition_point(|one| one.place < place);
        let rows = vec![(flow, row)];
        self.open.insert(at, Iperf3Interval { place, rows });
    }

    fn complete(&mut self, all: bool) -> Vec<Iperf3Interval> {
        let flows = &self.flows;
        let is_complete = |interval: &Iperf3Interval| {
            all || flows.iter().enumerate().all(|(number, flow)| {
                flow.total.is_some()
                    || flow.reached.is_some_and(|at| at > interval.place)
                    || interval.holds(number)
            })
        };
        let open = self.open.iter().take_while(|one| is_complete(one)).count();
        let mut complete: Vec<Iperf3Interval> = self.open.drain(..open).collect();
        for interval in &mut complete {
            interval.fill(flows);
        }
        self.intervals += complete.iter().filter(|one| !one.omitted()).count() as u64;
        complete
    }

    /// Takes the end; returns the intervals that were not reported before. A test without any is
    /// one long interval.
    pub(crate) fn finish(&mut self, end: TestEnd) -> Vec<Iperf3Interval> {
        for row in &end.peer_totals {
            if let Subject::Flow(tag) = row.subject
                && let Some(flow) = self.index(tag)
            {
                self.flows[flow].peer = Some(row.clone());
            }
        }
        self.end = Some(end);
        if self.intervals == 0 && self.open.iter().all(Iperf3Interval::omitted) {
            for flow in 0..self.flows.len() {
                let whole = |total: &Row| self.open.is_empty() || total.bytes > 0;
                if let Some(total) = self.flows[flow].total.clone().filter(whole) {
                    let row = Row {
                        phase: Phase::Interval,
                        ..total
                    };
                    self.flows[flow].observe(&row);
                    self.enter(flow, row);
                }
            }
        }
        self.complete(true)
    }

    /// The sender's count of a flow, where this end knows it. A server reports its own only.
    pub(crate) fn sender(&self, flow: usize) -> Option<&Row> {
        self.counted(flow, self.flows[flow].sends)
    }

    /// The receiver's count of a flow, where this end knows it.
    pub(crate) fn receiver(&self, flow: usize) -> Option<&Row> {
        self.counted(flow, !self.flows[flow].sends)
    }

    fn counted(&self, flow: usize, own: bool) -> Option<&Row> {
        let flow = &self.flows[flow];
        match (own, self.role()) {
            (true, _) => flow.total.as_ref(),
            (false, Role::Client) if self.mirrored => flow
                .peer
                .as_ref()
                .or(flow.total.as_ref().filter(|row| is_stream(row))),
            (false, Role::Client) => flow.peer.as_ref(),
            (false, Role::Server) => None,
        }
    }

    /// What one of the ends of a flow counted; nothing over this end's time where that is not
    /// known.
    pub(crate) fn amount(&self, row: Option<&Row>) -> Amount {
        row.map_or_else(
            || Amount {
                seconds: self.seconds(),
                bytes: 0,
            },
            Amount::from_row,
        )
    }

    /// How long this end counted, seconds.
    fn seconds(&self) -> f64 {
        let totals = self.flows.iter().filter_map(|flow| flow.total.as_ref());
        totals.fold(0.0, |longest, row| {
            row.span.length().as_secs_f64().max(longest)
        })
    }

    /// Datagrams that the sender counted.
    pub(crate) fn sent(&self, flow: usize) -> Option<u64> {
        match &self.sender(flow)?.measure {
            Measure::UdpSend(send) => Some(send.writes),
            _ => None,
        }
    }

    /// What the receiver says of a flow's datagrams. Those behind the last one that it saw are
    /// missed by the sender alone: where the sender stops first and both count the same time,
    /// they are lost too.
    pub(crate) fn loss(&self, flow: usize) -> Option<Loss> {
        let Measure::UdpReceive(receive) = &self.receiver(flow)?.measure else {
            return None;
        };
        let mut loss = Loss::from_receive(receive);
        let whole = self
            .start
            .as_ref()
            .is_some_and(|start| start.omit.is_zero());
        if self.flows[flow].sends && whole {
            let sent = self.sent(flow).unwrap_or(0);
            loss.lost += sent.saturating_sub(loss.packets);
            loss.packets = loss.packets.max(sent);
        }
        if !self.flows[flow].sends && whole {
            let lost = self.lost_behind(self.flows[flow].tag);
            loss.lost += lost;
            loss.packets += lost;
        }
        Some(loss)
    }

    fn lost_behind(&self, tag: FlowTag) -> u64 {
        let end = self.end.iter();
        let mut known = end.flat_map(|end| &end.lost_behind);
        known
            .find(|(of, _)| *of == tag)
            .map_or(0, |(_, lost)| *lost)
    }
}

fn is_stream(row: &Row) -> bool {
    matches!(row.measure, Measure::TcpSend(_) | Measure::TcpReceive(_))
}

/// What is known of a test that nobody announced; its flows follow.
fn unannounced_start(row: &Row, banner: Option<&ClientBanner>) -> TestStart {
    let length = banner.map_or(0, |banner| banner.write_length);
    let buffer = banner.map(|banner| banner.buffer).unwrap_or_default();
    let interval = (row.phase == Phase::Interval).then(|| row.span.length());
    TestStart {
        test: 0,
        flows: Vec::new(),
        role: if banner.is_some() {
            Role::Client
        } else {
            Role::Server
        },
        transport: match row.measure {
            Measure::UdpSend(_) | Measure::UdpReceive(_) => TestTransport::Udp,
            _ => TestTransport::Tcp,
        },
        direction: TestDirection::Forward,
        streams: 0,
        block_length: u32::try_from(length).unwrap_or(u32::MAX),
        limit: TestLimit::Time(Duration::ZERO),
        omit: Duration::ZERO,
        interval,
        tos: banner.map_or(0, |banner| banner.tos.0),
        target_rate: banner.and_then(|banner| banner.rate).unwrap_or(0),
        pacing_rate: 0,
        segment_size: None,
        window: buffer.requested.unwrap_or(0),
        buffers: (buffer.actual, buffer.actual),
        send_offload: false,
        receive_offload: false,
        title: None,
        extra_data: None,
        file: None,
    }
}

fn direction(start: &TestStart) -> TestDirection {
    let client = start.role == Role::Client;
    let forward = |(_, sends): &(FlowTag, bool)| *sends == client;
    match (
        start.flows.iter().any(forward),
        start.flows.iter().all(forward),
    ) {
        (_, true) => TestDirection::Forward,
        (true, false) => TestDirection::Bidirectional,
        (false, false) => TestDirection::Reverse,
    }
}
