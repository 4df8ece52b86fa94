//! RFC 6349 on paths of known rate, queue, delay and loss (`tapeline rfc6349`).

use std::time::Duration;

use interop::{
    Family, Finished, Invocation, Namespace, PacketFilter, Program, Server, ServerSpec, TestPath,
    Transport, Way, in_a_quiet_moment, skip,
};
use relay::{Link, Policer};
use serde_json::Value;

use crate::support::{assert_within, document, lacks};

/// Longest run of a method in these tests.
const DEADLINE: Duration = Duration::from_secs(900);
const DELAY: Duration = Duration::from_millis(10);

/// A path whose queues are in the network, that is in the relay. A queue on the sender's own device
/// is none to TCP on Linux: it lets few bytes into it (small queues), and a packet that is dropped
/// there was never sent, so nothing is sent again.
fn remote(test: &str, up: Way, down: Way) -> Option<TestPath> {
    let link = |way: Way| relay::Path {
        link: Some(Link {
            rate: way.rate,
            queue: way.queue.into(),
        }),
        ..relay::Path::default()
    };
    through(test, [up, down], [link(up), link(down)])
}

/// Ways without limits at the hosts, and a relay that limits.
fn through(test: &str, ways: [Way; 2], [there, back]: [relay::Path; 2]) -> Option<TestPath> {
    if lacks(test, &[Program::Tapeline]) {
        return None;
    }
    let [up, down] = ways.map(|way| Way::free(way.delay));
    match TestPath::with(up, down, there, back) {
        Ok(path) => Some(path),
        Err(error) => {
            skip(
                test,
                &format!("no relay between network namespaces: {error}"),
            );
            None
        }
    }
}

fn server(path: &TestPath, program: Program) -> Server {
    ServerSpec::new(program, Transport::Tcp, Family::V4)
        .start_within(&path.hosts().server)
        .expect("a server")
}

/// Runs the method with its document on standard output; `code` is what it must end with.
#[expect(clippy::print_stderr, reason = "the figures of a run are its record")]
fn ends(path: &TestPath, server: &Server, options: &str, code: i32) -> (Value, Finished) {
    let hosts = path.hosts();
    let host = format!("{}:{}", hosts.server_address(Family::V4), server.port());
    let finished = Invocation::new(Program::Tapeline)
        .args(["rfc6349", &host, "--json"])
        .line(options)
        .within(&hosts.client)
        .deadline(DEADLINE)
        .run()
        .expect("the method");
    assert_eq!(finished.code(), Some(code), "{finished}");
    let document = document(&finished);
    assert_eq!(document["schema"], "tapeline-method/1", "{finished}");
    eprintln!("{options}: {}", document["result"]);
    (document, finished)
}

fn measure(path: &TestPath, server: &Server, options: &str) -> (Value, Finished) {
    ends(path, server, options, 0)
}

#[track_caller]
fn number(value: &Value, shown: &Finished) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number\n{shown}"))
}

/// The runs of a phase in a direction.
fn runs<'a>(direction: &'a Value, phase: &str) -> Vec<&'a Value> {
    let all = direction["runs"].as_array().expect("runs");
    all.iter().filter(|run| run["phase"] == phase).collect()
}

#[track_caller]
fn first<'a>(direction: &'a Value, phase: &str) -> &'a Value {
    let runs = runs(direction, phase);
    runs.first()
        .unwrap_or_else(|| panic!("no {phase} in {direction}"))
}

fn finding(direction: &Value) -> &str {
    direction["finding"].as_str().unwrap_or("none")
}

/// What a clean P1 comes to. A short run has not filled the queue yet, and a busy machine looks at
/// acknowledgements late.
fn check_clean(direction: &Value, windows: &[f64], long: bool, shown: &Finished) {
    let (swept_low, delay_low) = if long { (0.90, 10.0) } else { (0.80, 0.0) };
    let rtt = 20.3;
    let bdp = number(&direction["minimum_window_bytes"], shown);
    assert_within("window", bdp, 125_000.0 * 0.96, 125_000.0 * 1.04, shown);
    let ideal = number(&direction["ideal"]["bits_per_second"], shown);
    assert_within("ideal", ideal, 48.27e6 * 0.99, 48.27e6 * 1.01, shown);
    assert_eq!(direction["ideal"]["header_bytes"], 52, "{shown}");
    let swept = runs(direction, "window");
    assert_eq!(swept.len(), windows.len(), "{shown}");
    for (run, percent) in swept.iter().zip(windows) {
        let rate = number(&run["bits_per_second"], shown);
        let asked = number(&run["window_asked_bytes"], shown);
        assert_within(
            "share",
            asked / bdp * 100.0,
            percent - 0.1,
            percent + 0.1,
            shown,
        );
        let expected = (asked * 8.0 / (rtt / 1e3)).min(48.27e6);
        assert_within("swept", rate, expected * swept_low, expected * 1.03, shown);
        // Nothing is lost as long as the queue holds the whole window, however late it leaves.
        if *percent <= 50.0 {
            assert_eq!(
                run["retransmitted_bytes"].as_u64().unwrap_or(0),
                0,
                "{shown}"
            );
        }
    }
    let headline = &direction["headline"];
    assert_within("ratio", number(&headline["ttr"], shown), 0.99, 1.10, shown);
    for (name, low, high) in [
        ("efficiency_percent", 99.5, 100.0),
        ("buffer_delay_percent", delay_low, 55.0),
    ] {
        if !headline[name].is_null() {
            assert_within(name, number(&headline[name], shown), low, high, shown);
        }
    }
    assert_eq!(finding(direction), "filled", "{shown}");
}

/// What warnings of a kind say.
fn warnings<'a>(document: &'a Value, id: &str) -> Vec<&'a str> {
    let all = document["warnings"].as_array().expect("warnings").iter();
    let named = all.filter(|warning| warning["id"] == id);
    named
        .filter_map(|warning| warning["text"].as_str())
        .collect()
}

fn check_baseline(document: &Value, shown: &Finished) {
    let baseline = number(&document["result"]["rtt"]["baseline_ms"], shown);
    assert_within("baseline", baseline, 20.0, 20.6, shown);
}

#[test]
fn a_clean_path_is_filled() {
    let name = "a_clean_path_is_filled";
    in_a_quiet_moment(|| {
        let Some(path) = remote(name, Way::P1, Way::P1) else {
            return;
        };
        let server = server(&path, Program::Tapeline);
        let options = "--cir 50M -t 2 --direction up --windows 50% -Z cubic --pass default";
        let (document, shown) = measure(&path, &server, options);
        check_baseline(&document, &shown);
        check_clean(&document["result"]["up"], &[50.0], false, &shown);
        assert_eq!(
            document["pass"].as_array().map(Vec::len),
            Some(3),
            "{shown}"
        );
        assert_eq!(document["conforming"], false, "{shown}");
    });
}

#[test]
#[ignore = "takes three minutes"]
fn clean() {
    in_a_quiet_moment(|| {
        let Some(path) = remote("clean", Way::P1, Way::P1) else {
            return;
        };
        let server = server(&path, Program::Tapeline);
        let (document, shown) = measure(&path, &server, "-Z cubic");
        check_baseline(&document, &shown);
        let result = &document["result"];
        for direction in ["up", "down"] {
            let of = &result[direction];
            let rate = number(&of["bottleneck"]["bits_per_second"], &shown);
            assert_within("bottleneck", rate, 49.5e6, 50.5e6, &shown);
            check_clean(of, &[25.0, 50.0, 75.0, 100.0], true, &shown);
            assert!(!of["headline"]["efficiency_percent"].is_null(), "{shown}");
            let both = &result["simultaneous"][direction];
            assert_within("both", number(&both["ttr"], &shown), 0.99, 1.25, &shown);
        }
    });
}

#[test]
#[ignore = "takes over a minute"]
fn random_loss_is_line_errors() {
    in_a_quiet_moment(|| {
        let Some(path) = remote("random_loss_is_line_errors", Way::P1, Way::P1) else {
            return;
        };
        let server = server(&path, Program::Tapeline);
        let filter = PacketFilter::drop_every(&path.hosts().server, 1000).expect("a filter");
        let options = "--cir 50M --direction up --windows 50% -Z cubic,bbr";
        let (document, shown) = measure(&path, &server, options);
        let [seen, dropped] = ["seen", "dropped"].map(|name| filter.packets(name).expect(name));
        assert_eq!(dropped, seen / 1000, "{shown}");
        let up = &document["result"]["up"];
        let efficiency = number(&up["headline"]["efficiency_percent"], &shown);
        assert_within("efficiency", efficiency, 99.85, 99.95, &shown);
        assert_within(
            "ratio",
            number(&up["headline"]["ttr"], &shown),
            1.3,
            3.5,
            &shown,
        );
        let light = number(&up["light_load_loss_percent"], &shown);
        assert_within("light load", light, 0.07, 0.13, &shown);
        assert_eq!(finding(up), "loss_at_light_load", "{shown}");
        let bbr = first(up, "algorithm");
        assert_eq!(bbr["congestion_control"], "bbr", "{shown}");
        assert_within("bbr", number(&bbr["ttr"], &shown), 0.95, 1.15, &shown);
        let text = document["verdict"].as_str().unwrap_or_default();
        assert!(
            text.contains("line errors") && text.contains("cubic"),
            "{shown}"
        );
    });
}

#[test]
#[ignore = "takes over a minute"]
fn a_policer_is_named() {
    in_a_quiet_moment(|| {
        let ways = [Way::free(DELAY); 2];
        let policed = relay::Path {
            policer: Some(Policer {
                rate: 10_000_000,
                burst: 15_000,
            }),
            ..relay::Path::default()
        };
        let paths = [policed, relay::Path::default()];
        let Some(path) = through("a_policer_is_named", ways, paths) else {
            return;
        };
        let server = server(&path, Program::Tapeline);
        let options = "--cir 10M --direction up --windows 50% -Z cubic";
        let (document, shown) = measure(&path, &server, options);
        let up = &document["result"]["up"];
        let headline = &up["headline"];
        assert!(number(&headline["ttr"], &shown) > 1.15, "{shown}");
        assert!(
            number(&headline["buffer_delay_percent"], &shown) < 20.0,
            "{shown}"
        );
        assert!(
            number(&up["light_load_loss_percent"], &shown) < 0.02,
            "{shown}"
        );
        assert_eq!(finding(up), "policed", "{shown}");
    });
}

#[test]
#[ignore = "takes over a minute"]
fn a_deep_queue_is_named() {
    in_a_quiet_moment(|| {
        let Some(path) = remote("a_deep_queue_is_named", Way::P3, Way::P3) else {
            return;
        };
        let server = server(&path, Program::Tapeline);
        let options = "--cir 10M --direction up --windows 50% -Z cubic -t 20";
        let (document, shown) = measure(&path, &server, options);
        let up = &document["result"]["up"];
        let headline = &up["headline"];
        assert_within(
            "ratio",
            number(&headline["ttr"], &shown),
            0.97,
            1.10,
            &shown,
        );
        let delay = number(&headline["buffer_delay_percent"], &shown);
        assert_within("buffer delay", delay, 1500.0, 4400.0, &shown);
        assert_eq!(finding(up), "filled_by_queue", "{shown}");
    });
}

/// 75 Mbit/s over 600 ms.
fn satellite(name: &str) -> Option<TestPath> {
    let way = Way::shaped(75_000_000, 1024 * 1024, Duration::from_millis(300));
    remote(name, way, way)
}

fn buffers(path: &TestPath, sizes: &str) {
    for host in [&path.hosts().client, &path.hosts().server] {
        for name in ["tcp_rmem", "tcp_wmem"] {
            // The file belongs to the network of the process that opens it.
            let script = format!("echo {sizes} > /proc/sys/net/ipv4/{name}");
            let set = Invocation::for_executable("sh", "sh")
                .args(["-c", &script])
                .within(host)
                .run()
                .expect("a shell");
            assert_eq!(set.code(), Some(0), "{set}");
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn a_satellite_needs_larger_windows() {
    in_a_quiet_moment(|| {
        let Some(path) = satellite("a_satellite_needs_larger_windows") else {
            return;
        };
        buffers(&path, "4096 131072 6291456");
        let server = server(&path, Program::Tapeline);
        let options = "--cir 75M --direction up --windows 100% -Z cubic --no-simultaneous";
        let (document, shown) = measure(&path, &server, options);
        let up = &document["result"]["up"];
        let window = number(&up["minimum_window_bytes"], &shown);
        assert_within("window", window, 5.625e6 * 0.97, 5.625e6 * 1.03, &shown);
        assert_eq!(warnings(&document, "tcp-buffers-small").len(), 2, "{shown}");
        let clipped = warnings(&document, "window-clipped");
        assert!(
            !clipped.is_empty() || finding(up) == "receiver_window",
            "{shown}"
        );
        for text in clipped {
            assert!(text.contains("tcp_rmem of the server"), "{shown}");
        }
        // What is expected of a smaller window is what that allows.
        let swept = first(up, "window");
        let used = number(&swept["window_used_bytes"], &shown);
        let expected = number(&swept["expected_bits_per_second"], &shown);
        assert_within(
            "expected",
            expected,
            used * 8.0 / 0.606,
            used * 8.0 / 0.6,
            &shown,
        );
        let ratio = number(&up["headline"]["ttr"], &shown);
        assert!(ratio > 1.15, "{shown}");
    });
}

#[test]
#[ignore = "takes minutes"]
fn a_satellite_is_filled_by_larger_windows() {
    in_a_quiet_moment(|| {
        let Some(path) = satellite("a_satellite_is_filled_by_larger_windows") else {
            return;
        };
        buffers(&path, "4096 131072 33554432");
        let server = server(&path, Program::Tapeline);
        let (port, over) = (server.port(), std::sync::atomic::AtomicBool::new(false));
        let options = "--cir 75M --direction up --windows 50% -Z cubic --no-simultaneous -t 60";
        let ((document, shown), seen) = std::thread::scope(|scope| {
            let looker = scope.spawn(|| {
                let mut most = 0;
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    most = most.max(largest_window(&path.hosts().client, port).unwrap_or(0));
                    std::thread::sleep(Duration::from_millis(200));
                }
                most
            });
            let measured = measure(&path, &server, options);
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            (measured, looker.join().expect("ss"))
        });
        let up = &document["result"]["up"];
        let ratio = number(&up["headline"]["ttr"], &shown);
        assert_within("ratio", ratio, 0.95, 1.25, &shown);
        assert!(
            warnings(&document, "tcp-buffers-small").is_empty(),
            "{shown}"
        );
        // The kernel's own figure, which iperf3 prints wrong at this round trip.
        let runs = up["runs"].as_array().expect("runs");
        let own = runs.iter().filter_map(|run| run["cwnd_max_bytes"].as_u64());
        let own = own.max().expect("a window") as f64;
        let seen = seen as f64;
        assert_within("congestion window", own, seen * 0.95, seen * 1.05, &shown);
    });
}

#[test]
#[ignore = "takes over a minute"]
fn directions_have_their_own_products() {
    in_a_quiet_moment(|| {
        let down = Way::shaped(5_000_000, 64 * 1024, DELAY);
        let Some(path) = remote("directions_have_their_own_products", Way::P1, down) else {
            return;
        };
        let server = server(&path, Program::Tapeline);
        let options = "--cir 50M,5M --windows 100% -Z cubic --no-simultaneous -t 5";
        let (document, shown) = measure(&path, &server, options);
        for (direction, rate, window) in [("up", 48.27e6, 125_000.0), ("down", 4.827e6, 12_500.0)] {
            let of = &document["result"][direction];
            let least = number(&of["minimum_window_bytes"], &shown);
            assert_within("window", least, window * 0.96, window * 1.04, &shown);
            let full = number(&first(of, "full")["bits_per_second"], &shown);
            assert_within("rate", full, rate * 0.9, rate * 1.03, &shown);
        }
    });
}

#[test]
#[ignore = "takes over a minute"]
fn small_windows_together_fill_the_path() {
    in_a_quiet_moment(|| {
        let Some(path) = remote("small_windows_together_fill_the_path", Way::P1, Way::P1) else {
            return;
        };
        let server = server(&path, Program::Tapeline);
        let options =
            "--cir 50M --windows 25% -Z cubic -w 32K --no-simultaneous -t 5 --direction up";
        let (document, shown) = measure(&path, &server, options);
        let run = first(&document["result"]["up"], "connections");
        assert_eq!(run["connections"], 4, "{shown}");
        assert_eq!(run["window_asked_bytes"], 32_768, "{shown}");
        let rate = number(&run["bits_per_second"], &shown);
        assert_within("sum", rate, 48.27e6 * 0.9, 48.27e6 * 1.1, &shown);
    });
}

/// What a peer's direction has of the numbers that only some peers can say.
struct Cells {
    direction: &'static str,
    /// The path MTU, to the byte.
    mtu: Option<u32>,
    round_trips: &'static str,
    congestion: Option<&'static str>,
    known: &'static [&'static str],
}

/// What only the sender knows.
const SENDERS: [&str; 7] = [
    "transmitted_bytes",
    "retransmitted_bytes",
    "retransmitted_segments",
    "efficiency_percent",
    "window_used_bytes",
    "cwnd_max_bytes",
    "buffer_delay_probe_percent",
];
/// What each kernel says of its own sending.
const OWN: Cells = Cells {
    direction: "up",
    mtu: Some(1500),
    round_trips: "tcp_info",
    congestion: Some("cubic"),
    known: &[
        "transmitted_bytes",
        "retransmitted_bytes",
        "retransmitted_segments",
        "efficiency_percent",
        "window_used_bytes",
        "cwnd_max_bytes",
    ],
};

/// Both directions with a plain peer: what it says is there, and nothing else.
fn check_plain(path: &TestPath, server: &Server, options: &str, cells: [Cells; 2], source: &str) {
    let options = format!("--cir 50M --windows 50% -t 3 -Z cubic --no-simultaneous {options}");
    let (document, shown) = measure(path, server, &options);
    assert_eq!(document["conforming"], false, "{shown}");
    let result = &document["result"];
    assert_eq!(result["rtt"]["source"], source, "{shown}");
    assert!(number(&result["rtt"]["probes"], &shown) >= 20.0, "{shown}");
    check_baseline(&document, &shown);
    for of in cells {
        let direction = &result[of.direction];
        let mtu = &result["mtu"][of.direction];
        assert_eq!(mtu["mtu_bytes"].as_u64(), of.mtu.map(u64::from), "{shown}");
        assert_eq!(mtu["exact"], of.mtu.is_some(), "{shown}");
        assert_eq!(direction["path_mtu_bytes"], 1500, "{shown}");
        assert_eq!(direction["path_mtu_exact"], of.mtu.is_some(), "{shown}");
        assert_eq!(direction["bottleneck"]["source"], "cir", "{shown}");
        let headline = &direction["headline"];
        let ratio = number(&headline["ttr"], &shown);
        assert_within("ratio", ratio, 0.97, 1.15, &shown);
        let delay = number(&headline["buffer_delay_percent"], &shown);
        assert_within("buffer delay", delay, 0.0, 60.0, &shown);
        let full = first(direction, "full");
        assert_eq!(full["rtt_source"], of.round_trips, "{shown}");
        assert_eq!(
            full["congestion_control"].as_str(),
            of.congestion,
            "{shown}"
        );
        for name in SENDERS {
            let known = of.known.contains(&name);
            assert_eq!(full[name].is_number(), known, "{name}\n{shown}");
            assert!(known || full[name].is_null(), "{name}\n{shown}");
        }
        let efficiency = &headline["efficiency_percent"];
        assert_eq!(efficiency, &full["efficiency_percent"], "{shown}");
        if let Some(efficiency) = efficiency.as_f64() {
            assert_within("efficiency", efficiency, 99.5, 100.0, &shown);
        }
        // The window is held by this end or clamped, so the rate follows it.
        let swept = first(direction, "window");
        let rate = number(&swept["bits_per_second"], &shown);
        assert_within("swept", rate, 24.6e6 * 0.85, 24.6e6 * 1.03, &shown);
        let expected = number(&swept["expected_bits_per_second"], &shown);
        assert_within("expected", expected, 24.0e6, 25.5e6, &shown);
    }
}

/// Down, an iperf 2 says nothing of its sending; its system's handshakes show the queue.
#[test]
#[ignore = "takes over a minute"]
fn a_plain_iperf_2_tells_nothing_of_its_own_sending() {
    let name = "a_plain_iperf_2_tells_nothing_of_its_own_sending";
    if lacks(name, &[Program::Iperf221]) {
        return;
    }
    in_a_quiet_moment(|| {
        let Some(path) = remote(name, Way::P1, Way::P1) else {
            return;
        };
        let tcp = server(&path, Program::Iperf221);
        // It serves one protocol.
        let _udp = ServerSpec::new(Program::Iperf221, Transport::Udp, Family::V4)
            .start_within_on(&path.hosts().server, tcp.port())
            .expect("a server");
        let down = Cells {
            direction: "down",
            mtu: None,
            round_trips: "tcp_connect",
            congestion: None,
            known: &[],
        };
        check_plain(&path, &tcp, "", [OWN, down], "bounce_back");
    });
}

/// An iperf3 counts the segments that it sent again: bytes are approximate.
#[test]
#[ignore = "takes over a minute"]
fn an_iperf3_tells_its_retransmissions() {
    let name = "an_iperf3_tells_its_retransmissions";
    if lacks(name, &[Program::Iperf3V22]) {
        return;
    }
    in_a_quiet_moment(|| {
        let Some(path) = remote(name, Way::P1, Way::P1) else {
            return;
        };
        let server = server(&path, Program::Iperf3V22);
        let down = Cells {
            direction: "down",
            mtu: None,
            round_trips: "tcp_connect",
            congestion: Some("cubic"),
            known: &[
                "transmitted_bytes",
                "retransmitted_bytes",
                "retransmitted_segments",
                "efficiency_percent",
            ],
        };
        check_plain(&path, &server, "--peer iperf3", [OWN, down], "tcp_connect");
    });
}

/// Without the rate of the bottleneck there is no ratio, and the page says so.
#[test]
#[ignore = "takes over a minute"]
fn without_a_bottleneck_there_is_no_ratio() {
    if lacks("rfc6349 without a bottleneck", &[Program::Iperf221]) {
        return;
    }
    in_a_quiet_moment(|| {
        let Some(path) = remote("rfc6349 without a bottleneck", Way::P1, Way::P1) else {
            return;
        };
        let server = server(&path, Program::Iperf221);
        let options = "-t 2 --no-simultaneous --direction down";
        let (document, shown) = ends(&path, &server, options, 1);
        assert_eq!(document["error"]["id"], "bottleneck-unknown", "{shown}");
        let down = &document["result"]["down"];
        assert!(down["headline"]["ttr"].is_null(), "{shown}");
        let rate = number(&first(down, "full")["bits_per_second"], &shown);
        assert!(rate > 40e6, "{rate}\n{shown}");
    });
}

/// The largest congestion window of a connection to the port now, bytes.
fn largest_window(namespace: &Namespace, port: u16) -> Option<u64> {
    let filter = format!("dport = :{port}");
    let shown = Invocation::for_executable("ss", "ss")
        .args(["-tinH", &filter])
        .within(namespace)
        .run()
        .ok()?;
    let word = |name: &str| {
        let at = shown.stdout.split_whitespace();
        let values = at.filter_map(|word| word.strip_prefix(name)?.parse::<u64>().ok());
        values.max()
    };
    Some(word("cwnd:")? * word("mss:")?)
}
