//! The seed corpora of the fuzz targets hold the captured messages, and every decoder keeps its
//! contract on every file in them, findings of the fuzzer included.
//!
//! `UPDATE_CORPUS=1 cargo test -p tapeline-wire --test corpus` writes missing seeds.

mod checks;
mod seeds;
mod sessions;

use std::collections::HashSet;

use serde_json::Value;
use sessions::{Message, Session};
use tapeline_wire::iperf3::LENGTH_PREFIX;

const FILES: [&str; 8] = [
    include_str!("vectors/iperf2-tcp-client-header.json"),
    include_str!("vectors/iperf2-tcp-server-ack.json"),
    include_str!("vectors/iperf2-tcp-burst-header.json"),
    include_str!("vectors/iperf2-bounceback.json"),
    include_str!("vectors/iperf2-udp-datagram.json"),
    include_str!("vectors/iperf2-udp-fin-report.json"),
    include_str!("vectors/iperf2-udp-l4s.json"),
    include_str!("vectors/iperf2-legacy.json"),
];

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
    for file in FILES {
        let vectors: Vec<Value> = serde_json::from_str(file).unwrap();
        for vector in vectors {
            let name = vector["name"].as_str().unwrap().replace('#', "-");
            let wanted = bytes(vector["hex"].as_str().unwrap());
            seeds::expect(target(vector["message"].as_str().unwrap()), &name, &wanted);
        }
    }
}

/// The fuzz targets that a message of an iperf3 session feeds, and what of it they get.
fn parts(message: &Message) -> Vec<(&'static str, &[u8])> {
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

#[test]
fn every_decoder_keeps_its_contract_on_every_seed() {
    let mut seeds = 0;
    for (target, _) in checks::CHECKS {
        for bytes in seeds::all(target) {
            for (message, _) in checks::CHECKS {
                checks::run(message, &bytes);
            }
            seeds += 1;
        }
    }
    assert!(seeds >= 440, "only {seeds} seeds");
}
