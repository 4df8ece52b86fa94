//! Maximum IP-layer capacity (`tapeline capacity`): the truth is the token bucket at the IP layer, the
//! length of its queue, and what a packet filter drops.

use std::time::{Duration, Instant};

use interop::{
    CountedAt, Family, Finished, FlowCounters, Invocation, NamespacePair, PacketFilter,
    ProcessorQuota, Program, Server, ServerSpec, TestPath, Transport, Way, in_a_quiet_moment, skip,
};
use serde_json::Value;

use crate::support::{assert_within, document, lacks, path};

/// Runs of a case in the level `methods`.
const RUNS: usize = 5;

fn server(hosts: &NamespacePair) -> Server {
    ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4)
        .start_within(&hosts.server)
        .expect("a server")
}

fn invocation(hosts: &NamespacePair, server: &Server, options: &str) -> Invocation {
    let address = hosts.server_address(Family::V4).to_string();
    Invocation::new(Program::Tapeline)
        .args(["capacity", &address, "-p", &server.port().to_string()])
        .within(&hosts.client)
        .line(options)
        .line("--json")
        .deadline(Duration::from_secs(90))
}

/// Runs the method and returns what it printed.
fn measure(hosts: &NamespacePair, server: &Server, options: &str) -> Finished {
    let finished = invocation(hosts, server, options).run().expect("a client");
    assert_eq!(finished.code(), Some(0), "{finished}");
    finished
}

fn number(value: &Value, member: &str, shown: &Finished) -> f64 {
    let number = value[member].as_f64();
    number.unwrap_or_else(|| panic!("no {member}\n{shown}"))
}

/// A direction that is expected to have this rate, Mbit/s within a share.
fn check_rate(shown: &Finished, direction: &str, rate: f64, tolerance: f64) -> Value {
    let result = document(shown)["result"][direction].clone();
    let capacity = &result["capacity"];
    let mbps = number(capacity, "bits_per_second", shown) / 1e6;
    let (low, high) = (rate * (1.0 - tolerance), rate * (1.0 + tolerance));
    assert_within(direction, mbps, low, high, shown);
    assert_eq!(result["limited_by"], "network", "{shown}");
    capacity.clone()
}

/// Fifty Mbit/s with 10 ms of queue.
fn check_p1(path: &TestPath, server: &Server, options: &str, directions: &[&str]) {
    let shown = measure(path.hosts(), server, options);
    for direction in directions {
        let capacity = check_rate(&shown, direction, 50.0, 0.01);
        let [loss, longest] =
            ["loss_percent", "rtt_max_ms"].map(|name| number(&capacity, name, &shown));
        assert_within("loss", loss, 0.5, 10.0, &shown);
        assert_within("longest round trip", longest, 28.0, 34.0, &shown);
    }
}

#[test]
fn a_shaped_path_has_the_rate_of_its_shaper() {
    in_a_quiet_moment(|| {
        let name = "a_shaped_path_has_the_rate_of_its_shaper";
        let Some(path) = path(name, Way::P1, Way::P1) else {
            return;
        };
        let server = server(path.hosts());
        check_p1(&path, &server, "-t 5", &["up", "down"]);
    });
}

#[test]
#[ignore = "minutes: cargo xtask test methods"]
fn p1_five_times() {
    for _ in 0..RUNS {
        in_a_quiet_moment(|| {
            let Some(path) = path("p1_five_times", Way::P1, Way::P1) else {
                return;
            };
            let server = server(path.hosts());
            check_p1(&path, &server, "-t 10", &["up", "down"]);
        });
    }
}

#[test]
#[ignore = "minutes: cargo xtask test methods"]
fn a_deep_queue_holds_the_rate_by_delay() {
    for _ in 0..RUNS {
        in_a_quiet_moment(|| {
            let Some(path) = path("a_deep_queue_holds_the_rate_by_delay", Way::P2, Way::P2) else {
                return;
            };
            let server = server(path.hosts());
            let shown = measure(path.hosts(), &server, "-t 10");
            for direction in ["up", "down"] {
                check_rate(&shown, direction, 100.0, 0.01);
                let result = &document(&shown)["result"][direction];
                // All seconds with a queue have the rate, within packets, and any of them is the maximum.
                let intervals = result["sub_intervals"].as_array().expect("sub-intervals");
                let is_full = |one: &Value| {
                    let rate = number(one, "bits_per_second", &shown);
                    let longest = number(one, "rtt_max_ms", &shown);
                    rate > 99.9e6 && (90.0..=110.0).contains(&longest)
                };
                assert!(intervals.iter().any(is_full), "{shown}");
                let row = number(result, "table_row_final", &shown);
                assert_within("final row", row, 95.0, 110.0, &shown);
            }
        });
    }
}

#[test]
#[ignore = "minutes: cargo xtask test methods"]
fn a_policer_and_an_asymmetric_path_have_their_rates() {
    let name = "a_policer_and_an_asymmetric_path_have_their_rates";
    let delay = Duration::from_millis(10);
    for _ in 0..RUNS {
        in_a_quiet_moment(|| {
            let policed = Way::policed(20_000_000, 15_000, delay);
            let Some(path) = path(name, policed, Way::free(delay)) else {
                return;
            };
            let server = server(path.hosts());
            let shown = measure(path.hosts(), &server, "--direction up");
            check_rate(&shown, "up", 20.0, 0.05);
            // 52 ms of queue: one above the upper threshold makes the rate swing.
            let down = Way::shaped(5_000_000, 32 * 1024, delay);
            path.shape(&Way::P1, &down).expect("an asymmetric path");
            let shown = measure(path.hosts(), &server, "-t 10");
            // Reports leave by the narrow way, and do not lower the wide one.
            check_rate(&shown, "up", 50.0, 0.01);
            check_rate(&shown, "down", 5.0, 0.03);
        });
    }
}

#[test]
#[ignore = "minutes: cargo xtask test methods"]
fn random_loss_below_the_threshold_lowers_nothing() {
    let name = "random_loss_below_the_threshold_lowers_nothing";
    for _ in 0..RUNS {
        in_a_quiet_moment(|| {
            let Some(path) = path(name, Way::P1, Way::P1) else {
                return;
            };
            let server = server(path.hosts());
            let _filter = PacketFilter::drop_every(&path.hosts().server, 1000).expect("a filter");
            let shown = measure(path.hosts(), &server, "--direction up");
            check_rate(&shown, "up", 50.0, 0.02);
        });
    }
}

#[test]
#[ignore = "minutes: cargo xtask test methods"]
fn a_sender_without_reports_is_silent_and_says_why() {
    let name = "a_sender_without_reports_is_silent_and_says_why";
    in_a_quiet_moment(|| {
        let Some(path) = path(name, Way::P1, Way::P1) else {
            return;
        };
        let server = server(path.hosts());
        let hosts = path.hosts();
        let counters = FlowCounters::new(&hosts.server, CountedAt::Arrival).expect("counters");
        let arrived = || {
            let flows = counters.flows().expect("flows");
            flows.iter().map(|flow| flow.packets).sum::<u64>()
        };
        std::thread::scope(|scope| {
            let client = invocation(path.hosts(), &server, "--direction up");
            let running = scope.spawn(move || client.run().expect("a client"));
            std::thread::sleep(Duration::from_secs(4));
            let cut = PacketFilter::cut(&hosts.client).expect("a filter");
            let began = Instant::now();
            std::thread::sleep(Duration::from_millis(1200).saturating_sub(began.elapsed()));
            let then = arrived();
            std::thread::sleep(Duration::from_millis(500));
            // What shows that this client is there may still come.
            assert!(arrived() - then <= 12, "{} packets", arrived() - then);
            let shown = running.join().expect("a client");
            drop(cut);
            assert_eq!(shown.code(), Some(1), "{shown}");
            assert!(shown.stderr.contains("no report of"), "{shown}");
            // What was measured until then is kept.
            let result = &document(&shown)["result"]["up"];
            let rate = &result["sub_intervals"][2]["bits_per_second"];
            assert!(rate.as_f64() > Some(1e6), "{shown}");
            // It was not the whole search.
            assert_eq!(result["capacity"], Value::Null, "{shown}");
        });
    });
}

#[test]
#[ignore = "minutes: cargo xtask test methods"]
fn a_receiver_without_a_processor_is_the_host() {
    let name = "a_receiver_without_a_processor_is_the_host";
    let quota = match ProcessorQuota::new(5) {
        Ok(quota) => quota,
        Err(error) => return skip(name, &format!("no quota of processor time: {error}")),
    };
    if lacks(name, &[Program::Tapeline]) {
        return;
    }
    in_a_quiet_moment(|| {
        // A relay could not carry what even such a receiver takes.
        let hosts = NamespacePair::new().expect("two hosts");
        let mut server = server(&hosts);
        quota.confine(server.process().id()).expect("a process");
        let shown = measure(&hosts, &server, "--direction up -t 5");
        let document = document(&shown);
        let result = &document["result"]["up"];
        assert_eq!(result["limited_by"], "receiver_host", "{shown}");
        let verdict = document["verdict"].as_str().expect("a verdict");
        assert!(verdict.contains("at least"), "{shown}");
        // The row stays where the drops began.
        let row = number(result, "table_row_final", &shown);
        assert!(row < 1000.0, "{shown}");
        let intervals = result["sub_intervals"].as_array().expect("sub-intervals");
        let dropped = intervals
            .iter()
            .map(|one| number(one, "lost_receiver_host", &shown));
        assert!(dropped.sum::<f64>() > 0.0, "{shown}");
    });
}

#[test]
fn a_server_without_feedback_is_refused_at_once() {
    in_a_quiet_moment(|| {
        let name = "a_server_without_feedback_is_refused_at_once";
        let Some(path) = path(name, Way::P1, Way::P1) else {
            return;
        };
        let server = server(path.hosts());
        let shown = invocation(path.hosts(), &server, "--no-peer-results")
            .run()
            .expect("a client");
        assert_eq!(shown.code(), Some(1), "{shown}");
        assert!(shown.stderr.contains("gives no feedback"), "{shown}");
        assert!(shown.stderr.contains("find-rate"), "{shown}");
    });
}
