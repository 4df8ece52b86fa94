//! Tests and servers inside this process, with each other and with real peers.

use std::time::{Duration, Instant};

use interop::{Family, Invocation, Program, Server as PeerServer, ServerSpec, Transport, skip};
use tapeline_embed::{Report, RunningTest, Server, Step, Test, TestError};

const SOON: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(10);

/// A test that goes on for ten minutes, and has shown an interval.
fn long_test(server: &Server) -> RunningTest {
    let test = Test::tcp("127.0.0.1").port(server.port());
    let test = test.time(Duration::from_secs(600));
    let mut running = test
        .interval(Duration::from_millis(50))
        .start()
        .expect("a test");
    assert!(running.any(|step| matches!(step, Step::Interval { .. })));
    running
}

fn received(report: &Report) -> u64 {
    report.sum.receiver.end.bytes.unwrap_or(0)
}

#[test]
fn sixty_four_tests_run_at_once() {
    let server = Server::start(0).expect("a server");
    let running: Vec<_> = (0..64)
        .map(|number| {
            let test = if number % 2 == 0 {
                Test::tcp
            } else {
                Test::udp
            };
            let test = test("127.0.0.1")
                .port(server.port())
                .time(SOON)
                .rate(1_000_000);
            let test = if number % 3 == 0 {
                test.reverse()
            } else {
                test
            };
            test.start().expect("a test")
        })
        .collect();
    for test in running {
        let report = test.finish().expect("a report");
        assert!(report.test.complete, "{report:?}");
        assert!(received(&report) > 0, "{report:?}");
        assert_eq!(report.peer.program.as_deref(), Some("tapeline"));
        assert_eq!(report.command, None);
    }
    for served in 0..64 {
        let report = server.next_report(PATIENCE);
        assert!(
            report.is_some_and(|report| report.test.complete),
            "{served}"
        );
    }
    assert!(server.next_report(Duration::ZERO).is_none());
}

#[test]
fn steps_come_as_they_happen() {
    let server = Server::start(0).expect("a server");
    let mut test = Test::tcp("127.0.0.1")
        .port(server.port())
        .time(Duration::from_millis(500))
        .interval(Duration::from_millis(100))
        .rate(10_000_000)
        .start()
        .expect("a test");
    let (mut begun, mut intervals) = (0, 0);
    for step in &mut test {
        match step {
            Step::Start { .. } => begun += 1,
            Step::Interval { .. } => intervals += 1,
            _ => {}
        }
    }
    let report = test.finish().expect("a report");
    assert_eq!(begun, 1);
    assert!(intervals >= 4, "{intervals}");
    assert_eq!(report.intervals.len(), intervals);
}

#[test]
fn a_cancelled_test_has_what_it_measured() {
    let server = Server::start(0).expect("a server");
    let begin = Instant::now();
    let test = long_test(&server);
    let cancel = test.cancel_handle();
    std::thread::spawn(move || cancel.cancel());
    let report = test.finish().expect("a report");
    assert!(!report.test.complete);
    assert!(report.sum.sender.end.bytes > Some(0), "{report:?}");
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn what_is_dropped_ends() {
    let server = Server::start(0).expect("a server");
    let begin = Instant::now();
    let test = long_test(&server);
    drop(test);
    // Its server has seen the end, too.
    let report = server.next_report(PATIENCE).expect("a report");
    assert!(received(&report) > 0, "{report:?}");
    let port = server.port();
    drop(server);
    assert!(begin.elapsed() < Duration::from_secs(60));
    // The port is free again.
    drop(Server::start(port).expect("a server"));
}

#[test]
fn what_fails_says_why() {
    let server = Server::start(0).expect("a server");
    let twice = Server::start(server.port()).expect_err("the port is in use");
    assert_eq!(twice.id, "listen-failed", "{twice}");
    assert!(twice.text.contains(&server.port().to_string()), "{twice}");
    let port = server.port();
    drop(server);
    let error: TestError = Test::tcp("127.0.0.1")
        .port(port)
        .run()
        .expect_err("no server");
    assert_eq!(error.id, "connect-failed", "{error}");
    assert!(error.to_string().contains(&port.to_string()), "{error}");
    let error = Test::tcp("no.such.host.invalid")
        .run()
        .expect_err("no host");
    assert!(error.text.contains("no.such.host.invalid"), "{error}");
}

#[test]
fn iperf_and_iperf3_are_peers_in_both_roles() {
    let peers = [Program::Iperf221, Program::Iperf3V22];
    if let Some(reason) = peers.iter().find_map(|peer| peer.missing()) {
        skip("embedded, real peers", &reason);
        return;
    }
    let server = Server::start(0).expect("a server");
    for (peer, transport) in [
        (Program::Iperf221, Transport::Tcp),
        (Program::Iperf221, Transport::Udp),
        (Program::Iperf3V22, Transport::Tcp),
        (Program::Iperf3V22, Transport::Udp),
    ] {
        // iperf3's client says which transport it is.
        let listens = match peer {
            Program::Iperf3V22 => Transport::Tcp,
            _ => transport,
        };
        let theirs: PeerServer = ServerSpec::new(peer, listens, Family::V4)
            .start()
            .expect("a server");
        let test = match transport {
            Transport::Tcp => Test::tcp("127.0.0.1"),
            Transport::Udp => Test::udp("127.0.0.1").length(1200),
        };
        let test = test
            .port(theirs.port())
            .time(Duration::from_secs(1))
            .rate(5_000_000);
        let test = if peer == Program::Iperf3V22 {
            test.iperf3()
        } else {
            test
        };
        let report = test
            .run()
            .unwrap_or_else(|error| panic!("{peer:?}: {error}"));
        assert!(report.test.complete, "{peer:?}: {report:?}");
        assert!(
            report.sum.sender.end.bytes > Some(500_000),
            "{peer:?}: {report:?}"
        );

        let udp = if transport == Transport::Udp {
            "-u -b 5M -l 1200"
        } else {
            "-b 5M"
        };
        let line = format!("-c 127.0.0.1 -p {} -t 1 {udp}", server.port());
        let client = Invocation::new(peer).line(&line).run().expect("a client");
        assert_eq!(client.code(), Some(0), "{client}");
        let report = server.next_report(PATIENCE).expect("a report");
        assert!(received(&report) > 500_000, "{peer:?}: {report:?}");
    }
}
