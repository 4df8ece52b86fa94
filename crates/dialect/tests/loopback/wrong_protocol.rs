//! iperf 2 clients that reach an iperf3 server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;

use tapeline_base::{ExitCode, Transport};
use tapeline_dialect::{
    Arrangement, ClientPlan, ClientWorkload, Iperf3Server, Limit, RequestResponsePlan,
    ServedProtocols, ServerPlan,
};
use tapeline_report::{Event, Notice};

use crate::harness::{
    TestClient, TestServer, V4, bytes, client_plan, free_port, notices, server_plan, totals,
};

/// A server that does what iperf3's does with what it takes for a cookie, for parameters, and
/// for the rest.
fn iperf3_server(answer: &'static [u8], refusal: &'static [u8]) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind((V4, 0)).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let thread = std::thread::spawn(move || {
        let (mut conn, _) = listener.accept().expect("a client");
        conn.read_exact(&mut [0; 37]).expect("a cookie");
        conn.write_all(answer).expect("room");
        if refusal.is_empty() {
            // Deaf, until the client gives up.
            while conn.read(&mut [0; 65536]).is_ok_and(|count| count > 0) {}
        }
        let _ = conn.write_all(refusal);
    });
    (address, thread)
}

#[test]
fn a_client_says_which_command_works_long_before_its_time_is_over() {
    const REFUSAL: &[u8] = &[0xfe, 0, 0, 0, 111, 0, 0, 0, 0];
    let stream = ClientWorkload::Stream;
    for (workload, answer, refusal) in [
        (stream(Arrangement::Forward), &[9][..], &[][..]),
        (stream(Arrangement::Forward), &[0xff], &[]),
        (
            stream(Arrangement::Dual {
                listen_port: free_port(),
            }),
            &[9],
            &[],
        ),
        (stream(Arrangement::Reverse), &[9], REFUSAL),
        // It waits for parameters that never come.
        (stream(Arrangement::Reverse), &[9], &[]),
        (stream(Arrangement::FullDuplex), &[9], REFUSAL),
        (
            ClientWorkload::RequestResponse(RequestResponsePlan::back_to_back(100)),
            &[9],
            REFUSAL,
        ),
    ] {
        let (address, thread) = iperf3_server(answer, refusal);
        let (code, events) = TestClient::start(ClientPlan {
            workload,
            limit: Limit::Never,
            ..client_plan(address, Transport::Tcp)
        })
        .wait();
        assert_eq!(code, ExitCode::Failure);
        let expected = Notice::WrongProtocol {
            host: V4.to_string(),
            port: address.port(),
        };
        assert_eq!(notices(&events), [expected], "{workload:?}");
        let rows = events.iter().filter(|event| matches!(event, Event::Row(_)));
        assert_eq!(rows.count(), 0, "no result of no test: {workload:?}");
        thread.join().expect("the server");
    }
}

#[test]
fn a_tapeline_that_serves_iperf3_alone_answers_as_iperf3_does() {
    let server = TestServer::start(ServerPlan {
        protocols: ServedProtocols::Iperf3(Iperf3Server::default()),
        ..server_plan(V4, Transport::Tcp)
    });
    for arrangement in [
        Arrangement::Forward,
        Arrangement::Reverse,
        Arrangement::FullDuplex,
    ] {
        for parallel in [1, 4] {
            let (code, events) = TestClient::start(ClientPlan {
                workload: ClientWorkload::Stream(arrangement),
                limit: Limit::Never,
                parallel,
                ..client_plan(server.address, Transport::Tcp)
            })
            .wait();
            assert_eq!(code, ExitCode::Failure);
            let all = notices(&events);
            assert!(
                matches!(all[..], [Notice::WrongProtocol { .. }]),
                "{arrangement:?}, {parallel}: {all:?}"
            );
            assert!(totals(&events).is_empty());
        }
    }
    server.stop();
}

#[test]
fn a_question_for_the_version_and_a_short_test_end_with_the_same_words() {
    let plans = |address| {
        let plan = client_plan(address, Transport::Tcp);
        let asks = ClientPlan {
            peer_detect: true,
            limit: Limit::Never,
            ..plan.clone()
        };
        // Its data is out before anybody answers.
        let short = ClientPlan {
            limit: bytes(100),
            ..plan
        };
        [asks, short]
    };
    for index in 0..2 {
        let (address, thread) = iperf3_server(&[9], &[]);
        let plan = plans(address)[index].clone();
        let (code, events) = TestClient::start(plan).wait();
        assert_eq!(code, ExitCode::Failure);
        let all = notices(&events);
        assert!(matches!(all[..], [Notice::WrongProtocol { .. }]), "{all:?}");
        assert!(totals(&events).is_empty());
        thread.join().expect("the server");
    }
}

#[test]
fn a_server_that_closes_before_its_first_answer_is_not_said_to_be_of_another_family() {
    let listener = TcpListener::bind((V4, 0)).expect("a listener");
    let client = TestClient::start(ClientPlan {
        workload: ClientWorkload::RequestResponse(RequestResponsePlan::back_to_back(100)),
        ..client_plan(listener.local_addr().expect("an address"), Transport::Tcp)
    });
    let (mut server, _) = listener.accept().expect("a client");
    server.read_exact(&mut [0; 100]).expect("a request");
    drop(server);
    let (code, events) = client.wait();
    assert_eq!(code, ExitCode::Failure);
    let all = notices(&events);
    assert!(matches!(all[..], [Notice::TrafficFailed { .. }]), "{all:?}");
}
