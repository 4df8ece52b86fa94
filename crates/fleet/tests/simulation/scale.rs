//! Many agents for days, without faults: how much is said.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;
use tapeline_fleet::{Enrolled, Limits, Schedule, ScheduleSpec, Schedules};
use tapeline_remote::GivenOption;

use crate::world::{Setting, World};
use crate::{at, number};

/// A schedule by which each of so many hosts meets four others every six hours.
fn schedules(agents: usize) -> Schedules {
    let spec: ScheduleSpec = serde_json::from_value(json!({"name": "all", "hosts": "*",
        "pattern": "sample:4", "every": "6h", "test": "-t 10"}))
    .expect("a schedule");
    let enrolled: Vec<Enrolled> = (0..agents)
        .map(|number| Enrolled {
            name: format!("h{number}").parse().expect("a name"),
            groups: Vec::new(),
        })
        .collect();
    let options = vec![GivenOption::new("time", "10")];
    let schedule = Schedule::new(spec, &enrolled, options, 10).expect("it fits");
    let mut schedules = Schedules::default();
    schedules.add(schedule).expect("not too busy");
    schedules
}

/// Runs so many agents for so many hours, and prints what was said in a second.
fn run(agents: usize, hours: u64) {
    let setting = Setting {
        seed: 1,
        agents,
        controllers: 2,
        without: None,
        limits: Limits::default(),
        delay: Duration::from_millis(5),
        is_logged: false,
    };
    let begun = Instant::now();
    let mut world = World::new(setting, schedules(agents));
    let start = 3600;
    world.run_until(at(start));
    let before = world.counts;
    world.run_until(at(start + hours * 3600));
    let after = world.counts;
    let seconds = (hours * 3600) as f64;
    let rate = |before: u64, after: u64| (after - before) as f64 / seconds;
    let tests = rate(before.measured, after.measured);
    let parts = [
        ("orders", rate(before.orders, after.orders)),
        ("answers", rate(before.answers, after.answers)),
        ("steps", rate(before.steps, after.steps)),
        ("events", rate(before.events, after.events)),
        ("results", rate(before.results, after.results)),
        ("stored", rate(before.stored, after.stored)),
    ];
    let all: f64 = parts.iter().map(|(_, rate)| rate).sum();
    let text: Vec<String> = parts
        .iter()
        .map(|(name, rate)| format!("{name} {rate:.2}"))
        .collect();
    let beats = rate(before.beats, after.beats);
    let report = format!(
        "{agents} agents, {hours} h: {tests:.3} tests a second; {all:.1} messages ({}), beats {beats:.1}, \
         others {:.2}; jobs {:?}; {:.0} s",
        text.join(", "),
        rate(before.others, after.others),
        world.states(),
        begun.elapsed().as_secs_f64(),
    );
    // Tests of a round: each host with four others, both ways.
    let expected = agents as f64 * 4.0 / (6.0 * 3600.0);
    assert!(
        (tests / expected - 1.0).abs() < 0.03,
        "{expected:.4} expected: {report}"
    );
    let per_test = all / tests;
    assert!(
        (20.0..30.0).contains(&per_test),
        "{per_test:.1} messages a test: {report}"
    );
    let idle = agents as f64 / 30.0;
    // And when a test has ended.
    assert!(
        beats > 0.95 * idle && beats < 1.1 * idle + 4.0 * tests,
        "{report}"
    );
    let failed = world
        .states()
        .keys()
        .any(|state| state.starts_with("failed"));
    assert!(!failed && after.conflicts == before.conflicts, "{report}");
    let _ = writeln!(std::io::stderr(), "{report}");
}

#[test]
fn a_few_agents_say_as_much_as_calculated() {
    run(20, 6);
}

/// `FLEET_AGENTS=10000 FLEET_HOURS=720` for all that the specification names.
#[test]
#[ignore = "minutes, in an optimised build"]
fn ten_thousand_agents_say_as_much_as_calculated() {
    run(
        number("FLEET_AGENTS").unwrap_or(10_000) as usize,
        number("FLEET_HOURS").unwrap_or(24),
    );
}
