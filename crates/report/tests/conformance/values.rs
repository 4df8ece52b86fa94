//! Model values read back from recorded rows.

use std::time::Duration;

use tapeline_base::{BitRate, FlowId, FlowTag, FormatLetter, Placement, WallTime};
use tapeline_report::{
    Build, BurstKind, BurstsReceived, FramesReceived, FramesSent, InProgress, Measure, Phase,
    RequestResponse, Row, Span, Subject, TcpReceive, TcpSend, TcpState, UdpReceive, UdpSend,
};
use tapeline_stats::{Moments, ReadSizes};
use tapeline_testkit::iperf2_text::{Columns, Who};

use crate::solve::{number_bounds, solutions};

/// What a row does, as the recorded options tell.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    pub(crate) build: Build,
    pub(crate) format: FormatLetter,
    pub(crate) udp: bool,
    pub(crate) receives: bool,
    pub(crate) full_duplex: bool,
    pub(crate) enhanced: bool,
    /// A connection carries stamps of a synchronised clock.
    pub(crate) stamped: bool,
}

/// `key` of `key(1)`.
pub(crate) fn key(id: &str) -> Option<&str> {
    Some(id.strip_suffix(')')?.rsplit_once('(')?.0)
}

/// The identifier in brackets.
pub(crate) fn tag(id: &str) -> FlowTag {
    let id = match key(id) {
        Some(key) => id[key.len() + 1..].trim_end_matches(')'),
        None => id,
    };
    let digits = id.trim_start_matches(|c: char| !c.is_ascii_digit());
    FlowTag {
        id: FlowId(digits.parse().expect("a flow number")),
        reversed: id.starts_with('*'),
    }
}

pub(crate) fn subject(who: Who, id: &str) -> Subject {
    match who {
        Who::Flow | Who::Reversed => Subject::Flow(tag(id)),
        Who::Duplex => Subject::Duplex(tag(id)),
        Who::Sum => Subject::Sum { flows: 2 },
        Who::CountedSum => Subject::Sum {
            flows: integer(&id["SUM-".len()..]) as usize,
        },
    }
}

/// A row from the fields of its line; `None` when no values print like this.
pub(crate) fn row(who: Who, columns: Columns, fields: &[&str], context: Context) -> Option<Row> {
    // Bursts begin anywhere, also next to where the rounding turns.
    let about = float(fields[1]);
    let half = 0.49 * 10f64.powi(-(context.build.decimals() as i32));
    [about, about + half, about - half]
        .into_iter()
        .filter(|start| *start == about || columns == Columns::Burst)
        .find_map(|start| row_from(start, who, columns, fields, context))
}

fn row_from(
    start: f64,
    who: Who,
    columns: Columns,
    fields: &[&str],
    context: Context,
) -> Option<Row> {
    let end = float(fields[2]);
    let more = &fields[5..];
    let limits = rate_limits(columns, more);
    let candidates = solutions(
        (start, end),
        (fields[3], fields[4]),
        (context.format, context.build),
        limits,
    );
    candidates.into_iter().find_map(|solution| {
        let measure = measure(
            who,
            columns,
            more,
            context,
            solution.rate(start, context.build),
        )?;
        Some(Row {
            subject: subject(who, fields[0]),
            phase: phase(columns, more),
            span: Span {
                start: Duration::from_secs_f64(start),
                end: Duration::from_secs_f64(start + solution.seconds),
            },
            ended: WallTime::default(),
            bytes: solution.bytes,
            endpoints: None,
            trip_times: is_stamped(columns) || (context.stamped && columns == Columns::Delay),
            placement: Placement::default(),
            measure,
        })
    })
}

/// Columns that only stamps of a synchronised clock bring.
fn is_stamped(columns: Columns) -> bool {
    matches!(
        columns,
        Columns::DelayInFlight
            | Columns::SumDelayInFlight
            | Columns::SumReadsInFlight
            | Columns::BurstDelay
            | Columns::FrameDelay
            | Columns::Frames
    )
}

/// Some rows look different at the end.
fn phase(columns: Columns, more: &[&str]) -> Phase {
    match (columns, more.len()) {
        (Columns::RoundTrips, 9) | (Columns::PacedWrites, 7) | (Columns::Burst, 13) => Phase::Total,
        _ => Phase::Interval,
    }
}

/// A sender's network power tells its rate more precisely than the rate column.
fn rate_limits(columns: Columns, more: &[&str]) -> (f64, f64) {
    let (power, delay) = match (columns, more.len()) {
        (Columns::Writes | Columns::TimedWrites, _) => (more[9], more[7]),
        (Columns::PacedWrites, 7) => (more[6], more[4]),
        (Columns::PacedWrites, _) => (more[10], more[7]),
        (Columns::FrameWrites, _) => (more[10], more[5]),
        // The delay of a burst has three decimals only.
        _ => return (0.0, f64::INFINITY),
    };
    if power.parse::<f64>().is_err() {
        return (0.0, f64::INFINITY);
    }
    let (low, high) = number_bounds(power);
    let delay = float(delay) / 1e6;
    (low * 1e6 * delay, high * 1e6 * delay)
}

fn measure(
    who: Who,
    columns: Columns,
    more: &[&str],
    context: Context,
    rate: f64,
) -> Option<Measure> {
    Some(match columns {
        Columns::Plain => plain(who, context),
        Columns::Loss => Measure::UdpReceive(loss(&more[..2])),
        Columns::JitterLoss => Measure::UdpReceive(jitter_loss(more)),
        Columns::Reads => Measure::TcpReceive(reads(more)),
        Columns::Writes => Measure::TcpSend(writes(more)),
        Columns::RoundTrips => Measure::RequestResponse(round_trips(more)?),
        Columns::Datagrams => Measure::UdpSend(UdpSend {
            writes: integer(more[0]),
            errors: integer(more[1]),
            timeouts: integer(more[2]),
            ..UdpSend::default()
        }),
        Columns::Delay => Measure::UdpReceive(delay(more, rate)?),
        Columns::DelayInFlight => Measure::UdpReceive(delay_in_flight(more, rate)?),
        Columns::Duplex => Measure::Both {
            datagrams: Some(integer(more[0])),
            loss: None,
        },
        Columns::SumWrites => Measure::TcpSend(TcpSend {
            writes: integer(more[0]),
            errors: integer(more[1]),
            retransmits: Some(integer(more[2])),
            state: None,
            ..TcpSend::default()
        }),
        Columns::SumDatagrams => Measure::UdpSend(UdpSend {
            writes: integer(more[0]),
            errors: integer(more[1]),
            timeouts: 0,
            ..UdpSend::default()
        }),
        Columns::SumDelay => Measure::UdpReceive(UdpReceive {
            transit: moments(10, &more[3..6], "0"),
            packets_per_second: float(more[6]),
            ..loss(&more[..2])
        }),
        Columns::SumDelayInFlight => Measure::UdpReceive(UdpReceive {
            transit: moments(10, &more[3..6], "0"),
            received: integer(more[6]),
            in_progress: Some(InProgress {
                packets: float(more[7]),
                deviation: 0.0,
            }),
            packets_per_second: float(more[8]),
            ..loss(&more[..2])
        }),
        Columns::SumReadsInFlight => Measure::TcpReceive(TcpReceive {
            bursts: Some(BurstsReceived {
                in_progress: Some(size(more[0]) as f64),
                ..BurstsReceived::default()
            }),
            ..reads(&more[1..])
        }),
        Columns::BurstDelay => Measure::TcpReceive(TcpReceive {
            bursts: Some(BurstsReceived {
                in_progress: Some(size(more[6]) as f64),
                ..bursts(BurstKind::Write, more, more[7], rate)?
            }),
            ..reads(&more[8..])
        }),
        Columns::FrameDelay => Measure::TcpReceive(TcpReceive {
            bursts: Some(bursts(BurstKind::Frame, more, more[6], rate)?),
            ..reads(&more[7..])
        }),
        Columns::Burst if more.len() == 13 => Measure::TcpReceive(TcpReceive {
            bursts: Some(BurstsReceived {
                kind: BurstKind::Periodic {
                    period: Duration::from_secs(1),
                },
                latency: moments(100, &more[..3], more[3]),
                ..BurstsReceived::default()
            }),
            ..reads(&more[4..])
        }),
        Columns::Burst => Measure::TcpReceive(burst(more, rate)?),
        Columns::TimedWrites => Measure::TcpSend(TcpSend {
            write_times: Some(moments(integer(more[14]), &more[10..13], more[13])),
            ..writes(more)
        }),
        Columns::PacedWrites if more.len() == 7 => Measure::TcpSend(TcpSend {
            fair_queue_rate: Some(BitRate(0)),
            ..windowed(more, (more[3], None), (more[4], more[5]))
        }),
        Columns::PacedWrites => Measure::TcpSend(TcpSend {
            fair_queue_rate: Some(BitRate(bits(more[9]) as u64)),
            ..writes(more)
        }),
        Columns::FrameWrites => Measure::TcpSend(TcpSend {
            frames: Some(frames_sent(&more[7..])),
            ..windowed(more, (more[3], Some(more[4])), (more[5], more[6]))
        }),
        Columns::FrameDatagrams => Measure::UdpSend(UdpSend {
            writes: integer(more[0]),
            errors: integer(more[1]),
            timeouts: 0,
            frames: Some(frames_sent(&more[3..])),
        }),
        Columns::Frames => Measure::UdpReceive(UdpReceive {
            transit: transit(&more[4..8], more[15], rate)?,
            packets_per_second: float(more[8]),
            frames: Some(FramesReceived {
                received: integer(more[9]),
                lost: integer(more[10]),
                latency: moments(100, &more[11..14], more[14]),
            }),
            ..jitter_loss(more)
        }),
    })
}

fn plain(who: Who, context: Context) -> Measure {
    let both = Measure::Both {
        datagrams: None,
        loss: None,
    };
    match who {
        Who::Duplex => both,
        Who::Sum if context.full_duplex || context.enhanced => both,
        _ if context.udp => Measure::UdpSend(UdpSend::default()),
        _ if context.receives => Measure::TcpReceive(TcpReceive::default()),
        _ => Measure::TcpSend(TcpSend::default()),
    }
}

fn loss(more: &[&str]) -> UdpReceive {
    UdpReceive {
        lost: integer(more[0]),
        total: integer(more[1]),
        ..UdpReceive::default()
    }
}

fn jitter_loss(more: &[&str]) -> UdpReceive {
    let jitter = more[0]
        .parse::<f64>()
        .ok()
        .filter(|millis| millis.is_finite());
    let jitter = jitter.map(|millis| millis / 1e3);
    UdpReceive {
        jitter,
        jitter_mean: jitter,
        ..loss(&more[1..3])
    }
}

fn reads(more: &[&str]) -> TcpReceive {
    let mut reads = ReadSizes::new(131_072);
    reads.reads = integer(more[0]);
    for (bin, text) in reads.bins.iter_mut().zip(&more[1..]) {
        *bin = integer(text);
    }
    TcpReceive {
        reads,
        ..TcpReceive::default()
    }
}

fn writes(more: &[&str]) -> TcpSend {
    TcpSend {
        writes: integer(more[0]),
        errors: integer(more[1]),
        retransmits: Some(integer(more[2])),
        state: Some(state(
            Some((more[3], more[4])),
            (more[5], more[6]),
            more[7],
            more[8],
        )),
        ..TcpSend::default()
    }
}

/// Writes with a window in KiB, perhaps in packets, and a round-trip time with its variance.
fn windowed(more: &[&str], window: (&str, Option<&str>), rtt: (&str, &str)) -> TcpSend {
    let packets = match window.1 {
        Some(packets) => packets.to_owned(),
        None => (integer(window.0) * 1024).div_ceil(1448).to_string(),
    };
    TcpSend {
        writes: integer(more[0]),
        errors: integer(more[1]),
        retransmits: Some(integer(more[2])),
        state: Some(state(None, (window.0, &packets), rtt.0, rtt.1)),
        ..TcpSend::default()
    }
}

fn frames_sent(more: &[&str]) -> FramesSent {
    FramesSent {
        sent: integer(more[0]),
        missed: integer(more[1]),
        slips: integer(more[2]),
    }
}

/// Delay, number and mean size of bursts.
fn bursts(kind: BurstKind, more: &[&str], power: &str, rate: f64) -> Option<BurstsReceived> {
    let count = integer(more[4]);
    let mut latency = moments(count, &more[..3], more[3]);
    latency.mean = transit(&more[..4], power, rate)?.mean;
    Some(BurstsReceived {
        kind,
        latency,
        bytes: count * integer(more[5]),
        ..BurstsReceived::default()
    })
}

/// One burst: its time, the share of the period that it took, reads, power.
fn burst(more: &[&str], rate: f64) -> Option<TcpReceive> {
    let delays = [more[0], more[0], more[0], "0"];
    let power = more[11];
    let mut latency = moments(1, &delays[..3], delays[3]);
    if rate > 0.0 {
        latency.mean = transit(&delays, power, rate)?.mean;
    }
    let period = Duration::from_secs_f64(latency.mean * 100.0 / float(more[1]));
    Some(TcpReceive {
        bursts: Some(BurstsReceived {
            kind: BurstKind::Periodic { period },
            latency,
            ..BurstsReceived::default()
        }),
        ..reads(&more[2..])
    })
}

/// The segment size is what makes both KiB columns of their packet columns.
fn state(
    in_flight: Option<(&str, &str)>,
    window: (&str, &str),
    rtt: &str,
    variance: &str,
) -> TcpState {
    let fits = |mss: u32, (kib, packets): (&str, &str)| {
        integer(packets) * u64::from(mss) / 1024 == integer(kib)
    };
    let mss = [1448, 1428, 988, 65_483]
        .into_iter()
        .find(|mss| fits(*mss, window) && in_flight.is_none_or(|pair| fits(*mss, pair)));
    TcpState {
        in_flight_packets: in_flight.map(|(_, packets)| integer(packets) as u32),
        cwnd_packets: Some(integer(window.1) as u32),
        mss,
        rtt_micros: Some(integer(rtt) as u32),
        rtt_variance_micros: Some(integer(variance) as u32),
        ..TcpState::default()
    }
}

fn round_trips(more: &[&str]) -> Option<RequestResponse> {
    let count = integer(more[0]);
    let mut trips = moments(count, &more[1..4], more[4]);
    let tail = &more[more.len() - 3..];
    let (low, high) = number_bounds(tail[2]);
    trips.mean = within(number_bounds(more[1]), (1e3 / high, 1e3 / low))? / 1e3;
    Some(RequestResponse {
        round_trips: trips,
        retransmits: Some(integer(more[5])),
        sent: size(tail[0]),
        received: size(tail[1]),
        state: (more.len() > 9).then(|| state(None, (more[6], more[7]), more[8], more[9])),
        ..RequestResponse::default()
    })
}

/// A size that prints like this.
fn size(text: &str) -> u64 {
    let text = text.to_owned() + "s";
    solutions(
        (0.0, 0.0),
        (&text, "0.000 bits/sec"),
        (FormatLetter::BITS, Build::Plain),
        (0.0, 0.0),
    )
    .first()
    .expect("a size")
    .bytes
}

/// Bits (per second) that print like this.
pub(crate) fn bits(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').expect("a quantity");
    let multiple = match unit.as_bytes()[0] {
        b'K' => 1e3,
        b'M' => 1e6,
        b'G' => 1e9,
        _ => 1.0,
    };
    float(number) * multiple
}

fn delay(more: &[&str], rate: f64) -> Option<UdpReceive> {
    if more.len() == 8 {
        // No datagram in the interval.
        return Some(UdpReceive {
            packets_per_second: float(more[4]),
            ..read_counts(&more[5..8], jitter_loss(more))
        });
    }
    Some(UdpReceive {
        transit: transit(&more[4..8], more[12], rate)?,
        packets_per_second: float(more[8]),
        ..read_counts(&more[9..12], jitter_loss(more))
    })
}

fn delay_in_flight(more: &[&str], rate: f64) -> Option<UdpReceive> {
    Some(UdpReceive {
        transit: transit(&more[4..8], more[15], rate)?,
        packets_per_second: float(more[8]),
        received: integer(more[9]),
        in_progress: Some(InProgress {
            packets: float(more[10]),
            deviation: float(more[11]),
        }),
        ..read_counts(&more[12..15], jitter_loss(more))
    })
}

fn read_counts(more: &[&str], receive: UdpReceive) -> UdpReceive {
    UdpReceive {
        reads: integer(more[0]),
        timeouts: integer(more[1]),
        truncated: integer(more[2]),
        ..receive
    }
}

/// The network power tells the mean delay more precisely than its own column.
fn transit(delays: &[&str], power: &str, rate: f64) -> Option<Moments> {
    let mut transit = moments(100, &delays[..3], delays[3]);
    if power.parse::<f64>().is_ok() {
        let (low, high) = number_bounds(power);
        let by_power = (1e-3 * rate / high, 1e-3 * rate / low);
        transit.mean = within(number_bounds(delays[0]), by_power)? / 1e3;
    }
    Some(transit)
}

/// The middle of what two ranges have in common.
fn within(first: (f64, f64), second: (f64, f64)) -> Option<f64> {
    let (low, high) = (first.0.max(second.0), first.1.min(second.1));
    (low < high).then_some((low + high) / 2.0)
}

/// Moments in seconds from mean, min, max and deviation in milliseconds.
pub(crate) fn moments(count: u64, extremes: &[&str], deviation: &str) -> Moments {
    let deviation = float(deviation) / 1e3;
    Moments {
        count,
        mean: float(extremes[0]) / 1e3,
        m2: deviation * deviation * (count.max(2) - 1) as f64,
        min: float(extremes[1]) / 1e3,
        max: float(extremes[2]) / 1e3,
    }
}

pub(crate) fn integer(text: &str) -> u64 {
    text.parse()
        .unwrap_or_else(|_| panic!("'{text}' is no integer"))
}

pub(crate) fn float(text: &str) -> f64 {
    text.parse()
        .unwrap_or_else(|_| panic!("'{text}' is no number"))
}
