//! tapeline under its own name, against every peer and itself.

use std::time::Duration;

use interop::{
    Family, NativeRow, Program, Server, ServerSpec, Transcript, Transport, parse_native, skip,
};

const PATIENCE: Duration = Duration::from_secs(10);
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

/// The totals of single flows.
fn totals(output: &str) -> Vec<NativeRow> {
    let rows = parse_native(output).into_iter();
    rows.filter(|row| row.total && row.flow.parse::<u32>().is_ok())
        .collect()
}

/// A native server; it listens for both transports.
fn native_server() -> Server {
    let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
    spec.start().expect("a server")
}

/// The totals that a native server has printed since the test began.
fn await_totals(server: &mut Server, count: usize) -> Vec<NativeRow> {
    server
        .process()
        .wait_for(PATIENCE, |out| totals(out).len() >= count);
    totals(&server.process().stdout())
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
    let mut server = native_server();
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
                let rows = await_totals(&mut server, served);
                let shown = format!("{run}--- server\n{}", server.output());
                assert_eq!(rows.len(), served, "{shown}");
                let row = &rows[served - 1];
                let sent = Transcript::parse(&run.stdout).totals()[0].clone();
                assert!(row.receives, "{shown}");
                // Without -f b of its own the server's unit may be another.
                assert_eq!(row.count("B"), Some(sent.bytes), "{shown}");
                if transport == Transport::Udp {
                    assert_eq!(row.count("lost"), Some(0), "{shown}");
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
            let client = server.client(Program::Tapeline).line(options(transport));
            let client = client.run().expect("a client");
            assert_eq!(client.code(), Some(0), "{client}");
            let received = server.await_output(PATIENCE, |out| !out.totals().is_empty());
            let shown = format!("{client}--- server\n{}", server.output());
            let row = totals(&client.stdout)
                .into_iter()
                .next()
                .unwrap_or_else(|| panic!("{shown}"));
            assert!(!row.receives, "{shown}");
            let received = &received.totals()[0];
            assert_eq!(row.count("B"), Some(received.bytes), "{shown}");
            if let Some(counts) = received.datagrams {
                assert_eq!(row.count("datagrams"), Some(counts.total), "{shown}");
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
        let client = server.client(Program::Tapeline).line("-R -t 0.3 -b 50m");
        let client = client.run().expect("a client");
        assert_eq!(client.code(), Some(0), "{client}");
        let sent = server.await_output(PATIENCE, |out| !out.totals().is_empty());
        let shown = format!("{client}--- server\n{}", server.output());
        let row = totals(&client.stdout)
            .into_iter()
            .next()
            .unwrap_or_else(|| panic!("{shown}"));
        assert!(row.receives, "{shown}");
        assert_eq!(row.count("B"), Some(sent.totals()[0].bytes), "{shown}");
    }
}

#[test]
fn tapeline_agrees_with_itself() {
    if !ready("tapeline_agrees_with_itself", &[Program::Tapeline]) {
        return;
    }
    let mut server = native_server();
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
            .args(transport.options().iter().copied());
        let client = client.line(options).run().expect("a client");
        assert_eq!(client.code(), Some(0), "{client}");
        served += flows;
        let rows = await_totals(&mut server, served);
        let shown = format!("{client}--- server\n{}", server.output());
        assert_eq!(rows.len(), served, "{shown}");
        let bytes = |rows: &[NativeRow]| {
            let mut bytes: Vec<_> = rows.iter().map(|row| row.count("B")).collect();
            bytes.sort_unstable();
            bytes
        };
        assert_eq!(
            bytes(&totals(&client.stdout)),
            bytes(&rows[served - flows..]),
            "{shown}"
        );
    }
}
