//! TCP in every arrangement.

use std::net::IpAddr;

use tapeline_base::Transport::Tcp;
use tapeline_base::{BitRate, ExitCode, Pace};
use tapeline_dialect::{Arrangement, ClientWorkload, Limit};
use tapeline_report::{Event, Measure, Notice, Phase, Subject};

use crate::harness::*;

fn every_arrangement(ip: IpAddr, limit: Limit, parallel: usize) {
    at_once(arrangements(), |arrangement| {
        let server = TestServer::on(ip, Tcp);
        let mut plan = client_plan(server.address, Tcp);
        plan.workload = ClientWorkload::Stream(arrangement);
        plan.limit = limit;
        plan.parallel = parallel;
        let what = format!("{arrangement:?} {limit:?} -P {parallel}");
        let client = succeed(plan);
        let flows = parallel * directions(arrangement);
        server.events.wait_for_totals(flows);
        let served = server.stop();
        assert_agreement(&client, &served, flows, &what);
        if let (Limit::Bytes(limit), 1) = (limit, directions(arrangement)) {
            for row in totals(&client) {
                assert_eq!(row.bytes, limit.0, "{what}");
            }
        }
        for events in [&client, &served] {
            assert_sums(events, arrangement, parallel, &what);
        }
    });
}

/// The sum rows hold every flow exactly once.
#[track_caller]
fn assert_sums(events: &[Event], arrangement: Arrangement, parallel: usize, what: &str) {
    let sums = sums(events);
    let expected = match (arrangement, parallel) {
        (Arrangement::Forward | Arrangement::Reverse | Arrangement::FullDuplex, 1) => 0,
        (Arrangement::Tradeoff { .. }, 1) => 0,
        // What follows has a sum of its own.
        (Arrangement::Tradeoff { .. }, _) => 2,
        // Two connections are two flows, also of one client.
        _ => 1,
    };
    assert_eq!(sums.len(), expected, "{what}: {sums:#?}");
    if expected > 0 {
        let flows: u64 = totals(events).iter().map(|row| row.bytes).sum();
        let all: u64 = sums.iter().map(|row| row.bytes).sum();
        assert_eq!(all, flows, "{what}");
    }
}

#[test]
fn one_flow_by_bytes() {
    every_arrangement(V4, bytes(300_000), 1);
}

#[test]
fn one_flow_by_time() {
    every_arrangement(V4, time(50), 1);
}

#[test]
fn four_flows_by_bytes() {
    every_arrangement(V4, bytes(100_000), 4);
}

#[test]
fn four_flows_by_time() {
    every_arrangement(V4, time(200), 4);
}

#[test]
fn over_ipv6() {
    every_arrangement(V6, bytes(100_000), 1);
    every_arrangement(V6, time(30), 2);
}

#[test]
fn tiny_amounts() {
    // Less than the header, and flows that end before the next one begins.
    for amount in [1, 64, 65, 131_072, 131_073] {
        let server = TestServer::on(V4, Tcp);
        let mut plan = client_plan(server.address, Tcp);
        plan.limit = bytes(amount);
        plan.parallel = 3;
        let client = succeed(plan);
        server.events.wait_for_totals(3);
        let served = server.stop();
        assert_agreement(&client, &served, 3, &amount.to_string());
        assert_sums(&client, Arrangement::Forward, 3, "client");
        assert_sums(&served, Arrangement::Forward, 3, "server");
    }
}

#[test]
fn a_hundred_flows_share_workers() {
    for arrangement in [
        Arrangement::Forward,
        Arrangement::Reverse,
        Arrangement::FullDuplex,
    ] {
        let server = TestServer::on(V4, Tcp);
        let mut plan = client_plan(server.address, Tcp);
        plan.workload = ClientWorkload::Stream(arrangement);
        plan.parallel = 100;
        plan.limit = bytes(50_000);
        let client = succeed(plan);
        let flows = 100 * directions(arrangement);
        server.events.wait_for_totals(flows);
        let served = server.stop();
        let what = format!("{arrangement:?}");
        assert_agreement(&client, &served, flows, &what);
        assert_sums(&client, arrangement, 100, &what);
        assert_sums(&served, arrangement, 100, &what);
    }
}

#[test]
fn a_hundred_paced_flows_keep_their_amounts() {
    let server = TestServer::on(V4, Tcp);
    let mut plan = client_plan(server.address, Tcp);
    plan.parallel = 100;
    plan.length = Some(1000);
    plan.limit = bytes(5000);
    plan.pace = Some(Pace::Bits(BitRate(200_000)));
    let client = succeed(plan);
    server.events.wait_for_totals(100);
    assert_agreement(&client, &server.stop(), 100, "paced");
}

#[test]
fn intervals_add_up_at_both_ends() {
    let server = TestServer::start(tapeline_dialect::ServerPlan {
        interval: Some(std::time::Duration::from_millis(100)),
        ..server_plan(V4, Tcp)
    });
    let mut plan = client_plan(server.address, Tcp);
    plan.limit = time(350);
    plan.interval = Some(std::time::Duration::from_millis(100));
    plan.pace = Some(Pace::Bits(BitRate(50_000_000)));
    plan.length = Some(8192);
    plan.parallel = 2;
    let client = succeed(plan);
    server.events.wait_for_totals(2);
    let served = server.stop();
    for events in [&client, &served] {
        for total in totals(events) {
            let own = |subject: Subject| subject == total.subject;
            let intervals = rows(events, Phase::Interval, own);
            assert!(intervals.len() >= 3, "{intervals:#?}");
            let reported: u64 = intervals.iter().map(|row| row.bytes).sum();
            // What follows the last reported boundary may be missing, nothing else.
            let end = intervals.iter().map(|row| row.span.end).max();
            assert!(reported <= total.bytes);
            if end == Some(total.span.end) {
                assert_eq!(reported, total.bytes);
            }
        }
        let of_all = |subject| matches!(subject, Subject::Sum { .. });
        let sums = rows(events, Phase::Interval, of_all);
        assert!(sums.len() >= 3, "{sums:#?}");
    }
}

#[test]
fn the_version_question_is_answered_in_every_direction() {
    // The question and an order to connect back exclude each other on the wire.
    for arrangement in arrangements().into_iter().take(3) {
        let server = TestServer::on(V4, Tcp);
        let mut plan = client_plan(server.address, Tcp);
        plan.workload = ClientWorkload::Stream(arrangement);
        plan.peer_detect = true;
        let client = succeed(plan);
        let flows = directions(arrangement);
        server.events.wait_for_totals(flows);
        let what = format!("{arrangement:?}");
        assert_agreement(&client, &server.stop(), flows, &what);
        let versions: Vec<_> = client
            .iter()
            .filter_map(|event| match event {
                Event::Connected(line) => line.peer_version.clone(),
                _ => None,
            })
            .collect();
        assert_eq!(versions.len(), 1, "{what}");
    }
}

#[test]
fn a_dual_test_goes_on_without_the_version_question() {
    for arrangement in arrangements().into_iter().skip(3) {
        let server = TestServer::on(V4, Tcp);
        let mut plan = client_plan(server.address, Tcp);
        plan.workload = ClientWorkload::Stream(arrangement);
        plan.peer_detect = true;
        let (code, client) = TestClient::start(plan).wait();
        assert_eq!(code, ExitCode::Success, "{arrangement:?}");
        let reported =
            |notice: &&Notice| matches!(notice, Notice::Remark(text) if text.starts_with("-X"));
        assert_eq!(notices(&client).iter().filter(reported).count(), 1);
        server.events.wait_for_totals(2);
        assert_agreement(&client, &server.stop(), 2, &format!("{arrangement:?}"));
    }
}

#[test]
fn without_a_header_everything_is_payload() {
    let server = TestServer::on(V4, Tcp);
    let mut plan = client_plan(server.address, Tcp);
    plan.compatibility = true;
    plan.parallel = 2;
    let client = succeed(plan);
    server.events.wait_for_totals(2);
    assert_agreement(&client, &server.stop(), 2, "-C");
}

#[test]
fn requests_are_answered() {
    for size in [68, 100, 1000, 1 << 20] {
        let server = TestServer::on(V4, Tcp);
        let mut plan = client_plan(server.address, Tcp);
        plan.workload = ClientWorkload::RequestResponse(
            tapeline_dialect::RequestResponsePlan::back_to_back(size),
        );
        plan.limit = time(100);
        plan.parallel = 2;
        let client = succeed(plan);
        server.events.wait_for_totals(2);
        let served = server.stop();
        for row in totals(&client) {
            let Measure::RequestResponse(exchange) = &row.measure else {
                panic!("{row:#?}");
            };
            let count = exchange.round_trips.count;
            assert!(count > 0, "{size}");
            assert_eq!(exchange.received, count * u64::from(size));
            assert!(count < 100 || exchange.percentiles[0].is_some());
        }
        let there: u64 = totals(&client).iter().map(|row| row.bytes).sum();
        let here: u64 = totals(&served).iter().map(|row| row.bytes).sum();
        assert_eq!(there, here, "{size}");
    }
}
