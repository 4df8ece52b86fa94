//! `--via`, `--from`, `--serve-on`: tests that another tapeline runs, with their results here.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use program::{Program, Server, command};
use rustix::process::Signal;
use serde_json::Value;

/// A line of tapeline whose PATH has tapeline in it, behind the folder `first`.
fn line(words: &[&str], first: Option<&Path>) -> Command {
    let mut command = command(words);
    let own = Path::new(env!("CARGO_BIN_EXE_tapeline")).parent();
    let known = std::env::var_os("PATH").unwrap_or_default();
    let known: Vec<_> = std::env::split_paths(&known).collect();
    let folders = first.into_iter().chain(own).map(Path::to_owned);
    let path = std::env::join_paths(folders.chain(known)).expect("a path");
    command.env("PATH", path);
    command
}

/// A folder with an `ssh` that carries out its last word here.
fn with_ssh() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let ssh = folder.path().join("ssh");
    let script = "#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\nexec sh -c \"$1\"\n";
    fs::write(&ssh, script).expect("a script");
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).expect("a script");
    folder
}

#[test]
fn the_text_and_the_documents_of_the_far_client_come() {
    let server = Server::native("");
    let host = format!("127.0.0.1:{}", server.port);
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (json, csv) = (file("r.json"), file("r.csv"));
    let ended = Program::spawn(line(
        &[
            "-c",
            &host,
            "-t",
            "1",
            "-i",
            "0.2",
            "--via",
            "env",
            &format!("--json={json}"),
            &format!("--csv={csv}"),
        ],
        None,
    ))
    .end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines[0].starts_with("TCP to 127.0.0.1 port "), "{lines:?}");
    for label in ["Throughput   ", "Trust        "] {
        let named = lines.iter().filter(|line| line.starts_with(label));
        assert_eq!(named.count(), 1, "{lines:?}");
    }
    let document = fs::read_to_string(json).expect("a document");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["schema"], "tapeline-report/1");
    let command = document["command"].as_str().expect("a command");
    assert!(!command.contains("--rendered"), "{command}");
    let rows = fs::read_to_string(csv).expect("rows");
    assert!(rows.lines().count() > 1, "{rows}");
}

#[test]
fn an_interrupt_here_ends_the_far_client_in_order() {
    let server = Server::native("");
    let host = format!("127.0.0.1:{}", server.port);
    let words = ["-c", &host, "-t", "1000", "-i", "0.1", "--via", "env"];
    let mut client = Program::spawn(line(&words, None));
    client.line(" 0.10-0.20 ");
    client.signal(Signal::INT);
    let ended = client.end();
    let direct = {
        let mut client = Program::native(&words[..6].join(" "));
        client.line(" 0.10-0.20 ");
        client.signal(Signal::INT);
        client.end().code()
    };
    assert_eq!(ended.code(), direct, "{}", ended.stderr);
    assert!(ended.stdout.contains("received by"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("interrupted after"),
        "{}",
        ended.stdout
    );
    server.serves("");
}

#[test]
fn a_far_client_that_is_lost_is_named_and_its_rows_stay() {
    let server = Server::native("");
    let host = format!("127.0.0.1:{}", server.port);
    let via = "timeout -s KILL 3";
    let words = ["-c", &host, "-t", "1000", "-i", "0.1", "--via", via];
    let ended = Program::spawn(line(&words, None)).end();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    let lost = format!("error: lost tapeline on `{via}`");
    assert!(ended.stderr.contains(&lost), "{}", ended.stderr);
    assert!(ended.stdout.contains(" 0.10-0.20 "), "{}", ended.stdout);
}

#[test]
fn both_ends_are_started_over_ssh_and_the_result_is_kept() {
    let ssh = with_ssh();
    let file = ssh.path().join("h.db").display().to_string();
    let words = [
        "-c",
        "127.0.0.1",
        "-n",
        "2M",
        "-R",
        "--from",
        "user@web3",
        "--serve-on",
        "ssh",
        "--save",
        "--history",
        &file,
        "--tag",
        "a=b",
    ];
    let ended = Program::spawn(line(&words, Some(ssh.path()))).end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.ends_with("saved    r1\n"), "{}", ended.stdout);
    let list = Program::native(&format!("history --json --history {file}")).end();
    let list: Value = serde_json::from_str(&list.stdout).expect("JSON");
    let run = &list["runs"][0];
    assert_eq!(
        (&run["from_host"], &run["tags"]["a"]),
        (&"web3".into(), &"b".into())
    );
    assert_eq!(run["document"]["test"]["direction"], "reverse");
}

#[test]
fn what_the_far_end_says_is_passed_on_with_its_exit_code() {
    let refused = |words: &[&str], code: i32, said: &str| {
        let ended = Program::spawn(line(words, None)).end();
        assert_eq!(ended.code(), Some(code), "{words:?} {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{words:?} {}", ended.stderr);
        assert!(!ended.stdout.contains("Throughput"), "{words:?}");
    };
    let nowhere = ["-c", "127.0.0.1", "-p", "1", "-t", "1", "--via", "env"];
    refused(&nowhere, 1, "cannot connect to 127.0.0.1 port 1");
    let none = ["-c", "h", "--via", "false"];
    refused(&none, 1, "tapeline on `false` did not begin");
    let none = ["-c", "h", "--via", "sh -c 'exit 127'"];
    refused(&none, 1, "no tapeline is found on");
    let away = ["-c", "h", "--via", "/no/such/program"];
    refused(&away, 1, "/no/such/program does not start");
}
