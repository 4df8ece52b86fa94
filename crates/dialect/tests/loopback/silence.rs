//! Hosts that do not answer: at the handshake, or behind it.

use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use tapeline_base::{ExitCode, Transport};
use tapeline_dialect::{
    Arrangement, ClientPlan, ClientWorkload, Iperf3Client, Iperf3Timeouts, Limit, Personality,
};
use tapeline_report::{Event, Notice, Row, Silence};
use tapeline_sys::SocketOptions;
use tapeline_wire::iperf3::Parameters;

use crate::harness::{TestClient, V4, notices, totals};
use crate::iperf3;

const SHORT: Duration = Duration::from_millis(200);

/// A host that accepts connections and says nothing.
fn silent() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((V4, 0)).expect("a listener");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// A listener with no room for another connection, whose host drops what asks for one.
fn full() -> (tapeline_sys::TcpListener, Vec<TcpStream>, SocketAddr) {
    let any = SocketAddr::new(V4, 0);
    let listener = tapeline_sys::TcpListener::bind(any, &SocketOptions::default(), 0);
    let listener = listener.expect("a listener").socket;
    let address = listener.local_addr().expect("an address");
    let mut held = Vec::new();
    while let Ok(conn) = TcpStream::connect_timeout(&address, SHORT) {
        held.push(conn);
    }
    (listener, held, address)
}

fn native(address: SocketAddr, transport: Transport) -> ClientPlan {
    ClientPlan {
        limit: Limit::Time(SHORT),
        ..ClientPlan::new(
            Personality::Native,
            &V4.to_string(),
            address.port(),
            transport,
        )
    }
}

#[test]
fn a_connect_attempt_ends_when_its_time_is_over() {
    let (_listener, _held, address) = full();
    for workload in [
        ClientWorkload::Stream(Arrangement::Forward),
        ClientWorkload::ConnectOnly {
            count: Some(1),
            report_each: true,
        },
    ] {
        let plan = ClientPlan {
            workload,
            connect_timeout: SHORT,
            ..native(address, Transport::Tcp)
        };
        let (code, events) = TestClient::start(plan).wait();
        assert_eq!(code, ExitCode::Failure);
        match &notices(&events)[..] {
            [Notice::ConnectFailed { after, peer, .. }] => {
                assert!(*after >= SHORT, "{after:?}");
                assert_eq!(*peer, address);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_an_error_and_no_test() {
    let (_listener, address) = silent();
    for arrangement in [
        Arrangement::Forward,
        Arrangement::Reverse,
        Arrangement::FullDuplex,
    ] {
        let plan = ClientPlan {
            workload: ClientWorkload::Stream(arrangement),
            ..native(address, Transport::Tcp)
        };
        let (code, events) = TestClient::start(plan).wait();
        assert_eq!(code, ExitCode::Failure, "{arrangement:?}");
        let notices = notices(&events);
        let silences = notices.iter().filter(|notice| {
            matches!(notice, Notice::NoReply { peer, transport: Transport::Tcp, silence: Silence::Timeout(_), .. } if *peer == address)
        });
        assert!(silences.count() > 0, "{arrangement:?}: {notices:?}");
        let receives = |row: &Row| !row.measure.sends();
        let of_silence = |row: &Row| arrangement == Arrangement::Forward || receives(row);
        let results: Vec<Row> = totals(&events).into_iter().filter(of_silence).collect();
        assert_eq!(results, [], "{arrangement:?}");
    }
}

#[test]
fn iperf_tells_of_a_silent_server_as_of_one_that_was_lost() {
    let (_listener, address) = silent();
    let plan = ClientPlan {
        workload: ClientWorkload::Stream(Arrangement::Reverse),
        personality: Personality::Iperf2,
        ..native(address, Transport::Tcp)
    };
    let (code, events) = TestClient::start(plan).wait();
    assert_eq!(code, ExitCode::Failure);
    assert!(
        matches!(notices(&events)[..], [Notice::PeerVanished { .. }]),
        "{events:?}"
    );
    assert_eq!(totals(&events).len(), 1);
}

#[test]
fn a_port_that_refuses_datagrams_is_an_error_and_no_test() {
    // Nobody has it when the client comes.
    let address = UdpSocket::bind((V4, 0)).and_then(|socket| socket.local_addr());
    let address = address.expect("an address");
    let plan = native(address, Transport::Udp);
    let (code, events) = TestClient::start(plan).wait();
    assert_eq!(code, ExitCode::Failure);
    match &notices(&events)[..] {
        [
            Notice::NoReply {
                silence: Silence::Refused(_),
                transport: Transport::Udp,
                ..
            },
        ] => {}
        other => panic!("{other:?}"),
    }
    assert!(totals(&events).is_empty(), "{events:?}");
}

#[test]
fn an_iperf3_server_that_says_nothing_ends_the_test_in_time() {
    let (_listener, address) = silent();
    let plan = Iperf3Client {
        timeouts: Iperf3Timeouts {
            answer: SHORT,
            ..Iperf3Timeouts::default()
        },
        iperf2_command: "tapeline -c host".into(),
        ..iperf3::plan(address, Parameters::default())
    };
    let (code, events) = TestClient::start_iperf3(plan).wait();
    assert_eq!(code, ExitCode::Failure);
    let ends = iperf3::ends(&events);
    let failure = ends[0].failure.as_ref().expect("a failure");
    assert!(failure.text.contains("timed out"), "{}", failure.text);
    assert!(
        failure.text.ends_with("use: tapeline -c host"),
        "{}",
        failure.text
    );
    assert!(!events.iter().any(|event| matches!(event, Event::Row(_))));
}
