//! A server that is started from the page, with clients of all three protocols.

use interop::{Invocation, Program, free_port, skip};
use serde_json::{Value, json};

use super::page;

#[test]
fn clients_of_all_protocols_are_seen() {
    let name = "clients_of_all_protocols_are_seen";
    let clients = [Program::Iperf221, Program::Iperf3V22, Program::Tapeline];
    if let Some(reason) = clients.iter().find_map(|program| program.missing()) {
        return skip(name, &reason);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), "");
    let port = free_port();
    let server = page.order("server", &json!([["port", port.to_string()]]));
    let row = page.await_test(server, |test| !test["listening"].is_null());
    assert_eq!(
        row["listening"],
        json!({ "tcp": port, "udp": port }),
        "{row}"
    );
    let second = page.post("/api/tests", &json!({ "job": "server", "options": [] }));
    assert_eq!(second.status, 429, "{}", second.text());
    for program in clients {
        let client = Invocation::new(program)
            .line(&format!("-c 127.0.0.1 -p {port} -t 1"))
            .run();
        assert_eq!(
            client.expect("a client").code(),
            Some(0),
            "{}",
            program.label()
        );
    }
    let ends = page.await_that("three tests", || {
        let events = page.get(&format!("/api/tests/{server}/events")).json();
        let events = events["events"].as_array().expect("events").clone();
        let ends = events.into_iter().filter(|event| event["event"] == "end");
        let ends: Vec<Value> = ends.map(|event| event["data"].clone()).collect();
        (ends.len() == 3).then_some(ends)
    });
    let seen: Vec<(&Value, &Value)> = ends
        .iter()
        .map(|end| (&end["test"]["protocol"], &end["peer"]["program"]))
        .collect();
    assert_eq!(seen[0].0, "iperf2", "{seen:?}");
    assert_eq!(seen[1].0, "iperf3", "{seen:?}");
    assert_eq!(seen[2], (&json!("iperf2"), &json!("tapeline")), "{seen:?}");

    assert_eq!(
        page.post(&format!("/api/tests/{server}/stop"), &json!({}))
            .status,
        204
    );
    let ended = page.await_test(server, |test| test["state"] == "ended");
    assert_eq!(
        (&ended["code"], &ended["error"]),
        (&json!(0), &Value::Null),
        "{ended}"
    );
    // Tests of others are results, too.
    assert_eq!(page.get("/api/history").json()["total"], 3);

    let taken = std::net::TcpListener::bind(("0.0.0.0", port)).expect("the port");
    let again = page.order("server", &json!([["port", port.to_string()]]));
    let refused = page.await_test(again, |test| test["state"] == "ended");
    let why = refused["error"].as_str().expect("why");
    assert!(why.contains("in use"), "{refused}");
    drop(taken);
}
