//! Fault 26: the time of day is set in the middle of a test.

use std::time::Duration;

use interop::{Finished, Program, skip};
use serde_json::Value;

use crate::Fault;
use crate::subject::Subject;

pub(crate) const FAULTS: &[Fault] = &[("26 the time of day is set", time_of_day_is_set)];

/// Makes a clock jump: seconds, and seconds after the start.
pub(crate) const CLOCK_STEP: &str = "TAPELINE_CLOCK_STEP";
const HOUR: f64 = 3600.0;
const YEAR: f64 = 365.25 * 24.0 * HOUR;
/// Back and forth.
const STEPS: [f64; 4] = [-50.0 * YEAR, -HOUR, HOUR, 30.0 * YEAR];
/// Length of a test, seconds.
const LENGTH: f64 = 2.0;
const TESTS: [&str; 5] = [
    "-b 20m",
    "-b 20m -R",
    "-u -b 2m --trip-times",
    "--bounceback",
    "--peer iperf3 -b 20m",
];

fn time_of_day_is_set() {
    if let Some(reason) = Program::TapelineWithHooks.missing() {
        return skip("26 the time of day is set", &reason);
    }
    let subject = Subject::new();
    for step in STEPS {
        let clients: Vec<_> = TESTS
            .iter()
            .map(|options| {
                let client = subject.client((Program::TapelineWithHooks, options));
                let client = client
                    .line(&format!("-t {LENGTH} -i 0.5 --json"))
                    .env(CLOCK_STEP, &format!("{step},1"));
                client.deadline(Duration::from_secs(40)).spawn()
            })
            .collect();
        for client in clients {
            let run = client.expect("a client").wait().expect("it ends");
            is_sound(&run);
            assert!(
                run.stdout.contains("\"clock-jumped\""),
                "it is not reported: {run}"
            );
        }
    }
    subject.recovers(Duration::from_secs(15));
    // The server's clock, in tests of all kinds at once.
    for step in STEPS {
        let subject = Subject::whose_clock_is_set(&format!("{step},3"));
        let clients: Vec<_> = TESTS
            .iter()
            .map(|options| {
                let client = subject.client((Program::Tapeline, options));
                client.line(&format!("-t {LENGTH} -i 0.5 --json")).spawn()
            })
            .collect();
        for client in clients {
            let run = client.expect("a client").wait().expect("it ends");
            is_sound(&run);
        }
        subject.recovers(Duration::from_secs(15));
    }
}

/// The test ran as long as it should, and no figure is absurd.
fn is_sound(run: &Finished) {
    assert_eq!(run.code(), Some(0), "{run}");
    let document: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"));
    let ends = ["sender", "receiver"].map(|end| document["sum"][end]["seconds"].as_f64());
    let seconds = ends.into_iter().flatten().fold(0.0, f64::max);
    // A busy machine may take longer; by the other clock it would be years.
    assert!(
        (LENGTH * 0.99..LENGTH * 4.0).contains(&seconds),
        "{seconds} s: {run}"
    );
    let mut wrong = Vec::new();
    negative("", &document, &mut wrong);
    assert!(wrong.is_empty(), "{wrong:?}: {run}");
}

/// Figures below zero that cannot be; differences of clocks can.
fn negative(path: &str, value: &Value, wrong: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let difference = ["offset", "one_way", "drift", "clock", "increase"];
                if !difference.iter().any(|part| name.contains(part)) {
                    negative(&format!("{path}/{name}"), value, wrong);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| negative(path, value, wrong)),
        Value::Number(number) if number.as_f64().is_some_and(|number| number < 0.0) => {
            wrong.push(format!("{path}: {number}"));
        }
        _ => {}
    }
}
