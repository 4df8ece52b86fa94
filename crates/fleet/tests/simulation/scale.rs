//! Many agents for days, without faults and with them: how much is said, and whether the guarantees hold.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;
use tapeline_fleet::{Enrolled, Limits, Schedule, ScheduleSpec, Schedules};
use tapeline_remote::GivenOption;

use crate::checker::FinalBy;
use crate::event::Event;
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

/// How many agents, for how long, and what goes wrong.
struct Trial {
    agents: usize,
    hours: u64,
    /// Between two faults, on average.
    calm: Option<Duration>,
}

/// Time for all to have connected.
const START: u64 = 3600;
/// Without faults at the end: results are published again each ten minutes.
const QUIET: u64 = 3600;

/// Runs a trial, and prints what was said in a second.
fn run(trial: &Trial) {
    let Trial {
        agents,
        hours,
        calm,
    } = *trial;
    let setting = Setting {
        seed: number("FLEET_SEED").unwrap_or(1),
        agents,
        controllers: 2,
        without: None,
        limits: Limits::default(),
        delay: Duration::from_millis(5),
        calm: 2 * calm.unwrap_or_default(),
        checked: Some(FinalBy::Expiry(Duration::from_secs(600))),
    };
    let begun = Instant::now();
    let mut world = World::new(setting, schedules(agents));
    let end = START + hours * 3600;
    world.run_until(at(START));
    let before = world.counts;
    if calm.is_some() {
        world.faults_until = at(end.saturating_sub(QUIET));
        world.plan(Duration::from_secs(5), Event::Fault);
    }
    for hour in 1..=hours {
        world.run_until(at(START + hour * 3600));
        if agents * hours as usize > 100_000 && hour % 24 == 0 {
            let seconds = begun.elapsed().as_secs_f64();
            let tests = world.counts.measured;
            say(&format!("{hour} h: {tests} tests, {seconds:.0} s"));
        }
    }
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
    let (over, results) = world.log.over();
    let report = format!(
        "{agents} agents, {hours} h, {} faults: {} tests, {tests:.3} a second; {all:.1} messages ({}), \
         beats {beats:.1}, others {:.2}; {over} jobs are over, {results} results kept, {} orders and {} writes \
         refused; jobs {:?}; {:.0} s",
        after.faults,
        after.measured - before.measured,
        text.join(", "),
        rate(before.others, after.others),
        after.refused,
        after.conflicts,
        world.states(),
        begun.elapsed().as_secs_f64(),
    );
    say(&report);
    assert_eq!(world.log.missing(world.now), [], "{report}");
    // Tests of a round: each host with four others, both ways. Clocks that were set an hour wrong move some.
    let expected = agents as f64 * 4.0 / (6.0 * 3600.0);
    let moved = calm.map_or(0.0, |_| 1.0 / hours as f64);
    assert!(
        (tests / expected - 1.0).abs() < 0.03 + moved,
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
    if calm.is_none() {
        let states = world.states();
        let failed = states.keys().any(|state| state.starts_with("failed"));
        assert!(!failed && after.conflicts == before.conflicts, "{report}");
    }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
fn a_few_agents_say_as_much_as_calculated() {
    run(&Trial {
        agents: 20,
        hours: 6,
        calm: None,
    });
}

#[test]
fn a_few_agents_keep_the_guarantees_for_a_day() {
    run(&Trial {
        agents: 100,
        hours: 24,
        calm: Some(Duration::from_secs(120)),
    });
}

/// `FLEET_AGENTS=10000 FLEET_HOURS=720` for all that the specification names; a fault each `FLEET_CALM` seconds on
/// average, 0 for none.
#[test]
#[ignore = "minutes, in an optimised build"]
fn ten_thousand_agents_keep_the_guarantees_and_say_as_much_as_calculated() {
    let calm = number("FLEET_CALM").unwrap_or(60);
    run(&Trial {
        agents: number("FLEET_AGENTS").unwrap_or(10_000) as usize,
        hours: number("FLEET_HOURS").unwrap_or(24),
        calm: (calm > 0).then(|| Duration::from_secs(calm)),
    });
}
