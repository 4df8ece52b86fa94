//! A full mesh: every pair is tested, a host has one test at a time, and no time is wasted.

use std::time::Duration;

use interop::{Fleet, HostTest, host_tests};
use serde_json::Value;

use crate::support::options;

/// A second. With more than a small window it takes longer: what waits in the sender's socket still leaves.
const TEST: &str = "-t 1 -w 128K";
/// A mesh takes at most so many times its slots of one second.
const MOST: f64 = 2.2;

#[test]
fn a_small_mesh_is_tested_pair_by_pair() {
    mesh("a_small_mesh_is_tested_pair_by_pair", 6);
}

#[test]
#[ignore = "two minutes of 32 hosts: cargo xtask test chaos"]
fn thirty_two_hosts_are_tested_pair_by_pair() {
    mesh("thirty_two_hosts_are_tested_pair_by_pair", 32);
}

fn mesh(name: &str, hosts: u8) {
    let Some(options) = options(name, hosts, 1) else {
        return;
    };
    let fleet = Fleet::started(options);
    let count = usize::from(hosts);
    let line = format!(
        "fleet run {} --wait --json -- {TEST}",
        fleet.hosts_file(count).display()
    );
    let run = fleet.operator(&line).run().expect("tapeline");
    assert_eq!(run.code(), Some(0), "{run}{}", fleet.logs());
    let document: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let jobs = document["jobs"].as_array().expect("jobs");
    let done = jobs.iter().filter(|job| job["state"] == "done").count();
    let pairs = count * (count - 1);
    assert_eq!((done, jobs.len()), (pairs, pairs));
    let tests: Vec<Vec<HostTest>> = fleet
        .agents
        .iter()
        .map(|agent| host_tests(&agent.log()))
        .collect();
    for (agent, tests) in fleet.agents.iter().zip(&tests) {
        assert!(tests.len() >= 2 * (count - 1), "{}", agent.log());
        for two in tests.windows(2) {
            let end = two[0].end.unwrap_or_else(|| panic!("{two:?}"));
            assert!(end <= two[1].begin, "on {}: {two:?}", agent.name());
        }
    }
    // Each test is on two hosts.
    let at_once = most_at_once(tests.iter().flatten());
    assert!(at_once <= count, "{at_once} at once");
    let slots = 2 * (count - 1);
    let most = Duration::from_secs_f64(MOST * slots as f64);
    let story = || {
        let logs = fleet.agents.iter().map(|agent| agent.log());
        logs.collect::<String>()
    };
    assert!(
        run.elapsed <= most,
        "{:?} for {slots} slots\n{}",
        run.elapsed,
        story()
    );
}

/// The most tests that ran at a time.
fn most_at_once<'a>(tests: impl Iterator<Item = &'a HostTest>) -> usize {
    let mut changes: Vec<(f64, i32)> = tests
        .flat_map(|test| [(test.begin, 1), (test.end.unwrap_or(f64::MAX), -1)])
        .collect();
    // An end comes before a beginning at the same time.
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let counts = changes.iter().scan(0, |count, (_, change)| {
        *count += change;
        Some(*count)
    });
    counts.max().unwrap_or_default() as usize
}
