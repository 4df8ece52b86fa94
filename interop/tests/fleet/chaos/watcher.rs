//! Looks at the processes of all hosts again and again: no two tests at a time on one of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use interop::Fleet;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(150);

/// A thread that looks, until it is dropped.
#[derive(Debug)]
pub(crate) struct Watcher {
    stop: Arc<AtomicBool>,
    found: Arc<Mutex<Found>>,
    thread: Option<JoinHandle<()>>,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Two tests at a time: host and processes.
    pub(crate) overlaps: Vec<String>,
    /// The most tests at a time, of all hosts.
    pub(crate) most: usize,
}

impl Watcher {
    pub(crate) fn start(fleet: &Fleet) -> Self {
        let locks: Vec<PathBuf> = (0..fleet.agents.len())
            .map(|agent| fleet.spool(agent).join("lock"))
            .collect();
        let stop = Arc::new(AtomicBool::new(false));
        let found = Arc::<Mutex<Found>>::default();
        let (its_stop, its_found) = (Arc::clone(&stop), Arc::clone(&found));
        let thread = std::thread::spawn(move || {
            while !its_stop.load(Ordering::Relaxed) {
                look(&locks, &its_found);
                std::thread::sleep(LOOK);
            }
        });
        Self {
            stop,
            found,
            thread: Some(thread),
        }
    }

    pub(crate) fn found(&self) -> Found {
        self.found.lock().expect("no panic").clone()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Processes of tests: they inherited the lock of their host. Agents, which hold it too, are not among them.
pub(crate) fn test_processes(lock: &Path) -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| is_of_test(*id, lock)).collect()
}

fn is_of_test(id: u32, lock: &Path) -> bool {
    let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0).skip(1);
    let is_agent = words.next() == Some(b"agent");
    let files = fs::read_dir(format!("/proc/{id}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    !is_agent
        && files
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|to| to == lock)
}

fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

fn look(locks: &[PathBuf], found: &Mutex<Found>) {
    let mut all = 0;
    for lock in locks {
        let ids = test_processes(lock);
        if ids.is_empty() {
            continue;
        }
        all += 1;
        // A process whose parent is of a test is of the same one.
        let first = |id: &&u32| parent(**id).is_some_and(|parent| !ids.contains(&parent));
        let tests: Vec<u32> = ids.iter().filter(first).copied().collect();
        // All at the same time: each is there still, now that all have been seen.
        let there: Vec<u32> = tests
            .into_iter()
            .filter(|id| is_of_test(*id, lock))
            .collect();
        if there.len() > 1 {
            let words = there.iter().map(|id| {
                let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
                format!(
                    "{id} {}",
                    String::from_utf8_lossy(&words).replace('\0', " ")
                )
            });
            let words: Vec<String> = words.collect();
            let text = format!("{}: {}", lock.display(), words.join(" | "));
            found.lock().expect("no panic").overlaps.push(text);
        }
    }
    let mut found = found.lock().expect("no panic");
    found.most = found.most.max(all);
}

/// Two processes are two tests, unless one is the other's child.
#[test]
fn tests_at_the_same_time_are_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let lock = folder.path().join("lock");
    let holder = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        command.stdout(fs::File::create(&lock).expect("a file"));
        command.spawn().expect("a process")
    };
    let seen = |most: usize| {
        let found = Mutex::<Found>::default();
        // A shell has its child in a moment.
        while test_processes(&lock).len() < most {
            std::thread::yield_now();
        }
        look(std::slice::from_ref(&lock), &found);
        found.into_inner().expect("no panic").overlaps.len()
    };
    let mut processes = vec![holder("cat; :")];
    assert_eq!(seen(2), 0, "a test and its child");
    processes.push(holder("exec cat"));
    assert_eq!(seen(3), 1, "two tests");
    for mut process in processes {
        drop(process.stdin.take());
        process.wait().expect("an end");
    }
}
