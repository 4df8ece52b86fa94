//! The kit itself, proven with peers on both sides.

use std::time::Duration;

use interop::{
    Capture, Family, NamespacePair, PacketFilter, Places, Program, ServerSpec, Transport, skip,
};

const TIMEOUT: Duration = Duration::from_secs(10);

/// The reference, or a skip.
fn reference(test: &str) -> Option<Program> {
    let peer = Program::Iperf221;
    match peer.missing() {
        Some(reason) => {
            skip(test, &reason);
            None
        }
        None => Some(peer),
    }
}

/// Two hosts, or a skip.
fn hosts(test: &str) -> Option<NamespacePair> {
    match NamespacePair::new() {
        Ok(pair) => Some(pair),
        Err(error) => {
            skip(
                test,
                &format!("network namespaces are not available: {error}"),
            );
            None
        }
    }
}

#[test]
fn the_hosts_of_a_pair_know_each_other_before_they_talk() {
    let Some(pair) = hosts("the_hosts_of_a_pair_know_each_other_before_they_talk") else {
        return;
    };
    for (host, others) in [
        (
            &pair.client,
            [Family::V4, Family::V6].map(|family| pair.server_address(family)),
        ),
        (
            &pair.server,
            [Family::V4, Family::V6].map(|family| pair.client_address(family)),
        ),
    ] {
        let known = host.ip("neighbour show nud permanent").expect("neighbours");
        for other in others {
            assert!(known.contains(&format!("{other} ")), "{other}: {known}");
        }
    }
}

#[test]
fn both_sides_of_a_tcp_test_are_read() {
    let Some(peer) = reference("both_sides_of_a_tcp_test_are_read") else {
        return;
    };
    for family in Family::ALL {
        let mut server = ServerSpec::new(peer, Transport::Tcp, family)
            .start()
            .expect("a server");
        for _ in 0..2 {
            server.begin();
            let client = server.client(peer).line("-n 1M").run().expect("a client");
            assert_eq!(client.code(), Some(0), "{client}");
            let client = interop::Transcript::parse(&client.stdout);
            let received = server.await_output(TIMEOUT, |out| !out.totals().is_empty());
            assert_eq!(client.totals()[0].bytes, 1 << 20);
            assert_eq!(received.totals()[0].bytes, 1 << 20);
            assert_eq!(received.connections, 1);
        }
    }
}

#[test]
fn both_sides_of_a_udp_test_are_read() {
    let Some(peer) = reference("both_sides_of_a_udp_test_are_read") else {
        return;
    };
    let server = ServerSpec::new(peer, Transport::Udp, Family::V4)
        .start()
        .expect("a server");
    let client = server
        .client(peer)
        .line("-n 147000 -b 10m")
        .run()
        .expect("a client");
    let client = interop::Transcript::parse(&client.stdout);
    let received = server.await_output(TIMEOUT, |out| !out.totals().is_empty());
    let counts = received.totals()[0].datagrams.expect("datagram counts");
    assert_eq!(client.server_reports[0].datagrams, Some(counts));
    assert_eq!(client.totals()[0].bytes, counts.total * 1470);
    assert_eq!(client.sent.len(), 1);
}

#[test]
fn a_server_that_cannot_start_is_an_error_with_its_words() {
    let Some(peer) = reference("a_server_that_cannot_start_is_an_error_with_its_words") else {
        return;
    };
    let spec = ServerSpec::new(peer, Transport::Tcp, Family::V4).options("-B 192.0.2.1");
    let error = spec
        .start()
        .expect_err("the address is not ours")
        .to_string();
    assert!(error.contains("bind failed"), "{error}");
}

#[test]
fn dropped_datagrams_are_counted_and_missed() {
    let name = "dropped_datagrams_are_counted_and_missed";
    let (Some(peer), Some(pair)) = (reference(name), hosts(name)) else {
        return;
    };
    let spec = ServerSpec::new(peer, Transport::Udp, Family::V4);
    let server = spec.start_within(&pair.server).expect("a server");
    let filter = PacketFilter::drop_arriving(&pair.server, server.port(), Places::one(100, 50))
        .expect("a packet filter");
    let client = server
        .client_to(peer, pair.server_address(Family::V4))
        .within(&pair.client)
        .line("-n 735000 -b 50m")
        .run()
        .expect("a client");
    assert_eq!(client.code(), Some(0), "{client}");
    let received = server.await_output(TIMEOUT, |out| !out.totals().is_empty());
    let lost = received.totals()[0].datagrams.map(|counts| counts.lost);
    let dropped = filter.packets("dropped").expect("a counter");
    assert_eq!(dropped, 5);
    assert_eq!(lost, Some(dropped));
    assert!(filter.packets("seen").expect("a counter") >= 500);
}

#[test]
fn a_capture_sees_every_datagram_in_order() {
    let name = "a_capture_sees_every_datagram_in_order";
    let (Some(peer), Some(pair)) = (reference(name), hosts(name)) else {
        return;
    };
    if let Some(reason) = Capture::unavailable() {
        return skip(name, &reason);
    }
    let spec = ServerSpec::new(peer, Transport::Udp, Family::V4);
    let server = spec.start_within(&pair.server).expect("a server");
    let capture = Capture::udp_to(Some(&pair.server), "eth0", server.port()).expect("a capture");
    let client = server
        .client_to(peer, pair.server_address(Family::V4))
        .within(&pair.client);
    client.line("-n 147000 -b 20m").run().expect("a client");
    let packets = capture.finish().expect("packets");
    let ids: Vec<i32> = packets
        .iter()
        .filter_map(interop::Packet::datagram_id)
        .collect();
    let sent: Vec<i32> = ids.iter().copied().take_while(|id| *id >= 0).collect();
    assert!(sent.len() >= 100, "{}", sent.len());
    assert!(
        sent.windows(2).all(|pair| pair[1] == pair[0] + 1),
        "{sent:?}"
    );
    assert!(ids.last().is_some_and(|id| *id < 0), "the end is marked");
    assert!(packets.windows(2).all(|pair| pair[0].time < pair[1].time));
}

#[test]
fn intervals_and_sums_are_distinguished() {
    let Some(peer) = reference("intervals_and_sums_are_distinguished") else {
        return;
    };
    let server = ServerSpec::new(peer, Transport::Tcp, Family::V4)
        .start()
        .expect("a server");
    let client = server
        .client(peer)
        .line("-P 2 -i 0.5 -t 1 -b 10m")
        .run()
        .expect("a client");
    let client = interop::Transcript::parse(&client.stdout);
    let totals = client.totals();
    assert_eq!(totals.len(), 2);
    assert!(client.intervals(&totals[0]).len() >= 2);
    let sum = client.sum().expect("a sum row").bytes;
    assert_eq!(sum, totals.iter().map(|row| row.bytes).sum::<u64>());
}
