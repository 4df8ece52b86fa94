//! `tapeline mesh`, with hosts that are processes of this one.

#![cfg(all(unix, feature = "mesh"))]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use program::{Ended, Program, SOON, command};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Reaches a host: its pid is in a file, and while there is a file `closed.HOST` it is not reached.
const VIA: &str = "#!/bin/sh\n\
                   [ -e closed.$1 ] && { echo \"$1 is closed\" >&2; exit 255; }\n\
                   echo $$ > pid.$1; shift; exec \"$@\"\n";

/// A folder with a file of hosts, from which meshes start.
struct Place(TempDir);

impl Place {
    /// Hosts of these names on loopback addresses; each test has these options.
    fn new(hosts: &[&str], test: &str) -> Self {
        let place = Self(tempfile::tempdir().expect("a folder"));
        let via = place.path("via");
        fs::write(&via, VIA).expect("a script");
        fs::set_permissions(&via, fs::Permissions::from_mode(0o755)).expect("it can be run");
        let tapeline = env!("CARGO_BIN_EXE_tapeline");
        std::os::unix::fs::symlink(tapeline, place.path("tapeline")).expect("a name");
        let mut text = format!("[defaults]\nvia = \"./via {{host}}\"\ntest = \"{test}\"\n");
        for (number, host) in (1..).zip(hosts) {
            text += &format!("[hosts.{host}]\naddress = \"127.0.0.{number}\"\n");
        }
        fs::write(place.path("hosts.toml"), text).expect("hosts");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn mesh(&self, line: &str) -> Command {
        let words: Vec<&str> = std::iter::once("mesh")
            .chain(line.split_whitespace())
            .collect();
        let mut command = command(&words);
        let mut path = self.0.path().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(&self.0).env("PATH", path);
        command.env("TAPELINE_HISTORY", self.path("history.db"));
        command
    }

    fn run(&self, line: &str) -> Ended {
        Program::spawn(self.mesh(line)).end()
    }

    /// The lines of the only journal; none if there is none.
    fn journal(&self) -> (PathBuf, Vec<String>) {
        let files = fs::read_dir(&self.0)
            .expect("the folder")
            .map(|entry| entry.expect("a file").path());
        let mut journals = files.filter(|path| path.extension().is_some_and(|end| end == "ndjson"));
        let Some(path) = journals.next() else {
            return (PathBuf::new(), Vec::new());
        };
        assert_eq!(journals.next(), None, "two journals");
        let text = fs::read_to_string(&path).expect("a journal");
        (path, text.lines().map(str::to_owned).collect())
    }

    /// Waits until so many cells are in the journal.
    #[track_caller]
    fn await_cells(&self, cells: usize) {
        let until = Instant::now() + SOON;
        while self.journal().1.len() <= cells {
            assert!(Instant::now() < until, "{:?}", self.journal());
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn pid(&self, host: &str) -> Pid {
        let text = fs::read_to_string(self.path(&format!("pid.{host}"))).expect("a pid");
        Pid::from_raw(text.trim().parse().expect("a number")).expect("a pid")
    }
}

/// `a b measured`, for each cell.
fn cells(ended: &Ended) -> Vec<String> {
    let document: Value = serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|_| panic!("{}\n{}", ended.stdout, ended.stderr));
    assert_eq!(document["schema"], "tapeline-mesh/1");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cells = document["cells"].as_array().expect("cells").iter();
    let mut cells: Vec<String> = cells
        .map(|cell| {
            format!(
                "{} {} {}",
                text(&cell["from"]),
                text(&cell["to"]),
                text(&cell["outcome"])
            )
        })
        .collect();
    cells.sort();
    cells
}

fn with(cells: &[String], outcome: &str) -> usize {
    cells.iter().filter(|cell| cell.ends_with(outcome)).count()
}

#[test]
fn all_test_all_and_the_history_has_a_series() {
    let place = Place::new(&["a", "b", "c"], "-n 100K");
    let plan = place.run("hosts.toml --plan -- -t 10");
    assert_eq!(
        plan.stdout,
        "3 hosts, 6 directed tests of 10 s in 6 slots: about 1 min 6 s; each host is busy 61 % of \
         that time\n"
    );
    assert_eq!((plan.code(), place.journal().1.len()), (Some(0), 0));

    let ended = place.run("hosts.toml --json --csv=matrix.csv --html=page.html");
    let measured =
        ["a b", "a c", "b a", "b c", "c a", "c b"].map(|pair| format!("{pair} measured"));
    assert_eq!(cells(&ended), measured, "{}", ended.stderr);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert_eq!(place.journal().1.len(), 7);
    for name in ["matrix.csv", "page.html"] {
        let text = fs::read_to_string(place.path(name)).expect(name);
        assert!(text.contains('a') && text.contains('c'), "{name}: {text}");
    }
    let file = place.path("history.db").display().to_string();
    let listed = Program::native(&format!("history list s1 --json --history {file}")).end();
    let listed: Value = serde_json::from_str(&listed.stdout).expect("a list");
    let runs = listed["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 6);
    assert!(runs.iter().all(|run| run["series"] == "s1"), "{runs:?}");
    let mut from: Vec<&str> = runs
        .iter()
        .filter_map(|run| run["from_host"].as_str())
        .collect();
    from.sort_unstable();
    assert_eq!(from, ["a", "a", "b", "b", "c", "c"]);
}

#[test]
fn both_directions_at_once_or_all_pairs_at_once() {
    let place = Place::new(&["a", "b", "c"], "-t 0.5");
    let ended = place.run("hosts.toml --full-duplex --pattern star:a --json --no-save");
    let measured = ["a b", "a c", "b a", "c a"].map(|pair| format!("{pair} measured"));
    assert_eq!(cells(&ended), measured, "{}", ended.stderr);
    fs::remove_file(place.journal().0).expect("removed");
    let ended = place.run("hosts.toml --all-at-once --pattern incast:a --json --no-save");
    let measured = ["b a", "c a"].map(|pair| format!("{pair} measured"));
    assert_eq!(cells(&ended), measured, "{}", ended.stderr);
}

#[test]
fn a_host_that_is_away_costs_its_own_pairs_and_a_later_run_tests_those() {
    let place = Place::new(&["a", "b", "c"], "-n 100K");
    fs::write(place.path("closed.c"), "").expect("a mark");
    let ended = place.run("hosts.toml --json --no-save");
    let found = cells(&ended);
    assert_eq!(
        (with(&found, "measured"), with(&found, "unreachable")),
        (2, 4),
        "{found:?}"
    );
    assert_eq!(ended.code(), Some(6));
    assert!(ended.stderr.contains("c is closed"), "{}", ended.stderr);

    fs::remove_file(place.path("closed.c")).expect("removed");
    let (journal, lines) = place.journal();
    assert_eq!(lines.len(), 3);
    let ended = place.run(&format!("--resume {} --json --no-save", journal.display()));
    assert_eq!(with(&cells(&ended), "measured"), 6, "{}", ended.stderr);
    assert_eq!(ended.code(), Some(0));
    // Four lines more: nothing was tested again.
    assert_eq!(place.journal().1.len(), 7);
    let other = place.run(&format!(
        "hosts.toml --pattern ring --resume {}",
        journal.display()
    ));
    assert_eq!(other.code(), Some(2));
    assert!(other.stderr.contains("another plan"), "{}", other.stderr);
}

#[test]
fn a_host_that_goes_away_costs_its_own_pairs() {
    let place = Place::new(&["a", "b", "c", "zz"], "-t 1");
    let mesh = Program::spawn(place.mesh("hosts.toml --json --no-save"));
    place.await_cells(2);
    kill_process(place.pid("zz"), Signal::KILL).expect("a signal");
    let ended = mesh.end();
    let found = cells(&ended);
    let lost = found.iter().filter(|cell| cell.ends_with("unreachable"));
    assert!(
        lost.clone().all(|cell| cell.contains("zz")) && lost.count() >= 1,
        "{found:?}"
    );
    let others = found.iter().filter(|cell| !cell.contains("zz"));
    assert!(
        others.clone().all(|cell| cell.ends_with("measured")),
        "{found:?}"
    );
    assert_eq!(
        (others.count(), ended.code()),
        (6, Some(6)),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_interrupt_ends_what_runs_and_keeps_what_was_measured() {
    let place = Place::new(&["a", "b"], "-t 2");
    let mesh = Program::spawn(place.mesh("hosts.toml --json --no-save"));
    place.await_cells(1);
    mesh.signal(Signal::INT);
    let ended = mesh.end();
    let found = cells(&ended);
    assert_eq!(with(&found, "measured"), 1, "{found:?}");
    assert_eq!(ended.code(), Some(6), "{}", ended.stderr);
    for host in ["a", "b"] {
        let until = Instant::now() + SOON;
        while rustix::process::test_kill_process(place.pid(host)).is_ok() {
            assert!(Instant::now() < until, "{host} lives");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn what_is_wrong_is_said_before_any_host_is_reached() {
    let place = Place::new(&["a", "b"], "-t 1");
    let two = "[hosts.a]\n[hosts.b]\n";
    for (text, said) in [
        (
            format!("{two}port = 1\n"),
            "hosts.toml:3: a host has no key \"port\"",
        ),
        (
            "[hosts.a]\naddress = \"::1\"\n[hosts.b]\naddress = \"::1\"\n".to_owned(),
            "hosts.toml:4: a has the address ::1 already",
        ),
        (
            "[hosts.a]\nssh = \"-oProxyCommand=x\"\n[hosts.b]\n".to_owned(),
            "hosts.toml:2: ssh",
        ),
        (
            "[hosts.a]\n".to_owned(),
            "hosts.toml:1: a mesh needs two hosts",
        ),
        (
            format!("{two}[groups]\nx = [\"x\"]\n"),
            "hosts.toml:4: the group x holds itself",
        ),
        (
            format!("[defaults]\ntest = \"-F x\"\n{two}"),
            "hosts.toml:2: test: ",
        ),
        (
            format!("[defaults]\ntest = \"'\"\n{two}"),
            "hosts.toml:2: test: a quotation",
        ),
    ] {
        fs::write(place.path("hosts.toml"), &text).expect("hosts");
        let ended = place.run("hosts.toml");
        let errors = &ended.stderr;
        assert_eq!(ended.code(), Some(2), "{text}: {errors}");
        assert!(
            errors.starts_with(&format!("error: {said}")),
            "{text}: {errors}"
        );
    }
    fs::write(place.path("hosts.toml"), format!("{two}[hosts.c]\n")).expect("hosts");
    for (line, said) in [
        ("none.toml", "none.toml: "),
        ("hosts.toml --pattern star:x", "no host is called \"x\""),
        ("hosts.toml --pattern pairs", "an even number"),
        ("hosts.toml -- -R", "-R: the mesh tests both directions"),
    ] {
        let ended = place.run(line);
        assert_eq!(ended.code(), Some(2), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{line}: {}", ended.stderr);
    }
    assert!(!place.path("pid.a").exists(), "a host was reached");
}
