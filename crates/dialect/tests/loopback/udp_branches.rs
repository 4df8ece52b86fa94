//! Busy UDP flows that get sockets of their own at the server, by clients of raw sockets.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use tapeline_base::Transport::Udp;
use tapeline_dialect::{BindPlan, Limits, Networks, ServerPlan, Technique, Techniques};
use tapeline_report::Notice;
use tapeline_wire::iperf2::DatagramStamp;

use crate::harness::*;
use crate::udp_endings::{Raw, received};

/// Sockets that are bound to a port of this host.
fn sockets(port: u16) -> usize {
    let bound = |table: &str| {
        let table = std::fs::read_to_string(table).unwrap_or_default();
        let local = format!(":{port:04X}");
        let is_ours = |line: &&str| {
            let address = line.split_whitespace().nth(1);
            address.is_some_and(|address| address.ends_with(&local))
        };
        table.lines().filter(is_ours).count()
    };
    bound("/proc/net/udp") + bound("/proc/net/udp6")
}

#[track_caller]
fn await_sockets(port: u16, count: usize) {
    let end = Instant::now() + LIMIT;
    while sockets(port) != count {
        assert!(Instant::now() < end, "{} sockets", sockets(port));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A flow that counts its datagrams.
struct BusyFlow {
    client: Raw,
    sent: i64,
}

impl BusyFlow {
    fn new(server: &TestServer) -> Self {
        Self {
            client: Raw::new(server),
            sent: 0,
        }
    }

    fn send(&mut self) {
        self.sent += 1;
        // Stamps are no older than those before, and not ahead of the clock.
        self.client.send_stamped(self.sent, 0);
    }

    fn finish(&mut self) {
        self.client.send_stamped(-(self.sent + 1), 0);
    }

    /// Asks until the report is there, which must say that all have arrived.
    fn expect_all(&mut self) {
        self.finish();
        let report = self.client.report();
        let counts = (report.datagrams, report.lost, report.out_of_order);
        assert_eq!(counts, (self.sent as u64 + 1, 0, 0));
    }
}

/// There is more than one processor to branch to.
fn has_processors() -> bool {
    std::thread::available_parallelism().is_ok_and(|count| count.get() > 1)
}

/// Sends from all flows by turns until the server has so many sockets.
#[track_caller]
fn send_until(flows: &mut [BusyFlow], server: &TestServer, count: usize) {
    let (port, end) = (server.address.port(), Instant::now() + LIMIT);
    while sockets(port) < count {
        assert!(Instant::now() < end, "{} sockets", sockets(port));
        send(flows, 10);
    }
}

/// Sends so many datagrams from each flow, about 10 in a millisecond.
fn send(flows: &mut [BusyFlow], count: usize) {
    for _ in 0..count {
        flows.iter_mut().for_each(BusyFlow::send);
        std::thread::sleep(Duration::from_micros(100));
    }
}

fn two_flows(plan: ServerPlan) -> Option<(TestServer, Vec<BusyFlow>)> {
    if !has_processors() {
        return None;
    }
    let server = TestServer::start(plan);
    let mut flows: Vec<BusyFlow> = (0..2).map(|_| BusyFlow::new(&server)).collect();
    send_until(&mut flows, &server, 3);
    Some((server, flows))
}

fn two_flows_to(bound: IpAddr, reached: IpAddr) {
    let plan = ServerPlan {
        bind: Some(BindPlan::address(&bound.to_string())),
        ..server_plan(reached, Udp)
    };
    if !has_processors() {
        return;
    }
    let mut server = TestServer::start(plan);
    server.address.set_ip(reached);
    let mut flows: Vec<BusyFlow> = (0..2).map(|_| BusyFlow::new(&server)).collect();
    send_until(&mut flows, &server, 3);
    send(&mut flows, 100);
    flows.iter_mut().for_each(BusyFlow::expect_all);
    server.events.wait_for_totals(2);
    // What nobody asks any more is the server's socket's again.
    await_sockets(server.address.port(), 1);
    for flow in &mut flows {
        // The report is still known there, and late data begins nothing.
        flow.client.send_as(DatagramStamp {
            id: flow.sent,
            seconds: 1,
            micros: 0,
        });
        flow.expect_all();
    }
    let served = received(&server.stop());
    assert_eq!(served.len(), 2);
    for (flow, served) in flows.iter().zip(&served) {
        assert_eq!(served.received as i64, flow.sent + 1);
        assert_eq!((served.lost, served.out_of_order), (0, 0));
    }
}

#[test]
fn each_of_two_busy_flows_has_a_socket_and_all_its_datagrams() {
    two_flows_to(V4, V4);
    two_flows_to(V6, V6);
}

#[test]
fn the_same_at_a_server_for_all_addresses() {
    two_flows_to("0.0.0.0".parse().expect("an address"), V4);
    two_flows_to("::".parse().expect("an address"), V4);
    two_flows_to("::".parse().expect("an address"), V6);
}

#[test]
fn a_flow_alone_and_flows_that_are_not_busy_share_the_servers_socket() {
    let server = TestServer::on(V4, Udp);
    let mut busy = [BusyFlow::new(&server)];
    let mut calm = BusyFlow::new(&server);
    for _ in 0..20 {
        send(&mut busy, 50);
        assert_eq!(sockets(server.address.port()), 1);
    }
    busy[0].expect_all();
    calm.send();
    calm.expect_all();
    let mut calm = [BusyFlow::new(&server), BusyFlow::new(&server)];
    let until = Instant::now() + Duration::from_millis(300);
    while Instant::now() < until {
        calm.iter_mut().for_each(BusyFlow::send);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(sockets(server.address.port()), 1);
    }
    calm.iter_mut().for_each(BusyFlow::expect_all);
    assert_eq!(received(&server.stop()).len(), 4);
}

#[test]
fn the_technique_can_be_left_out() {
    let plan = ServerPlan {
        techniques: Techniques::default().without(Technique::FlowSockets),
        ..server_plan(V4, Udp)
    };
    let server = TestServer::start(plan);
    let mut flows = [BusyFlow::new(&server), BusyFlow::new(&server)];
    for _ in 0..10 {
        send(&mut flows, 100);
        assert_eq!(sockets(server.address.port()), 1);
    }
    flows.iter_mut().for_each(BusyFlow::expect_all);
    server.stop();
}

#[test]
fn no_more_flows_are_branched_than_there_are_processors() {
    if !has_processors() {
        return;
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let server = TestServer::on(V4, Udp);
    let mut flows: Vec<BusyFlow> = (0..processors + 2)
        .map(|_| BusyFlow::new(&server))
        .collect();
    send_until(&mut flows, &server, processors + 1);
    for _ in 0..20 {
        send(&mut flows, 50);
        assert_eq!(sockets(server.address.port()), processors + 1);
    }
    flows.iter_mut().for_each(BusyFlow::expect_all);
    assert_eq!(received(&server.stop()).len(), flows.len());
}

#[test]
fn a_port_that_is_used_again_begins_another_flow_with_all_its_datagrams() {
    let Some((server, mut flows)) = two_flows(server_plan(V4, Udp)) else {
        return;
    };
    let mut sent = Vec::new();
    // Behind an end, and behind one that never came.
    for ends in [true, false, true] {
        sent.extend(flows.iter().map(|flow| flow.sent as u64 + u64::from(ends)));
        for flow in &mut flows {
            if ends {
                flow.expect_all();
            }
            flow.sent = 0;
        }
        send(&mut flows, 200);
    }
    sent.extend(flows.iter().map(|flow| flow.sent as u64 + 1));
    flows.iter_mut().for_each(BusyFlow::expect_all);
    let served = received(&server.stop());
    let mut counted: Vec<u64> = served.iter().map(|flow| flow.received).collect();
    counted.sort_unstable();
    sent.sort_unstable();
    assert_eq!(counted, sent);
    assert!(
        served
            .iter()
            .all(|flow| (flow.lost, flow.out_of_order) == (0, 0))
    );
}

#[test]
fn a_server_of_two_flows_ends_behind_them() {
    let plan = ServerPlan {
        connections: Some(2),
        ..server_plan(V4, Udp)
    };
    let Some((server, mut flows)) = two_flows(plan) else {
        return;
    };
    // A third one does not begin.
    let mut third = BusyFlow::new(&server);
    third.send();
    flows.iter_mut().for_each(BusyFlow::expect_all);
    // The same client's next flow is a third one, too.
    let again = &mut flows[0];
    again.sent = 0;
    again.send();
    let served = received(&server.wait());
    assert_eq!(served.len(), 2);
}

#[test]
fn a_server_that_is_stopped_reports_to_the_clients_of_branched_flows() {
    let Some((server, flows)) = two_flows(server_plan(V4, Udp)) else {
        return;
    };
    let served = server.stop();
    let unasked = |notice: &Notice| matches!(notice, Notice::ReportUnacknowledged { .. });
    assert_eq!(notices(&served).into_iter().filter(unasked).count(), 2);
    let counted: u64 = received(&served).iter().map(|flow| flow.received).sum();
    let reports = flows.iter().map(|flow| flow.client.report().datagrams);
    assert_eq!(reports.sum::<u64>(), counted);
    // What was sent last may not have been read.
    assert!(flows.iter().map(|flow| flow.sent as u64).sum::<u64>() >= counted);
}

#[test]
fn a_branched_flow_that_has_had_all_it_may_have_is_cut_and_begins_no_other() {
    let plan = ServerPlan {
        limits: Limits {
            trusted: Networks::none(),
            longest: Duration::from_secs(1),
            ..Limits::default()
        },
        ..server_plan(V4, Udp)
    };
    let Some((server, mut flows)) = two_flows(plan) else {
        return;
    };
    while totals(&server.events.all()).len() < 2 {
        send(&mut flows, 50);
    }
    // They stay cut as long as their clients send, whichever socket has them.
    while sockets(server.address.port()) > 1 {
        send(&mut flows, 50);
    }
    send(&mut flows, 500);
    let served = server.stop();
    assert_eq!(received(&served).len(), 2, "{:?}", notices(&served));
}

#[test]
fn a_branched_flow_that_falls_silent_ends_and_the_other_goes_on() {
    let Some((server, mut flows)) = two_flows(server_plan(V4, Udp)) else {
        return;
    };
    let lost = flows.pop().expect("a flow");
    while totals(&server.events.all()).is_empty() {
        send(&mut flows, 50);
    }
    send_until(&mut flows, &server, 2);
    flows[0].expect_all();
    let served = server.stop();
    let vanished = |notice: &Notice| matches!(notice, Notice::PeerVanished { .. });
    assert_eq!(notices(&served).into_iter().filter(vanished).count(), 1);
    let counted: Vec<u64> = received(&served).iter().map(|flow| flow.received).collect();
    assert_eq!(counted, [lost.sent as u64, flows[0].sent as u64 + 1]);
}
