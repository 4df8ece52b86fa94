//! `gate` and `compare` that are interrupted while they measure, as Ctrl-C in a terminal does: the
//! signal goes to a whole group of processes.

#![cfg(all(target_os = "linux", feature = "history"))]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;

use program::{Program, Server, command};
use rustix::process::{Pid, Signal, kill_process_group};

/// Starts the program at the head of a group of its own.
fn group(words: &[&str], folder: &Path) -> Program {
    let mut command = command(words);
    command.current_dir(folder).process_group(0);
    Program::spawn(command)
}

fn interrupt(program: &Program) {
    let id = i32::try_from(program.id()).expect("a number of a process");
    let group = Pid::from_raw(id).expect("a group");
    kill_process_group(group, Signal::INT).expect("a group that is there");
}

/// Processes that were started by a test of this port, by their command lines.
fn left(port: u16) -> usize {
    let mut left = 0;
    for process in fs::read_dir("/proc").expect("processes").flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        left += usize::from(line.contains(&format!("-c 127.0.0.1 -p {port} ")));
    }
    left
}

fn gate_file(folder: &Path) {
    let rules = "host_limited = \"ignore\"\nruns = { at_least = 3 }\n\
                 [[rule]]\nquantity = \"rate\"\nat_least = \"1k\"\n";
    fs::write(folder.join("gate.toml"), rules).expect("a written file");
}

#[test]
fn an_interrupted_gate_ends_its_test_in_order_and_is_undecided() {
    let folder = tempfile::tempdir().expect("a folder");
    gate_file(folder.path());
    let mut server = Server::native("");
    let port = server.port.to_string();
    let words = [
        "gate",
        "gate.toml",
        "--undecided",
        "pass",
        "--",
        "-c",
        "127.0.0.1",
        "-p",
        &port,
        "-t",
        "30",
    ];
    let gate = group(&words, folder.path());
    server.program.line("#1 127.0.0.1 started");
    assert_eq!(left(server.port), 2, "the gate and its test");
    interrupt(&gate);
    let ended = gate.end();
    assert_eq!(left(server.port), 0);
    // Rules that were not decided are no reason to pass.
    assert_eq!(ended.code(), Some(5), "{}", ended.stderr);
    assert_eq!(
        ended.stderr,
        "note: interrupted after 0 runs: the rules are judged by them\n"
    );
    assert!(ended.stdout.contains("undecided: 1 of 1 rules"));
    // The test took leave of its server.
    server.program.line("#1 127.0.0.1 done");
    let said = server.stop().stderr;
    assert!(said.contains("the client was interrupted"), "{said}");
}

#[test]
fn a_gate_that_is_killed_leaves_no_test() {
    let folder = tempfile::tempdir().expect("a folder");
    gate_file(folder.path());
    let mut server = Server::native("");
    let port = server.port.to_string();
    let words = [
        "gate",
        "gate.toml",
        "--",
        "-c",
        "127.0.0.1",
        "-p",
        &port,
        "-t",
        "30",
    ];
    let gate = group(&words, folder.path());
    server.program.line("#1 127.0.0.1 started");
    gate.signal(Signal::KILL);
    assert_eq!(gate.end().code(), None);
    server.program.line("#1 127.0.0.1 done");
    let said = server.stop().stderr;
    assert!(said.contains("the client was interrupted"), "{said}");
}

/// Compares a short test with another, until the server has a line.
fn compared(length: &str, before: &str) -> program::Ended {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::native("");
    let a = format!("-c 127.0.0.1 -p {} -u -b 8m -n 100K", server.port);
    let b = format!("-c 127.0.0.1 -p {} -u -b 8m {length}", server.port);
    // With this seed A is first.
    let words = [
        "compare",
        "--interleave",
        "100",
        "--seed",
        "4",
        "--repeat-pause",
        "0",
        "--",
        &a,
        "--",
        &b,
    ];
    let compare = group(&words, folder.path());
    server.program.line(before);
    interrupt(&compare);
    let ended = compare.end();
    assert_eq!(left(server.port), 0);
    ended
}

#[test]
fn an_interrupted_comparison_has_nothing_to_compare_without_runs_of_both() {
    let ended = compared("-t 30", "#2 127.0.0.1 started");
    assert_eq!(ended.code(), Some(1), "{}", ended.stdout);
    assert_eq!(
        ended.stderr,
        "error: interrupted after 1 run of A and 0 of B: nothing to compare\n"
    );
}

#[test]
fn an_interrupted_comparison_compares_what_there_is() {
    let ended = compared("-n 100K", "#4 127.0.0.1 started");
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let said = ended.stderr.trim_end();
    assert!(said.starts_with("note: interrupted after "), "{said}");
    assert!(said.ends_with(" of B, which are compared"), "{said}");
    assert!(
        ended.stdout.contains("\n  rate Mbit/s "),
        "{}",
        ended.stdout
    );
}
