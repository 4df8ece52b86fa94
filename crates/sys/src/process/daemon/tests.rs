use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::*;
use crate::process::exit_now;

const REPORT: &str = "TAPELINE_TEST_DAEMON_REPORT";
const FAIL: &str = "TAPELINE_TEST_DAEMON_FAIL";

/// Not a test of its own: what the started process runs.
#[test]
fn as_a_started_process() {
    let Some(report) = std::env::var_os(REPORT) else {
        return;
    };
    let daemon = Daemon::start().expect("daemon");
    if std::env::var_os(FAIL).is_some() {
        exit_now(3);
    }
    daemon.ready().expect("ready");
    // SAFETY: both only look up numbers.
    let (own, session) = unsafe { (libc::getpid(), libc::getsid(0)) };
    let descriptors: Vec<String> = (0..3)
        .map(|number| {
            let target = fs::read_link(format!("/proc/self/fd/{number}"));
            target.map_or("-".into(), |path| path.display().to_string())
        })
        .collect();
    let text = format!("{} {}", own == session, descriptors.join(" "));
    fs::write(PathBuf::from(&report).with_extension("new"), text).expect("report");
    fs::rename(PathBuf::from(&report).with_extension("new"), report).expect("rename");
    exit_now(0);
}

fn start(report: &PathBuf, fail: bool) -> Option<i32> {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command
        .args(["--exact", "process::daemon::tests::as_a_started_process"])
        .env(REPORT, report)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if fail {
        command.env(FAIL, "1");
    }
    command.status().expect("started").code()
}

#[test]
fn the_started_process_ends_when_the_daemon_is_ready() {
    let report = std::env::temp_dir().join(format!("tapeline-daemon-{}", std::process::id()));
    assert_eq!(start(&report, false), Some(0));
    let content = (0..500).find_map(|_| {
        thread::sleep(Duration::from_millis(10));
        fs::read_to_string(&report).ok()
    });
    let _ = fs::remove_file(&report);
    let content = content.expect("the daemon lives on");
    assert!(
        content.starts_with("true"),
        "a session of its own: {content}"
    );
    if cfg!(target_os = "linux") {
        assert_eq!(content, "true /dev/null /dev/null /dev/null");
    }
}

#[test]
fn a_daemon_that_fails_to_start_shows_in_the_exit_code() {
    let report = std::env::temp_dir().join("tapeline-daemon-unused");
    assert_eq!(start(&report, true), Some(1));
}
