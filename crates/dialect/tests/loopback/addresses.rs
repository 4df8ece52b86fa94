//! Which addresses and ports flows have, and multicast groups.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tapeline_base::Transport;
use tapeline_dialect::{
    AddressSteps, Arrangement, BindPlan, ClientPlan, ClientWorkload, Personality, ServedTransports,
    ServerPlan,
};
use tapeline_report::{Event, LinkErrors, Measure, Phase, Subject};

use crate::harness::*;

/// A server on all addresses.
fn wildcard(transport: Transport) -> ServerPlan {
    ServerPlan {
        bind: None,
        ..server_plan(V4, transport)
    }
}

fn local_addresses(events: &[Event]) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = events
        .iter()
        .filter_map(|event| match event {
            Event::Connected(line) => Some(line.local.ip()),
            _ => None,
        })
        .collect();
    addresses.sort();
    addresses
}

const DESTINATIONS: AddressSteps = AddressSteps {
    destination_address: true,
    destination_port: false,
    source_address: false,
    source_port: false,
};

/// The flows have one source address and port: only the address that they go to distinguishes them
/// apart, and each must be answered from its own.
#[cfg(target_os = "linux")]
#[test]
fn flows_to_several_own_addresses_are_distinguished_and_answered() {
    let transports = [Transport::Tcp, Transport::Udp];
    let arrangements = [Arrangement::Forward, Arrangement::Reverse];
    for (transport, arrangement) in transports
        .into_iter()
        .flat_map(|t| arrangements.map(|a| (t, a)))
    {
        let server = TestServer::start(wildcard(transport));
        let plan = ClientPlan {
            workload: ClientWorkload::Stream(arrangement),
            parallel: 3,
            steps: DESTINATIONS,
            bind: Some(BindPlan {
                port: Some(free_port()),
                ..BindPlan::address("127.0.0.1")
            }),
            ..client_plan(server.address, transport)
        };
        let client = succeed(plan);
        server.events.wait_for_totals(3);
        let served = server.stop();
        let what = format!("{transport:?} {arrangement:?}");
        assert_agreement(&client, &served, 3, &what);
        let own = [1, 2, 3].map(|last| IpAddr::from([127, 0, 0, last]));
        assert_eq!(local_addresses(&served), own, "{what}");
        assert_eq!(sums(&served).len(), 1, "{what}: one test, one sum");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn source_addresses_and_ports_count_up() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let server = TestServer::on(V4, transport);
        let port = free_port();
        let plan = ClientPlan {
            parallel: 2,
            steps: AddressSteps {
                destination_address: false,
                source_address: true,
                source_port: true,
                ..DESTINATIONS
            },
            bind: Some(BindPlan {
                port: Some(port),
                ..BindPlan::address("127.0.0.5")
            }),
            ..client_plan(server.address, transport)
        };
        let mut sources: Vec<SocketAddr> = carried(&succeed(plan), true)
            .into_iter()
            .map(|(from, _, _)| from)
            .collect();
        sources.sort();
        let expected = [
            SocketAddr::from(([127, 0, 0, 5], port)),
            SocketAddr::from(([127, 0, 0, 6], port + 1)),
        ];
        assert_eq!(sources, expected, "{transport:?}");
        server.stop();
    }
}

#[test]
fn a_port_range_is_served_and_used_flow_by_flow() {
    for transport in [Transport::Tcp, Transport::Udp] {
        // Somebody else may take one of the ports in between.
        let first = (0..20)
            .map(|_| free_port())
            .find(|first| {
                (*first..first + 3).all(|port| {
                    std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
                        && std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
                })
            })
            .expect("three free ports");
        let ports = (first, first + 2);
        let server = TestServer::start(ServerPlan {
            ports,
            ..server_plan(V4, transport)
        });
        let client = succeed(ClientPlan {
            ports,
            parallel: 3,
            ..client_plan(server.address, transport)
        });
        server.events.wait_for_totals(3);
        let served = server.stop();
        assert_agreement(&client, &served, 3, "a range");
        let mut used: Vec<u16> = carried(&client, true)
            .into_iter()
            .map(|(_, to, _)| to.port())
            .collect();
        used.sort_unstable();
        assert_eq!(used, [first, first + 1, first + 2]);
    }
}

#[test]
fn sums_by_destination_join_several_clients_and_part_one() {
    let transport = Transport::Udp;
    let server = TestServer::start(ServerPlan {
        sum_by_destination: true,
        ..wildcard(transport)
    });
    let plan = ClientPlan {
        limit: time(600),
        ..client_plan(server.address, transport)
    };
    let clients = [TestClient::start(plan.clone()), TestClient::start(plan)];
    for client in clients {
        client.wait();
    }
    server.events.wait_for_totals(2);
    server
        .events
        .wait("a sum", |events| !sums(events).is_empty());
    let served = server.stop();
    let sum = &sums(&served)[0];
    assert!(matches!(sum.subject, Subject::Sum { flows: 2 }), "{sum:?}");
    let parts: u64 = totals(&served).iter().map(|row| row.bytes).sum();
    assert_eq!(sum.bytes, parts);
}

/// A group on the loopback interface.
fn member(group: Ipv4Addr, port: u16, source: Option<IpAddr>) -> ServerPlan {
    ServerPlan {
        ports: (port, port),
        bind: Some(BindPlan {
            device: Some("lo".into()),
            group_source: source,
            ..BindPlan::address(&group.to_string())
        }),
        single_client: false,
        ..ServerPlan::new(Personality::Iperf2, port, ServedTransports::Udp)
    }
}

fn sender(group: Ipv4Addr, port: u16, from: &str) -> ClientPlan {
    let group = SocketAddr::from((group, port));
    ClientPlan {
        personality: Personality::Iperf2,
        bind: Some(BindPlan::address(from)),
        limit: bytes(50_000),
        ..client_plan(group, Transport::Udp)
    }
}

#[cfg(target_os = "linux")]
#[test]
fn all_members_of_a_group_receive_all_senders_and_answer_none() {
    let group = Ipv4Addr::new(239, 255, 77, 9);
    let port = free_port();
    let members = [0, 1].map(|_| TestServer::start(member(group, port, None)));
    at_once(["127.0.0.1", "127.0.0.2"], |from| {
        let events = succeed(sender(group, port, from));
        let reports = |event: &&Event| matches!(event, Event::ServerReport { .. });
        assert_eq!(events.iter().filter(reports).count(), 0);
    });
    for member in members {
        member.events.wait_for_totals(2);
        let events = member.stop();
        assert_eq!(local_addresses(&events), [IpAddr::V4(group); 2]);
        for row in totals(&events) {
            // 35 datagrams of 1470 bytes, and the final one.
            assert_eq!(row.bytes, 50_000 + 1470, "{row:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_member_for_one_source_receives_no_other() {
    let group = Ipv4Addr::new(232, 77, 1, 9);
    let port = free_port();
    let wanted = Ipv4Addr::new(127, 0, 0, 2);
    let server = TestServer::start(member(group, port, Some(wanted.into())));
    succeed(sender(group, port, "127.0.0.1"));
    succeed(sender(group, port, "127.0.0.2"));
    server.events.wait_for_totals(1);
    let events = server.stop();
    let from: Vec<IpAddr> = rows(&events, Phase::Total, |_| true)
        .iter()
        .filter_map(|row| row.endpoints.map(|ends| ends.peer.ip()))
        .collect();
    assert_eq!(from, [IpAddr::V4(wanted)]);
}

/// A server that looks below the sockets; `None` where this user may not.
#[cfg(target_os = "linux")]
fn start_below_sockets(plan: ServerPlan) -> Option<TestServer> {
    match tapeline_sys::DeviceTap::open("lo", 1) {
        Ok(_) => Some(TestServer::start(plan)),
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
            None
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn datagrams_can_be_read_from_a_device() {
    for arrangement in [Arrangement::Forward, Arrangement::Reverse] {
        let Some(server) = start_below_sockets(ServerPlan {
            tap_device: Some("lo".into()),
            ..wildcard(Transport::Udp)
        }) else {
            return;
        };
        let client = succeed(ClientPlan {
            parallel: 2,
            workload: ClientWorkload::Stream(arrangement),
            pace: Some(tapeline_base::Pace::Bits(tapeline_base::BitRate(
                100_000_000,
            ))),
            ..client_plan(server.address, Transport::Udp)
        });
        server.events.wait_for_totals(2);
        let served = server.stop();
        assert_agreement(&client, &served, 2, &format!("{arrangement:?}"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_link_layer_is_checked_when_both_ends_want_it() {
    for (asked, allowed) in [(true, true), (true, false), (false, true)] {
        let Some(server) = start_below_sockets(ServerPlan {
            l2_checks: allowed,
            ..wildcard(Transport::Udp)
        }) else {
            return;
        };
        let client = succeed(ClientPlan {
            l2_checks: asked,
            ..client_plan(server.address, Transport::Udp)
        });
        server.events.wait_for_totals(1);
        let served = server.stop();
        assert_agreement(&client, &served, 1, "checked");
        let Measure::UdpReceive(received) = &totals(&served)[0].measure else {
            panic!("a UDP receiver");
        };
        // What loopback carries is in order; checksums that nobody has computed are no faults.
        let clean = (asked && allowed).then(LinkErrors::default);
        assert_eq!(received.link_errors, clean, "{asked} {allowed}");
    }
}

#[test]
fn a_device_that_cannot_be_had_is_named() {
    let events = refused(ServerPlan {
        tap_device: Some("no-such-if".into()),
        ..wildcard(Transport::Udp)
    });
    let text = format!("{events:?}");
    assert!(text.contains("no-such-if"), "{text}");
}

#[test]
fn a_dual_test_on_the_server_s_own_host_listens_elsewhere() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let server = TestServer::start(wildcard(transport));
        let listen_port = server.address.port();
        for arrangement in [
            Arrangement::Dual { listen_port },
            Arrangement::Tradeoff { listen_port },
        ] {
            let events = succeed(ClientPlan {
                workload: ClientWorkload::Stream(arrangement),
                ..client_plan(server.address, transport)
            });
            assert_eq!(totals(&events).len(), 2, "{transport:?} {arrangement:?}");
        }
        server.stop();
    }
}
