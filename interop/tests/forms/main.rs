//! Text, page, JSON, CSV and metrics of one and the same run agree on every number that they share.
//!
//! A trial is one mode with one peer. A client writes its text and every file at once, a server its
//! log, its files and its metrics. The document (`--json`) has full precision, so that everything
//! else is compared with it, each within the digits that it prints: `text.rs` reads texts,
//! `client.rs`, `brief.rs`, `tables.rs` and `server.rs` say what has to agree, and what has to be
//! there where the document knows it.

mod brief;
mod client;
mod files;
mod findings;
mod server;
mod shown;
mod tables;
mod text;

use std::process::ExitCode;

use interop::Program;
use libtest_mimic::{Arguments, Trial};

/// What a test does.
#[derive(Clone, Copy)]
struct Mode {
    options: &'static str,
    is_udp: bool,
}

const MODES: [Mode; 9] = [
    tcp("-t 1.3"),
    tcp("-t 1.3 -R"),
    tcp("-t 1.3 --full-duplex"),
    tcp("-t 1.3 -P 4"),
    tcp("-t 1.3 -P 4 -R -b 50m"),
    udp("-u -t 1.3 -b 20m"),
    udp("-u -t 1.3 -b 20m -R"),
    udp("-u -t 1.3 -b 20m --full-duplex"),
    udp("-u -t 1.3 -b 20m -P 4"),
];

const fn tcp(options: &'static str) -> Mode {
    Mode {
        options,
        is_udp: false,
    }
}

const fn udp(options: &'static str) -> Mode {
    Mode {
        options,
        is_udp: true,
    }
}

/// A program at the other end, and how tapeline speaks with it.
#[derive(Clone, Copy)]
struct Peer {
    program: Program,
    options: &'static str,
}

const PEERS: [Peer; 3] = [
    Peer {
        program: Program::Tapeline,
        options: "",
    },
    Peer {
        program: Program::Iperf221,
        options: "",
    },
    Peer {
        program: Program::Iperf3V22,
        options: "--peer iperf3",
    },
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Most of a trial is waiting.
    arguments.test_threads.get_or_insert(6);
    libtest_mimic::run(&arguments, trials()).exit_code()
}

fn trials() -> Vec<Trial> {
    let pairs = PEERS.iter().flat_map(|peer| {
        let modes = MODES.iter();
        modes.map(move |mode| (*peer, *mode))
    });
    let trials = pairs.flat_map(|(peer, mode)| {
        let (options, program) = (mode.options, peer.program);
        let client = format!("client: {options}, to {program}");
        let server = format!("server: {options}, from {program}");
        let (to, from) = (client.clone(), server.clone());
        [
            Trial::test(client, move || client::run(&to, peer, mode)),
            Trial::test(server, move || server::run(&from, peer, mode)),
        ]
    });
    trials.collect()
}
