//! Adding up the rows of several flows.

use std::collections::BTreeSet;

use tapeline_base::{FlowId, Role};
use tapeline_report::{
    BurstsReceived, FramesReceived, FramesSent, InProgress, LinkErrors, Measure, RequestResponse,
    Row, Span, Subject, TcpReceive, TcpSend, UdpReceive, UdpSend,
};
use tapeline_stats::Moments;

/// Distinct flows among rows.
pub(super) fn distinct_flows(rows: &[Row]) -> usize {
    rows.iter()
        .filter_map(flow_of)
        .collect::<BTreeSet<_>>()
        .len()
}

/// One row over all of `rows`; `None` when there are none. Where members send and receive,
/// `role` decides whose numbers stand beside the bytes.
pub(super) fn add_up(rows: &[Row], subject: Subject, role: Role) -> Option<Row> {
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

/// A test that sends in one direction, with whatever runs beside it: the writes of all, in the
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
