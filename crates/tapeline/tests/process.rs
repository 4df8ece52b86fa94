//! The program as a process: name, streams, exit status.

#![cfg(unix)]

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

fn tapeline() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapeline"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("IPERF_") {
            command.env_remove(name);
        }
    }
    command.env_remove("TCP_WINDOW_SIZE");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program starts");
    (status.code(), text(&stdout), text(&stderr))
}

#[test]
fn the_name_in_argv_chooses_the_habits() {
    let (status, out, err) = run(tapeline().arg0("/usr/bin/iperf").args(["-q", "-v"]));
    assert_eq!(
        (status, err.as_str()),
        (Some(0), "/usr/bin/iperf: invalid option -- q\n")
    );
    assert!(out.starts_with("iperf version 2.2.1 (tapeline "), "{out}");
    let (status, out, _) = run(tapeline().arg("-v"));
    assert_eq!(
        (status, out),
        (Some(0), format!("tapeline {}\n", env!("CARGO_PKG_VERSION")))
    );
    let (status, out, _) = run(tapeline().arg0("/usr/bin/iperf3").arg("-v"));
    assert!(
        status == Some(0) && out.starts_with("iperf 3.22 (tapeline "),
        "{out}"
    );
}

#[test]
fn refusals_go_to_standard_error_with_their_status() {
    let (status, out, err) = run(&mut tapeline());
    assert_eq!(
        (status, out.as_str(), err.lines().count()),
        (Some(2), "", 2)
    );
    let (status, _, err) = run(tapeline().args(["-c", "h", "--bandwith", "1m"]));
    assert_eq!(status, Some(2));
    assert_eq!(
        err,
        "error: unknown option --bandwith (did you mean --bandwidth?)\n"
    );
    let (status, _, err) = run(tapeline().args(["--as", "iperf", "-c", "h", "-t", "abc"]));
    assert_eq!(status, Some(1));
    assert_eq!(err, "ERROR: -t value of 'abc' not recognized\n");
    let (status, _, err) = run(tapeline().args(["--as", "iperf"]));
    assert_eq!(status, Some(0));
    assert!(
        err.starts_with("Usage: iperf [-s|-c host] [options]\n"),
        "{err}"
    );
}

#[test]
fn variables_are_read_from_the_environment() {
    let (status, _, err) = run(tapeline().args(["-c", "h"]).env("IPERF_LEN", "many"));
    assert_eq!(status, Some(2));
    assert_eq!(
        err,
        "error: variable IPERF_LEN needs a number, not \"many\"\n"
    );
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut child = tapeline()
        .arg("--help")
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    assert_eq!(child.wait().expect("its end").code(), Some(0));
    let mut err = String::new();
    child
        .stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut err)
        .expect("text");
    assert_eq!(err, "");
}
