//! `tapeline responsiveness`: round trips per minute on paths whose queues are known.

use std::time::Duration;

use interop::{
    Family, Finished, Invocation, Program, Server, ServerSpec, TestPath, Transport, Way,
    in_a_quiet_moment,
};
use serde_json::Value;

use crate::support::{assert_within, document, queued};

fn server(path: &TestPath) -> Server {
    ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4)
        .start_within(&path.hosts().server)
        .expect("a server")
}

/// The document of a run on a path.
fn measured(path: &TestPath, options: &str) -> (Value, Finished) {
    let server = server(path);
    let hosts = path.hosts();
    let address = hosts.server_address(Family::V4).to_string();
    let shown = Invocation::new(Program::Tapeline)
        .args(["responsiveness", &address, "-p", &server.port().to_string()])
        .line("--json -Z cubic")
        .line(options)
        .within(&hosts.client)
        .deadline(Duration::from_secs(120))
        .run()
        .expect("a client");
    assert_eq!(shown.code(), Some(0), "{shown}");
    // A load that has done its work is no test that broke off.
    let served = server.kill().expect("a server");
    assert!(!served.stderr.contains("ended the test"), "{served}");
    (document(&shown), shown)
}

fn number(value: &Value, shown: &Finished) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number\n{shown}"))
}

/// The goodput fills the way, the number and its class are expected, and stable enough.
fn check(result: &Value, name: &str, way: &Way, rpm: (f64, f64), class: &str, shown: &Finished) {
    let direction = &result[name];
    let value = number(&direction["rpm"], shown);
    assert_within(name, value, rpm.0, rpm.1, shown);
    assert_eq!(direction["class"], class, "{shown}");
    assert_eq!(direction["self_source"], "tcp_info", "{shown}");
    let confidence = direction["confidence"]["responsiveness"].as_str();
    assert!(matches!(confidence, Some("medium" | "high")), "{shown}");
    if way.rate > 0 {
        let rate = number(&direction["goodput_bits_per_second"], shown) / 1e6;
        let full = way.payload_rate(1448, 1500) / 1e6;
        assert_within("goodput", rate, full * 0.88, full * 1.03, shown);
        let moved: f64 = direction["intervals"]
            .as_array()
            .map(|all| {
                all.iter()
                    .map(|one| number(&one["bits_per_second"], shown) / 8.0)
                    .sum()
            })
            .unwrap_or_default();
        let spent = number(&direction["probes"]["bytes"], shown);
        assert!(
            spent <= 0.05 * moved + 2000.0,
            "{spent} of {moved}\n{shown}"
        );
    }
}

const GOOD: (f64, f64) = (1850.0, 2700.0);
const POOR: (f64, f64) = (66.0, 110.0);

#[test]
fn a_short_queue_keeps_the_path_responsive() {
    let name = "a_short_queue_keeps_the_path_responsive";
    in_a_quiet_moment(|| {
        let Some(path) = queued(name, Way::P1, Way::P1) else {
            return;
        };
        let (document, shown) = measured(&path, "--direction up");
        let result = &document["result"];
        assert_within(
            "idle",
            number(&result["idle_rpm"], &shown),
            2850.0,
            3000.0,
            &shown,
        );
        check(result, "up", &Way::P1, GOOD, "good", &shown);
        assert!(result["down"].is_null(), "{shown}");
        assert_eq!(document["conforming"], false, "{shown}");
    });
}

#[test]
#[ignore = "a minute"]
fn both_directions_are_responsive_with_short_queues() {
    let name = "both_directions_are_responsive_with_short_queues";
    in_a_quiet_moment(|| {
        let Some(path) = queued(name, Way::P1, Way::P1) else {
            return;
        };
        let (document, shown) = measured(&path, "");
        for direction in ["up", "down"] {
            check(
                &document["result"],
                direction,
                &Way::P1,
                GOOD,
                "good",
                &shown,
            );
        }
    });
}

#[test]
#[ignore = "a minute"]
fn deep_queues_make_the_path_poor() {
    in_a_quiet_moment(|| {
        let Some(path) = queued("deep_queues_make_the_path_poor", Way::P3, Way::P3) else {
            return;
        };
        let (document, shown) = measured(&path, "");
        for direction in ["up", "down"] {
            check(
                &document["result"],
                direction,
                &Way::P3,
                POOR,
                "poor",
                &shown,
            );
        }
    });
}

#[test]
#[ignore = "a minute"]
fn only_the_direction_with_the_deep_queue_is_poor() {
    let name = "only_the_direction_with_the_deep_queue_is_poor";
    in_a_quiet_moment(|| {
        let up = Way::shaped(10_000_000, 64 * 1024, Duration::from_millis(10));
        let Some(path) = queued(name, up, Way::P3) else {
            return;
        };
        let (document, shown) = measured(&path, "--pass rpm=50");
        let result = &document["result"];
        check(result, "down", &Way::P3, POOR, "poor", &shown);
        let class = result["up"]["class"].as_str().unwrap_or_default();
        // 64 KiB are 52 ms at 10 Mbit/s: 830 round trips per minute at the most of it.
        assert!(matches!(class, "fair" | "good"), "{shown}");
        let verdict = document["verdict"].as_str().unwrap_or_default();
        assert!(verdict.contains("something downloads"), "{shown}");
    });
}

#[test]
#[ignore = "a minute"]
fn probes_leave_the_load_its_share() {
    in_a_quiet_moment(|| {
        let Some(path) = queued("probes_leave_the_load_its_share", Way::P4, Way::P4) else {
            return;
        };
        let (document, shown) = measured(&path, "--direction up");
        let up = &document["result"]["up"];
        assert!(number(&up["probes"]["foreign"], &shown) >= 20.0, "{shown}");
        let rate = number(&up["goodput_bits_per_second"], &shown);
        let full = Way::P4.payload_rate(1448, 1500);
        assert_within("goodput", rate, full * 0.88, full * 1.03, &shown);
    });
}

#[test]
#[ignore = "a minute"]
fn both_directions_at_once_have_one_number() {
    let name = "both_directions_at_once_have_one_number";
    in_a_quiet_moment(|| {
        let Some(path) = queued(name, Way::P1, Way::P1) else {
            return;
        };
        let (document, shown) = measured(&path, "--full-duplex");
        let result = &document["result"];
        let both = &result["both"];
        assert!(
            result["up"].is_null() && result["down"].is_null(),
            "{shown}"
        );
        assert_within("both", number(&both["rpm"], &shown), 1000.0, 2700.0, &shown);
    });
}

/// Without a limit of its own the path runs at 2 Gbit/s, and its devices hold 5000 packets: 20 ms of queue. At
/// 200 Mbit/s with a short one what is left is the time of a probe.
#[test]
#[ignore = "a minute"]
fn a_short_path_without_a_deep_queue_is_excellent() {
    let name = "a_short_path_without_a_deep_queue_is_excellent";
    in_a_quiet_moment(|| {
        let way = Way::shaped(200_000_000, 16 * 1024, Duration::from_millis(1));
        let Some(path) = queued(name, way, way) else {
            return;
        };
        let (document, shown) = measured(&path, "");
        for direction in ["up", "down"] {
            let found = &document["result"][direction];
            let rpm = number(&found["rpm"], &shown);
            assert_within(direction, rpm, 6000.0, 30_000.0, &shown);
            assert_eq!(found["class"], "excellent", "{shown}");
        }
        let deviations = document["deviations"].to_string();
        assert!(!deviations.contains("unsent"), "{shown}");
    });
}

#[test]
#[ignore = "half a minute"]
fn a_missed_limit_is_exit_code_4() {
    let name = "a_missed_limit_is_exit_code_4";
    let Some(path) = queued(name, Way::P1, Way::P1) else {
        return;
    };
    let server = server(&path);
    let hosts = path.hosts();
    let address = hosts.server_address(Family::V4).to_string();
    let shown = Invocation::new(Program::Tapeline)
        .args(["responsiveness", &address, "-p", &server.port().to_string()])
        .line("--direction up -t 8 --pass rpm=100000")
        .within(&hosts.client)
        .run()
        .expect("a client");
    assert_eq!(shown.code(), Some(4), "{shown}");
}
