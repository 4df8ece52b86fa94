//! Tests that are ordered from the page: to their end, and cut short.

use std::path::Path;
use std::time::{Duration, Instant};

use interop::{Family, Page, Program, Server, ServerSpec, Transport, free_port};
use serde_json::{Value, json};

use super::page;

fn server() -> Server {
    let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
    spec.start().expect("a server")
}

/// Options of a test towards a server.
fn options(server: &Server, seconds: &str) -> Value {
    json!([
        ["client", format!("127.0.0.1:{}", server.port())],
        ["time", seconds],
        ["interval", "0.25"],
    ])
}

/// Waits until a test measures.
fn await_rows(page: &Page, test: u64) {
    page.await_that("rows", || {
        let events = page.get(&format!("/api/tests/{test}/events")).text();
        events.contains("\"interval\"").then_some(())
    });
}

/// Processes that have these words in their command line.
fn processes(words: &str) -> usize {
    let all = std::fs::read_dir("/proc").expect("processes");
    let lines = all.filter_map(|entry| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains(words)).count()
}

#[test]
fn a_test_runs_is_kept_and_is_there_in_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server());
    let test = page.order("client", &options(&server, "1"));
    let ended = page.await_test(test, |test| test["state"] == "ended");
    assert_eq!(
        (&ended["code"], &ended["error"]),
        (&json!(0), &Value::Null),
        "{ended}"
    );
    assert_eq!(ended["run"], "r1", "{ended}");
    let events = page.get(&format!("/api/tests/{test}/events")).json();
    let events = events["events"].as_array().expect("events").clone();
    let rows = events.iter().filter(|event| event["event"] == "interval");
    assert!((4..=6).contains(&rows.count()), "{events:?}");

    let document = page.get(&format!("/api/tests/{test}/json")).json();
    assert_eq!(document["schema"], "tapeline-report/1");
    let kept = page.get("/api/history/r1/json").json();
    assert_eq!(kept, document);
    let text = page.get(&format!("/api/tests/{test}/text")).text();
    assert!(text.contains("\nThroughput   "), "{text}");
    let table = page.get(&format!("/api/tests/{test}/csv")).text();
    assert!(
        table.lines().count() > 3 && table.contains(",rate,"),
        "{table}"
    );
    let own = page.get(&format!("/api/tests/{test}/page"));
    assert!(own.text().starts_with("<!doctype html>"));
    let policy = own.header("content-security-policy").expect("a policy");
    assert!(policy.contains("sandbox allow-scripts") && !policy.contains("allow-same-origin"));

    // It is what the next visitor finds in the form.
    let form = page.get("/api/session").json()["form"].clone();
    assert_eq!(form["job"], "client", "{form}");
    let restored = form["options"].as_array().expect("options");
    assert!(restored.contains(&json!(["interval", "0.25"])), "{form}");

    let list = page.get("/api/history").json();
    let rate = list["runs"][0]["quantities"]["rate"]
        .as_f64()
        .expect("a rate");
    let sum = &document["sum"]["receiver"]["bits_per_second"];
    assert_eq!(Some(rate), sum.as_f64(), "{list}");
}

#[test]
fn a_test_that_is_stopped_has_totals() {
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server());
    let test = page.order("client", &options(&server, "60"));
    await_rows(&page, test);
    assert_eq!(
        page.post(&format!("/api/tests/{test}/stop"), &json!({}))
            .status,
        204
    );
    let ended = page.await_test(test, |test| test["state"] == "ended");
    assert_eq!(ended["has_document"], true, "{ended}");
    let document = page.get(&format!("/api/tests/{test}/json")).json();
    assert_eq!(document["test"]["interrupted"], true);
    assert!(
        document["sum"]["receiver"]["bytes"]
            .as_u64()
            .expect("bytes")
            > 0
    );
}

#[test]
fn a_second_test_waits_for_the_first_and_can_be_called_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server());
    let first = page.order("client", &options(&server, "60"));
    let second = page.order("client", &options(&server, "1"));
    let third = page.order("client", &options(&server, "1"));
    assert_eq!(page.test(first)["state"], "running");
    assert_eq!(page.test(second)["state"], "queued");
    page.post(&format!("/api/tests/{second}/stop"), &json!({}));
    let off = page.await_test(second, |test| test["state"] == "ended");
    assert_eq!(off["error"], "stopped before it began");
    page.post(&format!("/api/tests/{first}/stop"), &json!({}));
    page.await_test(first, |test| test["state"] == "ended");
    let ended = page.await_test(third, |test| test["state"] == "ended");
    assert_eq!(ended["code"], 0, "{ended}");
}

#[test]
fn a_test_without_a_server_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "");
    let port = free_port();
    let test = page.order("client", &json!([["client", format!("127.0.0.1:{port}")]]));
    let ended = page.await_test(test, |test| test["state"] == "ended");
    let document = page.get(&format!("/api/tests/{test}/json")).json();
    let said = format!("{ended}{document}");
    assert!(said.contains("refused"), "{said}");
    assert_ne!(ended["code"], 0);
    let row = page.get("/api/history").json()["runs"][0].clone();
    assert!(row["time"].is_string(), "{row}");
}

#[test]
fn a_permit_key_is_in_nobodys_list_of_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "");
    let port = free_port();
    let (planted, spec) = (
        "planted-key-0123456789",
        ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4),
    );
    let server = spec
        .options(&format!("--permit-key={planted}"))
        .start()
        .expect("a server");
    let _ = port;
    let mut wanted = options(&server, "2");
    wanted
        .as_array_mut()
        .expect("options")
        .push(json!(["permit-key", planted]));
    let before = processes(planted);
    let test = page.order("client", &wanted);
    await_rows(&page, test);
    assert_eq!(processes(planted), before);
    let ended = page.await_test(test, |test| test["state"] == "ended");
    assert_eq!(ended["code"], 0, "{ended}");
    for target in [
        "/api/tests",
        "/api/session",
        "/api/history",
        "/api/tests/1/json",
        "/api/tests/1/events",
        "/api/history/r1/text",
    ] {
        assert!(!page.get(target).text().contains(planted), "{target}");
    }
    assert!(!page.process().stderr().contains(planted));
    let file = std::fs::read(folder.path().join("history.db")).expect("the history");
    assert!(
        !file
            .windows(planted.len())
            .any(|part| part == planted.as_bytes())
    );
}

/// Waits until no process has these words.
fn gone(words: &str, within: Duration) -> bool {
    let end = Instant::now() + within;
    while Instant::now() < end {
        if processes(words) == 0 {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn nothing_outlives_a_page_that_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server());
    let test = page.order("client", &options(&server, "77.5"));
    let own = free_port();
    page.order("server", &json!([["port", own.to_string()]]));
    await_rows(&page, test);
    let (words, listener) = ("--time=77.5".to_owned(), format!("--port={own}"));
    assert!(processes(&words) > 0);
    page.into_process().kill().expect("an end");
    assert!(gone(&words, Duration::from_secs(1)), "the test runs on");
    assert!(
        gone(&listener, Duration::from_secs(1)),
        "the server runs on"
    );
}

#[test]
fn a_page_that_is_ended_keeps_what_ran() {
    let folder = tempfile::tempdir().expect("a folder");
    let (page, server) = (page(folder.path(), ""), server());
    let test = page.order("client", &options(&server, "60"));
    await_rows(&page, test);
    let process = page.into_process();
    process.interrupt();
    let ended = process.wait().expect("an end");
    assert_eq!(ended.code(), Some(0), "{ended}");
    let page = super::page(folder.path(), "--read-only");
    assert_eq!(page.get("/api/history").json()["runs"][0]["run"], "r1");
}

#[test]
fn removed_runs_can_be_had_back_for_a_while() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "");
    let import = |name: &str, content: &str| {
        let request = interop::Request::new("POST", &format!("/api/history/import?name={name}"))
            .header("Host", &page.at().to_string())
            .header("Origin", &format!("http://{}", page.at()))
            .header("X-Tapeline", "1")
            .header("Cookie", page.cookie())
            .body(content);
        request.send(page.at()).expect("an answer")
    };
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/report/tests/golden/documents");
    let document = std::fs::read_to_string(golden.join("tcp-client.json")).expect("a document");
    assert_eq!(import("a.json", &document).json()["runs"], json!(["r1"]));
    let bad = import("b.json", "nothing");
    assert_eq!(bad.status, 422, "{}", bad.text());
    let names = || {
        let list = page.get("/api/history").json();
        let runs = list["runs"].as_array().expect("runs").clone();
        runs.iter()
            .map(|run| run["run"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(), ["r1"]);
    let removal = page
        .post("/api/history/delete", &json!({ "runs": "r1" }))
        .json();
    assert!(names().is_empty());
    let undo = page.post("/api/history/undo", &json!({ "undo": removal["undo"] }));
    assert_eq!(undo.status, 204);
    assert_eq!(names(), ["r1"]);
    assert_eq!(
        page.post("/api/history/note", &json!({ "runs": "r1", "text": "x" }))
            .status,
        200
    );
    assert_eq!(
        page.post(
            "/api/history/tag",
            &json!({ "runs": "r1", "key": "k", "value": "v" })
        )
        .status,
        200
    );
    let row = page.get("/api/history?runs=tag:k=v").json()["runs"][0].clone();
    assert_eq!(
        (&row["note"], &row["tags"]),
        (&json!("x"), &json!({ "k": "v" }))
    );
    page.post("/api/history/delete", &json!({ "runs": "r1" }));
    // What was removed and not taken back is gone when the page ends.
    let process = page.into_process();
    process.interrupt();
    process.wait().expect("an end");
    let page = super::page(folder.path(), "--read-only");
    assert_eq!(page.get("/api/history").json()["total"], 0);
}
