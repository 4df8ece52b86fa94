//! `tapeline remote`: orders on standard input, replies on standard output, nothing that outlives them.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longest wait for a reply.
const LIMIT: Duration = Duration::from_secs(30);

/// A session, and the replies that came.
struct Session {
    child: Child,
    input: Option<ChildStdin>,
    replies: Receiver<Value>,
}

impl Session {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tapeline"))
            .arg("remote")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("tapeline");
        let output = child.stdout.take().expect("an output");
        let (sender, replies) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let line = line.expect("a line");
                let reply = serde_json::from_str(&line).expect("JSON");
                if sender.send(reply).is_err() {
                    break;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            replies,
        }
    }

    fn order(&mut self, order: &Value) {
        self.write(&format!("{order}\n"));
    }

    fn write(&mut self, text: &str) {
        let input = self.input.as_mut().expect("an input");
        input.write_all(text.as_bytes()).expect("an order");
    }

    /// The next reply that has a member of this name; those before it are passed over.
    #[track_caller]
    fn reply(&self, name: &str) -> Value {
        let until = Instant::now() + LIMIT;
        let mut seen = Vec::new();
        while let Ok(reply) = self
            .replies
            .recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            if reply.get(name).is_some() {
                return reply;
            }
            seen.push(reply);
        }
        panic!("no {name} in {seen:?}");
    }

    #[track_caller]
    fn error(&self) -> (Value, String) {
        let reply = self.reply("error");
        let id = reply["error"]["id"].as_str().expect("a name");
        (reply["id"].clone(), id.to_owned())
    }

    /// Starts a server and returns its port.
    fn serve(&mut self, id: u64, class: &str) -> u64 {
        self.order(&json!({"id": id, "do": "serve", "allow": ["127.0.0.1"], "class": class}));
        let reply = self.reply("listening");
        assert_eq!(reply["id"], id);
        assert_eq!(reply["listening"]["tcp"], reply["listening"]["udp"]);
        reply["listening"]["tcp"].as_u64().expect("a port")
    }

    /// Ends the session; nothing more comes, and the process ends in order.
    fn end(mut self) -> i32 {
        drop(self.input.take());
        let status = self.child.wait().expect("an end");
        status.code().expect("a code")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_refused(port: u64) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port as u16)).is_err()
}

/// The server of one test is stopped with it; until its client has left, it answers probes of the quiet path.
#[test]
fn a_server_that_ends_with_its_test_answers_the_last_probes() {
    let mut session = Session::start();
    let port = session.serve(1, "background");
    let host = format!("127.0.0.1:{port}");
    session.order(
        &json!({"id": 2, "do": "run", "live": false, "class": "background",
        "options": [["client", host], ["time", "0.5"]]}),
    );
    let ends = [session.reply("end"), session.reply("end")];
    let client = ends.iter().find(|end| end["id"] == 2).expect("a client");
    let latency = &client["end"]["latency_under_load"];
    for part in ["idle", "loaded"] {
        assert!(latency[part]["p50_ms"].is_f64(), "{part}: {latency}");
    }
    assert!(is_refused(port));
}

#[test]
fn a_server_and_a_client_are_ordered_and_both_documents_come() {
    let mut session = Session::start();
    session.order(&json!({"id": 1, "do": "hello", "v": 1}));
    let hello = &session.reply("hello")["hello"];
    assert_eq!(hello["v"], 1);
    assert!(hello["cpus"].as_u64().expect("processors") > 0);
    let port = session.serve(2, "background");
    let host = format!("127.0.0.1:{port}");
    session.order(&json!({"id": 3, "do": "run", "live": true,
        "options": [["client", host], ["num", "2M"], ["interval", "0.1"]]}));
    let start = session.reply("event");
    assert_eq!(start["event"]["event"], "start");
    let mut ends = [session.reply("end"), session.reply("end")];
    ends.sort_by_key(|end| end["id"].as_u64());
    let [server, client] = &ends;
    assert_eq!((&server["id"], &client["id"]), (&json!(2), &json!(3)));
    for (end, role) in [(server, "server"), (client, "client")] {
        assert_eq!(end["code"], 0);
        assert_eq!(end["end"]["schema"], "tapeline-report/1");
        assert_eq!(end["end"]["test"]["role"], role);
        let bytes = &end["end"]["sum"]["directions"][0]["receiver"]["bytes"];
        assert_eq!(bytes, 2 * 1024 * 1024, "{end}");
    }
    // Its server has ended with its test.
    assert!(is_refused(port));
    session.order(&json!({"id": 5, "do": "clock", "t1": 0.0}));
    let clock = session.reply("t2");
    assert!(clock["t2"].as_f64() <= clock["t3"].as_f64());
    assert_eq!(session.end(), 0);
}

#[test]
fn a_test_is_stopped_with_its_totals_and_ends_with_the_session() {
    let mut session = Session::start();
    let port = session.serve(1, "background");
    let other = session.serve(2, "background");
    let host = format!("127.0.0.1:{port}");
    session.order(&json!({"id": 3, "do": "run", "live": true,
        "options": [["client", host], ["time", "600"], ["interval", "0.1"]]}));
    while session.reply("event")["event"]["event"] != "interval" {}
    session.order(&json!({"id": 4, "do": "stop", "which": 3}));
    assert_eq!(session.reply("stopped")["id"], 4);
    let mut ends = [session.reply("end"), session.reply("end")];
    ends.sort_by_key(|end| end["id"].as_u64());
    assert_eq!(ends[1]["end"]["test"]["interrupted"], true);
    assert!(ends[1]["end"]["sum"]["directions"][0]["sender"]["bytes"].as_u64() > Some(0));
    session.order(&json!({"id": 5, "do": "stop", "which": 3}));
    assert_eq!(session.error(), (json!(5), "not-running".to_owned()));
    // The second server waits for ever, and goes with the session.
    assert_eq!(session.end(), 0);
    assert!(is_refused(other));
}

#[test]
fn what_runs_ends_when_the_session_is_killed() {
    let mut session = Session::start();
    let port = session.serve(1, "exclusive");
    session.child.kill().expect("a process");
    let until = Instant::now() + LIMIT;
    while !is_refused(port) {
        assert!(Instant::now() < until, "the server lives on");
        std::thread::yield_now();
    }
}

#[test]
fn places_are_limited_by_class() {
    let mut session = Session::start();
    session.serve(1, "exclusive");
    session.order(&json!({"id": 2, "do": "serve", "allow": ["127.0.0.1"]}));
    assert_eq!(session.error(), (json!(2), "busy".to_owned()));
    for id in 3..7 {
        session.serve(id, "background");
    }
    session.order(&json!({"id": 7, "do": "serve", "allow": ["127.0.0.1"], "class": "background"}));
    assert_eq!(session.error(), (json!(7), "busy".to_owned()));
    session.order(&json!({"id": 8, "do": "stop", "which": 1}));
    session.reply("stopped");
    assert_eq!(session.error(), (json!(1), "test-failed".to_owned()));
    session.serve(9, "exclusive");
    assert_eq!(session.end(), 0);
}

#[test]
fn a_server_that_nobody_comes_to_ends_after_its_time() {
    let mut session = Session::start();
    session.order(&json!({"id": 1, "do": "serve", "allow": ["127.0.0.1"], "seconds": 0.2}));
    let port = session.reply("listening")["listening"]["tcp"].as_u64();
    assert_eq!(session.error(), (json!(1), "test-failed".to_owned()));
    assert!(is_refused(port.expect("a port")));
    assert_eq!(session.end(), 0);
}

#[test]
fn what_may_not_be_ordered_starts_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("written");
    let mut session = Session::start();
    for (number, options) in [
        json!([["client", "127.0.0.1:1"], ["output", file.to_str()]]),
        json!([["client", "127.0.0.1:1"], ["html", file.to_str()]]),
        json!([["client", "-oProxyCommand=x"]]),
        json!([["client", "127.0.0.1:1"], ["time", "1\n--output=x"]]),
        json!([["time", "1"]]),
        json!([["server"]]),
    ]
    .into_iter()
    .enumerate()
    {
        session.order(&json!({"id": number, "do": "run", "options": options}));
        assert_eq!(session.error(), (json!(number), "usage".to_owned()));
    }
    session.order(&json!({"id": 20, "do": "serve", "allow": []}));
    assert_eq!(session.error(), (json!(20), "usage".to_owned()));
    session.order(&json!({"id": 21, "do": "exec", "what": "sh"}));
    assert_eq!(session.error(), (json!(21), "unknown-order".to_owned()));
    session.order(&json!({"id": 22, "do": "hello", "v": 2}));
    assert_eq!(session.error(), (json!(22), "version".to_owned()));
    assert!(!file.exists());
    // A test that fails has a document that says why.
    session.order(&json!({"id": 23, "do": "run", "options": [["client", "127.0.0.1:1"]]}));
    let end = session.reply("end");
    assert_eq!((&end["id"], &end["code"]), (&json!(23), &json!(1)));
    assert_eq!(end["end"]["error"]["id"], "connect-failed");
    assert_eq!(session.end(), 0);
}

#[test]
fn a_line_that_is_none_ends_the_session_with_a_sentence() {
    for line in ["hello\n", "{\"do\": \"hello\", \"v\": 1}\n", "[1, 2\n"] {
        let mut session = Session::start();
        let port = session.serve(1, "exclusive");
        session.write(line);
        assert_eq!(session.error(), (Value::Null, "unknown-order".to_owned()));
        let status = session.child.wait().expect("an end");
        assert_eq!(status.code(), Some(1), "{line}");
        assert!(is_refused(port));
    }
}
