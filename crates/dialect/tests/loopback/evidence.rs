//! Two tapelines with a control connection: what each knows of the other's view.

use tapeline_base::{FlowTag, Transport};
use tapeline_dialect::{Arrangement, ClientPlan, ClientWorkload, ServedTransports, ServerPlan};
use tapeline_report::{Event, LimitVerdict, NoPeerResults, Notice, PeerResults, Subject};

use crate::harness::{
    TestClient, TestServer, V4, arrangements, client_plan, directions, free_port, notices,
    server_plan, succeed, time, totals,
};

fn both_transports() -> ServerPlan {
    ServerPlan {
        transports: ServedTransports::Both,
        control: true,
        ..server_plan(V4, Transport::Tcp)
    }
}

fn datagrams_alone() -> ServerPlan {
    ServerPlan {
        control: true,
        ..server_plan(V4, Transport::Udp)
    }
}

fn client(server: &TestServer, transport: Transport, arrangement: Arrangement) -> ClientPlan {
    ClientPlan {
        workload: ClientWorkload::Stream(arrangement),
        control: true,
        ..client_plan(server.address, transport)
    }
}

fn limit_verdicts(events: &[Event]) -> Vec<LimitVerdict> {
    let judged = events.iter().filter_map(|event| match event {
        Event::LimitVerdict(limit_verdict) => Some((**limit_verdict).clone()),
        _ => None,
    });
    judged.collect()
}

fn peer_results(events: &[Event]) -> Vec<PeerResults> {
    let reported = events.iter().filter_map(|event| match event {
        Event::PeerResults(end) => Some((**end).clone()),
        _ => None,
    });
    reported.collect()
}

fn is_idle(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(event, Event::Idle))
}

/// Flows of an end's totals, and those of which the peer's count was reported.
fn counted(events: &[Event]) -> (Vec<FlowTag>, Vec<FlowTag>) {
    let tag = |subject: Subject| match subject {
        Subject::Flow(tag) => Some(tag),
        Subject::Sum { .. } | Subject::Duplex(_) => None,
    };
    let mut own: Vec<_> = totals(events)
        .iter()
        .filter_map(|row| tag(row.subject))
        .collect();
    let ends = peer_results(events);
    let flows = ends.iter().flat_map(|end| &end.flows);
    let mut theirs: Vec<_> = flows.filter_map(|flow| tag(flow.total.subject)).collect();
    own.sort();
    theirs.sort();
    (own, theirs)
}

#[test]
fn both_ends_judge_by_the_evidence_of_both_in_every_arrangement() {
    for transport in [Transport::Tcp, Transport::Udp] {
        for arrangement in arrangements() {
            let what = format!("{transport:?} {arrangement:?}");
            let server = TestServer::start(both_transports());
            let client = succeed(client(&server, transport, arrangement));
            server.events.wait("an end", is_idle);
            let server = server.stop();
            for end in [&client, &server] {
                let (own, theirs) = counted(end);
                assert_eq!(own.len(), directions(arrangement), "{what}: {end:?}");
                assert_eq!(own, theirs, "{what}: {end:?}");
            }
            let (here, there) = (limit_verdicts(&client), limit_verdicts(&server));
            assert_eq!(here.len(), directions(arrangement), "{what}");
            assert_eq!(there.len(), here.len(), "{what}");
            for one in &here {
                let same = |other: &&LimitVerdict| other.local_sends != one.local_sends;
                let other = there.iter().find(same).expect("the same direction");
                assert_eq!(
                    (one.verdict.limited_by, one.verdict.certainty),
                    (other.verdict.limited_by, other.verdict.certainty),
                    "{what}: {one:?} {other:?}"
                );
                assert_eq!(one.verdict.findings.len(), other.verdict.findings.len());
                let known = [one, other].map(|end| {
                    let counts = (end.sender.datagrams, end.receiver.expected);
                    (counts, end.sender.stream, end.receiver.lost)
                });
                assert_eq!(known[0], known[1], "{what}");
            }
        }
    }
}

#[test]
fn a_server_names_its_client_before_it_is_idle() {
    let server = TestServer::start(both_transports());
    succeed(client(&server, Transport::Tcp, Arrangement::Forward));
    server.events.wait("an end", is_idle);
    let events = server.stop();
    let line = events.iter().find_map(|event| match event {
        Event::Connected(line) => Some(line.peer_is_tapeline),
        _ => None,
    });
    assert_eq!(line, Some(true));
    let place = |what: fn(&Event) -> bool| events.iter().position(what).expect("told");
    let reported = place(|event| matches!(event, Event::PeerResults(_)));
    assert!(reported < place(|event| matches!(event, Event::Idle)));
    let ends = peer_results(&events);
    let program = ends[0].program.as_ref().expect("a name");
    assert_eq!(program.program, "tapeline");
    assert_eq!(program.version, env!("CARGO_PKG_VERSION"));
}

#[test]
fn why_a_client_ends_its_test_is_reported_by_the_server() {
    let server = TestServer::start(both_transports());
    let client = TestClient::start(ClientPlan {
        limit: time(30_000),
        ..client(&server, Transport::Udp, Arrangement::Reverse)
    });
    let found = |events: &[Event]| {
        let found = |event: &Event| matches!(event, Event::PeerFound { .. });
        events.iter().any(found)
    };
    client.events.wait("the other end", found);
    server.events.wait("the other end", found);
    client.interruption.interrupt();
    client.wait();
    server.events.wait("an end", is_idle);
    let said = notices(&server.stop());
    let why = "the client ended the test: the client was interrupted";
    let reported = |notice: &tapeline_report::Notice| format!("{notice:?}").contains(why);
    assert!(said.iter().any(reported), "{said:?}");
}

#[test]
fn a_server_of_datagrams_alone_takes_control_connections() {
    let server = TestServer::start(datagrams_alone());
    let arrangements = [
        Arrangement::Forward,
        Arrangement::Reverse,
        Arrangement::FullDuplex,
    ];
    for arrangement in arrangements {
        let events = succeed(client(&server, Transport::Udp, arrangement));
        assert_eq!(
            peer_results(&events).len(),
            1,
            "{arrangement:?}: {events:?}"
        );
    }
    server.events.wait("an end", is_idle);
    assert_eq!(peer_results(&server.stop()).len(), arrangements.len());
}

#[test]
fn a_server_of_datagrams_alone_takes_nothing_else_over_tcp() {
    let server = TestServer::start(datagrams_alone());
    let (_, events) =
        TestClient::start(client(&server, Transport::Tcp, Arrangement::Forward)).wait();
    assert_eq!(peer_results(&events).len(), 0);
    let refused = |events: &[Event]| {
        let refusal = |notice: &Notice| matches!(notice, Notice::PeerRefused { reason, .. } if reason.contains("datagrams only"));
        notices(events).iter().any(refusal)
    };
    server.events.wait("a refusal", refused);
    let events = succeed(client(&server, Transport::Udp, Arrangement::Forward));
    assert_eq!(peer_results(&events).len(), 1);
    assert!(totals(&server.stop()).len() == 1);
}

#[test]
fn a_server_of_datagrams_whose_port_is_taken_for_streams_says_nothing_of_itself() {
    let port = free_port();
    let other = std::net::TcpListener::bind((V4, port)).expect("the port");
    let server = TestServer::start(ServerPlan {
        ports: (port, port),
        ..datagrams_alone()
    });
    let (code, events) =
        TestClient::start(client(&server, Transport::Udp, Arrangement::Forward)).wait();
    assert_eq!(code, tapeline_base::ExitCode::Success);
    let unknown =
        |event: &Event| matches!(event, Event::NoPeerResults(NoPeerResults::NotRecognised));
    assert!(events.iter().any(unknown), "{events:?}");
    drop(other);
    server.stop();
}
