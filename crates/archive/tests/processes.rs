//! Many programs at once, and programs that are killed.

mod sample;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sample::{kept, run};
use tapeline_archive::{Archive, Patience, Query, RunId, Selection, Upkeep};
use tapeline_base::SplitMix64;

const FILE: &str = "TAPELINE_TEST_HISTORY";
const RUNS: &str = "TAPELINE_TEST_RUNS";

/// This very program, as a writer of runs.
fn writer(path: &Path, runs: u32) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "a_writer", "--nocapture", "--test-threads", "1"])
        .env(FILE, path)
        .env(RUNS, runs.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process")
}

/// The process that the others start; without a file it is none.
#[test]
fn a_writer() {
    let Some(path) = std::env::var_os(FILE) else {
        return;
    };
    let runs: i64 = std::env::var(RUNS)
        .expect("a count")
        .parse()
        .expect("a count");
    for number in 0..runs {
        let saved = kept(Path::new(&path), &run(940.0, number % 50));
        // The harness has begun a line.
        let line = format!("\nsaved {}\n", saved.run);
        std::io::stdout()
            .write_all(line.as_bytes())
            .expect("a reader");
    }
}

/// What a writer said that it saved; a line that was cut off is none.
fn said(child: &mut Child) -> Vec<RunId> {
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let lines = lines.map_while(Result::ok);
    let names = lines.filter_map(|line| Some(RunId(line.strip_prefix("saved r")?.parse().ok()?)));
    names.collect()
}

fn all(path: &Path) -> Vec<RunId> {
    let archive = Archive::open_to_read(path).expect("a history");
    let selection = Selection::parse("last:100000").expect("a selection");
    Query::new(&archive).ids(&selection).expect("runs")
}

#[test]
fn programs_that_save_at_once_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("history.db");
    let mut writers: Vec<Child> = (0..64).map(|_| writer(&path, 20)).collect();
    let mut names: Vec<RunId> = writers.iter_mut().flat_map(said).collect();
    for mut writer in writers {
        assert!(writer.wait().expect("an end").success());
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 1280);
    assert_eq!(all(&path).len(), 1280);
    let archive = Archive::open_to_write(&path, Patience::default().busy).expect("a history");
    let found = Upkeep::new(&archive).check().expect("a check");
    assert_eq!((found.runs, found.damage), (1280, Vec::new()));
    assert!(!folder.path().join("pending").exists());
}

#[test]
fn a_program_that_is_killed_keeps_what_it_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("history.db");
    let mut random = SplitMix64::new(20_261_121);
    let (mut names, mut rounds) = (Vec::new(), 0);
    while names.len() < 500 {
        let mut child = writer(&path, 100_000);
        std::thread::sleep(Duration::from_millis(20 + random.below(400)));
        child.kill().expect("a signal");
        names.extend(said(&mut child));
        let _ = child.wait();
        rounds += 1;
        if !path.exists() {
            continue;
        }
        let archive = Archive::open_to_write(&path, Patience::default().busy).expect("a history");
        let found = Upkeep::new(&archive).check().expect("a check");
        assert_eq!(found.damage, Vec::<String>::new());
        assert!(found.taken_in <= 1, "{found:?}");
        let kept = all(&path);
        // What was entered and not said before the signal is one run each time at most.
        assert!(names.iter().all(|name| kept.contains(name)));
        assert!(
            kept.len() <= names.len() + rounds,
            "{} of {}",
            names.len(),
            kept.len()
        );
    }
}
