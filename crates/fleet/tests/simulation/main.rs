//! Agents, controllers and the collector in virtual time, with faults; and whether the guarantees hold.
//!
//! `FLEET_SEEDS=1000` runs that many seeds, `FLEET_SEED=7` one of them, whose log is printed where it fails.

mod bus;
mod carrying;
mod checker;
mod clocks;
mod event;
mod faults;
mod host;
mod log;
mod processes;
mod queue;
mod scale;
mod server;
mod world;

use std::time::Duration;

use serde_json::json;
use tapeline_base::MonoTime;
use tapeline_fleet::{
    Expected, JobId, JobRecord, JobSpec, Limits, Read, Schedules, State, UnixTime,
};
use tapeline_remote::Class;

use crate::checker::{Broken, check};
use crate::event::{Event, Node};
use crate::log::Line;
use crate::world::{Guard, Setting, World};

/// Jobs must be final so long after the last fault.
const FINAL: Duration = Duration::from_secs(60);
/// Results may take so much longer: an agent publishes again what the server may have dropped as repeated.
const RESULTS: Duration = Duration::from_secs(60);

fn at(seconds: u64) -> MonoTime {
    MonoTime::ZERO + Duration::from_secs(seconds)
}

fn setting(seed: u64, without: Option<Guard>) -> Setting {
    Setting {
        seed,
        agents: 8,
        controllers: 2,
        without,
        limits: Limits::default(),
        delay: Duration::from_millis(5),
        calm: Duration::from_secs(4),
        checked: None,
    }
}

/// A world with jobs and faults for two minutes, and what broke in it.
fn chaos(seed: u64, without: Option<Guard>) -> (World, Vec<Broken>) {
    let mut world = World::new(setting(seed, without), Schedules::default());
    let last_fault = at(120);
    world.faults_until = last_fault;
    for number in 0..40 {
        let wait = world.random.below(110_000);
        world.plan(Duration::from_millis(wait), Event::Submit(number));
    }
    world.plan(Duration::from_secs(5), Event::Fault);
    world.run_until(last_fault + FINAL + RESULTS);
    let broken = check(&world.log, last_fault + FINAL);
    (world, broken)
}

fn print((at, line): &(MonoTime, Line)) -> String {
    let seconds = at.as_nanos() as f64 / 1e9;
    match line {
        Line::Fault { what } => format!("{seconds:10.3} fault: {what}\n"),
        line => format!("{seconds:10.3} {line:?}\n"),
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn the_guarantees_hold_whatever_goes_wrong() {
    let one = number("FLEET_SEED");
    let seeds = one.map_or(1..=number("FLEET_SEEDS").unwrap_or(500), |seed| seed..=seed);
    let mut jobs = 0;
    let mut measured = 0;
    for seed in seeds {
        let (world, broken) = chaos(seed, None);
        if !broken.is_empty() {
            let lines: String = match one {
                Some(_) => world.log.lines().iter().map(print).collect(),
                None => String::new(),
            };
            panic!("{lines}seed {seed}: {broken:#?}");
        }
        jobs += world.bus.jobs.entries.len();
        measured += world.counts.measured;
    }
    assert!(
        measured * 4 > jobs as u64,
        "{measured} tests of {jobs} jobs: too little happens"
    );
}

/// Seeds until the checker finds that kind of fault without the guard.
fn breaks(without: Guard, is_kind: impl Fn(&Broken) -> bool) {
    let found = (1..200).find(|seed| {
        let (_, broken) = chaos(*seed, Some(without));
        broken.iter().any(&is_kind)
    });
    assert!(found.is_some(), "nothing breaks without {without:?}");
}

#[test]
fn without_the_lock_file_tests_overlap() {
    breaks(Guard::Lock, |broken| matches!(broken, Broken::Overlap(_)));
}

#[test]
fn without_the_epoch_old_controllers_are_followed() {
    breaks(Guard::Epoch, |broken| matches!(broken, Broken::OldEpoch(_)));
}

#[test]
fn without_compare_and_set_final_states_are_overwritten() {
    breaks(Guard::Compare, |broken| {
        matches!(broken, Broken::Overwritten(_))
    });
}

#[test]
fn without_the_spool_results_are_missing() {
    breaks(Guard::Spool, |broken| matches!(broken, Broken::Missing(_)));
}

#[test]
fn without_the_key_results_are_there_twice() {
    breaks(Guard::Key, |broken| matches!(broken, Broken::Twice(_)));
}

#[test]
fn a_stand_by_takes_over_and_the_paused_controller_is_refused() {
    let mut refused = 0;
    for seed in 1..=20 {
        let mut world = World::new(setting(seed, None), Schedules::default());
        world.run_until(at(40));
        let first = world.active();
        assert_eq!(first.len(), 1, "seed {seed}");
        for number in 0..30 {
            let wait = world.random.below(5_000);
            world.plan(Duration::from_millis(wait), Event::Submit(number));
        }
        world.run_until(at(41));
        let paused = Node::Controller(first[0]);
        world.pause_at_order(paused, Duration::from_secs(30));
        while !world.is_paused(paused) {
            world.run_until(world.now + Duration::from_millis(1));
        }
        let begun = world.now;
        world.run_until(begun + Duration::from_secs(20));
        assert!(
            world.active().contains(&(1 - first[0])),
            "seed {seed}: not active after 20 s"
        );
        let before = world.counts.refused + world.counts.conflicts;
        world.run_until(begun + Duration::from_secs(40));
        refused += world.counts.refused + world.counts.conflicts - before;
        assert_eq!(world.active(), [1 - first[0]], "seed {seed}");
        world.run_until(at(1000));
        assert_eq!(check(&world.log, at(150)), [], "seed {seed}");
    }
    assert!(refused > 0, "no order of a paused controller came too late");
}

#[test]
fn nothing_runs_after_the_controllers_have_vanished() {
    for seed in 1..=10 {
        let mut world = World::new(setting(seed, None), Schedules::default());
        for number in 0..40 {
            world.plan(Duration::from_secs(20), Event::Submit(number));
        }
        world.run_until(at(30));
        assert!(world.processes() > 0, "seed {seed}");
        world.kill(Node::Controller(0));
        world.kill(Node::Controller(1));
        world.run_until(at(75));
        assert_eq!(world.processes(), 0, "seed {seed}");
    }
}

#[test]
fn results_that_the_server_lost_come_again() {
    let mut world = World::new(setting(1, None), Schedules::default());
    world.kill(Node::Collector);
    for number in 0..250 {
        let wait = world.random.below(400_000);
        world.plan(Duration::from_millis(wait), Event::Submit(number));
    }
    world.run_until(at(600));
    assert!(world.database.is_empty());
    let spooled: usize = world.hosts.iter().map(|host| host.disk.spool.len()).sum();
    assert!(spooled >= 300, "{spooled}");
    world.stop_bus(Duration::from_secs(3), true);
    world.plan(Duration::from_secs(5), Event::Restart(Node::Collector));
    world.run_until(at(620));
    assert_eq!(world.database.len(), spooled);
    world.run_until(at(2000));
    assert_eq!(check(&world.log, at(700)), []);
    let spooled: usize = world.hosts.iter().map(|host| host.disk.spool.len()).sum();
    assert_eq!(spooled, 0, "what is stored leaves the spools");
}

/// A job for 10 s from the host 0 to the host 1, which expires in five minutes of the world.
fn submit(world: &mut World) -> JobId {
    submit_for(world, 0, 1, 10)
}

fn submit_for(world: &mut World, from: usize, to: usize, seconds: u32) -> JobId {
    let job: JobId = format!("j-{from}-{to}").parse().expect("a name");
    let spec = JobSpec {
        from: format!("h{from}").parse().expect("a name"),
        to: format!("h{to}").parse().expect("a name"),
        options: Vec::new(),
        seconds,
        class: Class::Exclusive,
        priority: 0,
        earliest: None,
        expires: UnixTime(clocks::BEGIN + 300),
        live: false,
    };
    server::write_job(world, &job, JobRecord::new(spec), Expected::Absent);
    job
}

fn record(world: &World, job: &JobId) -> JobRecord {
    match world.bus.jobs.read(job) {
        Read::There(entry) => entry.value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn final_jobs_leave_though_no_controller_lives_for_as_long_as_they_stay() {
    let mut world = World::new(setting(1, None), Schedules::default());
    let job = submit(&mut world);
    for half_hour in 1..8 {
        for number in 0..2 {
            world.run_until(at(half_hour * 1800 + number * 900));
            let node = Node::Controller(number as usize);
            world.kill(node);
            world.plan(Duration::from_secs(1), Event::Restart(node));
        }
        if half_hour < 6 {
            assert_eq!(record(&world, &job).state, State::Done);
        }
    }
    assert_eq!(world.bus.jobs.read(&job), Read::Absent);
    assert_eq!(check(&world.log, at(1000)), []);
}

#[test]
fn a_job_for_a_host_that_is_away_waits_and_expires() {
    let mut world = World::new(setting(1, None), Schedules::default());
    world.kill(Node::Agent(1));
    let job = submit(&mut world);
    world.run_until(at(250));
    assert_eq!(record(&world, &job).state, State::Queued);
    world.run_until(at(320));
    assert_eq!(record(&world, &job).state, State::Expired);
    let mut world = World::new(setting(1, None), Schedules::default());
    world.kill(Node::Agent(1));
    let job = submit(&mut world);
    world.plan(Duration::from_secs(200), Event::Restart(Node::Agent(1)));
    world.run_until(at(220));
    assert_eq!(record(&world, &job).state, State::Done);
}

#[test]
fn what_an_owner_refuses_fails_at_once_with_its_words() {
    let mut setting = setting(1, None);
    setting.limits = serde_json::from_value(json!({"max-time": "5"})).expect("limits");
    let mut world = World::new(setting, Schedules::default());
    let job = submit(&mut world);
    world.run_until(at(30));
    let record = record(&world, &job);
    let reason = "h0: its owner allows tests of 5 s, not of 10 s".to_owned();
    assert_eq!(
        (record.state, record.attempt.0),
        (State::Failed { reason }, 1)
    );
}

#[test]
fn a_full_mesh_takes_little_longer_than_its_tests() {
    let mut setting = setting(1, None);
    setting.agents = 32;
    let mut world = World::new(setting, Schedules::default());
    world.run_until(at(10));
    for step in 1..32 {
        for from in 0..32 {
            submit_for(&mut world, from, (from + step) % 32, 1);
        }
    }
    world.run_until(at(1000));
    assert_eq!(check(&world.log, at(1000)), []);
    assert_eq!(world.states(), [("done".to_owned(), 992)].into());
    let ends = |(at, line): &(MonoTime, Line)| matches!(line, Line::Ended { .. }).then_some(*at);
    let last = world.log.lines().iter().filter_map(ends).max();
    let taken = last
        .map(|last| last.since(at(10)).as_secs_f64())
        .unwrap_or_default();
    // Each host takes part in 62 tests of 1 s.
    assert!(taken < 2.2 * 62.0, "{taken:.0} s for 62 slots");
}
