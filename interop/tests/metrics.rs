//! Metrics of servers and of the exporter, read over HTTP and by a real Prometheus.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use interop::{
    Invocation, Program, Running, Transport, await_listening, free_port, prometheus, skip,
};

/// For what should be there soon.
const TIMEOUT: Duration = Duration::from_secs(20);
/// For what a busy machine takes long for.
const LONG: Duration = Duration::from_secs(240);
/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Whether the program is there, or a skip.
fn ready(test: &str, programs: &[Program]) -> bool {
    let missing = programs.iter().find_map(|program| program.missing());
    if let Some(reason) = &missing {
        skip(test, reason);
    }
    missing.is_none()
}

/// A GET; status and body, or 0 where the connection was reset before there was an answer. `timeout` is what a Prometheus would say of its own.
fn get(port: u16, target: &str, timeout: Option<f64>) -> (u16, String) {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    // The answer to a probe comes when its test has ended.
    connection.set_read_timeout(Some(LONG)).expect("set");
    let header = timeout.map_or_else(String::new, |seconds| {
        format!("X-Prometheus-Scrape-Timeout-Seconds: {seconds}\r\n")
    });
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n");
    let _ = connection.write_all(request.as_bytes());
    let mut answer = String::new();
    // A server without a place resets the connection.
    let read = connection.read_to_string(&mut answer);
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return (0, format!("{read:?}"));
    };
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.expect("a status"), body.to_owned())
}

/// The value of a sample.
fn value(text: &str, sample: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(sample))?;
    rest.strip_prefix(' ')?.parse().ok()
}

/// Reads metrics until they are as wanted.
#[track_caller]
fn await_metrics(port: u16, wanted: impl Fn(&str) -> bool) -> String {
    let end = Instant::now() + TIMEOUT;
    loop {
        let (status, text) = get(port, "/metrics", None);
        assert_eq!(status, 200, "{text}");
        if wanted(&text) {
            return text;
        }
        assert!(Instant::now() < end, "{text}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// A tapeline with metrics: process, port of the tests, port of the metrics.
fn server(line: &str) -> (Running, u16, u16) {
    let (port, metrics) = (free_port(), free_port());
    let process = Invocation::new(Program::Tapeline)
        .line(&format!(
            "-s -p {port} --metrics 127.0.0.1:{metrics} {line}"
        ))
        .deadline(LONG)
        .spawn()
        .expect("a server");
    await_listening(&process, Transport::Tcp, metrics).expect("metrics");
    await_listening(&process, Transport::Tcp, port).expect("a server");
    (process, port, metrics)
}

fn exporter(line: &str) -> (Running, u16) {
    let port = free_port();
    let process = Invocation::new(Program::Tapeline)
        .line(&format!("exporter --metrics 127.0.0.1:{port} {line}"))
        .deadline(LONG)
        .spawn()
        .expect("an exporter");
    await_listening(&process, Transport::Tcp, port).expect("an exporter");
    (process, port)
}

fn client(port: u16, line: &str) -> Invocation {
    Invocation::new(Program::Tapeline).line(&format!("-c 127.0.0.1 -p {port} {line}"))
}

#[test]
fn a_server_counts_what_its_clients_send() {
    if !ready("metrics: server", &[Program::Tapeline]) {
        return;
    }
    let (_server, port, metrics) = server("");
    for line in [
        "-n 1M",
        "-u -n 147000 -l 1470 -b 20m",
        "--peer iperf3 -n 1M",
    ] {
        let run = client(port, line).run().expect("a client");
        assert_eq!(run.code(), Some(0), "{run}");
    }
    let ended = |protocol: &str, transport: &str| {
        format!(
            "tapeline_server_tests_total{{protocol=\"{protocol}\",transport=\"{transport}\",\
             direction=\"forward\",result=\"complete\"}}"
        )
    };
    let all = [("iperf2", "tcp"), ("iperf2", "udp"), ("iperf3", "tcp")];
    let text = await_metrics(metrics, |text| {
        all.iter()
            .all(|(protocol, transport)| value(text, &ended(protocol, transport)) == Some(1.0))
    });
    let is = |sample: &str| value(&text, sample).unwrap_or_else(|| panic!("{sample} in\n{text}"));
    assert_eq!(is("tapeline_server_streams_active"), 0.0);
    assert_eq!(is("tapeline_server_tests_active"), 0.0);
    // iperf 2's protocol says the end in a datagram of its own.
    let datagrams = is("tapeline_server_datagrams_total{direction=\"received\"}");
    assert!([100.0, 101.0].contains(&datagrams), "{text}");
    let bytes = "tapeline_server_bytes_total{transport=\"udp\",direction=\"received\"}";
    assert_eq!(is(bytes), 1470.0 * datagrams);
    // A client of iperf 2's protocol sends its header in addition to its megabyte, one of iperf3's whole blocks.
    let bytes = "tapeline_server_bytes_total{transport=\"tcp\",direction=\"received\"}";
    assert!((2_097_152.0..3_000_000.0).contains(&is(bytes)), "{text}");
    let last = "{transport=\"udp\",test_direction=\"forward\",direction=\"forward\"}";
    assert_eq!(
        is(&format!("tapeline_test_received_bytes{last}")),
        1470.0 * datagrams
    );
    assert_eq!(is(&format!("tapeline_test_datagrams_lost{last}")), 0.0);
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn a_server_says_what_runs_and_goes_on_when_metrics_are_flooded() {
    if !ready("metrics: running", &[Program::Tapeline]) {
        return;
    }
    let (_server, port, metrics) = server("-i 0.1");
    let run = client(port, "-t 60 -b 10m -P 2").spawn().expect("a client");
    let bytes = "tapeline_server_bytes_total{transport=\"tcp\",direction=\"received\"}";
    await_metrics(metrics, |text| {
        value(text, "tapeline_server_streams_active") == Some(2.0)
            && value(text, "tapeline_server_tests_active") == Some(1.0)
            && value(text, bytes) > Some(0.0)
    });
    // Connections that say nothing take their places, and no more.
    let silent: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(("127.0.0.1", metrics)).expect("a connection"))
        .collect();
    let other = client(port, "-n 100K").run().expect("a client");
    assert_eq!(other.code(), Some(0), "{other}");
    drop(silent);
    run.interrupt();
    let ended = run.wait().expect("its end");
    assert!(ended.code().is_some(), "{ended}");
    let end = Instant::now() + TIMEOUT;
    let text = loop {
        // While the silent ones are sent away there may be no place.
        let (status, text) = get(metrics, "/metrics", None);
        if status == 200 && value(&text, "tapeline_server_streams_active") == Some(0.0) {
            break text;
        }
        assert!(Instant::now() < end, "{text}");
        std::thread::sleep(POLL_INTERVAL);
    };
    assert!(value(&text, bytes) > Some(0.0), "{text}");
}

#[test]
fn an_address_that_is_taken_is_said() {
    if !ready("metrics: address", &[Program::Tapeline]) {
        return;
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = taken.local_addr().expect("its address");
    for line in [
        format!("-s -p {} --metrics {address}", free_port()),
        format!("exporter --metrics {address}"),
    ] {
        let run = Invocation::new(Program::Tapeline).line(&line);
        let run = run.run().expect("a run");
        assert_eq!(run.code(), Some(1), "{run}");
        let said = format!("error: no metrics at {address}: ");
        assert!(run.stderr.contains(&said), "{run}");
    }
}

#[test]
fn a_probe_answers_with_the_names_of_the_known_exporter() {
    let servers = [
        Program::Tapeline,
        Program::Iperf3V12,
        Program::Iperf3V18,
        Program::Iperf3V22,
    ];
    let (_exporter, exporter) = {
        if !ready("metrics: exporter", &[Program::Tapeline]) {
            return;
        }
        exporter("")
    };
    let servers = servers.into_iter().filter(|server| {
        let missing = server.missing();
        if let Some(reason) = &missing {
            skip(&format!("metrics: exporter with {server}"), reason);
        }
        missing.is_none()
    });
    for server in servers {
        let port = free_port();
        let process = Invocation::new(server)
            .line(&format!("-s -p {port}"))
            .deadline(LONG)
            .spawn()
            .expect("a server");
        await_listening(&process, Transport::Tcp, port).expect("a server");
        let program = match server {
            Program::Tapeline => "tapeline",
            _ => "iperf3",
        };
        for reverse in [false, true] {
            let target = format!(
                "/probe?target=127.0.0.1&port={port}&period=1s&bitrate=10M&reverse_mode={reverse}"
            );
            let (status, text) = get(exporter, &target, None);
            assert_eq!(status, 200, "{server}: {text}");
            let is = |name: &str| {
                let sample = format!("{name}{{target=\"127.0.0.1\",port=\"{port}\"}}");
                value(&text, &sample).unwrap_or_else(|| panic!("{server}: {sample} in\n{text}"))
            };
            assert_eq!(is("iperf3_up"), 1.0);
            for name in [
                "sent_bytes",
                "received_bytes",
                "sent_seconds",
                "received_seconds",
            ] {
                assert!(
                    is(&format!("iperf3_{name}")) > 0.0,
                    "{server}: {name}\n{text}"
                );
            }
            for name in ["sent_bps", "received_bps", "retransmits"] {
                assert!(is(&format!("iperf3_{name}")) >= 0.0);
            }
            assert_eq!(is("tapeline_test_complete"), 1.0);
            let peer = format!("program=\"{program}\"");
            assert!(text.contains(&peer), "{server}: {peer} in\n{text}");
            let direction = if reverse { "reverse" } else { "forward" };
            let sample = format!(
                "tapeline_test_sent_bytes{{target=\"127.0.0.1\",port=\"{port}\",direction=\"{direction}\"}}"
            );
            assert_eq!(
                value(&text, &sample),
                Some(is("iperf3_sent_bytes")),
                "{text}"
            );
        }
        if server == Program::Tapeline {
            let target = format!("/probe?target=127.0.0.1&port={port}&peer=tapeline&period=200ms");
            let (status, text) = get(exporter, &target, None);
            assert_eq!(status, 200, "{text}");
            assert!(text.contains("program=\"tapeline\""), "{text}");
            assert!(text.contains("tapeline_test_limited_by{"), "{text}");
        }
    }
    let own = await_metrics(exporter, |text| {
        value(text, "tapeline_exporter_probes_active") == Some(0.0)
    });
    assert_eq!(
        value(&own, "iperf3_exporter_errors_total"),
        Some(0.0),
        "{own}"
    );
    assert!(
        value(&own, "iperf3_exporter_duration_seconds_count") >= Some(3.0),
        "{own}"
    );
}

#[test]
fn a_probe_of_iperf_2_names_it() {
    let name = "metrics: exporter with iperf 2";
    if !ready(name, &[Program::Tapeline, Program::Iperf221]) {
        return;
    }
    let (_exporter, exporter) = exporter("");
    let port = free_port();
    let server = Invocation::new(Program::Iperf221)
        .line(&format!("-s -p {port}"))
        .deadline(LONG)
        .spawn()
        .expect("a server");
    await_listening(&server, Transport::Tcp, port).expect("a server");
    let target = format!("/probe?target=127.0.0.1&port={port}&peer=tapeline&period=500ms");
    let (status, text) = get(exporter, &target, None);
    assert_eq!(status, 200, "{text}");
    assert!(text.contains("program=\"iperf 2\""), "{text}");
}

#[test]
fn a_module_is_a_method() {
    if !ready("metrics: methods", &[Program::Tapeline]) {
        return;
    }
    let (_server, port, _) = server("");
    let (_process, exporter) = exporter("");
    let probe = |more: &str, timeout| {
        let target = format!("/probe?target=127.0.0.1&port={port}&{more}");
        get(exporter, &target, timeout)
    };
    let labels = |method: &str| format!("target=\"127.0.0.1\",port=\"{port}\",method=\"{method}\"");
    let quick = "module=find-rate&period=500ms&bitrate=400K&reverse_mode=1";
    for (method, query, quantity, most) in [
        (
            "mtu",
            "module=mtu",
            "quantity=\"mtu.up\",unit=\"bytes\"",
            65_535.0,
        ),
        (
            "find-rate",
            quick,
            "quantity=\"rate.down\",unit=\"bits_per_second\"",
            400_000.0,
        ),
    ] {
        let (status, text) = probe(query, None);
        assert_eq!(status, 200, "{text}");
        let labels = labels(method);
        let success = format!("tapeline_method_success{{{labels}}}");
        assert_eq!(value(&text, &success), Some(1.0), "{text}");
        let result = format!("tapeline_method_result{{{labels},{quantity}}}");
        assert_eq!(value(&text, &result), Some(most), "{text}");
        assert!(text.contains("direction=\"down\",state=\"done\""), "{text}");
        assert!(!text.contains("iperf3_"), "{text}");
    }
    // Its first phase takes a moment, its second one 5 s.
    let (status, text) = probe("module=rfc6349", Some(4.0));
    assert_eq!(status, 200, "{text}");
    let labels = labels("rfc6349");
    let success = format!("tapeline_method_success{{{labels}}}");
    assert_eq!(value(&text, &success), Some(0.0), "{text}");
    let took = value(
        &text,
        &format!("tapeline_probe_duration_seconds{{{labels}}}"),
    );
    assert!(took.is_some_and(|took| took < 4.0), "{text}");
    assert!(
        text.contains("phase=\"mtu\",direction=\"up\",state=\"done\""),
        "{text}"
    );
    assert!(text.contains("state=\"interrupted\""), "{text}");
    for wrong in ["module=whatever", "module=mtu&transport=udp"] {
        let (status, text) = probe(wrong, None);
        assert_eq!(status, 400, "{wrong}: {text}");
        let is_said = ["module: ", "transport: "]
            .iter()
            .any(|name| text.starts_with(name));
        assert!(is_said, "{wrong}: {text}");
    }
}

/// What Prometheus gets of a method that has time to end: a result above 0 of each quantity, and its
/// phases.
fn scraped(method: &str, options: &str, quantities: &[&str], phases: &[(&str, &str)]) {
    if !ready(&format!("metrics: {method}"), &[Program::Tapeline]) {
        return;
    }
    let (_server, port, _) = server("");
    let (_process, exporter) = exporter("");
    let target = format!("/probe?target=127.0.0.1&port={port}&module={method}&{options}");
    let (status, text) = get(exporter, &target, Some(120.0));
    assert_eq!(status, 200, "{text}");
    let labels = format!("target=\"127.0.0.1\",port=\"{port}\",method=\"{method}\"");
    let success = format!("tapeline_method_success{{{labels}}}");
    assert_eq!(value(&text, &success), Some(1.0), "{text}");
    for quantity in quantities {
        let result = format!("tapeline_method_result{{{labels},quantity=\"{quantity}\"");
        let line = text.lines().find(|line| line.starts_with(&result));
        let number = line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        assert!(
            number.is_some_and(|number| number > 0.0),
            "{result}\n{text}"
        );
    }
    for (phase, state) in phases {
        let ended = format!("tapeline_method_phase_seconds{{{labels},phase=\"{phase}\"");
        let line = text.lines().find(|line| line.starts_with(&ended));
        let is_so = line.is_some_and(|line| line.contains(&format!("state=\"{state}\"")));
        assert!(is_so, "{ended} is not {state}\n{text}");
    }
}

#[test]
fn capacity_is_scraped() {
    let options = "period=5s&bitrate=5M&reverse_mode=1";
    scraped(
        "capacity",
        options,
        &["capacity.down"],
        &[("capacity", "done")],
    );
}

#[test]
fn responsiveness_is_scraped() {
    let options = "period=8s&reverse_mode=1";
    scraped(
        "responsiveness",
        options,
        &["rpm.down"],
        &[("load", "done")],
    );
}

#[test]
fn try_is_scraped() {
    let quantities = ["rate.up", "rate.down"];
    scraped("try", "period=5s", &quantities, &[("load", "done")]);
}

#[test]
fn rfc6349_is_scraped() {
    let options = "period=1s&bitrate=2M&reverse_mode=1";
    // Loopback holds next to nothing: shares of that are no windows.
    let phases = [("windows", "skipped"), ("full window", "done")];
    scraped("rfc6349", options, &["efficiency.down"], &phases);
}

#[test]
fn a_probe_that_fails_says_so_in_time() {
    if !ready("metrics: failing probe", &[Program::Tapeline]) {
        return;
    }
    let (_exporter, exporter) = exporter("127.0.0.1");
    let closed = free_port();
    let (status, text) = get(
        exporter,
        &format!("/probe?target=127.0.0.1&port={closed}"),
        None,
    );
    assert_eq!(status, 200, "{text}");
    let labels = format!("{{target=\"127.0.0.1\",port=\"{closed}\"}}");
    assert_eq!(
        value(&text, &format!("iperf3_up{labels}")),
        Some(0.0),
        "{text}"
    );
    assert!(!text.contains("iperf3_sent_bytes"), "{text}");
    assert!(text.contains("tapeline_probe_failure{"), "{text}");
    // A server that takes the connection and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = silent.local_addr().expect("its address").port();
    let target = format!("/probe?target=127.0.0.1&port={port}");
    let (status, text) = get(exporter, &target, Some(1.0));
    assert_eq!(status, 200, "{text}");
    let labels = format!("{{target=\"127.0.0.1\",port=\"{port}\"}}");
    assert_eq!(
        value(&text, &format!("iperf3_up{labels}")),
        Some(0.0),
        "{text}"
    );
    // Else it would run at full speed.
    let (status, text) = get(exporter, "/probe?target=127.0.0.1&bandwidth=5m", None);
    assert_eq!(status, 400, "{text}");
    assert!(text.contains("unknown parameter 'bandwidth'"), "{text}");
    let (_, page) = get(exporter, "/", None);
    for name in ["bitrate", "parallel", "peer"] {
        assert!(page.contains(&format!("<code>{name}</code>")), "{page}");
    }
    for (target, status) in [
        ("/probe", 400),
        ("/probe?target=127.0.0.1&period=soon", 400),
        ("/probe?target=localhost", 403),
        ("/nothing", 404),
        ("/", 200),
        ("/health", 200),
    ] {
        assert_eq!(get(exporter, target, None).0, status, "{target}");
    }
    let own = await_metrics(exporter, |_| true);
    assert_eq!(
        value(&own, "iperf3_exporter_errors_total"),
        Some(6.0),
        "{own}"
    );
}

/// The first value that a query has.
fn asked(prometheus: u16, query: &str) -> Option<f64> {
    let (status, text) = get(prometheus, &format!("/api/v1/query?query={query}"), None);
    let answer: serde_json::Value = serde_json::from_str(&text).ok()?;
    assert_eq!(
        (status, &answer["status"]),
        (200, &"success".into()),
        "{text}"
    );
    let value = answer["data"]["result"][0]["value"][1].as_str()?;
    value.parse().ok()
}

#[test]
fn a_real_prometheus_scrapes_server_and_exporter() {
    let name = "metrics: a real Prometheus";
    if !ready(name, &[Program::Tapeline]) {
        return;
    }
    let Some(program) = prometheus() else {
        return skip(
            name,
            "there is no prometheus: install it with peers/install",
        );
    };
    let (_server, port, metrics) = server("");
    let (_exporter, exporter) = exporter("");
    let run = client(port, "-n 1M").run().expect("a client");
    assert_eq!(run.code(), Some(0), "{run}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("prometheus.yml");
    let configuration = format!(
        "global:\n  scrape_interval: 3s\n  scrape_timeout: 3s\n\
         scrape_configs:\n\
         - job_name: server\n  scrape_interval: 1s\n  scrape_timeout: 1s\n\
         \x20 static_configs: [{{targets: ['127.0.0.1:{metrics}']}}]\n\
         - job_name: exporter\n  static_configs: [{{targets: ['127.0.0.1:{exporter}']}}]\n\
         - job_name: iperf3\n  metrics_path: /probe\n\
         \x20 params: {{port: ['{port}'], period: ['1s'], bitrate: ['10M']}}\n\
         \x20 static_configs: [{{targets: ['127.0.0.1']}}]\n\
         \x20 relabel_configs:\n\
         \x20 - {{source_labels: [__address__], target_label: __param_target}}\n\
         \x20 - {{source_labels: [__param_target], target_label: instance}}\n\
         \x20 - {{target_label: __address__, replacement: '127.0.0.1:{exporter}'}}\n"
    );
    std::fs::write(&file, configuration).expect("a written configuration");
    let web = free_port();
    let process = Invocation::for_executable("prometheus", program)
        .args([
            format!("--config.file={}", file.display()),
            format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ),
            format!("--web.listen-address=127.0.0.1:{web}"),
        ])
        .deadline(LONG)
        .spawn()
        .expect("prometheus");
    await_listening(&process, Transport::Tcp, web).expect("prometheus");
    // What one scrape of each gives.
    let end = Instant::now() + LONG / 2;
    for (query, least) in [
        ("up{job=\"server\"}", 1.0),
        ("up{job=\"exporter\"}", 1.0),
        ("up{job=\"iperf3\"}", 1.0),
        ("iperf3_up{job=\"iperf3\",instance=\"127.0.0.1\"}", 1.0),
        (
            "iperf3_received_bytes/iperf3_received_seconds*8/1000000",
            1.0,
        ),
        (
            "tapeline_server_bytes_total{transport=\"tcp\",direction=\"received\"}",
            1e6,
        ),
        ("sum(tapeline_server_tests_total{result=\"complete\"})", 1.0),
        (
            "tapeline_test_received_bytes{job=\"server\",protocol=\"\"}",
            1e5,
        ),
        ("iperf3_exporter_duration_seconds_bucket{le=\"+Inf\"}", 1.0),
        ("tapeline_build_info{job=\"exporter\"}", 1.0),
    ] {
        let query = query.replace('+', "%2B").replace('"', "%22");
        loop {
            let value = asked(web, &query);
            if value >= Some(least) {
                break;
            }
            let said = process.stderr();
            assert!(Instant::now() < end, "{query}: {value:?}\n{said}");
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
