//! Results that stay: a change of the network is seen in them, and where there is none, none is. A
//! full disk changes no test.
//!
//! The truth is the shaper's rate. These tests measure, so they run one at a time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use interop::{
    Bottleneck, Family, Invocation, NamespacePair, Program, Server, ServerSpec, Transport,
    in_a_quiet_moment, skip,
};

/// Runs of a series.
const RUNS: u32 = 5;

/// Keeps a series of runs through a bottleneck.
fn keep(pair: &NamespacePair, server: &mut Server, rate: u64, history: &Path) {
    let _bottleneck = Bottleneck::new(&pair.client, rate, 50).expect("a bottleneck");
    let address = pair.server_address(Family::V4);
    let history = history.display();
    let client = server
        .client_to(Program::Tapeline, address)
        .within(&pair.client)
        .line(&format!(
            "-t 2 -Z cubic --repeat {RUNS} --repeat-pause 0 --save --history {history}"
        ))
        .deadline(Duration::from_secs(60))
        .run()
        .expect("a client");
    assert_eq!(client.code(), Some(0), "{client}");
    assert!(client.stdout.contains("\nsaved    r"), "{client}");
}

/// What `compare` says of the rate of two series.
fn verdict(history: &Path, a: &str, b: &str) -> String {
    let compared = Invocation::new(Program::Tapeline)
        .line(&format!("compare {a} {b} --history {}", history.display()))
        .run()
        .expect("a comparison");
    assert_eq!(compared.code(), Some(0), "{compared}");
    let rate = compared
        .stdout
        .lines()
        .find(|line| line.starts_with("  rate "));
    rate.unwrap_or_else(|| panic!("{compared}")).to_owned()
}

#[test]
fn a_slower_network_is_worse_and_the_same_one_is_the_same() {
    let name = "a_slower_network_is_worse_and_the_same_one_is_the_same";
    if let Some(reason) = NamespacePair::unavailable() {
        return skip(name, &reason);
    }
    in_a_quiet_moment(|| {
        let pair = NamespacePair::new().expect("namespaces");
        let folder = tempfile::tempdir().expect("a folder");
        let history = folder.path().join("history.db");
        let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
        let mut server = spec.start_within(&pair.server).expect("a server");
        for rate in [100_000_000, 95_000_000, 100_000_000] {
            keep(&pair, &mut server, rate, &history);
        }
        let slower = verdict(&history, "s1", "s2");
        assert!(slower.ends_with("  worse, surely"), "{slower}");
        let same = verdict(&history, "s1", "s3");
        assert!(
            same.ends_with("  the same within 2 %") || same.contains("  unclear"),
            "{same}"
        );
    });
}

/// A file system of 1 MiB, gone when dropped.
struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    fn new(path: PathBuf) -> Option<Self> {
        fs::create_dir(&path).expect("a folder");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tapeline-test"])
            .arg(&path)
            .output();
        let mounted = mount.is_ok_and(|mount| mount.status.success());
        mounted.then_some(Self { path })
    }

    /// Leaves no byte free.
    fn fill(&self) {
        let path = self.path.join("filling");
        let mut size = 1 << 20;
        while size > 0 {
            let mut content = fs::read(&path).unwrap_or_default();
            content.resize(content.len() + size, 7);
            if fs::write(&path, &content).is_err() {
                content.truncate(content.len() - size);
                fs::write(&path, &content).expect("what fitted before");
                size /= 2;
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
    }
}

#[test]
fn a_full_disk_changes_no_test() {
    let name = "a_full_disk_changes_no_test";
    let folder = tempfile::tempdir().expect("a folder");
    let Some(disk) = SmallDisk::new(folder.path().join("disk")) else {
        return skip(name, "no file system can be mounted");
    };
    let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
    let server = spec.start().expect("a server");
    let history = disk.path.join("history.db");
    let test = || {
        let client = server.client(Program::Tapeline);
        let options = format!("-n 100K --save --history {}", history.display());
        let client = client.line(&options).run().expect("a client");
        assert_eq!(client.code(), Some(0), "{client}");
        assert!(client.stdout.contains("\nThroughput   "), "{client}");
        client
    };
    assert!(test().stdout.ends_with("\nsaved    r1\n"));
    disk.fill();
    let full = test();
    let lines: Vec<&str> = full.stderr.lines().collect();
    let [line] = lines[..] else {
        panic!("{full}");
    };
    assert!(line.starts_with("warning: not saved: "), "{full}");
    assert!(line.ends_with(" [not-saved]"), "{full}");
    fs::remove_file(disk.path.join("filling")).expect("room");
    let saved = test();
    assert!(saved.stdout.contains("\nsaved    r"), "{saved}");
}

/// As somebody who may not write there; to root no folder is closed.
#[test]
fn a_closed_folder_changes_no_test() {
    let name = "a_closed_folder_changes_no_test";
    let (nobody, is_root) = ("/usr/bin/setpriv", rustix::process::geteuid().is_root());
    if is_root && !Path::new(nobody).is_file() {
        return skip(name, "no setpriv");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
    };
    mode(folder.path(), 0o755);
    let program = folder.path().join("tapeline");
    fs::copy(Program::Tapeline.path(), &program).expect("a copy");
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).expect("a folder");
    mode(&closed, 0o555);
    let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
    let server = spec.start().expect("a server");
    let invocation = if is_root {
        let user = "--reuid=65534 --regid=65534 --clear-groups";
        let invocation = Invocation::for_executable("tapeline as nobody", nobody).line(user);
        invocation.args([program.display().to_string()])
    } else {
        Invocation::for_executable("tapeline", &program)
    };
    let client = invocation
        .line(&format!("-c 127.0.0.1 -p {} -n 100K --save", server.port()))
        .args([
            "--history".to_owned(),
            closed.join("h.db").display().to_string(),
        ])
        .run()
        .expect("a client");
    mode(&closed, 0o755);
    assert_eq!(client.code(), Some(0), "{client}");
    assert!(client.stdout.contains("\nThroughput   "), "{client}");
    let lines: Vec<&str> = client.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{client}");
    assert!(lines[0].starts_with("warning: not saved: "), "{client}");
    assert_eq!(fs::read_dir(&closed).expect("the folder").count(), 0);
}
