//! UDP in every arrangement.

use std::net::IpAddr;

use tapeline_base::Transport::Udp;
use tapeline_base::{BitRate, Pace};
use tapeline_dialect::{Arrangement, ClientWorkload, Limit};
use tapeline_report::{Event, Measure, Row};

use crate::harness::*;

fn server_reports(events: &[Event]) -> Vec<Row> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::ServerReport { row, .. } => Some(row.clone()),
            _ => None,
        })
        .collect()
}

#[track_caller]
fn assert_nothing_lost(events: &[Event], what: &str) {
    for row in totals(events) {
        if let Measure::UdpReceive(udp) = &row.measure {
            let all = (udp.lost, udp.duplicates, udp.reordered, udp.truncated);
            assert_eq!(all, (0, 0, 0, 0), "{what}: {row:#?}");
            assert_eq!(udp.received, udp.total, "{what}");
        }
    }
}

fn every_arrangement(ip: IpAddr, limit: Limit, parallel: usize) {
    at_once(arrangements(), |arrangement| {
        let server = TestServer::on(ip, Udp);
        let mut plan = client_plan(server.address, Udp);
        plan.workload = ClientWorkload::Stream(arrangement);
        plan.limit = limit;
        plan.parallel = parallel;
        let what = format!("{arrangement:?} {limit:?} -P {parallel}");
        let client = succeed(plan);
        let flows = parallel * directions(arrangement);
        server.events.wait_for_totals(flows);
        let served = server.stop();
        assert_agreement(&client, &served, flows, &what);
        assert_nothing_lost(&client, &what);
        assert_nothing_lost(&served, &what);
        let reports = match arrangement {
            Arrangement::Reverse | Arrangement::FullDuplex => 0,
            _ => parallel,
        };
        let reports_seen = server_reports(&client);
        assert_eq!(reports_seen.len(), reports, "{what}");
        let total: u64 = reports_seen.iter().map(|row| row.bytes).sum();
        let sent: u64 = carried(&client, true).iter().map(|flow| flow.2).sum();
        if reports > 0 {
            assert_eq!(total, sent, "{what}");
        }
        if parallel > 1 && !matches!(arrangement, Arrangement::Tradeoff { .. }) {
            for events in [&client, &served] {
                let sums = sums(events);
                assert_eq!(sums.len(), 1, "{what}: {sums:#?}");
                let flows: u64 = totals(events).iter().map(|row| row.bytes).sum();
                assert_eq!(sums[0].bytes, flows, "{what}");
            }
        }
    });
}

#[test]
fn one_flow_by_bytes() {
    every_arrangement(V4, bytes(50_000), 1);
}

#[test]
fn one_flow_by_time() {
    every_arrangement(V4, time(50), 1);
}

#[test]
fn four_flows_by_bytes() {
    every_arrangement(V4, bytes(30_000), 4);
}

#[test]
fn over_ipv6() {
    every_arrangement(V6, bytes(30_000), 1);
    every_arrangement(V6, time(30), 2);
}

#[test]
fn flows_that_end_before_the_next_begins_are_one_sum() {
    every_arrangement(V4, bytes(1), 3);
}

#[test]
fn a_hundred_flows() {
    let server = TestServer::on(V4, Udp);
    let mut plan = client_plan(server.address, Udp);
    plan.parallel = 100;
    plan.length = Some(100);
    plan.limit = bytes(500);
    plan.pace = Some(Pace::Bits(BitRate(20_000)));
    let client = succeed(plan);
    server.events.wait_for_totals(100);
    let served = server.stop();
    assert_agreement(&client, &served, 100, "-P 100");
    let ports: std::collections::BTreeSet<_> =
        carried(&client, true).iter().map(|flow| flow.0).collect();
    assert_eq!(ports.len(), 100, "two flows on one port are one flow");
    assert_nothing_lost(&served, "-P 100");
    assert_eq!(server_reports(&client).len(), 100);
}

#[test]
fn every_length_of_datagram() {
    for (length, datagrams) in [
        (16, 50),
        (17, 10),
        (79, 10),
        (80, 10),
        (1470, 10),
        (65_507, 2),
    ] {
        let server = TestServer::on(V4, Udp);
        let mut plan = client_plan(server.address, Udp);
        plan.length = Some(length);
        plan.limit = bytes(u64::from(length) * datagrams);
        let client = succeed(plan);
        server.events.wait_for_totals(1);
        let served = server.stop();
        let what = format!("-l {length}");
        assert_agreement(&client, &served, 1, &what);
        assert_nothing_lost(&served, &what);
        assert_eq!(server_reports(&client)[0].bytes, totals(&served)[0].bytes);
    }
}

#[test]
fn without_settings_and_without_a_report() {
    for (compatibility, udp_fin) in [(true, true), (false, false)] {
        let server = TestServer::on(V4, Udp);
        let mut plan = client_plan(server.address, Udp);
        plan.compatibility = compatibility;
        plan.udp_fin = udp_fin;
        let client = succeed(plan);
        server.events.wait_for_totals(1);
        let served = server.stop();
        assert_agreement(&client, &served, 1, "plain");
        assert_eq!(server_reports(&client).len(), usize::from(udp_fin));
    }
}

#[test]
fn a_reverse_test_by_bytes_is_forgotten_when_it_has_ended() {
    // One test at a time: the second one begins although the first had no time limit.
    let server = TestServer::start(tapeline_dialect::ServerPlan {
        single_udp: true,
        ..server_plan(V4, Udp)
    });
    for round in 1..=2 {
        let mut plan = client_plan(server.address, Udp);
        plan.workload = ClientWorkload::Stream(Arrangement::Reverse);
        plan.limit = bytes(20_000);
        succeed(plan);
        server.events.wait_for_totals(round);
    }
    server.stop();
}
