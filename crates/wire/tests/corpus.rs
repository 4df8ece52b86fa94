//! The seed corpora of the fuzz targets hold the captured messages, and every decoder keeps its
//! contract on every file in them, findings of the fuzzer included.
//!
//! `UPDATE_CORPUS=1 cargo test -p tapeline-wire --test corpus` writes missing seeds.

mod checks;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

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

fn corpus(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target)
}

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
fn every_captured_message_is_a_seed() {
    let update = std::env::var_os("UPDATE_CORPUS").is_some();
    for file in FILES {
        let vectors: Vec<Value> = serde_json::from_str(file).unwrap();
        for vector in vectors {
            let folder = corpus(target(vector["message"].as_str().unwrap()));
            let seed = folder.join(vector["name"].as_str().unwrap().replace('#', "-"));
            let wanted = bytes(vector["hex"].as_str().unwrap());
            if update && !seed.exists() {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&seed, &wanted).unwrap();
            }
            assert_eq!(fs::read(&seed).ok(), Some(wanted), "{}", seed.display());
        }
    }
}

#[test]
fn every_decoder_keeps_its_contract_on_every_seed() {
    let mut seeds = 0;
    for (target, _) in checks::CHECKS {
        for entry in fs::read_dir(corpus(target)).unwrap() {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            for (message, _) in checks::CHECKS {
                checks::run(message, &bytes);
            }
            seeds += 1;
        }
    }
    assert!(seeds >= 180, "only {seeds} seeds");
}
