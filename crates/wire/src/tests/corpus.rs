//! The seed corpora of the fuzz targets hold the captured messages, and every decoder keeps its
//! contract on every file in them, findings of the fuzzer included.
//!
//! `UPDATE_CORPUS=1 cargo test -p tapeline-wire corpus` writes missing seeds.

use std::collections::HashSet;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};
use std::time::Duration;

use crate::fuzz;
use crate::iperf3::LENGTH_PREFIX;
use crate::native::{
    ClockReply, Done, FlowResult, Granted, Hello, LimitsResult, LoadDone, LoadEcho, LoadParameters,
    Mark, Message, MethodDatagram, MethodKind, Methods, Order, OrderDirection, OrderEnd,
    PathMtuDone, ProbeReply, ProbeRequest, Program, Progress, Ready, Refusal, RefusalReason,
    Results, RowChange, Sample, SliceResult, Status, TcpResult, TransitResult, WarningResult, Way,
};
use serde_json::Value;
use tapeline_base::Tos;
use tapeline_testkit::captures::{Message as Recorded, Session, seeds, vectors};

/// The fuzz target that a captured message feeds.
fn target(message: &str) -> &'static str {
    match message {
        "tcp_client_header" | "tcp_client_header_v1" | "tcp_no_header" => "tcp_client_header",
        "client_hdr_ack" => "server_ack",
        "tcp_burst_header" => "burst_header",
        "bounceback_request" | "bounceback_reply" => "bounceback",
        "udp_l4s_data" | "udp_l4s_ack" => "l4s",
        message if message.starts_with("udp_server_report") => "server_report",
        _ => "udp_datagram",
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[test]
fn every_captured_message_of_iperf_2_is_a_seed() {
    for file in vectors::ALL {
        let vectors: Vec<Value> = serde_json::from_str(file).unwrap();
        for vector in vectors {
            let name = vector["name"].as_str().unwrap().replace('#', "-");
            let wanted = bytes(vector["hex"].as_str().unwrap());
            seeds::expect(target(vector["message"].as_str().unwrap()), &name, &wanted);
        }
    }
}

/// The fuzz targets that a message of an iperf3 session feeds, and what of it they get.
fn parts(message: &Recorded) -> Vec<(&'static str, &[u8])> {
    let bytes = message.bytes.as_slice();
    match message.name.as_str() {
        "cookie" => vec![("iperf3_cookie", bytes)],
        "params" | "results" => {
            let (length, body) = bytes.split_at(LENGTH_PREFIX);
            let target = match message.name.as_str() {
                "params" => "iperf3_parameters",
                _ => "iperf3_results",
            };
            vec![("iperf3_length", length), (target, body)]
        }
        "udp connect" | "udp connect reply" | "udp data" => vec![("iperf3_datagram", bytes)],
        "payload-head" => vec![],
        _ => vec![("iperf3_state", bytes)],
    }
}

#[test]
fn every_kind_of_captured_message_of_iperf3_is_a_seed() {
    let mut known = HashSet::new();
    for session in Session::load_all() {
        for (at, message) in session.messages.iter().enumerate() {
            for (target, part) in parts(message) {
                if known.insert((target, part.to_vec())) {
                    let session = session.name.trim_start_matches("iperf3-");
                    seeds::expect(target, &format!("{session}-{at}"), part);
                }
            }
        }
    }
    assert!(known.len() > 250, "only {} messages", known.len());
}

/// One of each kind, as two tapelines send them.
fn native_messages() -> [(&'static str, Message); 20] {
    let program = || Program {
        program: "tapeline".to_owned(),
        version: "0.1.0".to_owned(),
        system: "Linux 6.1 x86_64".to_owned(),
    };
    let hello = Hello {
        test: NonZeroU32::MIN,
        token: NonZeroU32::MAX,
        lowest: 1,
        highest: 1,
    };
    let reply = ClockReply {
        number: 7,
        request_sent: 1_800_000_000_000_000_000,
        request_received: 1_800_000_000_000_100_000,
        reply_sent: 1_800_000_000_000_110_000,
    };
    let progress = Progress {
        elapsed: 1_000_000_000,
        bytes: 125_000_000,
        datagrams: 85_000,
        flows: 2,
        processor: 40_000_000,
    };
    [
        ("hello", Message::Hello(hello)),
        (
            "welcome",
            Message::Welcome {
                version: 1,
                server: program(),
                probe_key: Some(NonZeroU64::MAX),
                methods: None,
            },
        ),
        (
            "welcome-methods",
            Message::Welcome {
                version: 1,
                server: program(),
                probe_key: None,
                methods: Some(Methods([("mtu".to_owned(), 1)].into())),
            },
        ),
        (
            "granted",
            Message::Granted(Granted {
                nanoseconds: NonZeroU64::new(3_600_000_000_000),
                bytes: None,
                rate: Some(NonZeroU64::MAX),
            }),
        ),
        ("refused", Message::Refused("too many tests".to_owned())),
        (
            "clock-request",
            Message::ClockRequest {
                number: 7,
                sent: reply.request_sent,
            },
        ),
        ("clock-reply", Message::ClockReply(reply)),
        ("progress", Message::Progress(progress)),
        ("finished", Message::Finished),
        ("results", Message::Results(native_results().to_json())),
        ("stop", Message::Stop("interrupted".to_owned())),
        ("error", Message::Error("a message out of turn".to_owned())),
        ("goodbye", Message::Goodbye),
        ("about", Message::About(program().into())),
        ("order", Message::Order(Box::new(order()))),
        ("ready", Message::Ready(ready())),
        ("declined", Message::Declined("not here".to_owned())),
        ("status", Message::Status(STATUS)),
        ("sample", Message::Sample(SAMPLE)),
        ("done", Message::Done(Box::new(done()))),
    ]
}

const STATUS: Status = Status {
    elapsed: 50_000_000,
    datagrams: 100,
    bytes: 122_200,
    lost: 2,
    reordered: 1,
    duplicates: 0,
    highest: 101,
    round_trip: 20_000_000,
    delay_variation: 1_000_000,
    socket_drops: 1,
};
const SAMPLE: Sample = Sample {
    elapsed: 100_000_000,
    token: NonZeroU32::new(9),
    round_trip_us: Some(20_000),
    cwnd_bytes: Some(14_480),
    bytes_sent: Some(1_000_000),
    bytes_retransmitted: None,
    bytes_acked: Some(999_000),
};

fn order() -> Order {
    Order {
        method: "capacity".to_owned(),
        direction: OrderDirection::Down,
        seconds: Duration::from_secs(10),
        parameters: LoadParameters {
            bits_per_second: NonZeroU64::new(1_000_000_000),
            length: Some(1222),
            largest: Some(1500),
            tos: Some(0xb8),
            test: NonZeroU32::new(7),
            feedback_ms: Some(50),
            count_reordering: Some(true),
            ..LoadParameters::default()
        },
    }
}

fn ready() -> Ready {
    Ready {
        udp_port: NonZeroU16::new(5001),
        key: Some(NonZeroU64::MAX),
        seconds: Duration::from_millis(10_500),
        bytes: None,
        bits_per_second: NonZeroU64::new(100_000_000),
        interface_mtu_bytes: Some(1500),
        mss_bytes: Some(1448),
        tcp_receive_buffer_bytes: Some(33_554_432),
        tcp_send_buffer_bytes: Some(4_194_304),
        unsent_ms: None,
    }
}

fn done() -> Done {
    Done {
        end: OrderEnd::NoFeedback,
        why: Some("nothing came".to_owned()),
        elapsed_ns: 1_000_000_000,
        datagrams_sent: 100,
        bytes_sent: 122_200,
        datagrams_received: 20,
        controls_received: Some(5),
        socket_drops: Some(0),
        path_mtu: Some(PathMtuDone {
            mtu_bytes: Some(1400),
            exact: true,
            icmp: "received".to_owned(),
            icmp_from: "192.0.2.1".parse().ok(),
            fragments: "pass".to_owned(),
            ..PathMtuDone::default()
        }),
        load: Some(LoadDone {
            row_final: 50,
            slow_mode_at_ns: Some(2_000_000_000),
            statuses: 20,
            sender_limited: false,
            rows: vec![RowChange(0, 0), RowChange(50, 10)],
        }),
    }
}

/// Everything that an end may say, once.
fn native_results() -> Results {
    let transit = TransitResult {
        samples: 3,
        min_ns: -90_000,
        mean_ns: -80_000,
        max_ns: -50_000,
        deviation_ns: 12_000,
        slices: vec![SliceResult {
            first_ns: 1_800_000_000_000_000_000,
            last_ns: 1_800_000_009_000_000_000,
            min_ns: -90_000,
            max_ns: -50_000,
            delays: vec![(0, 2), (40_000, 1)],
        }],
    };
    let datagrams = FlowResult {
        token: 9,
        local_port: 5001,
        remote_port: 40_000,
        datagrams: true,
        bytes: 4_410,
        seconds: 10.0,
        packets: Some(3),
        lost: Some(2),
        jitter_ms: Some(0.012),
        transit: Some(transit),
        limits: Some(LimitsResult {
            thread_busy: Some(0.5),
            expected: Some(5),
            ..LimitsResult::default()
        }),
        ..FlowResult::default()
    };
    let stream = FlowResult {
        direction: Way::Send,
        bytes: 1 << 30,
        tcp: Some(TcpResult {
            congestion_control: Some("cubic".to_owned()),
            retransmits: Some(4),
            rtt_us: Some(80),
            ..TcpResult::default()
        }),
        ..FlowResult::default()
    };
    Results {
        seconds: Some(10.0),
        cpu_percent: Some(12.5),
        flows: vec![datagrams, stream],
        warnings: vec![WarningResult {
            id: "receiver-processor".to_owned(),
            severity: "warning".to_owned(),
            text: "the processor is full".to_owned(),
        }],
        ..Results::default()
    }
}

#[test]
fn every_kind_of_native_message_is_a_seed() {
    for (name, message) in native_messages() {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        seeds::expect("native_message", name, &bytes);
    }
    let results = native_results().to_json();
    seeds::expect("native_results", "every-part", results.as_bytes());
    seeds::expect("native_results", "empty", b"{}");
    let mark = Mark {
        version: 1,
        number: NonZeroU32::MAX,
    };
    let (name, number) = mark.to_words();
    let words = [name.to_be_bytes(), number.to_be_bytes()].concat();
    seeds::expect("native_mark", "version-1", &words);
    let refusal = Refusal {
        test: NonZeroU32::MAX,
        reason: RefusalReason::Tests(64),
        retry_seconds: NonZeroU16::new(10),
    };
    seeds::expect("server_ack", "refusal", &refusal.encode());
    let request = ProbeRequest {
        key: NonZeroU64::MAX,
        number: 1,
        class: Tos::default(),
        sent: 1_800_000_000_000_000_000,
    };
    seeds::expect("native_probe", "request", &request.encode());
    let reply = ProbeReply {
        request,
        received: 1_800_000_000_000_100_000,
        sent: 1_800_000_000_000_110_000,
    };
    seeds::expect("native_probe", "reply", &reply.encode());
}

#[test]
fn datagrams_of_methods_are_seeds() {
    for kind in MethodKind::ALL {
        let datagram = MethodDatagram {
            kind,
            flags: 1,
            number: 9,
            key: NonZeroU64::MAX,
            sent: 1_800_000_000_000_000_000,
        };
        let echo = LoadEcho {
            status_sent: 1_800_000_000_000_000_000,
            held: 20_000_000,
        };
        let behind = match kind {
            MethodKind::Load => echo.encode().to_vec(),
            MethodKind::Status => STATUS.encode().to_vec(),
            MethodKind::Probe => vec![0; 8],
            _ => Vec::new(),
        };
        let name = format!("{kind:?}").to_lowercase();
        let bytes = [&datagram.encode()[..], &behind].concat();
        seeds::expect("native_method", &name, &bytes);
    }
}

/// A packet with "abc" from port 1000 to port 5001, without a checksum.
fn packet(header: &[u8]) -> Vec<u8> {
    [header, &[0x03, 0xe8, 0x13, 0x89, 0, 11, 0, 0], b"abc"].concat()
}

#[test]
fn packets_of_both_families_are_seeds() {
    let mut v4 = vec![0x45, 0, 0, 31, 0, 0, 0x40, 0, 64, 17, 0, 0];
    v4.extend([192, 0, 2, 1, 192, 0, 2, 2]);
    let mut v6 = vec![0x60, 0, 0, 0, 0, 11, 17, 64];
    v6.extend([0x20; 32]);
    let (v4, v6) = (packet(&v4), packet(&v6));
    let frame = |kind: &[u8], packet: &[u8]| [&[2; 12], kind, packet].concat();
    seeds::expect("udp_packet", "v4", &v4);
    seeds::expect("udp_packet", "v6", &v6);
    seeds::expect("udp_packet", "ethernet-v4", &frame(&[8, 0], &v4));
    let tagged = frame(&[0x81, 0, 0, 7, 0x86, 0xdd], &v6);
    seeds::expect("udp_packet", "vlan-v6", &tagged);
    let mut summed = v4.clone();
    summed[26] = 1;
    seeds::expect("udp_packet", "wrong-checksum", &summed);
    let mut fragment = v4;
    fragment[6] = 0x20;
    seeds::expect("udp_packet", "fragment", &fragment);
}

#[test]
fn every_decoder_keeps_its_contract_on_every_seed() {
    let mut seeds = 0;
    for (target, _) in fuzz::CONTRACTS {
        for bytes in seeds::all(target) {
            for (message, _) in fuzz::CONTRACTS {
                fuzz::run(message, &bytes);
            }
            seeds += 1;
        }
    }
    assert!(seeds >= 460, "only {seeds} seeds");
}
