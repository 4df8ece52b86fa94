//! A real Prometheus scrapes the collector, and answers all queries of the dashboard.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use interop::{Fleet, Invocation, Request, Running, Transport, await_listening, prometheus, skip};
use serde_json::Value;

use crate::support::{SOON, options};

/// Where the collector has its metrics, and Prometheus its page, on the collector's host.
const METRICS: u16 = 9580;
const WEB: u16 = 9090;

#[test]
fn prometheus_scrapes_the_collector_and_answers_the_dashboard() {
    let name = "prometheus_scrapes_the_collector_and_answers_the_dashboard";
    let Some(options) = options(name, 2, 1) else {
        return;
    };
    let Some(program) = prometheus() else {
        return skip(name, "no prometheus: see peers/install");
    };
    let mut fleet = Fleet::new(options).expect("a fleet");
    fleet
        .collector
        .give(&format!("--metrics 127.0.0.1:{METRICS}"));
    fleet.start();
    let hosts = fleet.hosts_file(2).display().to_string();
    for test in ["-t 1", "-u -b 1M -t 1"] {
        let run = fleet.operator(&format!("fleet run {hosts} --wait -- {test}"));
        let run = run.run().expect("tapeline");
        assert_eq!(run.code(), Some(0), "{run}{}", fleet.logs());
    }
    let process = start(&fleet, &program);
    let scraped = "up{job=\"fleet\"} == 1 and scrape_samples_scraped{job=\"fleet\"} > 10";
    until(&fleet, &process, scraped);
    until(&fleet, &process, "sum(tapeline_mesh_runs_total) == 4");
    until(&fleet, &process, "count(tapeline_mesh_lost_ratio) == 2");
    let target = &ask(&fleet, "/api/v1/targets")["data"]["activeTargets"][0];
    assert_eq!(target["lastError"], "", "{target}");
    let board = include_str!("../../../packaging/grafana/tapeline-fleet.json");
    let board: Value = serde_json::from_str(board).expect("JSON");
    for panel in board["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let query = target["expr"].as_str().expect("a query");
            let query = query
                .replace("$site", "lab")
                .replace("$from", ".*")
                .replace("$to", ".*")
                .replace("$__rate_interval", "1m");
            let answer = ask(&fleet, &asked(&query));
            assert_eq!(answer["status"], "success", "{query}: {answer}");
        }
    }
}

/// A Prometheus that scrapes each second.
fn start(fleet: &Fleet, program: &std::path::Path) -> Running {
    let folder = fleet.folder().join("prometheus");
    fs::create_dir(&folder).expect("a folder");
    let file = folder.join("prometheus.yml");
    let configuration = format!(
        "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n\
         scrape_configs:\n\
         - job_name: fleet\n  static_configs: [{{targets: ['127.0.0.1:{METRICS}']}}]\n"
    );
    fs::write(&file, configuration).expect("a written configuration");
    let process = Invocation::for_executable("prometheus", program)
        .within(fleet.collector.host().namespace())
        .args([
            format!("--config.file={}", file.display()),
            format!("--storage.tsdb.path={}", folder.join("data").display()),
            format!("--web.listen-address=127.0.0.1:{WEB}"),
        ])
        .spawn()
        .expect("prometheus");
    await_listening(&process, Transport::Tcp, WEB).expect("prometheus");
    process
}

/// Waits until a query has an answer.
#[track_caller]
fn until(fleet: &Fleet, process: &Running, query: &str) {
    let end = Instant::now() + SOON;
    loop {
        let answer = ask(fleet, &asked(query));
        let result = answer["data"]["result"].as_array();
        if result.is_some_and(|result| !result.is_empty()) {
            return;
        }
        let said = process.stderr();
        assert!(Instant::now() < end, "{query}: {answer}\n{said}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

/// The address of a query.
fn asked(query: &str) -> String {
    let encoded = query.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    format!("/api/v1/query?query={}", encoded.collect::<String>())
}

/// What Prometheus answers, on the collector's host.
fn ask(fleet: &Fleet, target: &str) -> Value {
    let request = Request::new("GET", target).header("Host", "localhost");
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, WEB));
    let network = fleet.collector.host().namespace();
    let answer = network.within(|| request.send(at));
    let answer = answer.expect("the collector's network");
    answer.expect("an answer").json()
}
