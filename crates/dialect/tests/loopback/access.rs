//! Who is served: permit keys, one host only, time for the first message.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use tapeline_base::ExitCode;
use tapeline_base::Transport::{Tcp, Udp};
use tapeline_dialect::{
    ClientPlan, ClientWorkload, PermitKey, RequestResponsePlan, ServedTransports, ServerKey,
    ServerPlan,
};
use tapeline_report::{Connected, Event, Notice};

use crate::harness::*;

fn key(text: &str) -> PermitKey {
    PermitKey::new(text.as_bytes()).expect("a key")
}

fn keyed(lifetime: Option<Duration>) -> ServerPlan {
    ServerPlan {
        permit_key: Some(ServerKey {
            key: key("open sesame"),
            generated: false,
            lifetime,
        }),
        ..server_plan(V4, Tcp)
    }
}

fn dropped(events: &[Event]) -> Vec<Connected> {
    let dropped = |event: &Event| match event {
        Event::Dropped(line) => Some(line.clone()),
        _ => None,
    };
    events.iter().filter_map(dropped).collect()
}

fn shown_keys(events: &[Event]) -> Vec<Option<String>> {
    let shown = |event: &Event| match event {
        Event::Connected(line) => Some(line.permit_key.clone()),
        _ => None,
    };
    events.iter().filter_map(shown).collect()
}

#[test]
fn the_right_key_opens_every_arrangement_and_is_shown() {
    at_once(arrangements(), |arrangement| {
        let server = TestServer::start(keyed(None));
        let client = succeed(ClientPlan {
            permit_key: Some(key("open sesame")),
            workload: ClientWorkload::Stream(arrangement),
            parallel: 2,
            ..client_plan(server.address, Tcp)
        });
        let flows = 2 * directions(arrangement);
        server.events.wait_for_totals(flows);
        let served = server.stop();
        assert_agreement(&client, &served, flows, &format!("{arrangement:?}"));
        for events in [&client, &served] {
            let shown = shown_keys(events);
            let own = shown.iter().flatten().filter(|text| *text == "open sesame");
            assert_eq!(own.count(), 2, "{arrangement:?}: {shown:?}");
        }
    });
}

#[test]
fn a_wrong_or_missing_key_is_dropped_with_a_line() {
    let server = TestServer::start(keyed(None));
    // A client without a key goes on until it is refused; one with a key looks first.
    for (permit_key, limit) in [
        (None, time(20_000)),
        (Some(key("open says me")), bytes(1000)),
    ] {
        let (code, events) = TestClient::start(ClientPlan {
            permit_key,
            limit,
            ..client_plan(server.address, Tcp)
        })
        .wait();
        assert_eq!(code, ExitCode::Failure);
        let failed = |notice: &Notice| match notice {
            Notice::TrafficFailed { .. } => true,
            Notice::Text(words) => words.contains("permit key"),
            _ => false,
        };
        assert!(notices(&events).iter().any(failed), "{events:?}");
    }
    let served = server.stop();
    assert_eq!(dropped(&served).len(), 2);
    assert!(totals(&served).is_empty());
}

#[test]
fn a_server_without_a_key_drops_clients_with_one() {
    let server = TestServer::on(V4, Tcp);
    let (_, events) = TestClient::start(ClientPlan {
        permit_key: Some(key("open sesame")),
        limit: time(20_000),
        ..client_plan(server.address, Tcp)
    })
    .wait();
    assert!(!notices(&events).is_empty());
    assert_eq!(dropped(&server.stop()).len(), 1);
}

#[test]
fn a_request_without_room_for_a_key_leaves_at_once_and_none_is_blamed() {
    const REQUEST: usize = 100;
    let listener = TcpListener::bind((V4, 0)).expect("a listener");
    let client = TestClient::start(ClientPlan {
        permit_key: Some(key("open sesame")),
        workload: ClientWorkload::RequestResponse(RequestResponsePlan::back_to_back(100)),
        limit: time(20_000),
        ..client_plan(listener.local_addr().expect("an address"), Tcp)
    });
    let (mut server, _) = listener.accept().expect("a client");
    // Half the time that a server gives a first message.
    let timeout = Some(Duration::from_secs(5));
    server.set_read_timeout(timeout).expect("a timeout");
    server.read_exact(&mut [0; REQUEST]).expect("a request");
    drop(server);
    let (code, events) = client.wait();
    assert_eq!(code, ExitCode::Failure);
    let all = notices(&events);
    assert!(!all.is_empty());
    assert!(!format!("{all:?}").contains("permit key"), "{all:?}");
}

#[test]
fn a_key_that_has_outlived_its_time_ends_the_listener() {
    let began = Instant::now();
    let lifetime = Duration::from_millis(300);
    let server = TestServer::start(keyed(Some(lifetime)));
    server.wait();
    assert!(began.elapsed() >= lifetime);
}

#[test]
fn a_keyed_server_for_both_transports_serves_tcp_only() {
    let server = TestServer::start(ServerPlan {
        transports: ServedTransports::Both,
        ..keyed(None)
    });
    let (_, events) = TestClient::start(client_plan(server.address, Udp)).wait();
    let unanswered = |notice: &Notice| matches!(notice, Notice::NoReply { .. });
    assert!(notices(&events).iter().any(unanswered), "{events:?}");
    assert!(totals(&server.stop()).is_empty());
}

#[test]
fn only_one_host_is_served_when_one_is_named() {
    for transport in [Tcp, Udp] {
        let server = TestServer::start(ServerPlan {
            only_from: Some("127.0.0.9".parse().expect("an address")),
            ..server_plan(V4, transport)
        });
        let (_, events) = TestClient::start(ClientPlan {
            // Over TCP it sends until it is refused.
            limit: match transport {
                Tcp => time(20_000),
                Udp => bytes(10_000),
            },
            ..client_plan(server.address, transport)
        })
        .wait();
        assert!(!notices(&events).is_empty(), "{transport:?}: not served");
        if cfg!(target_os = "linux") {
            succeed(ClientPlan {
                bind: Some(tapeline_dialect::BindPlan::address("127.0.0.9")),
                ..client_plan(server.address, transport)
            });
            server.events.wait_for_totals(1);
        }
        let served = server.stop();
        let expected = usize::from(cfg!(target_os = "linux"));
        assert_eq!(totals(&served).len(), expected, "{transport:?}");
    }
}

#[test]
fn a_silent_connection_has_the_time_of_the_exchange_limit() {
    let server = TestServer::start(ServerPlan {
        exchange_timeout: Some(Duration::from_millis(200)),
        ..server_plan(V4, Tcp)
    });
    let mut silent = TcpStream::connect(server.address).expect("connect");
    silent.write_all(&[0x40, 0x01]).expect("half a word");
    silent
        .set_read_timeout(Some(LIMIT))
        .expect("a limit for the test");
    // Closed, in order or not, long before the usual ten seconds.
    let _ = silent.read(&mut [0; 1]);
    server.events.wait("a refusal", |events| {
        let refused = |notice: &Notice| matches!(notice, Notice::PeerRefused { .. });
        notices(events).iter().any(refused)
    });
    succeed(client_plan(server.address, Tcp));
    server.stop();
}
