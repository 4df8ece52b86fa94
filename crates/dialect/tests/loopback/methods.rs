//! Sessions of clients that order parts of a method, and servers that do them or not.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{BitRate, Clock, Transport};
use tapeline_dialect::{
    AllowedMethods, Arrangement, ClientPlan, ClientWorkload, Done, FlowProbes, Interruption,
    Limits, LoadParameters, MethodFlow, MethodSession, Networks, Order, OrderDirection, OrderEnd,
    PathMtuRequest, Precision, ReceiveLoad, SendLoad, ServedTransports, ServerPlan, SessionError,
    SessionEvent, measure_path_mtu, receive_load, send_load,
};
use tapeline_stats::{LoadRules, LoadSearch, LoadTable};
use tapeline_sys::SystemClock;

use crate::harness::{
    LIMIT, TestClient, TestServer, V4, V6, client_plan, server_plan, succeed, time, totals,
};

fn plan(ip: IpAddr) -> ServerPlan {
    ServerPlan {
        transports: ServedTransports::Both,
        control: true,
        ..server_plan(ip, Transport::Tcp)
    }
}

fn foreign(limits: Limits) -> ServerPlan {
    ServerPlan {
        limits: Limits {
            trusted: Networks::none(),
            ..limits
        },
        ..plan(V4)
    }
}

fn client(server: &TestServer) -> ClientPlan {
    client_plan(server.address, Transport::Tcp)
}

fn open(server: &TestServer) -> Result<MethodSession, SessionError> {
    let interruption = Interruption::new().expect("interruption");
    MethodSession::open(&client(server), &interruption)
}

fn order(method: &str, direction: OrderDirection, seconds: f64) -> Order {
    Order {
        method: method.to_owned(),
        direction,
        seconds: Duration::from_secs_f64(seconds),
        parameters: LoadParameters::default(),
    }
}

#[test]
fn a_session_knows_what_the_server_does_and_probes_it() {
    for ip in [V4, V6] {
        let server = TestServer::start(plan(ip));
        let mut session = open(&server).expect("a session");
        assert_eq!(session.server().program, "tapeline");
        assert_eq!(session.methods().version("samples"), Some(1));
        assert_eq!(session.peer(), server.address);
        let row = session.probe(10, Duration::from_millis(5)).expect("probes");
        assert_eq!((row.sent, row.round_trips.len()), (10, 10));
        assert!(
            row.round_trips
                .iter()
                .all(|trip| *trip < Duration::from_secs(1))
        );
        let unknown = order("something", OrderDirection::Up, 1.0);
        let declined = session.order(&unknown);
        assert!(
            matches!(declined, Err(SessionError::Declined(_))),
            "{declined:?}"
        );
        // The server serves on.
        succeed(ClientPlan {
            limit: time(100),
            ..client(&server)
        });
        drop(session);
        server.stop();
    }
}

#[test]
fn servers_that_take_no_orders_are_told_apart() {
    let opened = |plan| open(&TestServer::start(plan)).map(drop);
    let plain = ServerPlan {
        control: false,
        ..plan(V4)
    };
    assert_eq!(opened(plain), Err(SessionError::NotTapeline));
    let streams_alone = ServerPlan {
        transports: ServedTransports::Tcp,
        ..plan(V4)
    };
    assert_eq!(opened(streams_alone), Err(SessionError::NoMethods));
    let one_test = ServerPlan {
        connections: Some(3),
        ..plan(V4)
    };
    assert_eq!(opened(one_test), Err(SessionError::NoMethods));
    let none = foreign(Limits {
        methods: AllowedMethods::parse("none").expect("methods"),
        ..Limits::default()
    });
    assert_eq!(opened(none), Err(SessionError::NoMethods));
    let no_tests = foreign(Limits {
        tests: 0,
        ..Limits::default()
    });
    assert!(matches!(opened(no_tests), Err(SessionError::Refused(_))));
    // Nobody is there.
    let gone = {
        let server = TestServer::start(plan(V4));
        let gone = client(&server);
        server.stop();
        gone
    };
    let interruption = Interruption::new().expect("interruption");
    let opened = MethodSession::open(&gone, &interruption);
    assert!(
        matches!(opened, Err(SessionError::Connect { .. })),
        "{opened:?}"
    );
    interruption.interrupt();
    let opened = MethodSession::open(&gone, &interruption);
    assert_eq!(opened.map(drop), Err(SessionError::Interrupted));
}

#[test]
fn samples_show_the_servers_senders_in_a_test() {
    let server = TestServer::start(foreign(Limits {
        rate: Some(BitRate(80_000_000)),
        ..Limits::default()
    }));
    let mut session = open(&server).expect("a session");
    let number = MethodSession::test_number();
    let test = TestClient::start(ClientPlan {
        workload: ClientWorkload::Stream(Arrangement::Reverse),
        limit: time(1500),
        parallel: 2,
        control: true,
        test_number: Some(number),
        ..client(&server)
    });
    let mut wanted = order("samples", OrderDirection::Down, 20.0);
    wanted.parameters.test = Some(number);
    let ready = session.order(&wanted).expect("ready");
    assert_eq!((ready.udp_port, ready.key), (None, None));
    let again = session.order(&wanted);
    assert!(matches!(again, Err(SessionError::Declined(_))), "{again:?}");
    let (_, events) = test.wait();
    assert!(totals(&events).len() >= 2);
    session.end_order("enough");
    let mut samples = Vec::new();
    let done = loop {
        match session.next_event(LIMIT).expect("events") {
            Some(SessionEvent::Sample(sample)) => samples.push(sample),
            Some(SessionEvent::Done(done)) => break done,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(done.end, OrderEnd::Stopped);
    let mut tokens: Vec<_> = samples.iter().filter_map(|sample| sample.token).collect();
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 2, "{samples:?}");
    // Ten a second of each, on a machine that may be busy.
    assert!((10..=40).contains(&samples.len()), "{}", samples.len());
    if cfg!(target_os = "linux") {
        let sent = samples.iter().filter_map(|sample| sample.bytes_sent).max();
        assert!(sent > Some(100_000), "{samples:?}");
    }
    // An order that has ended makes room for the next one.
    wanted.seconds = Duration::from_millis(50);
    session.order(&wanted).expect("ready");
    let done = session.wait_done(LIMIT).expect("its end");
    assert_eq!(done.end, OrderEnd::Complete);
    drop(session);
    server.stop();
}

#[test]
fn a_stopped_server_ends_its_sessions() {
    let server = TestServer::start(plan(V4));
    let mut session = open(&server).expect("a session");
    let mut wanted = order("samples", OrderDirection::Down, 20.0);
    wanted.parameters.test = Some(MethodSession::test_number());
    session.order(&wanted).expect("ready");
    server.stop();
    let done = session.wait_done(LIMIT);
    let ended = matches!(&done, Ok(done) if done.end == OrderEnd::ServerStopped);
    assert!(
        ended || matches!(done, Err(SessionError::Broken(_))),
        "{done:?}"
    );
    let again = session.order(&wanted);
    assert!(
        matches!(again, Err(SessionError::Connect { .. })),
        "{again:?}"
    );
}

/// A server that sends strangers 5 Mbit/s for a method.
fn slow() -> TestServer {
    TestServer::start(foreign(Limits {
        method_udp_rate: BitRate(5_000_000),
        ..Limits::default()
    }))
}

#[test]
fn a_load_comes_down_as_fast_as_is_granted() {
    let server = slow();
    let mut session = open(&server).expect("a session");
    let wanted = order("capacity", OrderDirection::Down, 2.0);
    let ready = session.order(&wanted).expect("ready");
    assert_eq!(
        ready.bits_per_second.map(|rate| rate.get()),
        Some(5_000_000)
    );
    let mut flow = session.flow(&ready).expect("a flow");
    let mut reports = Vec::new();
    let plan = ReceiveLoad {
        feedback: Duration::from_millis(50),
        until: SystemClock.now() + Duration::from_secs(4),
        silence: Duration::from_secs(1),
        bytes: None,
    };
    let received = receive_load(&mut flow, &plan, &mut || false, &mut |report| {
        reports.push(*report);
    });
    // The server's time is over before this end's.
    assert_eq!(received.end, OrderEnd::NoFeedback);
    let last = received.last.expect("a load");
    let done = session.wait_done(LIMIT).expect("its end");
    assert_eq!(
        (done.end, done.datagrams_sent),
        (OrderEnd::Complete, last.datagrams)
    );
    let load = done.load.expect("what the server did");
    assert_eq!(load.row_final, 5, "{load:?}");
    assert!(load.statuses >= 20 && reports.len() >= 20, "{load:?}");
    let rate = (last.bytes + 28 * last.datagrams) as f64 * 8.0 / 2.0;
    assert!((3.5e6..5.2e6).contains(&rate), "{rate}");
    assert!(reports.iter().any(|report| report.round_trip > 0));
    server.stop();
}

#[test]
fn a_load_goes_up_and_comes_back_as_reports() {
    let server = slow();
    let mut session = open(&server).expect("a session");
    let wanted = order("capacity", OrderDirection::Up, 10.0);
    let ready = session.order(&wanted).expect("ready");
    let mut flow = session.flow(&ready).expect("a flow");
    let table = LoadTable::up_to(Some(BitRate(8_000_000)));
    let mut search = LoadSearch::new(table, LoadRules::default());
    let plan = SendLoad {
        length: 1222,
        until: SystemClock.now() + Duration::from_millis(1500),
        bytes: None,
        most: None,
        silence: Duration::from_secs(1),
        precision: Precision::Economical,
        segmentation: false,
    };
    let mut steps = 0;
    let sent = send_load(&mut flow, &plan, &mut search, &mut || false, &mut |_| {
        steps += 1
    });
    assert_eq!(sent.end, OrderEnd::Complete);
    assert!(sent.load.row_final >= 8 && steps >= 15, "{sent:?}");
    session.end_order("enough");
    let mut last = None;
    let done = loop {
        match session.next_event(LIMIT).expect("events") {
            Some(SessionEvent::Status(status)) => last = Some(status),
            Some(SessionEvent::Done(done)) => break done,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(done.end, OrderEnd::Stopped);
    let last = last.expect("a report");
    assert_eq!((last.datagrams, last.lost), (sent.datagrams, 0));
    assert_eq!(last.bytes, sent.bytes);
    server.stop();
}

#[test]
fn a_load_ends_without_its_receiver() {
    let server = slow();
    let mut session = open(&server).expect("a session");
    let wanted = order("capacity", OrderDirection::Down, 20.0);
    let ready = session.order(&wanted).expect("ready");
    let flow = session.flow(&ready).expect("a flow");
    drop(flow);
    let done = session.wait_done(LIMIT).expect("its end");
    assert!(
        matches!(done.end, OrderEnd::NoFeedback | OrderEnd::Failed),
        "{done:?}"
    );
    assert!(done.elapsed_ns < 3_000_000_000, "{done:?}");
    // Nobody shows this key.
    let ready = session.order(&wanted).expect("ready");
    assert!(ready.key.is_some() && ready.udp_port.is_some());
    let done = session.wait_done(LIMIT).expect("its end");
    assert_eq!((done.end, done.datagrams_sent), (OrderEnd::NotOpened, 0));
    server.stop();
}

#[test]
fn a_path_is_searched_both_ways() {
    for ip in [V4, V6] {
        let server = TestServer::start(plan(ip));
        let mut session = open(&server).expect("a session");
        assert!(session.methods().version("mtu").is_some());
        let mut wanted = order("mtu", OrderDirection::Up, 20.0);
        let ready = session.order(&wanted).expect("ready");
        let mut flow = session.flow(&ready).expect("a flow");
        let request = PathMtuRequest {
            largest: Some(4000),
            is_quick: true,
            ..PathMtuRequest::default()
        };
        let socket = std::sync::Arc::clone(flow.socket());
        let mut never = || false;
        let mut probes = FlowProbes::new(&mut flow, &mut never);
        let found = measure_path_mtu(&socket, &request, &mut probes).expect("a search");
        assert_eq!(found.outcome.size, Some(4000));
        session.end_order("enough");
        let done = session.wait_done(LIMIT).expect("its end");
        assert_eq!(done.end, OrderEnd::Stopped);
        let controls = u64::from(found.outcome.controls);
        assert_eq!(done.controls_received, Some(controls), "{done:?}");
        wanted.direction = OrderDirection::Down;
        wanted.parameters.largest = Some(3000);
        wanted.parameters.quick = Some(true);
        let ready = session.order(&wanted).expect("ready");
        let mut flow = session.flow(&ready).expect("a flow");
        let done = answered(&mut session, &mut flow);
        assert_eq!(done.end, OrderEnd::Complete, "{done:?}");
        let path = done.path_mtu.expect("a result");
        assert_eq!(path.mtu_bytes, Some(3000), "{path:?}");
        assert!(path.probes_answered > 0 && path.error.is_none());
        drop(session);
        server.stop();
    }
}

/// Answers a server's probes until its search is over.
fn answered(session: &mut MethodSession, flow: &mut MethodFlow) -> Done {
    loop {
        flow.answer_probes(Duration::from_millis(10))
            .expect("probes");
        let event = session.next_event(Duration::ZERO).expect("events");
        if let Some(SessionEvent::Done(done)) = event {
            return *done;
        }
    }
}

/// Stands between the datagrams of a client and a server; returns its address, and ends when the
/// client's socket has been closed for a while.
///
/// Datagrams of more than `longest` bytes vanish on the way down, and up but one of `signs` opens.
fn lossy(server: SocketAddr, longest: usize, signs: u32) -> SocketAddr {
    let bind = || {
        let socket = UdpSocket::bind((V4, 0)).expect("a socket");
        let timeout = Some(Duration::from_secs(2));
        socket.set_read_timeout(timeout).expect("a timeout");
        Arc::new(socket)
    };
    let (near, far) = (bind(), bind());
    far.connect(server).expect("a server");
    let address = near.local_addr().expect("an address");
    let (up, down) = ((Arc::clone(&near), Arc::clone(&far)), (far, near));
    std::thread::spawn(move || {
        let (near, far) = up;
        let (mut buffer, mut opens, mut back) = ([0; 2048], 0, Some(down));
        while let Ok((count, client)) = near.recv_from(&mut buffer) {
            if let Some((far, near)) = back.take() {
                std::thread::spawn(move || {
                    let mut buffer = [0; 8192];
                    while let Ok(count) = far.recv(&mut buffer) {
                        if count <= longest {
                            let _ = near.send_to(&buffer[..count], client);
                        }
                    }
                });
            }
            // The kind stands behind eight bytes of the protocol's name.
            let is_open = buffer[8] == 1;
            opens += u32::from(is_open);
            if !is_open || opens % signs == 1 % signs {
                let _ = far.send(&buffer[..count]);
            }
        }
    });
    address
}

#[test]
fn a_search_goes_on_while_any_sign_of_the_client_arrives() {
    // Four of five signs are lost; and packets leave so slowly that the next one is always due.
    for (signs, rate) in [(5, 100_000_000), (1, 400_000)] {
        let server = TestServer::start(foreign(Limits {
            method_udp_rate: BitRate(rate),
            ..Limits::default()
        }));
        let mut session = open(&server).expect("a session");
        let mut wanted = order("mtu", OrderDirection::Down, 20.0);
        wanted.parameters.largest = Some(2000);
        let mut ready = session.order(&wanted).expect("ready");
        ready.udp_port = NonZeroU16::new(lossy(server.address, 1400, signs).port());
        let mut flow = session.flow(&ready).expect("a flow");
        let done = answered(&mut session, &mut flow);
        let path = done.path_mtu.expect("a result");
        assert_eq!((done.end, path.mtu_bytes), (OrderEnd::Complete, Some(1428)));
        assert!(path.exact && path.error.is_none(), "{path:?}");
        drop(session);
        server.stop();
    }
}

#[test]
fn other_limits_hold_for_the_next_order() {
    let only = |methods: &str| Limits {
        trusted: Networks::none(),
        methods: AllowedMethods::parse(methods).expect("methods"),
        ..Limits::default()
    };
    let server = TestServer::start(foreign(only("samples")));
    let mut session = open(&server).expect("a session");
    let mut wanted = order("samples", OrderDirection::Down, 0.05);
    wanted.parameters.test = Some(MethodSession::test_number());
    session.order(&wanted).expect("ready");
    session.wait_done(LIMIT).expect("its end");
    server.limits().replace(only("none"));
    let declined = session.order(&wanted);
    assert!(
        matches!(declined, Err(SessionError::Declined(_))),
        "{declined:?}"
    );
    server.limits().replace(only("all"));
    session.order(&wanted).expect("ready");
    drop(session);
    server.stop();
}
