//! Thousands of flows at once, in a program of their own: next to other tests they would take
//! their processors and descriptors.

#[allow(dead_code, reason = "each test program uses its part")]
#[path = "../loopback/harness.rs"]
mod harness;

use std::net::{IpAddr, Ipv4Addr};

use tapeline_base::Transport::Tcp;
use tapeline_report::Event;

use harness::{TestServer, assert_agreement, bytes, client_plan, succeed};

#[test]
fn every_one_of_two_thousand_flows_is_served_and_reported() {
    let server = TestServer::on(IpAddr::V4(Ipv4Addr::LOCALHOST), Tcp);
    let mut plan = client_plan(server.address, Tcp);
    // All connections wait for their first message at the same time.
    plan.connect_sync = true;
    plan.parallel = 2000;
    plan.length = Some(1000);
    plan.limit = bytes(3000);
    let client = succeed(plan);
    let over = |events: &[Event]| matches!(events.last(), Some(Event::Idle));
    server.events.wait("end", over);
    assert_agreement(&client, &server.stop(), 2000, "many");
}
