//! CSV runs: read back, rendered, compared.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, Placement, WallTime};
use tapeline_report::{
    BurstsReceived, Endpoints, Event, FramesSent, Iperf2Csv, Measure, Output, Phase, Renderer,
    RequestResponse, Row, Span, Style, Subject, TcpReceive, TcpSend, TcpState, UdpReceive, UdpSend,
};
use tapeline_stats::{Moments, ReadSizes};
use tapeline_testkit::iperf2_text::{self, LineKind};

use crate::recorded::{Transcript, transcripts};
use crate::setup;
use crate::values::{float, integer, moments};

/// Length of the columns that all rows begin with, legacy and enhanced.
const LEGACY: usize = 9;
const ENHANCED: usize = 10;

fn replay(transcript: &Transcript) -> (Vec<String>, Vec<String>) {
    let sends_stamps = transcript.has("-c") && transcript.has("--trip-times");
    let enhanced = transcript.has("-e")
        // A TCP client with stamps is an enhanced one.
        || (sends_stamps && transcript.name.starts_with("tcp"));
    let mut renderer = Iperf2Csv::new(Style {
        enhanced,
        hide_addresses: transcript.has("--hide-ips"),
        utc: true,
        build: transcript.build,
        ..Style::default()
    });
    let mut out = Output::default();
    let server = transcript.has("-s");
    let banner = if server {
        Event::Listening(setup::empty_server())
    } else {
        Event::Connecting(setup::empty_client())
    };
    renderer.render(&banner, &mut out);
    let mut expected = Vec::new();
    for line in &transcript.lines {
        expected.push(line.clone());
        match iperf2_text::parse(line, transcript.build) {
            Some((LineKind::CsvHeader(_), _)) => {}
            Some((LineKind::CsvRow(_), fields)) => {
                let udp = transcript.name.starts_with("udp");
                let mut row = row(&fields, udp, server);
                frames(&mut row, transcript);
                renderer.render(&Event::Row(row), &mut out);
            }
            _ => panic!("'{line}' is no CSV"),
        }
    }
    (expected, out.stdout.lines().map(str::to_owned).collect())
}

fn row(fields: &[&str], udp: bool, server: bool) -> Row {
    let enhanced = fields[0].contains(':');
    let common = if enhanced { ENHANCED } else { LEGACY };
    let (start, end) = if enhanced {
        (fields[6], fields[7])
    } else {
        fields[6].split_once('-').expect("an interval")
    };
    let (start, end) = (float(start), float(end));
    let (bytes, speed) = (integer(fields[common - 2]), float(fields[common - 1]));
    let sum = fields[5] == "-1";
    // The speed is cut, not rounded; the interval has one decimal only.
    let seconds = if speed > 0.0 {
        bytes as f64 * 8.0 / (speed + 0.5)
    } else {
        end - start
    };
    assert!((seconds - (end - start)).abs() <= 0.11, "{fields:?}");
    let source = socket(fields[1], fields[2]);
    let destination = socket(fields[3], fields[4]);
    let client_sends = fields[1].ends_with(".1") || fields[1].ends_with("::1");
    let local_sends = client_sends != server;
    let (local, peer) = if local_sends {
        (source, destination)
    } else {
        (destination, source)
    };
    Row {
        subject: if sum {
            Subject::Sum { flows: 2 }
        } else {
            Subject::Flow(FlowTag {
                id: FlowId(integer(fields[5]) as u32),
                reversed: false,
            })
        },
        phase: if start == 0.0 && end > 1.0 {
            Phase::Total
        } else {
            Phase::Interval
        },
        span: Span {
            start: Duration::from_secs_f64(start),
            end: Duration::from_secs_f64(start + seconds),
        },
        ended: date(fields[0]),
        bytes,
        endpoints: Some(Endpoints {
            local,
            peer,
            local_sends,
        }),
        trip_times: matches!(fields.len() - common, 15),
        placement: Placement::default(),
        measure: measure(&fields[common..], udp, local_sends, sum),
    }
}

/// A sender of frames has columns of its own kind only in text.
fn frames(row: &mut Row, transcript: &Transcript) {
    let has_frames = transcript
        .options
        .iter()
        .any(|option| option.starts_with("--isochronous"));
    match &mut row.measure {
        Measure::TcpSend(send) if has_frames => send.frames = Some(FramesSent::default()),
        Measure::UdpSend(send) if has_frames => send.frames = Some(FramesSent::default()),
        _ => {}
    }
}

fn measure(more: &[&str], udp: bool, local_sends: bool, sum: bool) -> Measure {
    match (more.len(), udp, local_sends) {
        (13, _, _) => Measure::RequestResponse(exchange(more)),
        (_, true, true) => Measure::UdpSend(UdpSend {
            writes: integer(more.get(5).unwrap_or(&more[2]).trim_start_matches('-')),
            errors: more.get(6).map_or(0, |text| integer(text)),
            timeouts: more.get(7).map_or(0, |text| integer(text)),
            ..UdpSend::default()
        }),
        (_, true, false) => {
            let jitter = float(more[0]).max(0.0) / 1e3;
            let tail = more.last_chunk::<4>().filter(|_| more.len() > 5);
            Measure::UdpReceive(UdpReceive {
                jitter: Some(jitter),
                jitter_mean: Some(jitter),
                lost: integer(more[1]),
                total: integer(more[2]),
                out_of_order: integer(more[4]),
                transit: if more.len() == 15 && !sum {
                    moments(integer(more[9]), &more[5..8], more[8])
                } else {
                    Moments::EMPTY
                },
                reads: tail.map_or(0, |tail| integer(tail[0])),
                timeouts: tail.map_or(0, |tail| integer(tail[1])),
                truncated: tail.map_or(0, |tail| integer(tail[2])),
                packets_per_second: tail.map_or(0.0, |tail| float(tail[3])),
                ..UdpReceive::default()
            })
        }
        (9, false, _) => Measure::TcpReceive(reads(more)),
        (15, false, _) => Measure::TcpReceive(TcpReceive {
            bursts: Some(bursts(more, sum)),
            ..reads(&more[6..])
        }),
        (7, false, _) => Measure::TcpSend(TcpSend {
            writes: integer(more[0]),
            errors: integer(more[1]),
            retransmits: Some(integer(more[2])),
            state: (!sum).then(|| state(&more[3..])),
            ..TcpSend::default()
        }),
        _ => Measure::TcpSend(TcpSend::default()),
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

fn bursts(more: &[&str], sum: bool) -> BurstsReceived {
    if sum {
        return BurstsReceived::default();
    }
    let count = integer(more[4]);
    BurstsReceived {
        latency: moments(count, &more[..3], more[3]),
        bytes: count * integer(more[5]),
        ..BurstsReceived::default()
    }
}

fn exchange(more: &[&str]) -> RequestResponse {
    let count = integer(more[0]);
    let deviation = float(more[4]) / 1e3;
    RequestResponse {
        round_trips: Moments {
            count,
            // The last column tells the mean more precisely.
            mean: 1.0 / float(more[12]),
            m2: deviation * deviation * (count - 1) as f64,
            min: float(more[2]) / 1e3,
            max: float(more[3]) / 1e3,
        },
        retransmits: Some(integer(more[5])),
        state: Some(state(&more[6..])),
        sent: integer(more[10]),
        received: integer(more[11]),
        ..RequestResponse::default()
    }
}

fn state(more: &[&str]) -> TcpState {
    let [kib, packets, rtt, variance] = [0, 1, 2, 3].map(|at| integer(more[at]) as u32);
    TcpState {
        in_flight_packets: None,
        cwnd_packets: Some(packets),
        mss: [1448, 1428]
            .into_iter()
            .find(|mss| packets * mss / 1024 == kib),
        rtt_micros: Some(rtt),
        rtt_variance_micros: Some(variance),
        ..TcpState::default()
    }
}

/// A missing address is the server's peer, whose port is not told either.
fn socket(address: &str, port: &str) -> SocketAddr {
    let address = match address {
        "" => "192.168.77.1".to_owned(),
        "0.0.0.0" => "192.168.77.2".to_owned(),
        _ => address.replace('*', "10"),
    };
    SocketAddr::new(address.parse().expect("an address"), integer(port) as u16)
}

fn date(text: &str) -> WallTime {
    let digits = text.split_once(':').map_or(text, |(_, digits)| digits);
    let (seconds, fraction) = digits.split_once('.').unwrap_or((digits, "000000"));
    let part = |range: std::ops::Range<usize>| &seconds[range];
    let civil = format!(
        "on {}-{}-{} {}:{}:{}.{fraction} (",
        part(0..4),
        part(4..6),
        part(6..8),
        part(8..10),
        part(10..12),
        part(12..14)
    );
    setup::date(&civil)
}

/// Whether a field may differ because iperf 2.2.1 is known to fill it wrongly.
fn excused(index: usize, expected: &str, rendered: &str, sends_udp: bool) -> bool {
    match (expected, rendered) {
        // A sender has no jitter and loses nothing.
        ("-nan" | "-0.000", "0.000") => true,
        // The destination that full duplex and sums of UDP receivers do not tell.
        ("" | "0.0.0.0", address) => address.starts_with("192.168.77."),
        // Datagrams of a sender: -1, or one too many per flow.
        _ if sends_udp => matches!(index, 11 | 12 | 18),
        _ => false,
    }
}

#[test]
fn recorded_csv_is_rendered_as_recorded() {
    let mut rows = 0;
    let mut wrong = Vec::new();
    for transcript in transcripts() {
        let empty = transcript.lines.is_empty() || transcript.name.ends_with(".err");
        if !transcript.has("-y") || empty {
            continue;
        }
        let (expected, rendered) = replay(&transcript);
        assert_eq!(
            expected.len(),
            rendered.len(),
            "{}: {rendered:#?}",
            transcript.name
        );
        for (expected, rendered) in expected.iter().zip(&rendered) {
            rows += 1;
            let fields: Vec<&str> = expected.split(',').collect();
            let columns: Vec<&str> = rendered.split(',').collect();
            let sends = fields[1].ends_with(".1") == transcript.name.contains("client");
            let sends_udp = transcript.name.starts_with("udp") && sends;
            let same = fields.len() == columns.len()
                && fields
                    .iter()
                    .zip(&columns)
                    .enumerate()
                    .all(|(index, (field, column))| {
                        field == column || excused(index, field, column, sends_udp)
                    });
            if !same {
                wrong.push(format!("{}:\n{expected}\n{rendered}", transcript.name));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(rows > 340, "{rows} rows compared");
}
