//! Several runs of one test between two tapelines, on loopback.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use program::{Program, Server};
use rustix::process::Signal;
use serde_json::Value;

fn series(server: &Server, arguments: &str) -> Program {
    let port = server.port;
    Program::native(&format!(
        "-c 127.0.0.1 -p {port} --repeat-pause 0 {arguments}"
    ))
}

#[test]
fn runs_are_told_one_by_one_and_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let server = Server::native("");
    let (json, means) = (file("series.json"), file("means.csv"));
    let arguments = format!("-u -b 20m -n 200K --repeat 3 --json={json} --repeat-csv {means}");
    let ended = series(&server, &arguments).end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let (_, table) = ended.stdout.split_once("\n   run   ").expect("a table");
    let rows = table.lines().skip(1).take_while(|line| !line.is_empty());
    let numbers = rows.filter_map(|line| line.split_whitespace().next());
    assert_eq!(numbers.collect::<Vec<_>>(), ["1", "2", "3"], "{table}");
    for line in [
        "\nThroughput   ",
        " mean of 3 runs, 95 % confidence interval ",
    ] {
        assert_eq!(table.matches(line).count(), 1, "{table}");
    }
    assert!(table.contains("3 of 3 runs count"), "{table}");
    let text = std::fs::read_to_string(&json).expect("a document");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["schema"], "tapeline-series/1");
    assert_eq!(document["series"]["interrupted"], false);
    let runs = document["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 3);
    for run in runs {
        assert_eq!(run["test"]["complete"], true);
        assert_eq!(run["streams"].as_array().map(Vec::len), Some(1));
    }
    let rate = &document["series"]["quantities"][0];
    assert_eq!(rate["quantity"], "bits_per_second");
    let values = rate["values"].as_array().expect("values");
    let values: Vec<f64> = values.iter().filter_map(Value::as_f64).collect();
    assert_eq!(values.len(), 3);
    let mean = values.iter().sum::<f64>() / 3.0;
    assert!(
        (rate["mean"].as_f64().expect("a mean") - mean).abs() < 1.0,
        "{rate}"
    );
    let means = std::fs::read_to_string(means).expect("rows");
    assert!(means.contains("\nbits_per_second,forward,3,"), "{means}");
}

#[test]
fn a_confidence_is_reached_or_said_to_be_missed() {
    let server = Server::native("");
    // Any three runs are that near to each other, or ten differ by so much that it is said.
    let ended = series(&server, "-u -b 10m -n 50K --precision 100").end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("\n     3 ") && ended.stdout.contains("3 to 30 runs"),
        "{}",
        ended.stdout
    );
    let ended = series(&server, "-n 1M --precision 0.000001 --repeat 3").end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("warning: after 3 runs the confidence interval is"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_interrupt_keeps_what_is_there() {
    let server = Server::native("");
    let mut client = series(&server, "-t 30 --repeat 5 -i 0.1 --json-stream");
    client.line("\"event\":\"interval\"");
    client.signal(Signal::INT);
    let ended = client.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let last = ended.stdout.lines().last().expect("lines");
    let last: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(last["event"], "series");
    assert_eq!(last["data"]["series"]["runs"], 1);
    assert_eq!(last["data"]["series"]["interrupted"], true);
    assert_eq!(
        last["data"]["series"]["excluded"][0]["reason"],
        "interrupted"
    );
}

#[test]
fn a_run_that_fails_ends_the_series() {
    let server = Server::native("");
    let port = server.port;
    server.stop();
    let line = format!("-c 127.0.0.1 -p {port} -n 1K --repeat 4 --repeat-pause 0 --json");
    let ended = Program::native(&line).end();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(document["series"]["runs"], 1);
    assert_eq!(document["series"]["excluded"][0]["reason"], "failed");
    assert_eq!(document["runs"][0]["error"]["id"], "connect-failed");
}

#[test]
fn tests_of_iperf3s_protocol_are_repeated_too() {
    let server = Server::native("");
    let ended = series(&server, "--peer iperf3 -n 1M --repeat 2 --json").end();
    assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(document["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["series"]["quantities"][0]["runs"], 2);
}
