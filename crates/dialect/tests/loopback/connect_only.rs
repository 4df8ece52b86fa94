//! Connections without data.

use std::net::TcpListener;
use std::time::Duration;

use tapeline_base::ExitCode;
use tapeline_base::Transport::Tcp;
use tapeline_dialect::{ClientPlan, ClientWorkload, Limit, Personality, ServerPlan};
use tapeline_report::{ConnectTimes, Connected, ConnectionFlavour, Event, Notice};

use crate::harness::*;

fn plan(server: std::net::SocketAddr, count: Option<u64>, limit: Limit) -> ClientPlan {
    let mut plan = client_plan(server, Tcp);
    plan.workload = ClientWorkload::ConnectOnly {
        count,
        report_each: true,
    };
    plan.limit = limit;
    plan
}

fn connections(events: &[Event]) -> Vec<Connected> {
    let connected = |event: &Event| match event {
        Event::Connected(line) => Some(line.clone()),
        _ => None,
    };
    events.iter().filter_map(connected).collect()
}

#[track_caller]
fn connect_times(events: &[Event]) -> ConnectTimes {
    match events.last() {
        Some(Event::ConnectTimes(times)) => *times,
        other => panic!("{other:?}"),
    }
}

#[test]
fn so_many_connections_are_reported_and_added_up() {
    let iperf = ServerPlan {
        personality: Personality::Iperf2,
        ..server_plan(V4, Tcp)
    };
    for (parallel, all) in [(1, 4), (3, 12)] {
        let server = TestServer::start(iperf.clone());
        let mut plan = plan(server.address, Some(4), Limit::Never);
        plan.parallel = parallel;
        let client = succeed(plan);
        let lines = connections(&client);
        assert_eq!(lines.len(), all);
        for line in &lines {
            assert_eq!(line.flavour, ConnectionFlavour::ConnectOnly);
            assert!(line.connect_time.is_some() && line.at.is_some());
        }
        let times = connect_times(&client);
        assert_eq!((times.times.count as usize, times.errors), (all, 0));
        // The server names them, without complaint, and keeps its numbers for tests.
        server.events.wait_for_connections(all);
        let served = server.stop();
        assert!(notices(&served).is_empty(), "{:?}", notices(&served));
        assert!(totals(&served).is_empty());
        assert!(connections(&served).iter().all(|line| line.tag.id.0 == 1));
    }
}

#[test]
fn connections_that_are_not_reported_are_counted_and_keep_no_port() {
    let iperf = ServerPlan {
        personality: Personality::Iperf2,
        ..server_plan(V4, Tcp)
    };
    let server = TestServer::start(iperf);
    let mut plan = plan(server.address, None, Limit::Never);
    plan.workload = ClientWorkload::ConnectOnly {
        count: Some(1000),
        report_each: false,
    };
    let client = succeed(plan);
    assert!(connections(&client).is_empty());
    let times = connect_times(&client);
    assert_eq!((times.times.count, times.errors), (1000, 0));
    // One more, in order, so that the server has seen all before it.
    succeed(self::plan(server.address, Some(1), Limit::Never));
    let served = server.stop();
    // Each was a visit without a fault: reported, or summed up.
    let summed_up = |notice: &Notice| match notice {
        Notice::Suppressed { count, .. } => usize::try_from(*count).ok(),
        _ => None,
    };
    let summed_up: usize = notices(&served).iter().filter_map(summed_up).sum();
    assert!(notices(&served).len() <= 2, "{:?}", notices(&served));
    assert_eq!(connections(&served).len() + summed_up, 1001);
    assert!(summed_up > 0);
}

#[test]
fn an_interval_paces_and_the_time_ends() {
    let server = TestServer::on(V4, Tcp);
    let every = Duration::from_millis(30);
    let mut plan = plan(server.address, None, time(100));
    plan.interval = Some(every);
    let client = succeed(plan);
    let lines = connections(&client);
    // At 0, 30, 60 and 90 ms, as far as the machine keeps up.
    assert!((2..=4).contains(&lines.len()), "{}", lines.len());
    let times: Vec<_> = lines.iter().map(|line| line.at.expect("a time")).collect();
    assert!(times[times.len() - 1].nanos_since(times[0]) >= 25_000_000);
    server.stop();
}

#[test]
fn bytes_ask_for_one_connection() {
    let server = TestServer::on(V4, Tcp);
    let client = succeed(plan(server.address, None, bytes(1000)));
    assert_eq!(connections(&client).len(), 1);
    server.stop();
}

#[test]
fn refused_connections_are_counted() {
    let listener = TcpListener::bind((V4, 0)).expect("listener");
    let address = listener.local_addr().expect("address");
    drop(listener);
    let mut plan = plan(address, Some(2), Limit::Never);
    plan.interval = Some(Duration::from_millis(1));
    let (code, events) = TestClient::start(plan).wait();
    assert_eq!(code, ExitCode::Failure);
    let times = connect_times(&events);
    assert_eq!((times.times.count, times.errors), (0, 2));
    let refused = |notice: &Notice| matches!(notice, Notice::ConnectFailed { .. });
    assert_eq!(notices(&events).iter().filter(|n| refused(n)).count(), 2);
}

#[test]
fn an_interrupt_ends_endless_connecting_with_its_summary() {
    let server = TestServer::on(V4, Tcp);
    let mut plan = plan(server.address, None, Limit::Never);
    plan.interval = Some(Duration::from_millis(5));
    let client = TestClient::start(plan);
    client.events.wait_for_connections(3);
    client.interruption.interrupt();
    let (_, events) = client.wait();
    let summary = |event: &&Event| matches!(event, Event::ConnectTimes(_));
    assert_eq!(events.iter().filter(summary).count(), 1);
    server.stop();
}
