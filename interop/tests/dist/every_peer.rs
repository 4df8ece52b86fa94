//! A tapeline of another platform, run by an emulator, with this machine's programs at the other side.

use interop::{
    Family, Invocation, Program, Server, ServerSpec, Transport, await_listening, free_port,
};
use serde_json::Value;

const PEERS: [Program; 3] = [Program::Tapeline, Program::Iperf221, Program::Iperf3V22];
/// Each has a client and a server, two transports and two directions with each peer.
const ROUNDS: usize = 5;

/// Why there are not all of them.
pub(crate) fn missing() -> Option<String> {
    PEERS.iter().find_map(|peer| peer.missing())
}

/// Runs 120 tests, each of which must be complete.
#[track_caller]
pub(crate) fn measure_with(emulated: impl Fn(&str) -> Invocation) {
    for _ in 0..ROUNDS {
        for peer in PEERS {
            for transport in [Transport::Tcp, Transport::Udp] {
                as_client(&emulated, peer, transport);
                as_server(&emulated, peer, transport);
            }
        }
    }
}

fn options(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "",
        Transport::Udp => "-u -b 20M -l 1200",
    }
}

#[track_caller]
fn as_client(emulated: &impl Fn(&str) -> Invocation, peer: Program, transport: Transport) {
    // iperf3's client says which transport it is.
    let (listens, kind) = match peer {
        Program::Iperf3V22 => (Transport::Tcp, "--peer iperf3"),
        _ => (transport, ""),
    };
    let server = ServerSpec::new(peer, listens, Family::V4).start();
    let server: Server = server.expect("a server");
    for reverse in ["", "-R"] {
        let line = format!(
            "-c 127.0.0.1 -p {} -t 1 --json {kind} {} {reverse}",
            server.port(),
            options(transport)
        );
        let done = emulated(&line).run().expect("a run");
        let document: Value = serde_json::from_str(&done.stdout).unwrap_or_default();
        // A TCP server of iperf 2 reports nothing: there the sender's count is all there is.
        let bytes = |end: &str| document["sum"][end]["bytes"].as_u64();
        let moved = bytes("receiver").or_else(|| bytes("sender"));
        assert!(
            done.code() == Some(0)
                && document["test"]["complete"] == true
                && moved.is_some_and(|bytes| bytes > 1_000_000),
            "{peer:?}: {done}"
        );
    }
}

#[track_caller]
fn as_server(emulated: &impl Fn(&str) -> Invocation, peer: Program, transport: Transport) {
    let port = free_port();
    let server = emulated(&format!("-s -p {port}")).spawn();
    let server = server.expect("a server");
    await_listening(&server, transport, port).expect("a server");
    for reverse in ["", "-R"] {
        let line = format!(
            "-c 127.0.0.1 -p {port} -t 1 {} {reverse}",
            options(transport)
        );
        let done = Invocation::new(peer).line(&line).run().expect("a run");
        assert_eq!(done.code(), Some(0), "{done}");
        let rates = ["bits/sec", "bit/s"];
        assert!(
            rates.iter().any(|unit| done.stdout.contains(unit)),
            "{done}"
        );
    }
}
