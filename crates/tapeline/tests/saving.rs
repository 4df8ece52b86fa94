//! Results that stay: what `--save` keeps, where, and that it never changes how a test ends.

#![cfg(all(unix, feature = "history"))]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::fs;
use std::path::Path;

use program::{Ended, Program, Server, command};
use tapeline_archive::{Archive, Entry, Query, RunId, Selection, StoredRun};
use tempfile::TempDir;

/// A client of a server, which sends a little; `place` names the file, or is what names none.
fn client(server: &Server, arguments: &str, place: &[(&str, &Path)]) -> Ended {
    let port = server.port;
    let line = format!("-c 127.0.0.1 -p {port} -n 100K {arguments}");
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = command(&words);
    for name in [
        "HOME",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "TAPELINE_HISTORY",
        "STATE_DIRECTORY",
    ] {
        command.env_remove(name);
    }
    command.envs(place.iter().copied());
    Program::spawn(command).end()
}

fn runs(path: &Path) -> Vec<StoredRun> {
    let archive = Archive::open_to_read(path).expect("a history");
    let all = Selection::parse("last:100").expect("a selection");
    Query::new(&archive).runs(&all).expect("runs")
}

fn place() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("history.db");
    (folder, path)
}

#[test]
fn a_result_is_kept_with_its_intervals_and_tags() {
    let (_folder, path) = place();
    let server = Server::native("");
    let file = path.display();
    // At this rate it takes 0.2 s, so that there are intervals.
    let arguments = format!("-b 4M -i 0.05 --save --history {file} --tag link=uplink");
    let ended = client(&server, &arguments, &[]);
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
    assert!(
        ended.stdout.ends_with("\nsaved    r1\n"),
        "{}",
        ended.stdout
    );
    let [run] = &runs(&path)[..] else {
        panic!("one run");
    };
    assert_eq!((run.id, run.tags["link"].as_str()), (RunId(1), "uplink"));
    let document = run.whole_document();
    assert!(
        document["intervals"]
            .as_array()
            .is_some_and(|list| !list.is_empty())
    );
    assert_eq!(document["sum"]["sender"]["bytes"], 102_400);
    assert!(run.facts().counts());
}

#[test]
fn forms_for_programs_stay_as_they_are() {
    let (_folder, path) = place();
    let server = Server::native("");
    let arguments = format!("--json --save --history {}", path.display());
    let ended = client(&server, &arguments, &[]);
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a document");
    assert_eq!(ended.stderr, "note: saved r1\n");
    // What is kept is the document that was printed.
    assert_eq!(runs(&path)[0].whole_document(), document);
    let ended = client(
        &server,
        &format!("--brief --save --history {}", path.display()),
        &[],
    );
    assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stdout);
    assert_eq!(ended.stderr, "note: saved r2\n");
}

#[test]
fn runs_of_a_series_are_kept_together() {
    let (_folder, path) = place();
    let server = Server::native("");
    let arguments = format!(
        "--repeat 3 --repeat-pause 0 --save --history {}",
        path.display()
    );
    let ended = client(&server, &arguments, &[]);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.ends_with("\nsaved    r1 to r3, series s1\n"),
        "{}",
        ended.stdout
    );
    let archive = Archive::open_to_read(&path).expect("a history");
    let entries = Query::new(&archive).latest(9).expect("entries");
    let [Entry::Series(_, runs)] = &entries[..] else {
        panic!("{entries:?}");
    };
    assert_eq!(runs.len(), 3);
}

#[test]
fn servers_keep_each_test() {
    let (_folder, path) = place();
    let server = Server::native(&format!("--save --history {}", path.display()));
    for arguments in ["", "-u -b 10m", "--peer iperf3"] {
        let ended = client(&server, arguments, &[]);
        assert_eq!(ended.code(), Some(0), "{arguments}: {}", ended.stderr);
    }
    let ended = server.stop();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let kept = runs(&path);
    let facts: Vec<_> = kept.iter().map(StoredRun::facts).collect();
    let words: Vec<_> = facts
        .iter()
        .map(|run| {
            (
                run.role.as_str(),
                run.transport.as_deref().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        words,
        [("server", "tcp"), ("server", "udp"), ("server", "tcp")]
    );
}

#[test]
fn the_habit_is_a_line_of_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    let server = Server::native("");
    fs::create_dir_all(home.join(".config/tapeline")).expect("a folder");
    let file = home.join(".config/tapeline/config.toml");
    fs::write(&file, "save = true\n").expect("written");
    let kept = home.join(".local/share/tapeline/history.db");
    let ended = client(&server, "", &[("HOME", home)]);
    assert!(
        ended.stdout.ends_with("\nsaved    r1\n"),
        "{}",
        ended.stdout
    );
    let ended = client(&server, "--no-save", &[("HOME", home)]);
    assert!(!ended.stdout.contains("saved"), "{}", ended.stdout);
    assert_eq!(runs(&kept).len(), 1);
    // What is for one flow alone has no history yet.
    let ended = client(&server, "--flow -u", &[("HOME", home)]);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    fs::write(&file, "save = true\nport = 7\n").expect("written");
    let ended = client(&server, "", &[("HOME", home)]);
    assert_eq!(ended.code(), Some(2));
    assert!(ended.stderr.contains("config.toml:2: "), "{}", ended.stderr);
}

#[test]
fn without_a_place_no_test_begins() {
    let server = Server::native("");
    let ended = client(&server, "--save", &[]);
    assert_eq!((ended.code(), ended.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        ended.stderr,
        "error: --save needs a place: set --history FILE\n"
    );
}

#[test]
fn bad_places_change_no_test() {
    let (folder, path) = place();
    let server = Server::native("");
    let ended = client(
        &server,
        &format!("--save --history {}", path.display()),
        &[],
    );
    assert_eq!(ended.code(), Some(0));
    let newer = folder.path().join("newer.db");
    fs::copy(&path, &newer).expect("a copy");
    // `user_version`, at byte 60 of the file.
    let mut bytes = fs::read(&newer).expect("a file");
    bytes[60..64].copy_from_slice(&9_u32.to_be_bytes());
    fs::write(&newer, bytes).expect("written");
    let text = folder.path().join("notes.txt");
    fs::write(&text, "mine\n").expect("written");
    for (place, part) in [
        (
            newer.as_path(),
            "has format 9; this tapeline knows 1 and leaves it alone",
        ),
        (&text, "is no history of tapeline, and is left alone"),
        (folder.path(), "is a folder, not a history"),
        (
            Path::new("/proc/none/history.db"),
            "cannot create /proc/none",
        ),
        (Path::new("/dev/full"), "/dev/full"),
    ] {
        let plain = client(&server, "", &[]);
        let ended = client(
            &server,
            &format!("--save --history {}", place.display()),
            &[],
        );
        assert_eq!(ended.code(), plain.code(), "{part}");
        assert!(ended.stdout.contains("\nThroughput   "), "{}", ended.stdout);
        let lines: Vec<&str> = ended.stderr.lines().collect();
        let [line] = lines[..] else {
            panic!("{part}: {lines:?}");
        };
        assert!(
            line.starts_with("warning: not saved: ") && line.contains(part),
            "{line}"
        );
        assert!(line.ends_with("[not-saved]"), "{line}");
    }
    assert_eq!(fs::read_to_string(&text).expect("the file"), "mine\n");
    // What waited beside a file is taken in when it can be.
    fs::write(folder.path().join("history.db-wal"), "").expect("an empty log");
    let ended = client(
        &server,
        &format!("--save --history {}", path.display()),
        &[],
    );
    assert!(
        ended.stdout.ends_with("\nsaved    r2\n"),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_test_that_failed_is_kept_as_one_that_does_not_count() {
    let (_folder, path) = place();
    let line = format!("-c 127.0.0.1 -p 1 --save --history {}", path.display());
    let ended = Program::native(&line).end();
    assert_eq!(ended.code(), Some(1));
    let [run] = &runs(&path)[..] else {
        panic!("one run");
    };
    let facts = run.facts();
    assert!(!facts.counts() && facts.error.is_some(), "{facts:?}");
}
