//! What all methods have in common, by the program: phases, limits, interruption and outputs.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use program::{Program, Server};
use rustix::process::Signal;
use serde_json::Value;

/// A search that ends within seconds, towards this server.
fn search(server: &Server, more: &str) -> Program {
    Program::native(&format!(
        "find-rate 127.0.0.1 -p {} --direction up -b 400k -t 0.5 {more}",
        server.port
    ))
}

fn json(path: &std::path::Path) -> Value {
    let text = std::fs::read_to_string(path).expect("the document");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_plan_measures_nothing() {
    // Nobody listens there.
    let ended = Program::native("find-rate 127.0.0.1 -p 9 --plan").end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("together, about"), "{}", ended.stdout);
    assert_eq!(ended.stderr, "");
    let unknown = Program::native("find-rate no-such-host.invalid --plan").end();
    assert_eq!(unknown.code(), Some(1));
    assert!(unknown.stderr.starts_with("error: "), "{}", unknown.stderr);
}

#[test]
fn a_result_has_every_form_and_a_missed_limit_its_exit_code() {
    let server = Server::native("");
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let (document, stream, csv, page) = (file("json"), file("stream"), file("csv"), file("html"));
    let ended = search(
        &server,
        &format!(
            "--pass up=1000 --json={} --json-stream={} --csv={} --html {}",
            document.display(),
            stream.display(),
            csv.display(),
            page.display()
        ),
    )
    .end();
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("Pass         no: up"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.lines().all(|line| line.len() <= 80));
    // Into a pipe each phase has a line.
    assert!(ended.stderr.starts_with("phase 1 of "), "{}", ended.stderr);
    let document = json(&document);
    assert_eq!(document["schema"], "tapeline-method/1");
    assert_eq!(document["method"], "find-rate");
    assert_eq!(document["complete"], true);
    assert_eq!(document["pass"][0]["passed"], false);
    assert_eq!(document["peer"]["program"], "tapeline");
    assert!(
        document["tests"]
            .as_array()
            .is_some_and(|tests| !tests.is_empty())
    );
    let stream = std::fs::read_to_string(stream).expect("the stream");
    let events: Vec<Value> = stream
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    for name in ["phase", "trial", "end"] {
        assert!(events.iter().any(|event| event["event"] == name), "{name}");
    }
    assert_eq!(
        events.last().map(|event| &event["event"]),
        Some(&"end".into())
    );
    let csv = std::fs::read_to_string(csv).expect("the table");
    let trials = events.iter().filter(|event| event["event"] == "trial");
    assert_eq!(csv.lines().count(), 1 + trials.count());
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains("tapeline-method/1") && page.contains("</html>"));
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let server = Server::native("");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("json");
    let program = search(&server, &format!("-t 30 --json={}", path.display()));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    program.signal(Signal::INT);
    let ended = program.end();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    assert_eq!(
        ended.stderr.matches("interrupted").count(),
        1,
        "{}",
        ended.stderr
    );
    let document = json(&path);
    assert_eq!(document["interrupted"], true);
    assert_eq!(document["error"], Value::Null);
    let states = document["phases"].as_array().expect("phases").iter();
    let states: Vec<_> = states.map(|phase| phase["state"].clone()).collect();
    assert!(states.contains(&"interrupted".into()), "{states:?}");
}

#[test]
fn a_server_that_goes_ends_a_method_with_that_reason() {
    for (line, moment) in [
        ("capacity", "\"name\":\"capacity\""),
        ("find-rate -b 400k -t 0.5", "\"event\":\"trial\""),
        ("responsiveness", "\"name\":\"load\""),
        ("rfc6349 -t 1 -b 2M", "\"name\":\"capacity\""),
        ("try", "\"name\":\"mtu\""),
    ] {
        let server = Server::native("");
        let port = server.port;
        let (word, options) = line.split_once(' ').unwrap_or((line, ""));
        let line = format!("{word} 127.0.0.1 -p {port} --direction up {options} --json-stream");
        let mut program = Program::native(&line);
        program.line(moment);
        server.program.signal(Signal::KILL);
        let ended = program.end();
        assert_eq!(ended.code(), Some(1), "{word}: {}", ended.stderr);
        let errors = ended.stderr.matches("error: ").count();
        assert_eq!(errors, 1, "{word}: {}", ended.stderr);
        let said = format!(
            "error: the server has gone: 127.0.0.1 port {port} refuses connections now [peer-lost]"
        );
        assert!(ended.stderr.contains(&said), "{word}: {}", ended.stderr);
        let last = ended.stdout.lines().last().expect("the end");
        let last: Value = serde_json::from_str(last).expect("JSON");
        let document = last.get("data").unwrap_or(&last);
        assert_eq!(document["error"]["id"], "peer-lost", "{word}: {last}");
        assert_eq!(document["complete"], false, "{word}: {last}");
    }
}

/// The document at the end of a stream.
fn last(ended: &program::Ended) -> Value {
    let last = ended.stdout.lines().last().expect("the end");
    let last: Value = serde_json::from_str(last).expect("JSON");
    last.get("data").cloned().unwrap_or(last)
}

#[test]
fn a_phase_that_broke_off_has_no_result() {
    // The best second of a search that had hardly begun is no maximum.
    let server = Server::native("");
    let port = server.port;
    let mut program = Program::native(&format!(
        "capacity 127.0.0.1 -p {port} -b 5m -t 5 --json-stream"
    ));
    while !program.line("\"event\":\"trial\"").contains("\"down\"") {}
    program.signal(Signal::INT);
    let ended = program.end();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    let result = &last(&ended)["result"];
    let up = &result["up"]["capacity"]["bits_per_second"];
    assert!(up.as_f64() > Some(0.0), "{result}");
    assert_eq!(result["down"]["capacity"], Value::Null, "{result}");
    let second = &result["down"]["sub_intervals"][0]["bits_per_second"];
    assert!(second.as_f64() > Some(0.0), "{result}");
    // What a sender counts may never have left.
    let mut program = Program::native(&format!(
        "try 127.0.0.1 -p {port} --direction up --json-stream"
    ));
    program.line("\"name\":\"load\"");
    // Into the load, of which nothing is said while it lasts.
    std::thread::sleep(std::time::Duration::from_secs(1));
    server.program.signal(Signal::KILL);
    let ended = program.end();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    let result = &last(&ended)["result"];
    assert!(result["idle"]["p50_ms"].is_f64(), "{result}");
    assert_eq!(result["up"]["bits_per_second"], Value::Null, "{result}");
}

#[test]
fn a_name_without_an_address_is_said_as_of_a_client() {
    for line in ["mtu", "capacity", "find-rate", "-c"] {
        let ended = Program::native(&format!("{line} no-such-host.invalid")).end();
        assert_eq!(ended.code(), Some(1), "{line}: {}", ended.stderr);
        let is_said = [
            "error: unknown host no-such",
            "error: cannot look up no-such",
        ]
        .iter()
        .any(|said| ended.stderr.contains(said));
        assert!(is_said, "{line}: {}", ended.stderr);
    }
}

#[test]
fn a_server_that_is_not_there_is_one_error_with_a_hint() {
    let ended = Program::native("find-rate 127.0.0.1 -p 9 --direction up -b 1M -t 0.5").end();
    assert_eq!(ended.code(), Some(1));
    assert_eq!(
        ended.stderr.matches("error: ").count(),
        1,
        "{}",
        ended.stderr
    );
    assert_eq!(
        ended.stderr.matches("hint:  ").count(),
        1,
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stdout, "");
}
