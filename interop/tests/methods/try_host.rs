//! `tapeline try HOST`: its page on paths whose rate, queue, loss and delay are known.

use std::time::Duration;

use interop::{
    Cable, Family, Finished, Invocation, NamespacePair, PacketFilter, ProcessorQuota, Program,
    RoutedPair, Server, ServerSpec, TestPath, Transport, Way, in_a_quiet_moment, skip,
};
use serde_json::Value;

use crate::support::{assert_within, document, lacks, queued};

/// A queue of at most 10.5 ms, which cubic keeps partly empty.
const SHORT_QUEUE: &[&str] = &["A+", "A"];
/// The whole page takes at most so long, seconds.
const LONGEST: f64 = 20.0;
/// After that it hangs.
const DEADLINE: Duration = Duration::from_secs(60);

fn server(path: &TestPath, program: Program) -> Server {
    ServerSpec::new(program, Transport::Tcp, Family::V4)
        .start_within(&path.hosts().server)
        .expect("a server")
}

fn run(path: &TestPath, server: &Server, options: &str) -> Finished {
    let hosts = path.hosts();
    let address = hosts.server_address(Family::V4).to_string();
    Invocation::new(Program::Tapeline)
        .args(["try", &address, "-p", &server.port().to_string()])
        .line(options)
        .within(&hosts.client)
        .deadline(DEADLINE)
        .run()
        .expect("a client")
}

/// The document of `try` towards a tapeline on a path.
fn tried(path: &TestPath, options: &str) -> (Value, Finished) {
    let server = server(path, Program::Tapeline);
    let shown = run(path, &server, &format!("--json {options}"));
    assert_eq!(shown.code(), Some(0), "{shown}");
    (document(&shown), shown)
}

fn number(value: &Value, shown: &Finished) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number\n{shown}"))
}

/// A direction's rate and delay are those of its way, and the grade is one of these.
fn check_direction(result: &Value, name: &str, way: &Way, grades: &[&str], shown: &Finished) {
    let direction = &result[name];
    let rate = number(&direction["bits_per_second"], shown) / 1e6;
    let expected = way.payload_rate(1448, 1500) / 1e6;
    assert_within(name, rate, expected * 0.97, expected * 1.03, shown);
    let grade = direction["bufferbloat_grade"].as_str().unwrap_or_default();
    assert!(grades.contains(&grade), "{name}: {grade}\n{shown}");
    let increase = number(&direction["increase_ms"], shown);
    let queue = way.queue_time().as_secs_f64() * 1e3;
    assert_within("increase", increase, 0.1 * queue, 1.1 * queue + 5.0, shown);
}

#[test]
fn a_path_without_a_weak_point_is_good_for_everything() {
    let name = "a_path_without_a_weak_point_is_good_for_everything";
    in_a_quiet_moment(|| {
        let Some(path) = queued(name, Way::P1, Way::P1) else {
            return;
        };
        let (document, shown) = tried(&path, "-Z cubic");
        let result = &document["result"];
        assert_within(
            "time",
            number(&document["seconds"], &shown),
            14.0,
            LONGEST,
            &shown,
        );
        for direction in ["up", "down"] {
            check_direction(result, direction, &Way::P1, SHORT_QUEUE, &shown);
            let idle = &result["idle"][direction];
            assert_within(
                "packets",
                number(&idle["packets"], &shown),
                248.0,
                253.0,
                &shown,
            );
            assert_eq!(idle["lost"], 0, "{shown}");
        }
        let idle = number(&result["idle"]["p50_ms"], &shown);
        assert_within("idle", idle, 20.0, 21.5, &shown);
        assert_within(
            "connect",
            number(&result["connect_ms"], &shown),
            20.0,
            25.0,
            &shown,
        );
        let grade = result["bufferbloat_grade"].as_str().unwrap_or_default();
        assert!(SHORT_QUEUE.contains(&grade), "{shown}");
        assert_eq!(result["advice_id"], "nothing", "{shown}");
        for word in ["web", "calls", "games"] {
            assert_eq!(result["uses"][word], "good", "{word}\n{shown}");
        }
    });
}

/// Reno fills a queue at once, where cubic leaves its slow start before and needs more than the load's six
/// seconds.
#[test]
#[ignore = "a minute"]
fn a_deep_queue_is_the_weak_point() {
    let name = "a_deep_queue_is_the_weak_point";
    for (up, down, weak) in [(Way::P3, Way::P1, "up"), (Way::P1, Way::P3, "down")] {
        in_a_quiet_moment(|| {
            let Some(path) = queued(name, up, down) else {
                return;
            };
            let (document, shown) = tried(&path, "-Z reno");
            let result = &document["result"];
            assert_within(
                "time",
                number(&document["seconds"], &shown),
                14.0,
                22.0,
                &shown,
            );
            for (direction, way) in [("up", &up), ("down", &down)] {
                let grades = if direction == weak {
                    &["F"]
                } else {
                    SHORT_QUEUE
                };
                check_direction(result, direction, way, grades, &shown);
            }
            assert_eq!(result["bufferbloat_grade"], "F", "{shown}");
            assert_eq!(result["advice_id"], "queue", "{shown}");
            let verdict = document["verdict"].as_str().unwrap_or_default();
            let traffic = if weak == "up" { "outgoing" } else { "incoming" };
            assert!(verdict.contains(traffic), "{shown}");
            assert_eq!(result["uses"]["calls"], "poor", "{shown}");
            assert_eq!(result["uses"]["games"], "poor", "{shown}");
        });
    }
}

#[test]
#[ignore = "a minute"]
fn loss_without_load_is_counted() {
    for (period, advice) in [(100, "nothing"), (25, "idle-loss")] {
        in_a_quiet_moment(|| {
            let Some(path) = queued("loss_without_load_is_counted", Way::P1, Way::P1) else {
                return;
            };
            // Of the stream that counts alone: beside it are packets at other steady intervals.
            let one = format!("ip length 228 numgen inc mod {period} {}", period - 1);
            let hosts = path.hosts();
            let _filter = PacketFilter::drop_matching(&hosts.server, &one).expect("a filter");
            let (document, shown) = tried(&path, "-Z cubic");
            let result = &document["result"];
            let percent = 100.0 / f64::from(period);
            let up = number(&result["idle"]["up"]["loss_percent"], &shown);
            assert_within("loss", up, percent - 0.3, percent + 0.3, &shown);
            assert_eq!(result["idle"]["down"]["lost"], 0, "{shown}");
            assert_eq!(result["advice_id"], advice, "{shown}");
        });
    }
}

#[test]
#[ignore = "half a minute"]
fn a_delay_that_varies_without_load_is_told() {
    let name = "a_delay_that_varies_without_load_is_told";
    if lacks(name, &[Program::Tapeline]) {
        return;
    }
    in_a_quiet_moment(|| {
        let jittery = relay::Path {
            jitter: relay::Jitter::Uniform(Duration::from_millis(60)),
            ..relay::Path::default()
        };
        let way = Way::free(Duration::from_millis(2));
        let Ok(path) = TestPath::with(way, way, jittery.clone(), relay::Path::default()) else {
            return;
        };
        let (document, shown) = tried(&path, "-Z cubic");
        let result = &document["result"];
        assert_eq!(result["advice_id"], "idle-variation", "{shown}");
    });
}

/// What the routers let through, bit/s: without a limit the hosts are the weak point.
const LIMIT: u64 = 100_000_000;

/// The page towards a tapeline behind routers whose cables have this MTU, and what `silence` does.
fn tried_behind_routers(
    name: &str,
    mtu: u16,
    silence: impl Fn(&RoutedPair),
) -> Option<(Value, Finished)> {
    if lacks(name, &[Program::Tapeline]) {
        return None;
    }
    let pair = match RoutedPair::new() {
        Ok(pair) => pair,
        Err(error) => {
            skip(name, &format!("no routed network namespaces: {error}"));
            return None;
        }
    };
    for cable in [Cable::ThereServer, Cable::BackClient] {
        pair.set_mtu(cable, mtu).expect("an MTU");
    }
    pair.limit(LIMIT).expect("a limit");
    silence(&pair);
    let server = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4)
        .start_within(&pair.server)
        .expect("a server");
    let address = pair.server_address(Family::V4).to_string();
    let shown = Invocation::new(Program::Tapeline)
        .args([
            "try",
            &address,
            "-p",
            &server.port().to_string(),
            "-t",
            "5",
            "--json",
        ])
        .within(&pair.client)
        .deadline(Duration::from_secs(90))
        .run()
        .expect("a client");
    assert_eq!(shown.code(), Some(0), "{shown}");
    Some((document(&shown), shown))
}

#[test]
#[ignore = "half a minute"]
fn the_mtu_of_an_access_line_is_found() {
    let name = "the_mtu_of_an_access_line_is_found";
    let Some((document, shown)) = tried_behind_routers(name, 1492, |_| ()) else {
        return;
    };
    let mtu = &document["result"]["mtu"];
    for direction in ["up_bytes", "down_bytes"] {
        assert_eq!(mtu[direction], 1492, "{shown}");
    }
    assert_eq!(mtu["black_hole"], false, "{shown}");
    assert_ne!(document["result"]["advice_id"], "mtu", "{shown}");
}

/// Routers that drop what is too long and say nothing.
#[test]
#[ignore = "half a minute"]
fn a_black_hole_is_the_weak_point() {
    let name = "a_black_hole_is_the_weak_point";
    let silence = |pair: &RoutedPair| {
        for router in [&pair.there, &pair.back] {
            let script = "table ip silence {\nchain out {\ntype filter hook output priority 0;\n\
                          icmp type destination-unreachable drop\n}\n}\n";
            router.nft(script).expect("a filter");
        }
    };
    in_a_quiet_moment(|| {
        let Some((document, shown)) = tried_behind_routers(name, 1492, silence) else {
            return;
        };
        assert_eq!(document["result"]["mtu"]["black_hole"], true, "{shown}");
        assert_eq!(document["result"]["advice_id"], "mtu", "{shown}");
        // The loads use segments that arrive, and so fill what the routers let through.
        for direction in ["up", "down"] {
            let rate = document["result"][direction]["bits_per_second"].as_f64();
            assert!(rate > Some(0.8 * LIMIT as f64), "{direction}\n{shown}");
        }
    });
}

/// A server with a tenth of a processor, over a cable.
#[test]
#[ignore = "half a minute"]
fn a_host_that_limits_is_named() {
    let name = "a_host_that_limits_is_named";
    if lacks(name, &[Program::Tapeline]) {
        return;
    }
    let quota = match ProcessorQuota::new(10) {
        Ok(quota) => quota,
        Err(error) => return skip(name, &format!("no quota of processor time: {error}")),
    };
    let hosts = NamespacePair::new().expect("network namespaces");
    let mut server = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4)
        .start_within(&hosts.server)
        .expect("a server");
    quota.confine(server.process().id()).expect("a process");
    let address = hosts.server_address(Family::V4).to_string();
    let shown = Invocation::new(Program::Tapeline)
        .args(["try", &address, "-p", &server.port().to_string(), "--json"])
        .line("--fail-if-limited --pass down=1000000")
        .within(&hosts.client)
        .deadline(DEADLINE)
        .run()
        .expect("a client");
    // A missed limit would be 4, but of a host's numbers nothing follows.
    assert_eq!(shown.code(), Some(3), "{shown}");
    let document = document(&shown);
    assert_eq!(document["result"]["advice_id"], "host-limited", "{shown}");
    let verdict = document["verdict"].as_str().unwrap_or_default();
    assert!(verdict.contains("server"), "{shown}");
}

/// Somebody else fills the queue from the first load on, so that it does not empty behind it.
#[test]
#[ignore = "half a minute"]
fn a_queue_that_does_not_empty_is_told() {
    let name = "a_queue_that_does_not_empty_is_told";
    let Some(path) = queued(name, Way::P1, Way::P3) else {
        return;
    };
    let server = server(&path, Program::Tapeline);
    let hosts = path.hosts();
    let address = hosts.server_address(Family::V4).to_string();
    let client = |line: &str| {
        Invocation::new(Program::Tapeline)
            .line(line)
            .args(["-p", &server.port().to_string()])
            .within(&hosts.client)
            .deadline(Duration::from_secs(90))
            .spawn()
            .expect("a client")
    };
    let tried = client(&format!("try {address} --json -Z cubic"));
    let is_loaded = |said: &str| said.contains("load down");
    assert!(
        tried.wait_for_error(Duration::from_secs(60), is_loaded),
        "{}",
        tried.stderr()
    );
    let other = client(&format!("-c {address} -u -R -b 12M -t 30"));
    let shown = tried.wait().expect("its end");
    drop(other);
    let document = document(&shown);
    let warnings = document["warnings"].as_array().expect("warnings").iter();
    let mut warnings = warnings.map(|warning| &warning["id"]);
    assert!(warnings.any(|id| id == "path-not-idle"), "{shown}");
}

/// A server that stops each test after three seconds: rates, but no grades, and why. It sends no datagrams
/// to strangers, and counts theirs.
#[test]
#[ignore = "half a minute"]
fn a_server_that_grants_little_gives_no_grade() {
    let name = "a_server_that_grants_little_gives_no_grade";
    in_a_quiet_moment(|| {
        let Some(path) = queued(name, Way::P1, Way::P1) else {
            return;
        };
        let server = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4)
            .options("--trust none --limit duration=3")
            .start_within(&path.hosts().server)
            .expect("a server");
        let shown = run(&path, &server, "--json -Z cubic");
        assert_eq!(shown.code(), Some(1), "{shown}");
        let result = &document(&shown)["result"];
        assert_eq!(result["idle"]["up"]["lost"], 0, "{shown}");
        assert!(result["idle"]["down"]["lost"].is_null(), "{shown}");
        for direction in ["up", "down"] {
            let way = &result[direction];
            let rate = number(&way["bits_per_second"], &shown) / 1e6;
            let expected = Way::P1.payload_rate(1448, 1500) / 1e6;
            assert_within(direction, rate, expected * 0.95, expected * 1.03, &shown);
            assert!(way["bufferbloat_grade"].is_null(), "{shown}");
            let reason = way["reason"].as_str().unwrap_or_default();
            assert!(reason.contains("3 s"), "{reason}\n{shown}");
        }
        assert!(result["bufferbloat_grade"].is_null(), "{shown}");
    });
}

/// What plain peers do not tell is not claimed.
#[test]
#[ignore = "a minute"]
fn plain_peers_are_not_asked_for_what_they_cannot_tell() {
    let name = "plain_peers_are_not_asked_for_what_they_cannot_tell";
    for (program, options) in [
        (Program::Iperf221, ""),
        (Program::Iperf3V22, "--peer iperf3"),
    ] {
        if lacks(name, &[program]) {
            continue;
        }
        in_a_quiet_moment(|| {
            let Some(path) = queued(name, Way::P1, Way::P1) else {
                return;
            };
            // iperf 2.2.1 serves TCP or UDP: the loads matter most.
            let server = server(&path, program);
            let shown = run(&path, &server, &format!("--json -Z cubic {options}"));
            let document = document(&shown);
            let result = &document["result"];
            assert_within(
                "time",
                number(&document["seconds"], &shown),
                12.0,
                22.0,
                &shown,
            );
            for direction in ["up", "down"] {
                let rate = number(&result[direction]["bits_per_second"], &shown) / 1e6;
                let expected = Way::P1.payload_rate(1448, 1500) / 1e6;
                assert_within(direction, rate, expected * 0.95, expected * 1.03, &shown);
                // TCP repeats what is lost.
                assert!(result[direction]["loss_percent"].is_null(), "{shown}");
            }
            let idle = &result["idle"];
            assert_within("idle", number(&idle["p50_ms"], &shown), 20.0, 25.0, &shown);
            assert!(result["mtu"]["down_bytes"].is_null(), "{shown}");
            if program == Program::Iperf221 {
                assert!(idle["down"]["packets"].is_null(), "{shown}");
                assert!(idle["down"]["jitter_ms"].is_null(), "{shown}");
            } else {
                assert_eq!(shown.code(), Some(0), "{shown}");
                assert_eq!(idle["down"]["lost"], 0, "{shown}");
            }
        });
    }
}

#[test]
fn nobody_there_is_one_error_and_no_page() {
    let name = "nobody_there_is_one_error_and_no_page";
    let Some(path) = queued(name, Way::P1, Way::P1) else {
        return;
    };
    let hosts = path.hosts();
    let address = hosts.server_address(Family::V4).to_string();
    let shown = Invocation::new(Program::Tapeline)
        .args(["try", &address, "-p", "5999"])
        .within(&hosts.client)
        .run()
        .expect("a client");
    assert_eq!(shown.code(), Some(1), "{shown}");
    assert_eq!(shown.stdout, "", "{shown}");
    assert_eq!(shown.stderr.matches("error: ").count(), 1, "{shown}");
    assert!(shown.stderr.contains("hint: "), "{shown}");
}
