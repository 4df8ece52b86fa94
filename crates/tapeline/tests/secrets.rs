//! A permit key leaves no trace in what a run writes under the name tapeline: not in text, documents,
//! pages, logs or refusals.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::fs;
use std::path::Path;

use program::{Program, Server, command};

/// A key that nothing else holds.
const KEY: &str = "planted-7b1f0c9d";

/// Every file below a folder, with its text.
fn files(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let text = String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned();
            (path.display().to_string(), text)
        })
        .collect()
}

#[track_caller]
fn has_no_key(whose: &str, text: &str) {
    assert!(!text.contains(KEY), "{whose} has the key:\n{text}");
}

/// The server made it up, so its first lines are the one place where it can be read.
#[test]
fn a_key_that_was_made_up_is_shown_to_who_started_the_server() {
    let mut program = Program::native("-s -p 0 --permit-key");
    let line = program.line("For clients: tapeline -c HOST");
    let key = line.split("--permit-key=").nth(1).expect("a key");
    let key = key.split([' ', ',']).next().expect("a word");
    assert!(key.len() >= 16 && key != "KEY", "{line}");
}

#[test]
fn a_permit_key_is_in_no_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().display().to_string();
    let server = Server::native(&format!(
        "--permit-key={KEY} -e --json-stream={place}/server.jsonl --html {place}/server.html"
    ));
    let test = format!("-c 127.0.0.1 -p {} -n 100K --permit-key={KEY}", server.port);
    for (name, options) in [
        ("text", String::new()),
        ("details", "-e".to_owned()),
        ("brief", "--brief".to_owned()),
        ("json", "--json".to_owned()),
        ("csv", "--csv".to_owned()),
        (
            "all forms",
            format!(
                "-o {place}/text --json={place}/report.json --json-stream={place}/rows.jsonl \
                 --csv={place}/rows.csv --html {place}/page.html"
            ),
        ),
        (
            "a series",
            format!("--repeat 2 --repeat-pause 0 --json={place}/series.json"),
        ),
    ] {
        let ended = Program::native(&format!("{test} {options}")).end();
        assert_eq!(ended.code(), Some(0), "{name}: {}", ended.stderr);
        has_no_key(name, &ended.stdout);
        has_no_key(name, &ended.stderr);
    }
    // One that is refused, and one that does not begin.
    for (name, line) in [
        ("a bad line", format!("{test} --json --no-such-option")),
        ("UDP", format!("{test} -u --json={place}/refused.json")),
        (
            "nobody",
            format!("-c 127.0.0.1 -p 9 --permit-key={KEY} --json"),
        ),
    ] {
        let ended = Program::native(&line).end();
        assert_ne!(ended.code(), Some(0), "{name}");
        has_no_key(name, &ended.stdout);
        has_no_key(name, &ended.stderr);
    }
    let configuration = format!("-s --permit-key={KEY} --print-config");
    has_no_key(
        "--print-config",
        &Program::native(&configuration).end().stdout,
    );
    let served = server.stop();
    has_no_key("the server", &served.stdout);
    has_no_key("the server", &served.stderr);
    let written = files(folder.path());
    assert!(written.len() >= 8, "{}", written.len());
    for (name, text) in &written {
        has_no_key(name, text);
    }
    // The test would see a key: it is in the list of this process's own words.
    let shown = command(&[format!("--permit-key={KEY}")]);
    assert!(format!("{shown:?}").contains(KEY));
}
