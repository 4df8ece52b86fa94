//! The paths are what they say: rate and queue at the IP layer, and round trip.

use interop::{
    CountedAt, Family, Finished, FlowCounters, PacketFilter, Program, Server, ServerSpec, TestPath,
    Transport, Way, in_a_quiet_moment,
};

use crate::support::{assert_within, document, path};

/// Headers of a datagram over IPv4.
const UDP_HEADERS: u64 = 28;

fn server(path: &TestPath, transport: Transport) -> Server {
    ServerSpec::new(Program::Tapeline, transport, Family::V4)
        .start_within(&path.hosts().server)
        .expect("a server")
}

/// Runs a client of `options` and returns what it printed.
fn client(path: &TestPath, server: &Server, options: &str) -> Finished {
    let hosts = path.hosts();
    let finished = server
        .client_to(Program::Tapeline, hosts.server_address(Family::V4))
        .within(&hosts.client)
        .line(options)
        .line("--json")
        .run()
        .expect("a client");
    assert_eq!(finished.code(), Some(0), "{finished}");
    finished
}

/// UDP at 1.2 times the rate, both ways in turn: what arrives is the rate, as the packet filter
/// counts it; and an idle round trip takes both delays.
fn check(name: &str, up: Way, down: Way) {
    in_a_quiet_moment(|| {
        let Some(path) = path(name, up, down) else {
            return;
        };
        let server = server(&path, Transport::Udp);
        let hosts = path.hosts();
        for (way, receiver, reverse) in [(up, &hosts.server, ""), (down, &hosts.client, "-R")] {
            let counters = FlowCounters::new(receiver, CountedAt::Arrival).expect("counters");
            let load = way.rate * 12 / 10;
            let shown = client(&path, &server, &format!("-b {load} -l 1472 -t 2 {reverse}"));
            let flows = counters.flows().expect("flows");
            let load = flows.iter().max_by_key(|flow| flow.bytes).expect("a flow");
            // The counters' own arithmetic: full packets, and a few that begin and end the flow.
            assert_eq!(load.protocol, "udp");
            let full = load.payload(UDP_HEADERS) / 1472;
            assert!(load.packets - full <= 20, "{load:?}\n{shown}");
            // The queue and one burst leave beyond the two seconds. A timer that is late by more than the
            // burst lasts (1.3 ms at 100 Mbit/s) costs a share of the rate.
            let bits = load.bytes as f64 * 8.0;
            let extra = f64::from(way.queue + way.burst) * 8.0;
            let rate = way.rate as f64;
            assert_within(
                "bits",
                bits,
                rate * 2.0 * 0.95,
                rate * 2.0 * 1.01 + extra,
                &shown,
            );
            // What the receiver says is the rate of its own time, which has no such rest.
            let received = &document(&shown)["streams"][0]["receiver"]["bits_per_second"];
            let received = received.as_f64().expect("a rate");
            let expected = way.payload_rate(1472, 1500);
            // The first burst leaves at once: 6 % of two seconds at 1 Mbit/s.
            let burst = f64::from(way.burst) * 8.0 / (rate * 2.0);
            assert_within(
                "rate",
                received,
                expected * 0.95,
                expected * (1.02 + burst),
                &shown,
            );
        }
    });
}

#[test]
fn the_paths_have_their_rates() {
    let name = "the_paths_have_their_rates";
    check(name, Way::P1, Way::P3);
    check(name, Way::P2, Way::P4);
}

#[test]
fn the_paths_have_their_round_trips() {
    in_a_quiet_moment(|| {
        for way in [Way::P1, Way::P4] {
            let Some(path) = path("the_paths_have_their_round_trips", way, way) else {
                return;
            };
            let server = server(&path, Transport::Tcp);
            let shown = client(&path, &server, "--bounceback -t 2");
            let document = document(&shown);
            let stream = &document["streams"][0];
            let (low, high) = (way.delay.as_secs_f64() * 2e3, 0.6);
            // The least one: the others are as late as this machine's processors are busy.
            let least = stream["rtt"]["min_ms"].as_f64();
            let least = least.unwrap_or_else(|| panic!("no round trip\n{shown}"));
            assert_within("round trip", least, low, low + high, &shown);
        }
    });
}

#[test]
fn a_policer_drops_and_one_in_a_thousand_is_one_in_a_thousand() {
    let name = "a_policer_drops_and_one_in_a_thousand_is_one_in_a_thousand";
    in_a_quiet_moment(|| {
        let delay = Way::P1.delay;
        let up = Way::policed(10_000_000, 15_000, delay);
        let Some(path) = path(name, up, Way::free(delay)) else {
            return;
        };
        let server = server(&path, Transport::Udp);
        let shown = client(&path, &server, "-b 20m -l 1472 -t 1");
        let receiver = &document(&shown)["streams"][0]["receiver"];
        let rate = receiver["bits_per_second"].as_f64().expect("a rate");
        let expected = up.payload_rate(1472, 1500);
        assert_within(
            "policed rate",
            rate,
            expected * 0.95,
            expected * 1.04,
            &shown,
        );
        path.shape(&Way::free(delay), &Way::free(delay))
            .expect("no policer");
        let filter = PacketFilter::drop_every(&path.hosts().server, 1000).expect("a filter");
        client(&path, &server, "-b 20m -l 500 -t 1");
        let [seen, dropped] = ["seen", "dropped"].map(|name| filter.packets(name).expect(name));
        assert_eq!(dropped, seen / 1000, "{seen} seen");
        assert!(seen > 5000, "{seen} seen");
    });
}
