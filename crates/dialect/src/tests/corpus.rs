//! The seeds of the fuzz targets, and their replay.

use std::collections::HashSet;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};

use serde_json::Value;
use tapeline_testkit::captures::{Session, seeds, vectors};
use tapeline_wire::iperf2::{DatagramStamp, PeerVersion, ServerAck};
use tapeline_wire::iperf3::LENGTH_PREFIX;
use tapeline_wire::native::{
    ClockReply, Hello, Mark, Message, Methods, PREAMBLE, Program, Progress, Ready, Refusal,
    RefusalReason, Sample,
};

use crate::fuzz::CONTRACTS;

/// A server of both protocols that takes control connections.
const OF_BOTH: u8 = 2 | 8;

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// An event with a head of two bytes.
fn event(head: [u8; 2], piece: &[u8]) -> Vec<u8> {
    let piece = &piece[..piece.len().min(255)];
    [&head[..], &[piece.len() as u8], piece].concat()
}

/// The final datagram of a flow with one datagram of data, as clients repeat it.
fn final_datagram() -> Vec<u8> {
    let mut datagram = vec![0; 16];
    DatagramStamp {
        id: -2,
        seconds: 1_800_000_000,
        micros: 0,
    }
    .write_16(&mut datagram);
    datagram
}

/// The targets that a captured message feeds, and what they get.
fn inputs(message: &str, bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let padded = |length: usize| {
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().max(length), b'0');
        padded
    };
    match message {
        "tcp_client_header" | "tcp_client_header_v1" | "tcp_no_header" | "bounceback_request" => {
            vec![("iperf2_opening", [&[OF_BOTH], bytes].concat())]
        }
        "tcp_burst_header" => {
            let stream = [bytes, bytes].concat();
            vec![("iperf2_bursts", [&[0, 7], &stream[..]].concat())]
        }
        "client_hdr_ack" => vec![("native_answer", bytes.to_vec())],
        "udp_l4s_ack" => vec![("iperf2_l4s", event([9, 40], bytes))],
        message if message.starts_with("udp_server_report") => {
            let seed = [&[2], bytes].concat();
            vec![
                ("iperf2_udp_closing", event([9, 0], bytes)),
                ("iperf2_other_end", seed),
            ]
        }
        message if message.starts_with("udp_") => {
            let first = event([1, 8], &padded(200));
            let last = event([9, 0], &final_datagram());
            let on = |what: u8| event([0, 0x80 | what], &bytes[..bytes.len().min(40)]);
            let run = [&[2], &first[..], &on(0), &on(0), &on(1), &last].concat();
            let events = [first, last.clone(), last].concat();
            vec![("iperf2_udp_server", events), ("iperf2_udp_runs", run)]
        }
        _ => vec![],
    }
}

#[test]
fn captured_messages_of_iperf_2_are_seeds_of_its_sessions() {
    let mut count = 0;
    for file in vectors::ALL {
        let vectors: Vec<Value> = serde_json::from_str(file).expect("vectors");
        for vector in vectors {
            let text = |key: &str| vector[key].as_str().expect("a text").to_owned();
            for (target, input) in inputs(&text("message"), &bytes(&text("hex"))) {
                seeds::expect(target, &text("name").replace('#', "-"), &input);
                count += 1;
            }
        }
    }
    assert!(count > 100, "only {count} seeds");
}

fn encoded(messages: &[Message]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        message.encode(&mut bytes);
    }
    bytes
}

#[test]
fn control_connections_of_two_tapelines_are_seeds() {
    let client = encoded(&[
        Message::Hello(Hello {
            test: NonZeroU32::MIN,
            token: NonZeroU32::MAX,
            lowest: 1,
            highest: 1,
        }),
        Message::About(Program::default().into()),
        Message::ClockRequest { number: 1, sent: 5 },
        Message::Results("{\"flows\":[{}]}".to_owned()),
        Message::Finished,
        Message::ClockRequest { number: 2, sent: 6 },
        Message::Goodbye,
    ]);
    let server = encoded(&[
        Message::Welcome {
            version: 1,
            server: Program::default(),
            probe_key: Some(NonZeroU64::MIN),
            methods: None,
        },
        Message::ClockReply(ClockReply {
            number: 1,
            request_sent: 1_800_000_000_000_000_000,
            request_received: 7,
            reply_sent: 8,
        }),
        Message::Progress(Progress::default()),
        Message::Results("{\"flows\":[{}]}".to_owned()),
    ]);
    for (name, whim) in [("in-order", 0), ("finished", 2), ("stopped", 13)] {
        let input = |bytes: &[u8]| [&[7, whim], bytes].concat();
        seeds::expect("native_server", name, &input(&client));
        seeds::expect("native_client", name, &input(&server));
    }
    let ordered = encoded(&[
        Message::Welcome {
            version: 1,
            server: Program::default(),
            probe_key: None,
            methods: Some(Methods([("mtu".to_owned(), 1)].into())),
        },
        Message::Ready(Ready::default()),
        Message::Sample(Sample::default()),
        Message::Done(Box::default()),
        Message::Declined("no".to_owned()),
    ]);
    let cut = [&[7, 0], &ordered[..]].concat();
    seeds::expect("native_client", "orders", &cut);
    let orders = encoded(&[
        Message::Hello(Hello {
            test: NonZeroU32::MIN,
            token: NonZeroU32::MAX,
            lowest: 1,
            highest: 1,
        }),
        Message::Order(Box::default()),
        Message::Stop("enough".to_owned()),
        Message::Goodbye,
    ]);
    seeds::expect("native_server", "orders", &[&[7, 0], &orders[..]].concat());
    let first = [&[OF_BOTH], &PREAMBLE[..]].concat();
    seeds::expect("iperf2_opening", "control", &first);
    let mut answer = Vec::new();
    ServerAck {
        version: Some(PeerVersion::IPERF_2_2_1),
        mark: Some(Mark {
            version: 1,
            number: NonZeroU32::MAX,
        }),
        trip_times: None,
    }
    .encode(&mut answer);
    seeds::expect("native_answer", "marked", &answer);
    let refusal = Refusal {
        test: NonZeroU32::MAX,
        reason: RefusalReason::Tests(64),
        retry_seconds: NonZeroU16::new(10),
    };
    seeds::expect("native_answer", "refused", &refusal.encode());
    // Traffic, a probe and its reply, the pause, and a row with replies.
    let mut probes = vec![];
    for _ in 0..4 {
        probes.extend(event([60, 5], &[50, 40]));
    }
    probes.extend(event([1, 16], &[]));
    for what in [1, 5, 5, 6, 7] {
        probes.extend(event([30, what], &[30, 20]));
    }
    seeds::expect("native_probing", "rows", &probes);
    let ended = [event([60, 5], &[]), event([60, 2], &[])].concat();
    seeds::expect("native_probing", "ended", &ended);
}

#[test]
fn orders_of_two_clients_are_seeds() {
    let down = [0, 1, 10, 5, 50];
    let orders = [
        event([0, 0], &down),
        event([10, 3], &[0, 1, 0]),
        event([10, 6], &[0, 9, 200]),
        event([40, 5], &[0, 9]),
        event([40, 7], &[0, 9, 200]),
        event([127, 6], &[0, 9, 200]),
        event([1, 16], &[1, 0, 10, 0, 0]),
        event([1, 11], &[1, 1, 0]),
        event([1, 2], &[0]),
    ];
    seeds::expect("native_orders", "two-clients", &orders.concat());
    let crowd: Vec<u8> = (0..40)
        .flat_map(|number| event([1, (number % 4) << 4], &[1, number, 9, 9, 9]))
        .collect();
    seeds::expect("native_orders", "crowd", &crowd);
}

#[test]
fn results_of_peers_are_seeds() {
    let mut known = HashSet::new();
    for session in Session::load_all() {
        let messages = session.messages.iter().enumerate();
        for (at, message) in messages.filter(|(_, message)| message.name == "results") {
            if known.insert(message.bytes.clone()) {
                let name = format!("{}-{at}", session.name.trim_start_matches("iperf3-"));
                let udp = u8::from(!session.name.contains("udp"));
                let seed = [&[udp], &message.bytes[LENGTH_PREFIX..]].concat();
                seeds::expect("iperf3_other_end", &name, &seed);
            }
        }
    }
    // What every member may be, for flows that this end knows by their tokens.
    let flow = |token| {
        format!(
            r#"{{"token":{token},"direction":"receive","datagrams":true,"bytes":1455300,"seconds":10.0,"packets":990,
            "lost":10,"duplicates":1,"reordered":2,"reordering_extent":3,"loss_runs":4,"longest_loss_run":5,
            "longest_outage_ns":6,"longest_outage_start_ns":7,"jitter_ms":0.01,"jitter_mean_ms":0.02,"socket_drops":3,
            "transit":{{"samples":3,"min_ns":1000,"mean_ns":2000,"max_ns":3000,"deviation_ns":500,"slices":[
            {{"first_ns":1795215956000000000,"last_ns":1795215966000000000,"min_ns":1000,"max_ns":3000,
            "delays":[[0,2],[2000,1]]}}]}},"limits":{{"thread_busy":0.5,"expected":1000,"socket_drops":3,
            "backlog_drops":0,"buffer_depth_us":5000}}}},
            {{"token":{token},"direction":"send","bytes":1470000,"seconds":10.0,"packets":1000,"limits":{{
            "thread_busy":1.0,"thread_waiting":0.1,"throttled":0.2,"stolen":0.3,"late_reports":1,"rate_asked":1e6,
            "rate_reached":9e5,"input_awaited_us":4,"room_awaited_us":5,"window_use":0.9,"buffer_use":0.8,
            "congested_sends":6,"queue_drops":7,"grouped":true}},"tcp":{{"congestion_control":"cubic",
            "retransmits":8,"rtt_us":9,"busy_us":9000000,"receive_window_limited_us":5000000,
            "send_buffer_limited_us":1000000}}}}"#
        )
    };
    let whole = format!(
        r#"{{"seconds":10.0,"cpu_percent":50.0,"cpu_user_percent":20.0,"clock_adjustment_ns":100,
        "host":{{"udp_receive_drops":3,"softnet_drops":4}},"flows":[{},{}],
        "warnings":[{{"id":"a","severity":"warning","text":"b"}}]}}"#,
        flow(1),
        flow(2)
    );
    let whole: String = whole.lines().map(str::trim_start).collect();
    for (name, whim) in [
        ("datagrams", 0),
        ("streams", 1),
        ("clocks", 2),
        ("apart", 4),
    ] {
        seeds::expect(
            "native_other_end",
            name,
            &[&[whim], whole.as_bytes()].concat(),
        );
    }
}

#[test]
fn the_ways_of_clients_of_a_server_are_seeds() {
    let all = |events: &[([u8; 2], &[u8])]| {
        let events = events.iter().map(|(head, piece)| event(*head, piece));
        events.collect::<Vec<_>>().concat()
    };
    // Two streams of a test, one of another, a wrong key, answers, and places that come back.
    let clients = all(&[
        ([0, 8], &[2, 1]),
        ([9, 8], &[2, 1]),
        ([9, 16], &[1, 1]),
        ([9, 8 | 3], &[]),
        ([9, 4], &[100]),
        ([9, 8 | 5], &[50, 10]),
        ([9, 8 | 6], &[4, 9]),
        ([9, 2], &[0]),
        ([9, 24], &[1, 1]),
    ]);
    seeds::expect("server_policy", "places", &clients);
    // A test joins, is claimed with a wrong token and its own, probed and released.
    let claimed = all(&[
        ([0, 0], &[7]),
        ([9, 0], &[7]),
        ([9, 4], &[7]),
        ([9, 3], &[7]),
        ([9, 3], &[7]),
        ([9, 6], &[255]),
        ([9, 6], &[255]),
        ([9, 7], &[7]),
        ([9, 5], &[7]),
    ]);
    seeds::expect("native_tests", "claimed", &claimed);
    let others = all(&[
        ([0, 0], &[1]),
        ([0, 8], &[1]),
        ([0, 9], &[2]),
        ([0, 11], &[2]),
    ]);
    seeds::expect("native_tests", "others", &others);
    // Tests over TCP and UDP take their streams, and leave.
    let registered = all(&[
        ([0, 1], &[]),
        ([6, 1], &[]),
        ([1, 1], &[2]),
        ([2, 1], &[]),
        ([2, 1], &[]),
        ([4, 1], &[]),
        ([0, 2], &[]),
        ([7, 2], &[]),
        ([9, 2], &[1]),
        ([3, 2], &[]),
        ([4, 2], &[]),
        ([15, 2], &[]),
        ([5, 1], &[]),
    ]);
    seeds::expect("iperf3_registry", "streams", &registered);
    seeds::expect("iperf3_registry", "unknown", &event([2, 3], &[]));
    let refused = all(&[([0, 8], &[5, 1]), ([0, 0], &[1, 1])]);
    seeds::expect("server_policy", "refused", &refused);
}

#[test]
fn logins_and_acknowledgements_are_seeds() {
    let plain = b"user: mario\npwd:  rossi\nts:   2000000000";
    seeds::expect("iperf3_login", "login", plain);
    seeds::expect("iperf3_login", "base64", b"dXNlcjogbWFyaW8=\n");
    let users = b"# users\n\n nobody , AB\nmario,5f\r\n";
    seeds::expect("iperf3_login_files", "users", users);
    let key = format!(
        "-----BEGIN KEY-----\n{}\n-----END KEY-----\n",
        "AAAA".repeat(90)
    );
    seeds::expect("iperf3_login_files", "key", key.as_bytes());
    // Acknowledgements that may be true: more received, some marked, some lost.
    let mut acks = vec![];
    for (marked, lost) in [(0, 0), (3, 0), (0, 2), (1, 0xff)] {
        acks.extend(event([40, 0x80 | 20], &[10, marked, lost, 0, 9]));
    }
    seeds::expect("iperf2_l4s", "acknowledged", &acks);
    // Two bursts behind a header that does not come: the first says how long it is.
    let mut stream = vec![3, 5];
    for id in 1..=2_u32 {
        let mut burst = vec![0; 120];
        burst[44..48].copy_from_slice(&id.to_be_bytes());
        burst[48..52].copy_from_slice(&120_u32.to_be_bytes());
        stream.extend(burst);
    }
    seeds::expect("iperf2_bursts", "left-in-the-kernel", &stream);
}

#[test]
fn every_session_keeps_its_contract_on_every_seed() {
    for (target, contract) in CONTRACTS {
        let seeds = seeds::all(target);
        assert!(seeds.len() > 1, "only {} seeds of {target}", seeds.len());
        for seed in seeds {
            contract(&seed);
        }
    }
}
