//! Every row of the table, on lines of tapeline and iperf.

use std::collections::BTreeSet;

use super::samples::{Sample, samples};
use super::*;
use crate::plan::Plan;

fn key(form: &Form) -> Option<&str> {
    form.value(OptionId::PermitKey)
        .filter(|key| !key.is_empty())
}

/// The form as a line shows it.
fn hidden(form: &Form) -> Form {
    form.with_key(|_| HIDDEN_KEY.to_owned())
}

#[test]
fn every_option_survives_tapelines_line_with_the_same_plan() {
    let samples = samples();
    assert!(samples.len() > 100, "{}", samples.len());
    for Sample { spec, form } in samples {
        let name = CommandName::Tapeline;
        let line = line(&form, name).unwrap_or_else(|why| panic!("{form:?}: {why}"));
        assert_eq!(read(&line), Ok(hidden(&form)), "{line}");
        let of_form = resolved(name, form.words().expect("words"), None);
        let of_line = resolved(name, arguments(&line), key(&form));
        assert!(
            of_form.outcome.is_ok(),
            "{:?}: {line}: {of_form:?}",
            spec.id
        );
        match key(&form).is_none() && form.has(OptionId::PermitKey) {
            // A key that is made up is another one each time.
            true => assert_eq!(format!("{of_form:?}"), format!("{of_line:?}")),
            false => assert_eq!(of_form.outcome, of_line.outcome, "{line}"),
        }
        assert_eq!(findings(&form).faults, [], "{line}");
    }
}

#[test]
fn every_option_of_iperfs_survives_its_line_and_others_are_refused() {
    let mut refused = BTreeSet::new();
    for Sample { form, .. } in samples() {
        match line(&form, CommandName::Iperf) {
            Ok(line) => {
                // What iperf's peer is needs no word.
                let mut options = hidden(&form).options().to_vec();
                options.retain(|given| given.name != "peer");
                let expected = Form::new(form.job(), options);
                assert_eq!(read(&line), Ok(expected), "{line}");
            }
            Err(why) => {
                let option = why.strip_prefix("iperf has no --");
                refused.insert(
                    option
                        .unwrap_or_else(|| panic!("{form:?}: {why}"))
                        .to_owned(),
                );
            }
        }
    }
    let unknown = "allow brief color connect-timeout deny fail-if-host-limited flow limit max-tests \
                   no-latency-probes no-peer-results one-at-a-time pacing peer precision quiet \
                   rendered repeat set-rand-seed trust zero-copy";
    let unknown = unknown.split(' ').chain(["client beside --server"]);
    assert_eq!(refused, unknown.map(str::to_owned).collect());
}

/// The lines of the debug form that an option adds to a plan.
fn added(name: CommandName, form: &Form, words: Vec<OsString>) -> BTreeSet<String> {
    let lines = |words: Vec<OsString>| -> Vec<String> {
        let text = match resolved(name, words, None).outcome {
            Ok(Plan::Client(plan, ..)) => format!("{plan:#?}"),
            Ok(Plan::Server(plan, ..)) => format!("{plan:#?}"),
            other => format!("{other:#?}"),
        };
        text.lines().map(|line| line.trim().to_owned()).collect()
    };
    let job = match form.job() {
        FormJob::Client => vec!["-c".into(), "192.0.2.1".into()],
        FormJob::Server => vec!["-s".into()],
    };
    let base: BTreeSet<String> = lines(job).into_iter().collect();
    let with = lines(words).into_iter();
    with.filter(|line| !base.contains(line) && !is_a_names_own(line))
        .collect()
}

/// What follows from a name: which protocols are served where, and rows without being asked.
fn is_a_names_own(line: &str) -> bool {
    let own = ["extra_port:", "protocols:", "interval:", "1s,"];
    own.iter().any(|own| line.starts_with(own))
}

#[test]
fn iperfs_options_do_to_its_plan_what_tapelines_do() {
    let mut others = Vec::new();
    for Sample { spec, form } in samples() {
        let Ok(line) = line(&form, CommandName::Iperf) else {
            continue;
        };
        if key(&form).is_some() {
            continue;
        }
        let own = added(CommandName::Tapeline, &form, form.words().expect("words"));
        let iperfs = added(CommandName::Iperf, &form, arguments(&line));
        if own != iperfs {
            others.push((form.job(), spec.id));
        }
    }
    let expected = [
        // iperf's server is one of IPv4 without being told.
        (FormJob::Server, OptionId::V4),
        // tapeline keeps what waits unsent small.
        (FormJob::Client, OptionId::TripTimes),
    ];
    assert_eq!(others, expected);
}
