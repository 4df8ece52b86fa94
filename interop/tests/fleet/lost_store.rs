//! The server loses all that it stored and acknowledged: the results are in the spools of their hosts.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use interop::Fleet;

use crate::client::results_in_stream;
use crate::support::options;

/// For results to come.
const COMING: Duration = Duration::from_secs(300);
/// Between two looks at what says nothing by itself.
const LOOK: Duration = Duration::from_millis(300);

/// Waits until something is so.
#[track_caller]
fn becomes(fleet: &Fleet, what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + COMING;
    while !is_so() {
        assert!(Instant::now() < until, "not {what}{}", fleet.logs());
        std::thread::sleep(LOOK);
    }
}

/// Results in the spools, as their agents say.
fn spooled(fleet: &Fleet) -> u64 {
    let document = fleet.document("fleet hosts --json");
    let hosts = document["hosts"].as_array().expect("hosts").iter();
    hosts
        .filter_map(|host| host["spool"]["results"].as_u64())
        .sum()
}

#[test]
fn a_wiped_store_costs_no_result() {
    lose("a_wiped_store_costs_no_result", 1);
}

#[test]
#[ignore = "three minutes of tests: cargo xtask test chaos"]
fn a_wiped_store_costs_none_of_many_results() {
    lose("a_wiped_store_costs_none_of_many_results", 9);
}

/// So many full meshes of six hosts.
fn lose(name: &str, rounds: u64) {
    let Some(options) = options(name, 6, 1) else {
        return;
    };
    let mut fleet = Fleet::started(options);
    fleet.collector.kill();
    let hosts = fleet.hosts_file(6);
    for _ in 0..rounds {
        let line = format!("fleet run {} -- -t 0.2", hosts.display());
        let run = fleet.operator(&line).run().expect("tapeline");
        assert_eq!(run.code(), Some(0), "{run}");
    }
    // A result of each end.
    let count = 2 * 30 * rounds;
    becomes(&fleet, "acknowledged", || {
        results_in_stream(&fleet) == count
    });
    assert_eq!(spooled(&fleet), count, "{}", fleet.logs());
    fleet.server.kill();
    fs::remove_dir_all(fleet.folder().join("jetstream")).expect("the store");
    fleet.start_server();
    fleet.collector.start().expect("a collector");
    becomes(&fleet, "collected", || {
        fleet.results().len() as u64 >= count
    });
    becomes(&fleet, "empty", || spooled(&fleet) == 0);
    let results = fleet.results();
    let each: BTreeSet<_> = results.iter().collect();
    assert_eq!(
        (each.len(), results.len()),
        (count as usize, count as usize)
    );
    // The fleet works on, and no agent knows a greater epoch than the new lease gives.
    let run = fleet
        .operator("fleet run h1 h2 --wait -- -t 0.2")
        .run()
        .expect("tapeline");
    assert_eq!(run.code(), Some(0), "{run}{}", fleet.logs());
}
