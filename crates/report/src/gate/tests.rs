use std::collections::BTreeMap;

use super::*;
use crate::comparison::Side;
use crate::quantity::{Measurement, QuantityInfo};
use crate::run_facts::RunFacts;

fn side(values: &[f64]) -> Side {
    let run = |value: &f64| RunFacts {
        complete: true,
        host: Some("db1".to_owned()),
        measurements: vec![Measurement {
            quantity: "rate",
            direction: "forward",
            value: value * 1e6,
            counted_by: None,
        }],
        ..RunFacts::default()
    };
    Side {
        name: "s31".to_owned(),
        runs: values.iter().map(run).collect(),
    }
}

fn gate(condition: Condition) -> Gate {
    Gate {
        at_least: 5,
        host_limited: Some(Outcome::Undecided),
        rules: vec![Rule {
            quantity: QuantityInfo::find("rate").expect("a quantity"),
            direction: None,
            only: BTreeMap::new(),
            condition,
        }],
    }
}

const RUNS: [f64; 8] = [941.0, 938.9, 941.4, 942.0, 941.2, 941.3, 938.0, 941.1];

fn said(report: &GateReport) -> String {
    text(report).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn thresholds_are_judged_by_the_medians_bounds() {
    let passed = judge(&gate(Condition::AtLeast(900e6)), &side(&RUNS));
    assert_eq!(passed.outcome, Outcome::Pass);
    assert_eq!(
        said(&passed),
        "  pass       rate at least 900 Mbit/s   941.1, and above 938.9 with 95 % confidence, 8 runs"
    );
    let failed = judge(&gate(Condition::AtLeast(950e6)), &side(&RUNS));
    assert_eq!(failed.outcome, Outcome::Fail);
    assert!(said(&failed).ends_with("941.1, and below 941.4 with 95 % confidence, 8 runs"));
    let between = judge(&gate(Condition::AtLeast(940e6)), &side(&RUNS));
    assert_eq!(between.outcome, Outcome::Undecided);
    let said = said(&between);
    assert!(
        said.contains("941.1, between 938.9 and 941.4, 8 runs; about "),
        "{said}"
    );
    assert!(text(&between).ends_with("undecided: 1 of 1 rules\n"));
}

#[test]
fn runs_that_no_number_of_them_would_decide_are_said_to_differ() {
    let wild = [900.0, 1100.0, 901.0, 1099.0, 902.0, 1098.0, 903.0, 1097.0];
    let near = judge(&gate(Condition::AtLeast(1000.1e6)), &side(&wild));
    assert_eq!(near.outcome, Outcome::Undecided);
    let said = said(&near);
    assert!(
        said.ends_with("8 runs; the runs differ too much among themselves to decide"),
        "{said}"
    );
}

#[test]
fn five_of_five_and_seven_of_eight_are_enough() {
    let outcome = |values: &[f64]| judge(&gate(Condition::AtLeast(900e6)), &side(values)).outcome;
    assert_eq!(outcome(&[910.0; 5]), Outcome::Pass);
    assert_eq!(
        outcome(&[910.0, 911.0, 912.0, 913.0, 890.0]),
        Outcome::Undecided
    );
    let mut eight = [910.0; 8];
    eight[0] = 1.0;
    assert_eq!(outcome(&eight), Outcome::Pass);
    eight[1] = 1.0;
    assert_eq!(outcome(&eight), Outcome::Undecided);
}

#[test]
fn few_runs_no_runs_and_hosts_are_undecided() {
    let mut wanted = gate(Condition::AtLeast(900e6));
    let few = judge(&wanted, &side(&RUNS[..3]));
    assert_eq!(
        (few.outcome, few.rules[0].why.as_str()),
        (Outcome::Undecided, "3 of 5 runs that are needed")
    );
    wanted.at_least = 1;
    let few = judge(&wanted, &side(&RUNS[..3]));
    assert_eq!(few.outcome, Outcome::Pass);
    assert!(few.rules[0].few_runs && few.rules[0].why.ends_with("(few runs)"));
    assert_eq!(
        judge(&wanted, &side(&RUNS[..1])).outcome,
        Outcome::Undecided
    );
    assert_eq!(
        judge(&wanted, &side(&[])).rules[0].why,
        "no run has this number"
    );
    let mut hosts = side(&RUNS);
    hosts.runs[0].limited_by = Some("sender_cpu".to_owned());
    hosts.runs[0].confidence = Some("medium".to_owned());
    assert_eq!(judge(&wanted, &hosts).outcome, Outcome::Undecided);
    wanted.host_limited = None;
    assert_eq!(judge(&wanted, &hosts).outcome, Outcome::Pass);
    wanted.host_limited = Some(Outcome::Fail);
    assert_eq!(judge(&wanted, &hosts).outcome, Outcome::Fail);
}

#[test]
fn a_baseline_is_compared_with_a_margin() {
    let against = |by: f64, values: &[f64]| {
        let condition = Condition::NoWorseThan {
            baseline: "baseline:main".to_owned(),
            runs: side(&RUNS),
            by: Margin::Share(by),
            written: String::new(),
        };
        judge(&gate(condition), &side(values))
    };
    let lower: Vec<f64> = RUNS.iter().map(|rate| rate * 0.98).collect();
    let within = against(0.03, &lower);
    assert_eq!(within.outcome, Outcome::Pass);
    assert!(
        said(&within).contains("rate no worse than baseline:main by 3 %"),
        "{}",
        said(&within)
    );
    assert!(
        said(&within).contains("-2.00 %, and above "),
        "{}",
        said(&within)
    );
    assert_eq!(against(0.01, &lower).outcome, Outcome::Fail);
    assert_eq!(against(0.02, &lower).outcome, Outcome::Undecided);
}

#[test]
fn runs_are_narrowed_and_directions_named() {
    let mut wanted = gate(Condition::AtLeast(900e6));
    wanted.rules[0]
        .only
        .insert("to_host".to_owned(), "db2".to_owned());
    assert_eq!(judge(&wanted, &side(&RUNS)).rules[0].runs, 0);
    let mut both = side(&RUNS);
    for run in &mut both.runs {
        let reverse = Measurement {
            direction: "reverse",
            ..run.measurements[0]
        };
        run.measurements.push(reverse);
    }
    wanted = gate(Condition::AtLeast(900e6));
    assert!(
        judge(&wanted, &both).rules[0]
            .why
            .contains("name a direction")
    );
    wanted.rules[0].direction = Some("reverse".to_owned());
    assert_eq!(judge(&wanted, &both).outcome, Outcome::Pass);
}

#[test]
fn values_have_the_units_of_their_numbers() {
    let find = |name| QuantityInfo::find(name).expect("a quantity");
    let read = |text, name| read_value(text, find(name).dimension).ok();
    assert_eq!(read("900M", "rate"), Some(900e6));
    assert_eq!(read("1.5 Gbit/s", "rate"), Some(1.5e9));
    assert_eq!(read("30ms", "rtt"), Some(30.0));
    assert_eq!(read("0.5s", "rtt"), Some(500.0));
    assert_eq!(read("0.1%", "lost_percent"), Some(0.1));
    assert_eq!(read("900X", "rate"), None);
    assert_eq!(read("-3", "rate"), None);
    assert_eq!(Margin::read("3%", find("rate")), Ok(Margin::Share(0.03)));
    assert_eq!(
        Margin::read("5ms", find("latency_increase")),
        Ok(Margin::Amount(5.0))
    );
    assert_eq!(
        Margin::read("0.5%", find("lost_percent")),
        Ok(Margin::Amount(0.5))
    );
    assert!(Margin::read("5M", find("rate")).is_err());
}

#[test]
fn forms_hold_hostile_names() {
    let mut report = judge(&gate(Condition::AtLeast(941e6)), &side(&RUNS));
    report.name = "<a|b>&\"\n".to_owned();
    let table = markdown(&report);
    assert!(
        table.contains("&lt;a\\|b>") && table.contains("| undecided |"),
        "{table}"
    );
    let xml = junit(&report, false, 1_795_600_000_000);
    assert!(
        xml.contains("&lt;a|b&gt;&amp;&quot; ")
            && xml.contains("<skipped message=")
            && xml.contains("timestamp=\"2026-11-25T"),
        "{xml}"
    );
    assert!(junit(&report, true, 0).contains("<failure type=\"undecided\""));
}
