//! What must hold for any bytes on a TCP connection of iperf 2.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};
use tapeline_engine::{
    Answer, BurstCell, BurstIntake, BurstPlan, Intake, Intervals, LatencyFrom, Respond, Timing,
};
use tapeline_wire::iperf2::{Bounceback, PermitKey, TcpClientHeader, limits};

use crate::iperf2::bounceback::BouncebackAnswer;
use crate::iperf2::first_message::{FirstMessageReader, Progress, Protocols, Request};
use crate::iperf2::stamps::BurstReader;
use crate::iperf2::start_time::{MAX_AHEAD, barrier_start, held_back, ordered_start};
use crate::iperf2::tcp_traffic::{BurstOrder, TcpTraffic};
use crate::iperf2::test_header::SendRequest;
use crate::run::context::Now;

const NOW: Now = Now {
    mono: MonoTime::from_nanos(1_000_000_000_000),
    wall: WallTime::from_nanos(1_800_000_000_000_000_000),
};
/// A first message is never longer than this, bytes.
const LONGEST_OPENING: usize = limits::MAX_HEADER + limits::MAX_PERMIT_KEY;

/// A server's reading of a first message. The first byte says what the server is.
pub(crate) fn opening(input: &[u8]) {
    let Some((whim, bytes)) = input.split_first() else {
        return;
    };
    let protocols = match whim & 3 {
        0 => Protocols::Iperf2,
        1 => Protocols::Iperf3,
        _ => Protocols::Both,
    };
    let key = (whim & 4 != 0).then(|| PermitKey::new(b"open sesame").expect("a key"));
    let controlled = whim & 8 != 0;
    let new = || {
        FirstMessageReader::new(key.clone())
            .for_protocols(protocols)
            .controlled(controlled)
    };
    let (decision, read) = first_message(new(), bytes, usize::MAX);
    let (bytewise, fewer) = first_message(new(), bytes, 1);
    if !(is_headerless(&decision) && is_headerless(&bytewise)) {
        assert_eq!(bytewise, decision);
    }
    // What might have been a cookie is read to its end, or to where it is none.
    let exact = matches!(decision, Progress::Ready(_)) && !is_headerless(&decision);
    assert!(fewer <= read && (fewer == read || !exact));
    assert!(read <= LONGEST_OPENING);
    let Progress::Ready(request) = decision else {
        return;
    };
    match request {
        Request::Headerless { read: counted, .. } => {
            assert!(key.is_none() && protocols != Protocols::Iperf3);
            assert_eq!(counted, read as u64);
        }
        Request::Test { header, counted } => {
            assert!(header.permit_key == key && protocols != Protocols::Iperf3);
            assert!(counted <= read as u64);
            obey(&header);
        }
        Request::Iperf3(_) => assert_ne!(protocols, Protocols::Iperf2),
        Request::Control => assert!(controlled),
        Request::Exchange { first, bytes } => {
            assert_ne!(protocols, Protocols::Iperf3);
            answer(&first, &bytes);
        }
    }
}

fn is_headerless(decision: &Progress) -> bool {
    matches!(decision, Progress::Ready(Request::Headerless { .. }))
}

/// What a server makes of the first bytes of a connection, read as it asks for them but at most so many
/// at a time; and how many it has read.
fn first_message(mut reader: FirstMessageReader, bytes: &[u8], max: usize) -> (Progress, usize) {
    let mut rest = bytes;
    loop {
        let progress = reader.progress();
        let Progress::Need(wanted) = progress else {
            return (progress, bytes.len() - rest.len());
        };
        assert!(wanted > 0);
        let (piece, behind) = rest.split_at(wanted.min(max).min(rest.len()));
        if piece.is_empty() {
            return (progress, bytes.len());
        }
        reader.push(piece);
        rest = behind;
    }
}

/// What a server does on the order of a header is within its bounds.
fn obey(header: &TcpClientHeader) {
    let order = SendRequest::from_tcp(header, None);
    assert!((1..=limits::MAX_TCP_LENGTH).contains(&order.length));
    assert!(order.rate.is_none_or(|rate| rate.0 > 0));
    let traffic = TcpTraffic::from_header(header, order.length);
    let _ = (traffic.rate(), traffic.gap(order.length), traffic.period());
    let mut timing = traffic.timing(NOW.mono, order.length, 1, Duration::from_millis(1));
    if let Timing::Clocked { clock, sizes } = &mut timing {
        let mut now = NOW.mono;
        for _ in 0..4 {
            let frame = clock.next(now);
            assert!(frame.id > frame.previous);
            assert!((1..=limits::MAX_BURST).contains(&sizes.draw()));
            now = frame.due.max(now);
            clock.begin(frame, now);
        }
    }
    for by_frame in [false, true] {
        let _ = BurstOrder::from_workload(&header.workload, header.trip_times, by_frame);
    }
    let start = ordered_start(header.epoch_start, header.start_time, NOW);
    assert!(start.at <= NOW.mono + MAX_AHEAD);
    assert!(held_back(header.start_time, NOW.wall) <= MAX_AHEAD);
    let accepted = NOW.mono - Duration::from_secs(5);
    let began = barrier_start(accepted, NOW.mono, header.barrier_micros);
    assert!((accepted..=NOW.mono).contains(&began));
}

/// A server answers a request with no more than a client may ask for.
fn answer(first: &Bounceback, bytes: &[u8]) {
    assert_eq!(bytes.len(), limits::BOUNCEBACK_HEADER);
    let mut respond = BouncebackAnswer {
        reply_length: first.reply_length() as usize,
        hold: Duration::from_micros(u64::from(first.hold_micros)),
    };
    match respond.read(bytes) {
        Answer::Reply { length, .. } => {
            assert!((1..=limits::MAX_BOUNCEBACK as usize).contains(&length));
            let mut reply = bytes.to_vec();
            respond.stamp(&mut reply, NOW.wall, NOW.wall);
            assert!(reply.first_chunk().map(Bounceback::parse).is_some());
        }
        Answer::End => assert!(first.stop),
    }
}

/// A receiver of bursts, which may begin with the sender's header. The first byte says how they are
/// received, the second how the reads are cut.
pub(crate) fn bursts(input: &[u8]) {
    let Some(([whim, cut], stream)) = input.split_first_chunk::<2>() else {
        return;
    };
    let whole = counted(*whim, stream, usize::MAX);
    for max in [1, usize::from(*cut).max(1)] {
        assert_eq!(counted(*whim, stream, max), whole, "reads of {max} bytes");
    }
    let (count, complete, _, _) = whole;
    assert!(complete <= stream.len() as u64);
    assert!(count * limits::BURST_HEADER as u64 <= complete);
}

/// Bursts that were received, their bytes, those left out, and whether something else came.
fn counted(whim: u8, stream: &[u8], max: usize) -> (u64, u64, u64, bool) {
    let (preamble, discard) = (whim & 1 != 0, whim & 2 != 0);
    let cell = Arc::new(BurstCell::new(Intervals::new(NOW.mono, None)));
    let plan = BurstPlan {
        cell: Arc::clone(&cell),
        length: 1 << 17,
        already: 0,
        latency_from: if whim & 4 != 0 {
            LatencyFrom::Stamp
        } else {
            LatencyFrom::FirstByte
        },
        discard,
        histogram: None,
        log: None,
    };
    let mut intake = BurstIntake::new(BurstReader, plan, preamble, NOW.mono);
    let (mut rest, mut now) = (stream, NOW.mono);
    while !rest.is_empty() {
        let wanted = intake.next_read(1 << 17);
        assert!((1..=1 << 17).contains(&wanted.length));
        let (piece, behind) = rest.split_at(wanted.length.min(max).min(rest.len()));
        rest = behind;
        now += Duration::from_micros(10);
        let kept: &[u8] = if discard && !wanted.content {
            &[]
        } else {
            piece
        };
        intake.take(piece.len(), kept, now);
    }
    assert_eq!(intake.bytes(), stream.len() as u64);
    let counters = cell.read();
    (
        counters.latency.count,
        counters.complete,
        counters.skipped,
        counters.broken,
    )
}
