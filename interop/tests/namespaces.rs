//! Networks with a bottleneck, with losses, with repetitions and with reordering.
//!
//! The truth is never what a program says of itself: rates come from the shaper's parameters,
//! losses from the packet filter's counters, orders of arrival from a capture.
//! These tests measure, so they run one at a time.

use std::time::Duration;

use interop::{
    Arrivals, Bottleneck, Capture, DatagramCounts, DatagramFigures, Family, Finished,
    NamespacePair, PacketFilter, Places, Program, Server, ServerSpec, SlowLane, Transcript,
    Transport, in_a_quiet_moment, skip,
};

/// Time that a server may take to print its last row after the client has ended.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Payload of a datagram, with `-l 1470`.
const DATAGRAM: u64 = 1470;
/// How far a measured rate may be from the shaped one.
const TOLERANCE: f64 = 0.02;

/// Two hosts on which every program of `programs` can run, or a skip.
fn hosts(test: &str, programs: &[Program]) -> Option<NamespacePair> {
    if let Some(reason) = programs.iter().find_map(|program| program.missing()) {
        skip(test, &reason);
        return None;
    }
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

/// Runs a client in the pair's client namespace and returns both sides.
fn run(
    pair: &NamespacePair,
    server: &mut Server,
    client: Program,
    options: &str,
) -> (Finished, Transcript, Transcript) {
    server.begin();
    let address = pair.server_address(server.spec().family);
    let client = server
        .client_to(client, address)
        .within(&pair.client)
        .line(options)
        .deadline(Duration::from_secs(40))
        .run()
        .unwrap_or_else(|error| panic!("{error}\n--- server\n{}", server.output()));
    assert_eq!(client.code(), Some(0), "{client}");
    let theirs = server.await_output(TIMEOUT, |out| !out.totals().is_empty());
    assert_eq!(
        theirs.totals().len(),
        1,
        "{client}--- server\n{}",
        server.output()
    );
    let ours = Transcript::parse(&client.stdout);
    (client, ours, theirs)
}

fn assert_near(measured: f64, expected: f64, what: &dyn std::fmt::Display) {
    let error = measured / expected - 1.0;
    assert!(
        error.abs() <= TOLERANCE,
        "{measured:.0} bit/s is {:.2} % off {expected:.0}\n{what}",
        error * 100.0
    );
}

#[test]
fn tcp_goodput_is_the_bottleneck() {
    in_a_quiet_moment(tcp_goodput);
}

fn tcp_goodput() {
    let name = "tcp_goodput_is_the_bottleneck";
    let tapeline = Program::TapelineAsIperf;
    let Some(pair) = hosts(name, &[tapeline]) else {
        return;
    };
    for (family, rate) in [(Family::V4, 100_000_000), (Family::V6, 20_000_000)] {
        let spec = ServerSpec::new(tapeline, Transport::Tcp, family);
        let mut server = spec.start_within(&pair.server).expect("a server");
        let bottleneck = Bottleneck::new(&pair.client, rate, 50).expect("a bottleneck");
        let (client, ours, theirs) = run(&pair, &mut server, tapeline, "-t 3 -Z cubic");
        let total = &theirs.totals()[0];
        assert_eq!(total.bytes, ours.totals()[0].bytes, "{client}");
        assert_near(total.rate, bottleneck.tcp_payload_rate(family), &client);
    }
}

#[test]
fn reverse_tcp_goodput_is_the_bottleneck() {
    in_a_quiet_moment(reverse_tcp_goodput);
}

fn reverse_tcp_goodput() {
    let name = "reverse_tcp_goodput_is_the_bottleneck";
    let tapeline = Program::TapelineAsIperf;
    let Some(pair) = hosts(name, &[tapeline]) else {
        return;
    };
    let spec = ServerSpec::new(tapeline, Transport::Tcp, Family::V4);
    let mut server = spec.start_within(&pair.server).expect("a server");
    let bottleneck = Bottleneck::new(&pair.server, 50_000_000, 50).expect("a bottleneck");
    let (client, ours, _) = run(&pair, &mut server, tapeline, "-R -t 3 -Z cubic");
    let expected = bottleneck.tcp_payload_rate(Family::V4);
    assert_near(ours.totals()[0].rate, expected, &client);
}

#[test]
fn udp_beyond_the_bottleneck_loses_what_the_queue_drops() {
    in_a_quiet_moment(udp_overload);
}

fn udp_overload() {
    let name = "udp_beyond_the_bottleneck_loses_what_the_queue_drops";
    let tapeline = Program::TapelineAsIperf;
    let Some(pair) = hosts(name, &[tapeline]) else {
        return;
    };
    let spec = ServerSpec::new(tapeline, Transport::Udp, Family::V4);
    let mut server = spec.start_within(&pair.server).expect("a server");
    let bottleneck = Bottleneck::new(&pair.client, 10_000_000, 20).expect("a bottleneck");
    let (client, ours, theirs) = run(&pair, &mut server, tapeline, "-t 3 -b 20m -l 1470");
    let total = &theirs.totals()[0];
    assert_near(total.rate, bottleneck.udp_payload_rate(), &client);
    let counts = total.datagrams.expect("datagram counts");
    let dropped = bottleneck.dropped().expect("a drop count");
    // End markers that are sent again may be dropped, too.
    assert!(
        (counts.lost..=counts.lost + 10).contains(&dropped),
        "{} lost, {dropped} dropped\n{client}{}",
        counts.lost,
        server.output()
    );
    assert_eq!(ours.server_reports[0].datagrams, Some(counts), "{client}");
}

/// What a packet filter takes away, the server must miss, and both sides must say so.
fn lose(test: &str, client: Program, server: Program, places: Places) {
    let Some(pair) = hosts(test, &[client, server]) else {
        return;
    };
    let spec = ServerSpec::new(server, Transport::Udp, Family::V4);
    let mut server = spec.start_within(&pair.server).expect("a server");
    let filter =
        PacketFilter::drop_arriving(&pair.server, server.port(), places).expect("a filter");
    let options = "-n 1470000 -b 30m -l 1470";
    let (client, ours, theirs) = run(&pair, &mut server, client, options);
    let dropped = filter.packets("dropped").expect("a counter");
    assert!(dropped > 0, "nothing was dropped\n{client}");
    let total = &theirs.totals()[0];
    let sent = ours.totals()[0].bytes.div_ceil(DATAGRAM);
    let expected = DatagramCounts {
        lost: dropped,
        total: sent,
    };
    assert_eq!(
        total.datagrams,
        Some(expected),
        "{client}--- server\n{}",
        server.output()
    );
    assert_eq!(total.bytes, (sent - dropped) * DATAGRAM, "{client}");
    assert_eq!(ours.server_reports.len(), 1, "{client}");
    assert_eq!(ours.server_reports[0].datagrams, Some(expected), "{client}");
}

/// One datagram in a hundred.
const SPREAD: Places = Places::one(100, 50);
/// The first datagram, which carries the test's parameters.
const FIRST: Places = Places::one(100_000, 0);
/// The last datagrams before the end marker.
const TAIL: Places = Places {
    period: 100_000,
    from: 980,
    to: 999,
};

#[test]
fn spread_losses_are_counted_exactly() {
    let tapeline = Program::TapelineAsIperf;
    lose(
        "spread_losses_are_counted_exactly",
        tapeline,
        tapeline,
        SPREAD,
    );
}

#[test]
fn spread_losses_from_the_reference_are_counted_exactly() {
    let name = "spread_losses_from_the_reference_are_counted_exactly";
    lose(name, Program::Iperf221, Program::TapelineAsIperf, SPREAD);
}

#[test]
fn spread_losses_are_reported_by_the_reference() {
    let name = "spread_losses_are_reported_by_the_reference";
    lose(name, Program::TapelineAsIperf, Program::Iperf221, SPREAD);
}

#[test]
fn a_lost_first_datagram_is_one_loss() {
    let tapeline = Program::TapelineAsIperf;
    lose(
        "a_lost_first_datagram_is_one_loss",
        tapeline,
        tapeline,
        FIRST,
    );
}

#[test]
fn a_lost_tail_is_counted() {
    let tapeline = Program::TapelineAsIperf;
    lose("a_lost_tail_is_counted", tapeline, tapeline, TAIL);
}

/// Runs a flow to a server under each name with a capture next to it, and compares the server's
/// figures with the truth; `fault` stays in place for both.
fn compare_with_capture<'a, Fault>(
    pair: &'a NamespacePair,
    fault: impl Fn(&'a NamespacePair, u16) -> Fault,
    check: impl Fn(&Fault, Arrivals),
) {
    for program in [Program::TapelineAsIperf, Program::Tapeline] {
        let spec = ServerSpec::new(program, Transport::Udp, Family::V4);
        let mut server = spec.start_within(&pair.server).expect("a server");
        let fault = fault(pair, server.port());
        let capture =
            Capture::udp_to(Some(&pair.server), "eth0", server.port()).expect("a capture");
        let client = server
            .client_to(Program::TapelineAsIperf, pair.server_address(Family::V4))
            .within(&pair.client)
            .line("-n 735000 -b 5m -l 1470")
            .run()
            .expect("a client");
        assert_eq!(client.code(), Some(0), "{client}");
        let figures = DatagramFigures::await_from(&mut server, TIMEOUT);
        let truth = Arrivals::from_packets(&capture.finish().expect("packets"));
        let shown = format!("{truth:?}\n{client}--- server\n{}", server.output());
        let expected = truth.as_reported_by(program, DATAGRAM, figures.bytes);
        assert_eq!(figures, expected, "{shown}");
        check(&fault, truth);
    }
}

/// Two hosts for a test that also needs a capture.
fn hosts_with_capture(test: &str) -> Option<NamespacePair> {
    if let Some(reason) = Capture::unavailable() {
        skip(test, &reason);
        return None;
    }
    hosts(test, &[Program::TapelineAsIperf])
}

#[test]
fn repetitions_are_no_losses_and_no_reordering() {
    let Some(pair) = hosts_with_capture("repetitions_are_no_losses_and_no_reordering") else {
        return;
    };
    let peer = pair.server_address(Family::V4);
    compare_with_capture(
        &pair,
        |pair, port| {
            PacketFilter::double_leaving(&pair.client, port, SPREAD, peer).expect("a filter")
        },
        |filter, truth| {
            assert_eq!(
                truth.duplicates,
                filter.packets("doubled").expect("a counter")
            );
            assert_eq!((truth.lost, truth.reordered), (0, 0));
        },
    );
}

#[test]
fn reordering_is_no_loss_and_no_repetition() {
    let Some(pair) = hosts_with_capture("reordering_is_no_loss_and_no_repetition") else {
        return;
    };
    let _lane = SlowLane::new(&pair.client, 200_000).expect("lanes");
    // Two neighbours use the slow lane up, the third has to wait in it and is overtaken.
    let places = Places {
        period: 100,
        from: 50,
        to: 52,
    };
    compare_with_capture(
        &pair,
        |pair, port| PacketFilter::slow_leaving(&pair.client, port, places).expect("a filter"),
        |_, truth| {
            assert!(truth.reordered > 0, "{truth:?}");
            assert_eq!((truth.lost, truth.duplicates), (0, 0));
        },
    );
}

#[test]
fn a_client_whose_server_vanishes_ends_by_itself() {
    let name = "a_client_whose_server_vanishes_ends_by_itself";
    let tapeline = Program::TapelineAsIperf;
    let Some(pair) = hosts(name, &[tapeline]) else {
        return;
    };
    let spec = ServerSpec::new(tapeline, Transport::Tcp, Family::V4);
    let server = spec.start_within(&pair.server).expect("a server");
    let client = server
        .client_to(tapeline, pair.server_address(Family::V4))
        .within(&pair.client)
        .line("-t 2 -i 0.5")
        .deadline(Duration::from_secs(30))
        .spawn()
        .expect("a client");
    let moving = client.wait_for(TIMEOUT, |out| !Transcript::parse(out).rows.is_empty());
    assert!(moving, "no interval: {}", client.stdout());
    let _hole = PacketFilter::black_hole(&pair.server, server.port()).expect("a filter");
    let client = client.wait().expect("it ends");
    let totals = Transcript::parse(&client.stdout).totals();
    assert_eq!(totals.len(), 1, "{client}");
    assert!(
        totals[0].bytes > 0,
        "what had been measured is shown\n{client}"
    );
}
