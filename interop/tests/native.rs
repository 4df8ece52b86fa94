//! tapeline under its own name, against every peer and itself.

use std::time::Duration;

use interop::{
    CountedStream, Family, Invocation, Program, Server, ServerSpec, Transcript, Transport,
    counted_streams, skip,
};

const TIMEOUT: Duration = Duration::from_secs(10);
const TRANSPORTS: [Transport; 2] = [Transport::Tcp, Transport::Udp];

/// A little data, exactly so much in every version.
const fn options(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "-n 1M",
        Transport::Udp => "-n 147000 -b 10m -l 1470",
    }
}

/// Whether all programs are there, or a skip.
fn ready(test: &str, programs: &[Program]) -> bool {
    match programs.iter().find_map(|program| program.missing()) {
        Some(reason) => {
            skip(test, &reason);
            false
        }
        None => true,
    }
}

/// The bytes of a stream as its client has counted them.
fn own_bytes(stream: &CountedStream) -> Option<u64> {
    match stream.reverse {
        true => stream.received,
        false => stream.sent,
    }
}

/// A native server; it listens for both transports.
fn native_server() -> Server {
    let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
    spec.start().expect("a server")
}

#[test]
fn one_server_serves_both_transports_to_every_client() {
    let clients = [
        Program::Iperf221,
        Program::Iperf218,
        Program::Iperf2014a,
        Program::TapelineAsIperf,
    ];
    let name = "one_server_serves_both_transports_to_every_client";
    if !ready(name, &clients) || !ready(name, &[Program::Tapeline]) {
        return;
    }
    let server = native_server();
    let mut served = 0;
    for client in clients {
        for transport in TRANSPORTS {
            for address in ["127.0.0.1", "::1"] {
                let mut run = server.client_to(client, address);
                run = run.args(transport.options().iter().copied());
                if address == "::1" {
                    run = run.args(["-V"]);
                }
                let run = run.line(options(transport)).run().expect("a client");
                assert_eq!(run.code(), Some(0), "{run}");
                served += 1;
                let rows = server.await_streams(TIMEOUT, served);
                let shown = format!("{run}--- server\n{}", server.output());
                assert_eq!(rows.len(), served, "{shown}");
                let row = &rows[served - 1];
                let sent = Transcript::parse(&run.stdout).totals()[0].clone();
                assert_eq!(row.received, Some(sent.bytes), "{shown}");
                if transport == Transport::Udp {
                    assert_eq!(row.lost, Some(0), "{shown}");
                }
            }
        }
    }
}

#[test]
fn a_client_agrees_with_every_server() {
    let name = "a_client_agrees_with_every_server";
    let servers = [
        Program::Iperf221,
        Program::Iperf218,
        Program::Iperf2014a,
        Program::TapelineAsIperf,
    ];
    if !ready(name, &servers) || !ready(name, &[Program::Tapeline]) {
        return;
    }
    for server in servers {
        for transport in TRANSPORTS {
            let server = ServerSpec::new(server, transport, Family::V4)
                .start()
                .expect("a server");
            let client = server.client(Program::Tapeline).line("--json");
            let client = client.line(options(transport));
            let client = client.run().expect("a client");
            assert_eq!(client.code(), Some(0), "{client}");
            let received = server.await_output(TIMEOUT, |out| !out.totals().is_empty());
            let shown = format!("{client}--- server\n{}", server.output());
            let streams = counted_streams(&client.stdout);
            let stream = streams.first().unwrap_or_else(|| panic!("{shown}"));
            assert!(!stream.reverse, "{shown}");
            let received = &received.totals()[0];
            assert_eq!(stream.sent, Some(received.bytes), "{shown}");
            if let Some(counts) = received.datagrams {
                assert_eq!(stream.sent_datagrams, Some(counts.total), "{shown}");
            }
        }
    }
}

#[test]
fn a_client_receives_from_every_server() {
    let name = "a_client_receives_from_every_server";
    let servers = [
        Program::Iperf221,
        Program::Iperf218,
        Program::Iperf2014a,
        Program::TapelineAsIperf,
    ];
    if !ready(name, &servers) || !ready(name, &[Program::Tapeline]) {
        return;
    }
    for server in servers {
        let server = ServerSpec::new(server, Transport::Tcp, Family::V4)
            .start()
            .expect("a server");
        let client = server
            .client(Program::Tapeline)
            .line("--json -R -t 0.3 -b 50m");
        let client = client.run().expect("a client");
        assert_eq!(client.code(), Some(0), "{client}");
        let sent = server.await_output(TIMEOUT, |out| !out.totals().is_empty());
        let shown = format!("{client}--- server\n{}", server.output());
        let streams = counted_streams(&client.stdout);
        let stream = streams.first().unwrap_or_else(|| panic!("{shown}"));
        assert!(stream.reverse, "{shown}");
        assert_eq!(stream.received, Some(sent.totals()[0].bytes), "{shown}");
    }
}

#[test]
fn tapeline_agrees_with_itself() {
    if !ready("tapeline_agrees_with_itself", &[Program::Tapeline]) {
        return;
    }
    let server = native_server();
    let mut served = 0;
    for (transport, options, flows) in [
        (Transport::Tcp, "-n 1M", 1),
        (Transport::Tcp, "-n 1M -P 4", 4),
        (Transport::Tcp, "-t 0.3 -b 50m --full-duplex", 2),
        (Transport::Udp, "-n 147000 -b 10m", 1),
        (Transport::Udp, "-t 0.3 -b 5m -P 4", 4),
        (Transport::Udp, "-t 0.3 -b 5m -R", 1),
    ] {
        let client = server
            .client(Program::Tapeline)
            .args(transport.options().iter().copied())
            .line("--json");
        let client = client.line(options).run().expect("a client");
        assert_eq!(client.code(), Some(0), "{client}");
        served += flows;
        let rows = server.await_streams(TIMEOUT, served);
        let shown = format!("{client}--- server\n{}", server.output());
        assert_eq!(rows.len(), served, "{shown}");
        let streams = counted_streams(&client.stdout);
        let mut counted: Vec<_> = streams.iter().map(own_bytes).collect();
        let of_server = rows[served - flows..].iter();
        let mut served_bytes: Vec<_> = of_server.map(|flow| flow.received.or(flow.sent)).collect();
        counted.sort_unstable();
        served_bytes.sort_unstable();
        assert_eq!(counted, served_bytes, "{shown}");
    }
}

#[test]
fn the_shipped_build_says_where_a_fleet_is() {
    if !ready("the shipped build, a fleet", &[Program::Tapeline]) {
        return;
    }
    for line in ["fleet", "fleet run h.toml", "agent"] {
        let program = Invocation::new(Program::Tapeline).line(line);
        let refused = program.run().expect("a run");
        let words =
            "error: this build has no fleet; build it with --features fleet, or take a package\n";
        assert_eq!(refused.stderr, words, "{refused}");
        assert_eq!(refused.code(), Some(2), "{refused}");
    }
}
