//! TCP flows next to a test.

use std::time::Duration;

use tapeline_base::Transport::{self, Tcp, Udp};
use tapeline_dialect::{
    ClientPlan, ClientWorkload, LoadDirection, RequestResponsePlan, ServerPlan, WorkingLoad,
};
use tapeline_report::{Connected, ConnectionFlavour, Event, Measure, Phase, Row, Subject};

use crate::harness::*;

fn load(direction: LoadDirection, flows: usize) -> Option<WorkingLoad> {
    Some(WorkingLoad {
        direction,
        flows,
        congestion: None,
    })
}

fn connections(events: &[Event]) -> Vec<Connected> {
    let connected = |event: &Event| match event {
        Event::Connected(line) => Some(line.clone()),
        _ => None,
    };
    events.iter().filter_map(connected).collect()
}

/// Directions of TCP data among the totals: sent, received.
fn directions(rows: &[Row]) -> (usize, usize) {
    let count = |of: fn(&Measure) -> bool| rows.iter().filter(|row| of(&row.measure)).count();
    (
        count(|measure| matches!(measure, Measure::TcpSend(_))),
        count(|measure| matches!(measure, Measure::TcpReceive(_))),
    )
}

fn bounce(server: std::net::SocketAddr) -> ClientPlan {
    let mut plan = client_plan(server, Tcp);
    let mut exchange = RequestResponsePlan::back_to_back(100);
    exchange.burst = Some((5, Duration::from_millis(20)));
    plan.workload = ClientWorkload::RequestResponse(exchange);
    plan.limit = time(120);
    plan.interval = Some(Duration::from_millis(60));
    plan
}

#[test]
fn requests_are_measured_under_a_load_in_each_direction() {
    for (direction, flows, expected) in [
        (LoadDirection::Up, 1, (1, 0)),
        (LoadDirection::Down, 2, (0, 2)),
        (LoadDirection::Both, 1, (1, 1)),
    ] {
        let server = TestServer::on(V4, Tcp);
        let mut plan = bounce(server.address);
        plan.working_load = load(direction, flows);
        let client = succeed(plan);
        server.events.wait_for_totals(1 + expected.0 + expected.1);
        let served = server.stop();
        let rows = totals(&client);
        assert_eq!(directions(&rows), expected, "{direction:?}");
        // The test has the first number, the load the next ones.
        let requests: Vec<_> = rows
            .iter()
            .filter(|row| matches!(row.measure, Measure::RequestResponse(_)))
            .collect();
        assert_eq!(requests.len(), 1);
        assert!(matches!(requests[0].subject, Subject::Flow(tag) if tag.id.0 == 1));
        for row in rows.iter().chain(&totals(&served)) {
            assert!(row.bytes > 0, "{row:?}");
        }
        // One sum over everything.
        let sums = sums(&client);
        assert_eq!(sums.len(), 1, "{direction:?}");
        let all: u64 = rows.iter().map(|row| row.bytes).sum();
        assert_eq!(sums[0].bytes, all);
        assert!(matches!(sums[0].measure, Measure::TcpSend(_)));
        let intervals = crate::harness::rows(&client, Phase::Interval, |subject| {
            matches!(subject, Subject::Sum { .. })
        });
        assert!(!intervals.is_empty());
        let prefetched = |line: &&Connected| line.write_prefetch == Some(262_144);
        let lines = connections(&client);
        assert_eq!(lines.iter().filter(prefetched).count(), flows);
    }
}

#[test]
fn a_load_ends_with_a_test_of_bytes() {
    let server = TestServer::on(V4, Tcp);
    let mut plan = client_plan(server.address, Tcp);
    plan.limit = bytes(1000);
    plan.working_load = load(LoadDirection::Both, 2);
    // The load's own limit would be for ever.
    let (_, client) = TestClient::start(plan).wait();
    server.events.wait_for_totals(5);
    server.stop();
    assert_eq!(totals(&client).len(), 5);
}

#[test]
fn a_udp_server_serves_loads_over_tcp_when_asked_to() {
    let udp = |working_load| ServerPlan {
        working_load,
        ..server_plan(V4, Transport::Udp)
    };
    let server = TestServer::start(udp(true));
    let announced = |events: &[Event]| {
        events.iter().find_map(|event| match event {
            Event::Listening(banner) => Some(banner.working_load),
            _ => None,
        })
    };
    let port = server.address.port();
    let wait = |server: &TestServer| {
        let is_announced = |events: &[Event]| announced(events).is_some();
        server.events.wait("a banner", is_announced);
        announced(&server.events.all()).flatten()
    };
    assert_eq!(wait(&server), Some(port));
    let mut plan = client_plan(server.address, Udp);
    plan.limit = time(100);
    plan.working_load = load(LoadDirection::Both, 1);
    let client = succeed(plan.clone());
    server.events.wait_for_totals(3);
    let served = server.stop();
    assert_eq!(directions(&totals(&client)), (1, 1));
    assert_eq!(directions(&totals(&served)), (1, 1));
    let load = connections(&client)
        .into_iter()
        .find(|line| line.flavour == ConnectionFlavour::FullDuplex);
    assert_eq!(load.expect("a load").peer.port(), port);

    let server = TestServer::start(udp(false));
    assert_eq!(wait(&server), None);
    let refused = std::net::TcpStream::connect(server.address);
    assert!(refused.is_err());
    server.stop();
}

#[test]
fn an_ended_udp_server_serves_loads_no_more() {
    let server = TestServer::start(ServerPlan {
        working_load: true,
        time: Some(Duration::from_millis(50)),
        ..server_plan(V4, Transport::Udp)
    });
    server.wait();
}
