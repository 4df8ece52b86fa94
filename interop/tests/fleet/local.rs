//! A test by hand on a host of the fleet: the two take turns.

use std::time::Instant;

use interop::Fleet;

use crate::chaos::test_processes;
use crate::support::{SOON, options, says};

#[test]
fn a_local_test_and_the_fleet_take_turns() {
    let Some(options) = options("a_local_test_and_the_fleet_take_turns", 3, 1) else {
        return;
    };
    let fleet = Fleet::started(options);
    let server = fleet.agents[2].tapeline("-s").deadline(SOON).spawn();
    let server = server.expect("a server");
    assert!(
        server.wait_for(SOON, |said| said.contains("Listening on")),
        "{}",
        server.stdout()
    );
    let lock = fleet.spool(0).join("lock");
    let local = |seconds: u32| {
        let (to, lock) = (fleet.agents[2].host().address(), lock.display());
        let line = format!("-c {to} -t {seconds} --exclusive={lock} --no-save");
        fleet.agents[0].tapeline(&line).deadline(SOON)
    };
    let job = fleet
        .operator("fleet run h1 h2 --wait -- -t 4")
        .spawn()
        .expect("tapeline");
    fleet.agents[0].await_log(SOON, "a test", |log| log.contains(": begins "));
    says(
        &local(1).run().expect("tapeline"),
        1,
        "--exclusive: another test of this host has ",
    );
    let job = job.wait().expect("an end");
    assert_eq!(job.code(), Some(0), "{job}{}", fleet.logs());
    let test = local(4).spawn().expect("tapeline");
    let until = Instant::now() + SOON;
    while test_processes(&lock).is_empty() {
        assert!(
            test.is_alive() && Instant::now() < until,
            "{}",
            test.stderr()
        );
        std::thread::yield_now();
    }
    let job = fleet
        .operator("fleet run h2 h1 --wait -- -t 0.2")
        .run()
        .expect("tapeline");
    assert!(!test.is_alive(), "the job waits for the slot");
    assert_eq!(job.code(), Some(0), "{job}{}", fleet.logs());
    let test = test.wait().expect("an end");
    assert_eq!(test.code(), Some(0), "{test}");
}
