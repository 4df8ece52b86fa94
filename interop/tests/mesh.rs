//! `tapeline mesh` over ssh: which host is slow, and what remains when programs are killed or a cable is
//! pulled.
//!
//! The truth is the shapers' rates. These tests measure, so they run one at a time.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use interop::{
    Finished, Invocation, Program, SshHost, SshHosts, Transport, Vitals, await_listening, skip,
};
use serde_json::Value;
use tempfile::TempDir;

/// What each host may send and receive, bit/s.
const RATE: u64 = 100_000_000;
/// Longest time of a mesh, and wait for anything.
const LIMIT: Duration = Duration::from_secs(300);
/// How the words of the sshd of a connection begin.
const SSH_SESSION: &str = "sshd: root";
/// The same of what carries out a host's part.
const REMOTE: &str = "tapeline remote";
/// Processes on a host have ended after this time.
const GONE: Duration = Duration::from_secs(10);

/// Hosts, and a folder from which meshes start.
struct Mesh {
    hosts: SshHosts,
    folder: TempDir,
}

impl Mesh {
    /// So many hosts, `h1` and on, each test of one second; nothing where there can be none.
    fn new(name: &str, count: u8) -> Option<Self> {
        if let Some(reason) = SshHosts::unavailable() {
            skip(name, &reason);
            return None;
        }
        let hosts = SshHosts::new(count).expect("hosts");
        let folder = tempfile::tempdir().expect("a folder");
        let mut text = "[defaults]\ntest = \"-t 1\"\n".to_owned();
        for host in hosts.hosts() {
            hosts.limit(host, RATE).expect("a limit");
            text += &format!("[hosts.{}]\n", host.name());
        }
        fs::write(folder.path().join("hosts.toml"), text).expect("hosts");
        Some(Self { hosts, folder })
    }

    fn line(&self, line: &str) -> Invocation {
        let tapeline = self.hosts.tapeline().in_folder(self.folder.path());
        tapeline
            .line(&format!("mesh {line} --no-save --json"))
            .deadline(LIMIT)
    }

    /// The line that goes on with the journal.
    fn resume(&self) -> (Value, Option<i32>) {
        let journal = self.journal().expect("a journal");
        let finished = self.line(&format!("--resume {}", journal.display())).run();
        document(&finished.expect("tapeline"))
    }

    fn journal(&self) -> Option<PathBuf> {
        let files = fs::read_dir(&self.folder).expect("the folder");
        let mut files = files.map(|entry| entry.expect("a file").path());
        files.find(|path| path.extension().is_some_and(|end| end == "ndjson"))
    }

    /// The next line begins a mesh.
    fn forget_journal(&self) {
        fs::remove_file(self.journal().expect("a journal")).expect("it goes");
    }

    /// Waits until so many cells are in the journal.
    #[track_caller]
    fn await_cells(&self, cells: usize) {
        let until = Instant::now() + LIMIT;
        loop {
            let journal = self
                .journal()
                .and_then(|path| fs::read_to_string(path).ok());
            let lines = journal.map_or(0, |text| text.lines().count());
            if lines > cells {
                return;
            }
            assert!(Instant::now() < until, "{lines} lines");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        let left = self.hosts.left_after(GONE);
        assert!(left.is_empty(), "{left:?}");
    }
}

/// The document and exit code of a mesh.
#[track_caller]
fn document(finished: &Finished) -> (Value, Option<i32>) {
    let document = serde_json::from_str(&finished.stdout);
    (
        document.unwrap_or_else(|_| panic!("{finished}")),
        finished.code(),
    )
}

/// Sender, receiver, outcome and rate of each cell.
fn cells(document: &Value) -> Vec<(&str, &str, &str, f64)> {
    let cells = document["cells"].as_array().expect("cells").iter();
    let cells = cells.map(|cell| {
        let text = |name: &str| cell[name].as_str().unwrap_or_default();
        let rate = cell["bits_per_second"].as_f64().unwrap_or_default();
        (text("from"), text("to"), text("outcome"), rate)
    });
    cells.collect()
}

#[track_caller]
fn all_measured((document, code): &(Value, Option<i32>), count: usize) {
    let cells = cells(document);
    let measured = cells.iter().filter(|cell| cell.2 == "measured").count();
    assert_eq!((measured, cells.len()), (count, count), "{cells:?}");
    assert_eq!(*code, Some(0));
}

/// A host has no results in some of its pairs, and all others have theirs.
#[track_caller]
fn only_of((document, code): &(Value, Option<i32>), host: &str) {
    let cells = cells(document);
    let others = cells.iter().filter(|cell| cell.0 != host && cell.1 != host);
    for (from, to, outcome, _) in others {
        assert_eq!(*outcome, "measured", "{from} to {to}: {cells:?}");
    }
    assert_eq!(*code, Some(6), "{cells:?}");
}

/// What a receiver gets in a test of three seconds that somebody runs on the two hosts.
fn by_hand(from: &SshHost, to: &SshHost) -> f64 {
    let server = Invocation::new(Program::Tapeline)
        .within(to.namespace())
        .line("-s -1")
        .deadline(LIMIT)
        .spawn()
        .expect("a server");
    await_listening(&server, Transport::Tcp, 5001).expect("it listens");
    let client = Invocation::new(Program::Tapeline)
        .within(from.namespace())
        .line(&format!("-c {} -t 3 --json --no-save", to.address()))
        .deadline(LIMIT);
    let (result, code) = document(&client.run().expect("tapeline"));
    assert_eq!(code, Some(0), "{result}");
    let receiver = &result["sum"]["directions"][0]["receiver"];
    receiver["bits_per_second"].as_f64().expect("a rate")
}

/// Its numbers are those of tests that are run by hand, within 2 %.
#[test]
fn the_slow_host_is_named_and_no_other() {
    let Some(mesh) = Mesh::new("the_slow_host_is_named_and_no_other", 12) else {
        return;
    };
    let slow = &mesh.hosts.hosts()[4];
    mesh.hosts.limit(slow, 20_000_000).expect("a limit");
    // The start of a test is a part of its rate: a second would be short.
    let line = mesh.line("hosts.toml").line("-- -t 3");
    let result = document(&line.run().expect("tapeline"));
    all_measured(&result, 132);
    let name = slow.name();
    for (from, to, _, rate) in cells(&result.0) {
        let limit = match from == name || to == name {
            true => 20e6,
            false => RATE as f64,
        };
        assert!(
            (0.8 * limit..1.05 * limit).contains(&rate),
            "{from} to {to}: {rate}"
        );
    }
    for (from, to) in [(0, 4), (4, 7), (1, 9), (10, 2)] {
        let [from, to] = [from, to].map(|number: usize| &mesh.hosts.hosts()[number]);
        let of_mesh = cells(&result.0)
            .into_iter()
            .find(|cell| (cell.0, cell.1) == (from.name(), to.name()))
            .expect("the cell")
            .3;
        let by_hand = by_hand(from, to);
        assert!(
            (0.98..=1.02).contains(&(of_mesh / by_hand)),
            "{} to {}: {of_mesh} in the mesh, {by_hand} by hand",
            from.name(),
            to.name()
        );
    }
    let findings = result.0["findings"].as_array().expect("findings");
    assert!(!findings.is_empty());
    for finding in findings {
        let text = finding.to_string();
        assert!(text.contains(&format!("\"{name}\"")), "{text}");
    }
    mesh.nothing_is_left();
}

/// A host whose processes that begin so are killed in the middle costs its own pairs.
fn kill_in_the_middle(name: &str, beginning: &str) {
    let Some(mesh) = Mesh::new(name, 4) else {
        return;
    };
    let running = mesh.line("hosts.toml").spawn().expect("tapeline");
    mesh.await_cells(2);
    assert!(mesh.hosts.hosts()[2].kill(beginning) > 0);
    only_of(&document(&running.wait().expect("an end")), "h3");
    mesh.nothing_is_left();
    all_measured(&mesh.resume(), 12);
}

#[test]
fn a_killed_host_costs_its_own_pairs_and_a_later_run_tests_those() {
    let name = "a_killed_host_costs_its_own_pairs_and_a_later_run_tests_those";
    kill_in_the_middle(name, REMOTE);
}

/// Its half of the connection: the sshd that listens stays.
#[test]
fn a_killed_ssh_costs_the_pairs_of_its_host() {
    kill_in_the_middle("a_killed_ssh_costs_the_pairs_of_its_host", SSH_SESSION);
}

#[test]
fn nothing_is_left_of_a_killed_mesh_and_a_later_run_goes_on() {
    let name = "nothing_is_left_of_a_killed_mesh_and_a_later_run_goes_on";
    let Some(mesh) = Mesh::new(name, 4) else {
        return;
    };
    let running = mesh.line("hosts.toml").spawn().expect("tapeline");
    mesh.await_cells(3);
    running.kill().expect("it is killed");
    mesh.nothing_is_left();
    all_measured(&mesh.resume(), 12);
    mesh.nothing_is_left();
}

#[test]
fn a_pulled_cable_costs_the_pairs_of_its_host() {
    let Some(mesh) = Mesh::new("a_pulled_cable_costs_the_pairs_of_its_host", 4) else {
        return;
    };
    let pulled = &mesh.hosts.hosts()[1];
    let running = mesh.line("hosts.toml").spawn().expect("tapeline");
    mesh.await_cells(2);
    mesh.hosts.plug(pulled, false).expect("a cable");
    only_of(&document(&running.wait().expect("an end")), "h2");
    mesh.hosts.plug(pulled, true).expect("a cable");
    all_measured(&mesh.resume(), 12);
}

/// What is killed is there before the first test begins.
#[test]
fn what_is_lost_while_hosts_are_opened_costs_the_pairs_of_its_host() {
    let name = "what_is_lost_while_hosts_are_opened_costs_the_pairs_of_its_host";
    let Some(mesh) = Mesh::new(name, 4) else {
        return;
    };
    let lost = &mesh.hosts.hosts()[2];
    for killed in [SSH_SESSION, REMOTE] {
        let running = mesh.line("hosts.toml").spawn().expect("tapeline");
        assert!(lost.has_within(LIMIT, killed), "{}", running.stderr());
        assert!(lost.kill(killed) > 0, "{killed}");
        only_of(&document(&running.wait().expect("an end")), "h3");
        mesh.nothing_is_left();
        all_measured(&mesh.resume(), 12);
        mesh.forget_journal();
    }
    mesh.hosts.plug(lost, false).expect("a cable");
    let finished = mesh.line("hosts.toml").run().expect("tapeline");
    only_of(&document(&finished), "h3");
    mesh.hosts.plug(lost, true).expect("a cable");
    all_measured(&mesh.resume(), 12);
    mesh.forget_journal();
    let running = mesh.line("hosts.toml").spawn().expect("tapeline");
    assert!(lost.has_within(LIMIT, REMOTE), "{}", running.stderr());
    running.kill().expect("it is killed");
    mesh.nothing_is_left();
}

/// The specification's bars: 0.4 s a test beside the test's second, a tenth of a processor and 100 MiB
/// for the program that orders.
#[test]
#[ignore = "minutes: cargo xtask test chaos"]
#[expect(clippy::print_stderr, reason = "the figures are the result")]
fn sixty_four_hosts_cost_little() {
    let Some(mesh) = Mesh::new("sixty_four_hosts_cost_little", 64) else {
        return;
    };
    let running = mesh
        .line("hosts.toml")
        .line("-- -t 1 -b 1m")
        .deadline(3 * LIMIT)
        .spawn()
        .expect("tapeline");
    for host in mesh.hosts.hosts() {
        assert!(host.has_within(LIMIT, REMOTE), "{}", running.stderr());
    }
    let (begun, mut vitals) = (Instant::now(), Vitals::read(running.id()).expect("it runs"));
    let before = vitals.cpu;
    while let Some(now) = Vitals::read(running.id()) {
        vitals = now;
        std::thread::sleep(Duration::from_millis(20));
        if !running.is_alive() {
            break;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let result = document(&running.wait().expect("an end"));
    all_measured(&result, 64 * 63);
    let slot = seconds / 126.0;
    let share = (vitals.cpu - before).as_secs_f64() / seconds;
    let figures = format!(
        "{seconds:.1} s, {slot:.2} s a slot of 32 tests, {:.1} % of a processor, {} MiB",
        share * 100.0,
        vitals.peak_memory >> 20,
    );
    eprintln!("{figures}");
    assert!(vitals.peak_memory <= 100 << 20, "{figures}");
    assert!(share <= 0.1, "{figures}");
    assert!(slot <= 1.4, "{figures}");
    mesh.nothing_is_left();
}

/// A build that needs no libraries; as on all hosts here, it is for this kind of processor.
#[cfg(target_arch = "x86_64")]
fn static_build() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/static");
    let built = std::process::Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "tapeline", "--target-dir"])
        .arg(&target)
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .status()
        .expect("cargo");
    assert!(built.success(), "{built}");
    target.join("x86_64-unknown-linux-gnu/debug/tapeline")
}

/// The second run finds the copies of the first.
#[test]
#[ignore = "minutes: cargo xtask test chaos"]
#[cfg(target_arch = "x86_64")]
fn a_static_program_is_copied_to_hosts_without_one() {
    let Some(mesh) = Mesh::new("a_static_program_is_copied_to_hosts_without_one", 3) else {
        return;
    };
    let program = static_build();
    for host in mesh.hosts.hosts() {
        host.uninstall().expect("it was there");
    }
    let line = format!("hosts.toml --binary {}", program.display());
    let mut copied = Vec::new();
    for _ in 0..2 {
        let finished = mesh
            .line(&line)
            .deadline(3 * LIMIT)
            .run()
            .expect("tapeline");
        all_measured(&document(&finished), 6);
        let copies = mesh.hosts.hosts().iter().map(|host| {
            let versions = fs::read_dir(host.home().join(".cache/tapeline")).expect("a cache");
            let folders: Vec<_> = versions.map(|one| one.expect("a version").path()).collect();
            assert_eq!(folders.len(), 1, "{folders:?}");
            let file = fs::metadata(folders[0].join("tapeline")).expect("a copy");
            assert_eq!(file.len(), fs::metadata(&program).expect("a program").len());
            file.modified().expect("a time")
        });
        copied.push(copies.collect::<Vec<_>>());
        mesh.forget_journal();
    }
    assert_eq!(copied[0], copied[1], "they were copied again");
    mesh.nothing_is_left();
}

/// The program under test needs libraries, so that it is no copy for others.
#[test]
fn a_host_without_tapeline_is_named() {
    let Some(mesh) = Mesh::new("a_host_without_tapeline_is_named", 3) else {
        return;
    };
    mesh.hosts.hosts()[0].uninstall().expect("it was there");
    for (line, said) in [
        ("hosts.toml", "no tapeline is found on h1"),
        ("hosts.toml --copy", "tapeline is not copied to h1"),
    ] {
        let finished = mesh.line(line).run().expect("tapeline");
        assert!(finished.stderr.contains(said), "{finished}");
        only_of(&document(&finished), "h1");
    }
}
