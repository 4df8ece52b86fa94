//! Real runs against recorded ones of iperf3 3.22: the same keys and types at every path.
//!
//! The command lines of each recording are repeated with tapeline at both ends, and at either end
//! with 3.22 at the other. What tapeline says must have the structure that the recorded end had:
//! the same documents or events in the same order, the same paths, the same types. What differs
//! on purpose is in [`DIFFERENCES`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use interop::{Invocation, Program, Running, Transport, await_listening, free_port, skip};
use libtest_mimic::{Failed, Trial};
use rustix::process::Signal;
use serde_json::Value;

use crate::arithmetic;
use crate::document::Document;
use crate::place::file;

/// Where the recordings are.
const RECORDINGS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/report/tests/golden/iperf3"
);
/// Time for a server's last words.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How far a test has run when something happens to it; it has ten times as long to run.
const UNDER_WAY: Duration = Duration::from_millis(1300);

/// What happens to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Nothing,
    /// SIGINT to the client.
    ClientInterrupted,
    /// SIGINT to the server.
    ServerInterrupted,
    /// The client sends nothing for a while.
    ClientPaused,
    /// Another client is being served.
    Busy,
}

/// A path that only one of the ends has.
struct Difference {
    recording: &'static str,
    path: &'static str,
    reason: &'static str,
}

const DIFFERENCES: &[Difference] = &[Difference {
    recording: "err-bitrate-limit.server",
    path: "document.start.target_bitrate",
    reason: "a test that was refused has no rate",
}];

/// Recorded runs with a server and a client of JSON.
const RECORDED: &[(&str, Event)] = &[
    ("client-sigint", Event::ClientInterrupted),
    ("client-sigint-stream", Event::ClientInterrupted),
    ("err-bitrate-limit", Event::Nothing),
    ("err-busy", Event::Busy),
    ("err-busy-stream", Event::Busy),
    ("err-connection-refused", Event::Nothing),
    ("err-connection-refused-stream", Event::Nothing),
    ("err-max-duration", Event::Nothing),
    ("err-rcv-timeout", Event::ClientPaused),
    ("err-unknown-host", Event::Nothing),
    ("json-stream", Event::Nothing),
    ("json-stream-P2-bidir", Event::Nothing),
    ("json-stream-full-output", Event::Nothing),
    ("json-stream-get-server-output", Event::Nothing),
    ("json-stream-udp", Event::Nothing),
    ("server-sigint", Event::ServerInterrupted),
    ("tcp", Event::Nothing),
    ("tcp-10mbit", Event::Nothing),
    ("tcp-P4", Event::Nothing),
    ("tcp-R", Event::Nothing),
    ("tcp-bidir", Event::Nothing),
    ("tcp-bidir-P2", Event::Nothing),
    ("tcp-bytes", Event::Nothing),
    ("tcp-file", Event::Nothing),
    ("tcp-get-server-output", Event::Nothing),
    ("tcp-get-server-output-json", Event::Nothing),
    ("tcp-interval0", Event::Nothing),
    ("tcp-omit1", Event::Nothing),
    ("tcp-title-extra", Event::Nothing),
    ("udp", Event::Nothing),
    ("udp-P2", Event::Nothing),
    ("udp-R", Event::Nothing),
    ("udp-bidir", Event::Nothing),
    ("udp-gsro", Event::Nothing),
    ("udp-loss", Event::Nothing),
    ("udp-omit1", Event::Nothing),
];

/// A trial for each recording and each pair of ends.
pub(crate) fn trials() -> Vec<Trial> {
    let ours = Program::TapelineAsIperf3;
    let pairs = [
        (ours, ours),
        (ours, Program::Iperf3V22),
        (Program::Iperf3V22, ours),
    ];
    let cases = RECORDED
        .iter()
        .flat_map(|case| pairs.map(|pair| (case, pair)));
    let cases = cases.filter(|((name, event), (client, server))| {
        match (Recording::load(name).server, event) {
            // Without a server there is nothing of a reference client to compare.
            (None, _) => client.is_tapeline() && server.is_tapeline(),
            // A busy reference may reset the connection before its answer has been read.
            (Some(_), Event::Busy) => server.is_tapeline(),
            (Some(_), _) => true,
        }
    });
    let trials = cases.map(|((name, event), (client, server))| {
        let test = format!("recorded {name}, {client} to {server}");
        Trial::test(test.clone(), move || {
            run(&test, name, *event, client, server)
        })
    });
    trials.collect()
}

/// A recorded run.
struct Recording {
    server: Option<Vec<String>>,
    client: Vec<String>,
    /// Exit code of the client.
    code: i32,
}

impl Recording {
    fn load(name: &str) -> Self {
        let commands = read(&format!("{name}.cmd"));
        let line = |start: &str| commands.lines().find_map(|line| line.strip_prefix(start));
        let client = line("client: ").or(line("client (host name that does not resolve): "));
        let code = line("client exit: ").and_then(|code| code.trim().parse().ok());
        Self {
            server: line("server: ").filter(|line| *line != "(none)").map(words),
            client: words(client.expect("a client")),
            code: code.expect("an exit code"),
        }
    }
}

/// Words of a recorded line, with the tests' own file. A title is the only argument with blanks.
fn words(line: &str) -> Vec<String> {
    let line = line.replace("my title", "my\u{a0}title");
    let word = |word: &str| match word {
        "f.bin" => file().display().to_string(),
        _ => word.replace('\u{a0}', " "),
    };
    line.split(' ')
        .filter(|word| !word.is_empty())
        .map(word)
        .collect()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(RECORDINGS).join(name)).unwrap_or_default()
}

fn run(
    test: &str,
    name: &str,
    event: Event,
    client: Program,
    server: Program,
) -> Result<(), Failed> {
    if let Some(reason) = [client, server].into_iter().find_map(Program::missing) {
        skip(test, &reason);
        return Ok(());
    }
    let recording = Recording::load(name);
    let printed = repeat(&recording, event, client, server)?;
    let mut failures = Vec::new();
    if client.is_tapeline() && printed.code != Some(recording.code) {
        failures.push(format!("the client ended with {:?}", printed.code));
    }
    for (program, side, printed) in [
        (client, "", &printed.client),
        (server, ".server", &printed.server),
    ] {
        let recorded = read(&format!("{name}{side}.json"));
        if program.is_tapeline() && !recorded.is_empty() {
            let found = compare(&format!("{name}{side}"), &recorded, printed);
            failures.extend(found.into_iter().map(|one| format!("{name}{side}: {one}")));
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(Failed::from(format!(
        "{}\n--- client\n{}\n--- server\n{}",
        failures.join("\n"),
        printed.client,
        printed.server
    )))
}

/// What both ends printed, and how the client ended.
struct Printed {
    client: String,
    server: String,
    code: Option<i32>,
}

fn repeat(
    recording: &Recording,
    event: Event,
    client: Program,
    server: Program,
) -> Result<Printed, String> {
    let say = |error: std::io::Error| error.to_string();
    let port = free_port();
    let serving = match &recording.server {
        None => None,
        Some(options) => {
            let line = Invocation::new(server).args(options.iter().cloned());
            let running = line.args(["-p", &port.to_string()]).spawn().map_err(say)?;
            await_listening(&running, Transport::Tcp, port).map_err(say)?;
            Some(running)
        }
    };
    let call = |program, options: &[String]| {
        let host = if recording.server.is_none() && !options.iter().any(|word| word == "-t") {
            "no-such-host.invalid"
        } else {
            "127.0.0.1"
        };
        let line = Invocation::new(program).args(["-c", host, "-p", &port.to_string()]);
        line.args(options.iter().cloned()).spawn()
    };
    let earlier = match event {
        Event::Busy => {
            let options = words("-t 2 -b 1M --json-stream");
            let earlier = call(Program::TapelineAsIperf3, &options).map_err(say)?;
            let begun = |said: &str| said.contains("\"start\"");
            earlier
                .wait_for(TIMEOUT, begun)
                .then_some(())
                .ok_or("no earlier test")?;
            Some(earlier)
        }
        _ => None,
    };
    let running = call(client, &recording.client).map_err(say)?;
    interfere(event, &running, serving.as_ref());
    let finished = running.wait().map_err(say)?;
    if let Some(earlier) = earlier {
        earlier.wait().map_err(say)?;
    }
    let server = match serving {
        None => String::new(),
        Some(running) => {
            let one = recording.server.iter().flatten().any(|word| word == "-1");
            if !one {
                // It goes on serving: what it says of this test is its first document.
                running.wait_for(TIMEOUT, |said| Document::first(said).is_some());
                let said = running.stdout();
                running.kill().map_err(say)?;
                first_value(&said)
            } else {
                running.wait().map_err(say)?.stdout
            }
        }
    };
    Ok(Printed {
        code: finished.code(),
        client: finished.stdout,
        server,
    })
}

/// Makes happen what happened in the recording.
fn interfere(event: Event, client: &Running, server: Option<&Running>) {
    if matches!(event, Event::Nothing | Event::Busy) {
        return;
    }
    // A client that writes one document says nothing before its end.
    client.wait_for(UNDER_WAY, |_| false);
    match (event, server) {
        (Event::ClientInterrupted, _) => client.interrupt(),
        (Event::ServerInterrupted, Some(server)) => server.interrupt(),
        (Event::ClientPaused, Some(server)) => {
            client.signal(Signal::STOP);
            server.wait_for(TIMEOUT, |said| Document::first(said).is_some());
            client.signal(Signal::CONT);
        }
        _ => {}
    }
}

fn values(text: &str) -> Vec<Value> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values.map_while(Result::ok).collect()
}

fn first_value(text: &str) -> String {
    let first = values(text).into_iter().next();
    first.map(|value| value.to_string()).unwrap_or_default()
}

/// The kinds of values that follow each other, repetitions left out, and the structure of each.
fn structure(values: &[Value]) -> (Vec<String>, BTreeMap<String, BTreeSet<&'static str>>) {
    let mut kinds: Vec<String> = Vec::new();
    let mut paths = BTreeMap::new();
    for value in values {
        let kind = value.get("event").and_then(Value::as_str);
        let kind = kind.unwrap_or("document").to_owned();
        collect(&kind, value, &mut paths);
        if kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
    }
    (kinds, paths)
}

fn collect(path: &str, value: &Value, paths: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "truth",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    paths.entry(path.to_owned()).or_default().insert(kind);
    match value {
        Value::Array(values) => {
            for value in values {
                collect(&format!("{path}.*"), value, paths);
            }
        }
        Value::Object(object) => {
            for (key, value) in object {
                collect(&format!("{path}.{key}"), value, paths);
            }
        }
        _ => {}
    }
}

/// What differs between a recorded output and ours.
fn compare(name: &str, recorded: &str, ours: &str) -> Vec<String> {
    let values = [recorded, ours].map(values);
    let mut failures = Vec::new();
    for value in &values[1] {
        if value.get("event").is_none() {
            failures.extend(arithmetic::failures(&Document::new(value.clone())));
        }
    }
    let [(theirs, recorded), (kinds, ours)] = values.each_ref().map(|values| structure(values));
    if theirs != kinds {
        failures.push(format!("{kinds:?} instead of {theirs:?}"));
    }
    let allowed = |path: &String| {
        DIFFERENCES.iter().any(|difference| {
            debug_assert!(!difference.reason.is_empty());
            difference.recording == name && difference.path == path
        })
    };
    let all: BTreeSet<&String> = recorded.keys().chain(ours.keys()).collect();
    for path in all.into_iter().filter(|path| !allowed(path)) {
        let (theirs, ours) = (recorded.get(path), ours.get(path));
        if theirs != ours {
            failures.push(format!("{path} is {ours:?}, recorded as {theirs:?}"));
        }
    }
    failures
}
