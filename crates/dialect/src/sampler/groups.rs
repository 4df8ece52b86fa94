//! Flows whose rows are added up, and how.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tapeline_base::{FlowId, FlowTag, Placement, Role};
use tapeline_report::{
    BurstsReceived, Event, FramesReceived, FramesSent, InProgress, LinkErrors, Measure,
    RequestResponse, Row, Span, Subject, TcpReceive, TcpSend, UdpReceive, UdpSend,
};
use tapeline_stats::Moments;

use super::flow_start::GroupKind;

/// Which sums over one flow are reported: they say what its rows say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SingleSums {
    /// None.
    #[default]
    None,
    /// Those of the two directions of a flow without intervals, as by iperf 2.2.1.
    BothDirections,
    /// All.
    All,
}

/// Rows of the members until every active member has reported the same interval.
#[derive(Debug)]
pub(crate) struct Group {
    kind: GroupKind,
    single: SingleSums,
    /// Members report intervals.
    by_interval: bool,
    /// Directions of flows that are to come, and those that came.
    members: usize,
    joined: usize,
    /// Next interval that each active member will report.
    active: HashMap<FlowTag, u64>,
    /// How many active members will report each interval next.
    next: BTreeMap<u64, usize>,
    intervals: BTreeMap<u64, Vec<Row>>,
    totals: Vec<Row>,
    /// Datagrams that members sent, and how many members sent any.
    sent: (u64, usize),
    /// What is reported behind the sum over everything.
    behind: Vec<Event>,
}

impl Group {
    pub(crate) fn new(kind: GroupKind, single: SingleSums) -> Self {
        Self {
            kind,
            single,
            by_interval: false,
            members: 0,
            joined: 0,
            active: HashMap::new(),
            next: BTreeMap::new(),
            intervals: BTreeMap::new(),
            totals: Vec::new(),
            sent: (0, 0),
            behind: Vec::new(),
        }
    }

    /// One of `members` directions of flows begins.
    pub(crate) fn join(&mut self, tag: FlowTag, members: usize, by_interval: bool) {
        self.by_interval |= by_interval;
        self.members = members;
        self.joined += 1;
        self.awaits(tag, 0);
    }

    /// An active member will report interval `index` next.
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
    pub(crate) fn is_complete(&self) -> bool {
        self.is_idle() && self.joined >= self.members
    }

    /// Every member that began has ended.
    pub(crate) fn is_idle(&self) -> bool {
        self.active.is_empty()
    }

    /// A member reported an interval; returns the sums that are complete now.
    pub(crate) fn interval(&mut self, tag: FlowTag, index: u64, row: Row) -> Vec<Event> {
        if self.active.contains_key(&tag) {
            self.awaits(tag, index + 1);
        }
        self.intervals.entry(index).or_default().push(row);
        self.complete_intervals()
    }

    /// A member ended; returns the interval sums that are complete now.
    pub(crate) fn total(&mut self, tag: FlowTag, row: Row, sent: Option<u64>) -> Vec<Event> {
        let awaited = self.active.remove(&tag);
        self.awaits_no_more(awaited);
        self.totals.push(row);
        if let Some(datagrams) = sent {
            self.sent.0 += datagrams;
            self.sent.1 += 1;
        }
        self.complete_intervals()
    }

    /// Whether the sum over everything is still to come, and adds this flow up.
    pub(crate) fn will_sum(&self, tag: FlowTag) -> bool {
        let is_of = |row: &Row| row.subject == Subject::Flow(tag);
        let sums = matches!(self.kind, GroupKind::Sum(_));
        sums && !self.is_idle() && self.totals.iter().any(is_of)
    }

    /// Keeps an event until the sum over everything has been reported.
    pub(crate) fn report_behind(&mut self, event: Event) {
        self.behind.push(event);
    }

    /// The sum over everything.
    pub(crate) fn finish(mut self) -> Vec<Event> {
        self.next.clear();
        let mut events = self.complete_intervals();
        let (datagrams, senders) = self.sent;
        if let Some(sum) = self.sum(&self.totals) {
            events.push(Event::Row(sum));
            // The ordering end reports it for a dual test too, of which it sends a half, but not
            // for one flow next to a working load.
            let reported = match self.kind {
                GroupKind::Sum(Role::Client) => {
                    senders > 1 || senders > 0 && !self.totals.iter().any(is_stream)
                }
                GroupKind::Sum(Role::Server) => senders > 1,
                GroupKind::Duplex(_) => false,
            };
            if reported {
                events.push(Event::Sent {
                    tag: None,
                    flows: distinct_flows(&self.totals),
                    datagrams,
                });
            }
        }
        events.append(&mut self.behind);
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
                let single = match self.single {
                    SingleSums::None => false,
                    SingleSums::BothDirections => rows.len() > 1 && !self.by_interval,
                    SingleSums::All => true,
                };
                (flows > 1 || (single && flows == 1))
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

/// Distinct flows among rows.
pub(crate) fn distinct_flows(rows: &[Row]) -> usize {
    rows.iter()
        .filter_map(flow_of)
        .collect::<BTreeSet<_>>()
        .len()
}

/// One row over all of `rows`; `None` when there are none. Where members send and receive,
/// `role` decides whose numbers stand next to the bytes.
pub(crate) fn add_up(rows: &[Row], subject: Subject, role: Role) -> Option<Row> {
    let first = rows.first()?;
    let span = Span {
        start: rows.iter().map(|row| row.span.start).min()?,
        end: rows.iter().map(|row| row.span.end).max()?,
    };
    Some(Row {
        subject,
        phase: first.phase,
        span,
        ended: rows.iter().map(|row| row.ended).max()?,
        bytes: rows.iter().map(|row| row.bytes).sum(),
        endpoints: first.endpoints,
        trip_times: rows.iter().any(|row| row.trip_times),
        placement: Placement::default(),
        measure: add_measures(rows, role),
    })
}

fn add_measures(rows: &[Row], role: Role) -> Measure {
    let mut measures = rows.iter().map(|row| row.measure.clone());
    let Some(mut sum) = measures.next() else {
        return mixed(rows, role);
    };
    clear_flow_state(&mut sum);
    for measure in measures {
        match (&mut sum, &measure) {
            (Measure::TcpSend(a), Measure::TcpSend(b)) => add_tcp_send(a, b),
            (Measure::TcpReceive(a), Measure::TcpReceive(b)) => add_tcp_receive(a, b),
            (Measure::UdpSend(a), Measure::UdpSend(b)) => add_udp_send(a, b),
            (Measure::UdpReceive(a), Measure::UdpReceive(b)) => add_udp_receive(a, b),
            (Measure::RequestResponse(a), Measure::RequestResponse(b)) => add_exchange(a, b),
            _ => return mixed(rows, role),
        }
    }
    sum
}

/// What has a meaning for one flow only.
fn clear_flow_state(measure: &mut Measure) {
    match measure {
        Measure::TcpSend(send) => {
            send.state = None;
            send.fair_queue_rate = None;
        }
        Measure::RequestResponse(exchange) => {
            exchange.state = None;
            exchange.percentiles = [None; 5];
        }
        Measure::UdpReceive(receive) => {
            receive.jitter = None;
            receive.jitter_mean = None;
        }
        Measure::TcpReceive(_) | Measure::UdpSend(_) | Measure::Both { .. } => {}
    }
}

fn add_tcp_send(a: &mut TcpSend, b: &TcpSend) {
    a.writes += b.writes;
    a.errors += b.errors;
    a.retransmits = a.retransmits.zip(b.retransmits).map(|(x, y)| x + y);
    a.write_times = added(a.write_times, b.write_times, merged);
    a.frames = added(a.frames, b.frames, add_frames);
}

fn add_tcp_receive(a: &mut TcpReceive, b: &TcpReceive) {
    a.reads.merge(&b.reads);
    a.bursts = added(a.bursts, b.bursts, add_bursts);
}

/// What both have added up, or what one has.
fn added<T>(a: Option<T>, b: Option<T>, add: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (known, None) | (None, known) => known,
    }
}

fn merged(mut a: Moments, b: Moments) -> Moments {
    a.merge(&b);
    a
}

fn add_frames(a: FramesSent, b: FramesSent) -> FramesSent {
    FramesSent {
        sent: a.sent + b.sent,
        missed: a.missed + b.missed,
        slips: a.slips + b.slips,
    }
}

fn add_bursts(a: BurstsReceived, b: BurstsReceived) -> BurstsReceived {
    BurstsReceived {
        kind: a.kind,
        latency: merged(a.latency, b.latency),
        bytes: a.bytes + b.bytes,
        in_progress: added(a.in_progress, b.in_progress, |x, y| x + y),
        frames_lost: a.frames_lost + b.frames_lost,
    }
}

fn add_udp_send(a: &mut UdpSend, b: &UdpSend) {
    a.writes += b.writes;
    a.errors += b.errors;
    a.timeouts += b.timeouts;
    a.frames = added(a.frames, b.frames, add_frames);
}

fn add_udp_receive(a: &mut UdpReceive, b: &UdpReceive) {
    a.received += b.received;
    a.total += b.total;
    a.lost += b.lost;
    a.reordered += b.reordered;
    a.duplicates += b.duplicates;
    a.out_of_order += b.out_of_order;
    a.lost_in_host = match (a.lost_in_host, b.lost_in_host) {
        (Some(x), Some(y)) => Some(x + y),
        (known, None) | (None, known) => known,
    };
    let extremes = (
        a.transit.min.min(b.transit.min),
        a.transit.max.max(b.transit.max),
    );
    let mut transit: Moments = a.transit;
    transit.merge(&b.transit);
    a.transit = transit.with_extremes(extremes.0, extremes.1);
    a.reads += b.reads;
    a.timeouts += b.timeouts;
    a.truncated += b.truncated;
    a.packets_per_second += b.packets_per_second;
    a.in_progress = added(a.in_progress, b.in_progress, add_in_progress);
    a.frames = added(a.frames, b.frames, add_frames_received);
    a.link_errors = added(a.link_errors, b.link_errors, add_link_errors);
    a.marked = added(a.marked, b.marked, |x, y| x + y);
}

/// Packets on different ways are independent: their variances add up.
fn add_in_progress(a: InProgress, b: InProgress) -> InProgress {
    InProgress {
        packets: a.packets + b.packets,
        deviation: a.deviation.hypot(b.deviation),
    }
}

fn add_frames_received(a: FramesReceived, b: FramesReceived) -> FramesReceived {
    FramesReceived {
        received: a.received + b.received,
        lost: a.lost + b.lost,
        latency: merged(a.latency, b.latency),
    }
}

fn add_link_errors(a: LinkErrors, b: LinkErrors) -> LinkErrors {
    LinkErrors {
        length: a.length + b.length,
        checksum: a.checksum + b.checksum,
        unknown: a.unknown + b.unknown,
    }
}

fn add_exchange(a: &mut RequestResponse, b: &RequestResponse) {
    a.round_trips.merge(&b.round_trips);
    a.sent += b.sent;
    a.received += b.received;
    a.retransmits = a.retransmits.zip(b.retransmits).map(|(x, y)| x + y);
}

/// Senders and receivers together: both directions of full-duplex flows, or the two
/// connections of a dual test, where the end that ordered it shows its senders' numbers
/// and the other one its receivers'.
fn mixed(rows: &[Row], role: Role) -> Measure {
    if role == Role::Client
        && let Some(sum) = under_load(rows)
    {
        return sum;
    }
    if distinct_flows(rows) < rows.len() {
        return both_directions(rows);
    }
    let shown: Vec<Row> = rows
        .iter()
        .filter(|row| is_sender(&row.measure) == (role == Role::Client))
        .cloned()
        .collect();
    if shown.is_empty() || shown.len() == rows.len() {
        return both_directions(rows);
    }
    add_measures(&shown, role)
}

/// A test that sends in one direction, with whatever runs next to it: the writes of all, in the
/// form of the test's own.
fn under_load(rows: &[Row]) -> Option<Measure> {
    let alone = |row: &&Row| {
        let same = |other: &&Row| flow_of(other) == flow_of(row);
        rows.iter().filter(same).count() == 1
    };
    let test = rows.iter().filter(alone).find(|row| {
        is_sender(&row.measure) || matches!(row.measure, Measure::RequestResponse(_))
    })?;
    Some(if matches!(test.measure, Measure::UdpSend(_)) {
        // Writes of a stream are no datagrams.
        let mut sum = UdpSend::default();
        for row in rows {
            if let Measure::UdpSend(send) = &row.measure {
                add_udp_send(&mut sum, send);
            }
        }
        Measure::UdpSend(sum)
    } else {
        let mut sum = TcpSend {
            retransmits: Some(0),
            ..TcpSend::default()
        };
        for row in rows {
            match &row.measure {
                Measure::TcpSend(send) => add_tcp_send(&mut sum, send),
                Measure::RequestResponse(exchange) => {
                    let more = exchange.retransmits;
                    sum.retransmits = sum.retransmits.zip(more).map(|(x, y)| x + y);
                }
                _ => {}
            }
        }
        Measure::TcpSend(sum)
    })
}

fn flow_of(row: &Row) -> Option<FlowId> {
    match row.subject {
        Subject::Flow(tag) => Some(tag.id),
        Subject::Sum { .. } | Subject::Duplex(_) => None,
    }
}

fn is_sender(measure: &Measure) -> bool {
    matches!(measure, Measure::TcpSend(_) | Measure::UdpSend(_))
}

fn both_directions(rows: &[Row]) -> Measure {
    let mut datagrams = None;
    for row in rows {
        match &row.measure {
            Measure::UdpSend(send) => *datagrams.get_or_insert(0) += send.writes,
            Measure::UdpReceive(receive) => *datagrams.get_or_insert(0) += receive.received,
            Measure::TcpSend(_)
            | Measure::TcpReceive(_)
            | Measure::Both { .. }
            | Measure::RequestResponse(_) => {}
        }
    }
    Measure::Both {
        datagrams,
        loss: None,
    }
}
