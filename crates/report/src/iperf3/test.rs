//! A test as far as it has been told.

use std::time::Duration;

use tapeline_base::{BitRate, FlowTag, Role};

use crate::model::{
    Connected, ControlConnected, ControlPeer, Measure, Phase, Row, TcpState, TestDirection,
    TestEnd, TestStart, UdpReceive, UdpSend,
};

/// Windows and round-trip times of a sender, over its intervals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TcpExtremes {
    pub(super) window: u64,
    pub(super) send_window: u64,
    pub(super) longest: u32,
    pub(super) shortest: u32,
    sum: u64,
    count: u64,
}

impl TcpExtremes {
    fn add(&mut self, state: &TcpState) {
        self.window = self.window.max(window(state).unwrap_or(0));
        self.send_window = self.send_window.max(state.send_window.unwrap_or(0).into());
        let Some(rtt) = state.rtt_micros else {
            return;
        };
        self.shortest = if self.count == 0 {
            rtt
        } else {
            self.shortest.min(rtt)
        };
        self.longest = self.longest.max(rtt);
        self.sum += u64::from(rtt);
        self.count += 1;
    }

    /// Microseconds.
    pub(super) fn mean(&self) -> u64 {
        self.sum.checked_div(self.count).unwrap_or(0)
    }
}

/// Congestion window, bytes.
pub(super) fn window(state: &TcpState) -> Option<u64> {
    let (packets, segment) = state.cwnd_packets.zip(state.mss)?;
    Some(u64::from(packets) * u64::from(segment))
}

/// A stream.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) tag: FlowTag,
    /// This end sends.
    pub(super) sends: bool,
    pub(super) connected: Option<Connected>,
    /// This end's count.
    pub(super) total: Option<Row>,
    /// The other end's count.
    pub(super) peer: Option<Row>,
    pub(super) extremes: TcpExtremes,
    /// What the intervals told so far add up to: bytes and datagrams.
    told: (u64, u64),
    /// Place of the last interval.
    reached: Option<Place>,
}

impl Flow {
    pub(super) fn new(tag: FlowTag, sends: bool, connected: Option<Connected>) -> Self {
        Self {
            tag,
            sends,
            connected,
            total: None,
            peer: None,
            extremes: TcpExtremes::default(),
            told: (0, 0),
            reached: None,
        }
    }

    /// Whether any of its rows has been told.
    pub(super) fn has_spoken(&self) -> bool {
        self.reached.is_some() || self.total.is_some()
    }

    fn note(&mut self, row: &Row) {
        self.reached = Some(place(row));
        if let Measure::TcpSend(send) = &row.measure
            && let Some(state) = &send.state
        {
            self.extremes.add(state);
        }
        if row.phase == Phase::Interval {
            self.told.0 += row.bytes;
            if let Measure::UdpSend(send) = &row.measure {
                self.told.1 += send.writes;
            }
        }
    }

    /// The last, partial interval of a UDP sender, which nobody else tells.
    fn remainder(&self, total: &Row, interval: Option<Duration>) -> Option<Row> {
        let Measure::UdpSend(sent) = &total.measure else {
            return None;
        };
        // Without an interval that counts it is the whole.
        let since = match self.reached {
            Some((true, end)) => end,
            Some((false, _)) | None => total.span.start,
        };
        let bytes = total.bytes.saturating_sub(self.told.0);
        let lasts = interval.is_some() && total.span.end > since;
        (lasts && bytes > 0).then(|| {
            let mut row = total.clone();
            row.phase = Phase::Interval;
            row.span.start = since;
            row.bytes = bytes;
            row.measure = Measure::UdpSend(UdpSend {
                writes: sent.writes.saturating_sub(self.told.1),
                ..UdpSend::default()
            });
            row
        })
    }
}

/// Omitted intervals come first; then the end counts.
type Place = (bool, Duration);

fn place(row: &Row) -> Place {
    (row.phase != Phase::Omitted, row.span.end)
}

/// The rows of all flows for one interval.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    place: Place,
    /// By the number of the flow, ascending.
    pub(super) rows: Vec<(usize, Row)>,
}

impl Interval {
    fn takes(&self, flow: usize, row: &Row) -> bool {
        let (counts, end) = self.place;
        let near = |a: Duration, b: Duration| a.abs_diff(b) < row.span.length() / 2;
        // The last intervals of streams begin together and end with their streams.
        let together = self
            .rows
            .iter()
            .any(|(_, other)| near(other.span.start, row.span.start));
        (row.phase != Phase::Omitted) == counts
            && (together || near(end, row.span.end))
            && !self.holds(flow)
    }

    fn holds(&self, flow: usize) -> bool {
        self.rows
            .binary_search_by_key(&flow, |(other, _)| *other)
            .is_ok()
    }

    pub(super) fn omitted(&self) -> bool {
        !self.place.0
    }

    /// Rows of some flows, whose numbers ascend.
    pub(super) fn of<'a>(&'a self, flows: &'a [usize]) -> impl Iterator<Item = &'a Row> {
        let of = |(flow, _): &&(usize, Row)| flows.binary_search(flow).is_ok();
        self.rows.iter().filter(of).map(|(_, row)| row)
    }
}

/// The streams of one direction.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    /// From the server to the client, in a test of both directions.
    pub(super) reverse: bool,
    /// This end sends.
    pub(super) sends: bool,
    /// Numbers of the flows, ascending.
    pub(super) flows: Vec<usize>,
}

/// Bytes over a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Amount {
    /// Seconds.
    pub(super) seconds: f64,
    pub(super) bytes: u64,
}

impl Amount {
    pub(super) fn of(row: &Row) -> Self {
        Self {
            seconds: row.span.length().as_secs_f64(),
            bytes: row.bytes,
        }
    }

    /// Bits per second, 0 over no time.
    pub(super) fn rate(self) -> f64 {
        let span = Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        BitRate::over(self.bytes, span)
    }

    /// Bytes of both over the longer time.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            seconds: self.seconds.max(other.seconds),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// What a receiver says of datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loss {
    /// Seconds.
    pub(super) jitter: f64,
    pub(super) lost: u64,
    /// Sent, as far as the receiver knows.
    pub(super) packets: u64,
    pub(super) out_of_order: u64,
}

impl Loss {
    pub(super) fn of(receive: &UdpReceive) -> Self {
        Self {
            jitter: receive.jitter.unwrap_or(0.0),
            lost: receive.lost,
            packets: receive.total,
            out_of_order: receive.out_of_order,
        }
    }

    pub(super) fn percent(self) -> f64 {
        percent(self.lost, self.packets)
    }

    /// Counts of all, and the mean of their jitter.
    pub(super) fn sum(all: impl Iterator<Item = Self>) -> Self {
        let mut sum = Self::default();
        let mut count = 0u32;
        for one in all {
            sum.jitter += one.jitter;
            sum.lost += one.lost;
            sum.packets += one.packets;
            sum.out_of_order += one.out_of_order;
            count += 1;
        }
        if count > 0 {
            sum.jitter /= f64::from(count);
        }
        sum
    }
}

/// Share in percent, 0 of nothing.
pub(super) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        100.0 * part as f64 / whole as f64
    }
}

/// A test.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) control: Option<ControlConnected>,
    pub(super) start: Option<TestStart>,
    pub(super) flows: Vec<Flow>,
    pub(super) end: Option<TestEnd>,
    /// The other end's count is not known, where it is a stream without loss: this end's is
    /// told for both (tests over iperf 2's protocol, which none announces).
    pub(super) mirrored: bool,
    /// Why such a test fails.
    pub(super) condition: Option<String>,
    open: Vec<Interval>,
    /// How many were told that count.
    intervals: u64,
}

impl Test {
    pub(super) fn new() -> Self {
        Self {
            control: None,
            start: None,
            flows: Vec::new(),
            end: None,
            mirrored: false,
            condition: None,
            open: Vec::new(),
            intervals: 0,
        }
    }

    /// One over iperf 2's protocol.
    pub(super) fn unannounced() -> Self {
        Self {
            mirrored: true,
            ..Self::new()
        }
    }

    /// The number of a flow.
    pub(super) fn index(&self, tag: FlowTag) -> Option<usize> {
        self.flows.iter().position(|flow| flow.tag == tag)
    }

    /// Number of a stream's socket, as iperf3 would have it.
    pub(super) fn socket(flow: usize) -> u64 {
        5 + 2 * flow as u64
    }

    /// Which end tells it; a client's where nothing says so.
    pub(super) fn role(&self) -> Role {
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
    pub(super) fn lanes(&self) -> Vec<Lane> {
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
    pub(super) fn row(&mut self, flow: usize, row: &Row) -> Vec<Interval> {
        if row.phase == Phase::Total {
            let interval = self.start.as_ref().and_then(|start| start.interval);
            if let Some(rest) = self.flows[flow].remainder(row, interval) {
                self.flows[flow].note(&rest);
                self.enter(flow, rest);
            }
            self.flows[flow].total = Some(row.clone());
        } else {
            self.flows[flow].note(row);
            self.enter(flow, row.clone());
        }
        self.complete(false)
    }

    /// Takes a flow out; those behind it move up.
    pub(super) fn remove(&mut self, flow: usize) -> Flow {
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
        self.open.insert(at, Interval { place, rows });
    }

    fn complete(&mut self, all: bool) -> Vec<Interval> {
        let flows = &self.flows;
        let is_complete = |interval: &Interval| {
            all || flows.iter().enumerate().all(|(number, flow)| {
                flow.total.is_some()
                    || flow.reached.is_some_and(|at| at > interval.place)
                    || interval.holds(number)
            })
        };
        let open = self.open.iter().take_while(|one| is_complete(one)).count();
        let complete: Vec<Interval> = self.open.drain(..open).collect();
        self.intervals += complete.iter().filter(|one| !one.omitted()).count() as u64;
        complete
    }

    /// Takes the end; returns the intervals that were not told before. A test without any is
    /// one long interval.
    pub(super) fn finish(&mut self, end: TestEnd) -> Vec<Interval> {
        for row in &end.peer_totals {
            if let crate::model::Subject::Flow(tag) = row.subject
                && let Some(flow) = self.index(tag)
            {
                self.flows[flow].peer = Some(row.clone());
            }
        }
        self.end = Some(end);
        if self.intervals == 0 && self.open.iter().all(Interval::omitted) {
            for flow in 0..self.flows.len() {
                let whole = |total: &Row| self.open.is_empty() || total.bytes > 0;
                if let Some(total) = self.flows[flow].total.clone().filter(whole) {
                    let row = Row {
                        phase: Phase::Interval,
                        ..total
                    };
                    self.flows[flow].note(&row);
                    self.enter(flow, row);
                }
            }
        }
        self.complete(true)
    }

    /// The sender's count of a flow, where this end knows it. A server tells its own only.
    pub(super) fn sender(&self, flow: usize) -> Option<&Row> {
        self.counted(flow, self.flows[flow].sends)
    }

    /// The receiver's count of a flow, where this end knows it.
    pub(super) fn receiver(&self, flow: usize) -> Option<&Row> {
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
    pub(super) fn amount(&self, row: Option<&Row>) -> Amount {
        row.map_or_else(
            || Amount {
                seconds: self.seconds(),
                bytes: 0,
            },
            Amount::of,
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
    pub(super) fn sent(&self, flow: usize) -> Option<u64> {
        match &self.sender(flow)?.measure {
            Measure::UdpSend(send) => Some(send.writes),
            _ => None,
        }
    }

    /// What the receiver says of a flow's datagrams. Those behind the last one that it saw are
    /// missed by the sender alone: where the sender stops first and both count the same time,
    /// they are lost too.
    pub(super) fn loss(&self, flow: usize) -> Option<Loss> {
        let Measure::UdpReceive(receive) = &self.receiver(flow)?.measure else {
            return None;
        };
        let mut loss = Loss::of(receive);
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
