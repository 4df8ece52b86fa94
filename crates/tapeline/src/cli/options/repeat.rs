//! Several runs of one test.

use std::time::Duration;

use tapeline_dialect::Payload;

use super::{output, schedule};
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{AskedConnects, AskedLimit, RepeatSettings, Settings};
use crate::cli::spec::{
    Given, Group, OptionId as Id, OptionSpec, Personalities, Remote, Sides, ValueKind,
};
use crate::cli::values::{count, refuse_value, seconds};
use crate::plan::RepeatPlan;
use crate::presentation::{DocumentForm, TextStyle};

/// Runs that a series has at most.
const MAX_RUNS: u64 = 1000;
/// The fewest and the most runs of `--precision`, as netperf has them.
const UNTIL: (u32, u32) = (3, 30);
/// The pause without `--repeat-pause`: servers come to rest.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Repeat, None, "repeat", Remote::Yes(ValueKind::Count))
        .every_method()
        .value("COUNT")
        .apply(repeat)
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(Group::Amount, "run the test so often, at most 1000 times")
        .details(
            "The result is the mean of the runs, with its 95 % confidence interval. An interrupt ends \
             the run and the series, and keeps what is there; so does a run that fails.",
        ),
    OptionSpec::new(Id::Precision, None, "precision", Remote::Yes(ValueKind::Percent))
        .every_method()
        .formerly(&["until-ci"])
        .value("PERCENT")
        .apply(precision)
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(
            Group::Amount,
            "repeat the test until its confidence interval is so narrow",
        )
        .details(
            "5 or 5%: until the interval is, from end to end, at most 5 % of the mean wide; of the rate, \
             or of what else the test is about, in each direction. At least 3 runs, at most 30 or as \
             many as --repeat says.",
        ),
    OptionSpec::new(Id::RepeatPause, None, "repeat-pause", Remote::Yes(ValueKind::Seconds))
        .every_method()
        .value("SECONDS")
        .apply(|settings, given, log| {
            settings.repeat.pause = Some(seconds(given, log)?);
            Ok(())
        })
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(Group::Amount, "pause between two runs (default 1)"),
    OptionSpec::new(Id::RepeatCsv, None, "repeat-csv", Remote::No("it names a file"))
        .value("FILE")
        .apply(|settings, given, log| {
            output::document(settings, given, DocumentForm::SeriesCsv, log)
        })
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(
            Group::Output,
            "a row of comma-separated values for each mean of a series",
        ),
];

/// `--repeat`.
fn repeat(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let runs = count(given, log)?;
    let fits = u32::try_from(runs)
        .ok()
        .filter(|_| (1..=MAX_RUNS).contains(&runs));
    let fault = || refuse_value(given, "is not between 1 and 1000", log);
    settings.repeat.count = Some(fits.ok_or_else(fault)?);
    Ok(())
}

/// `--precision`: a percentage, with or without its sign.
fn precision(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    let number = text.strip_suffix('%').unwrap_or(&text);
    let width = number
        .parse::<f64>()
        .ok()
        .filter(|width| *width > 0.0 && *width <= 100.0);
    let fault = || refuse_value(given, "is no percentage above 0, up to 100", log);
    settings.repeat.width = Some(width.ok_or_else(fault)? / 100.0);
    Ok(())
}

/// A series needs runs that end by themselves and can be run again, and a form that has room for
/// them.
pub(crate) fn runs_can_be_repeated(settings: &mut Settings, log: &mut Diagnostics) {
    let files = &settings.presentation.files;
    let has_csv = files.iter().any(|file| file.form.is_of_series());
    if repeat_plan(settings).is_none() {
        if settings.repeat.pause.is_some() {
            log.error("", "option --repeat-pause needs --repeat or --precision");
        } else if has_csv {
            log.error("", "option --repeat-csv needs --repeat or --precision");
        }
        return;
    }
    let counted = matches!(
        settings.schedule.connect_only,
        Some(AskedConnects::Count(1..))
    );
    let endless = match settings.limit {
        Some(AskedLimit::Seconds(seconds)) => seconds <= 0.0,
        Some(AskedLimit::Bytes(_)) => false,
        None => matches!(
            settings.schedule.connect_only,
            Some(AskedConnects::Count(0))
        ),
    };
    let fault = if endless && !counted {
        "a test that does not end by itself"
    } else if settings.shape.payload == Payload::StandardInput {
        "-I: standard input is there once"
    } else if schedule::starts_by_the_clock(settings) {
        "--txstart-time: a time of day is there once"
    } else if matches!(
        settings.presentation.style,
        TextStyle::Csv | TextStyle::Iperf3(_)
    ) {
        "this form of output"
    } else {
        return;
    };
    log.error(
        "",
        format!("--repeat and --precision cannot be used with {fault}"),
    );
}

/// The series that was asked for.
pub(crate) fn repeat_plan(settings: &Settings) -> Option<RepeatPlan> {
    let RepeatSettings {
        count,
        width,
        pause,
    } = settings.repeat;
    let (least, most) = match (count, width) {
        (None, None) => return None,
        (Some(count), None) => (count, count),
        (None, Some(_)) => UNTIL,
        (Some(count), Some(_)) => (UNTIL.0.min(count), count),
    };
    Some(RepeatPlan {
        least,
        most,
        width,
        pause: pause.unwrap_or(PAUSE),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{line, said};
    use crate::plan::Plan;
    use tapeline_base::ExitCode;
    use tapeline_dialect::Personality::Native;

    fn plan(text: &str) -> Option<RepeatPlan> {
        match line(Native, &format!("-c h {text}")).outcome {
            Ok(Plan::Client(_, _, repeat)) => repeat,
            Ok(Plan::Iperf3(job)) => job.repeat,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_series_has_a_number_of_runs_or_a_confidence_to_reach() {
        assert_eq!(plan(""), None);
        let runs = |least, most, width| {
            Some(RepeatPlan {
                least,
                most,
                width,
                pause: PAUSE,
            })
        };
        assert_eq!(plan("--repeat 5"), runs(5, 5, None));
        assert_eq!(plan("--precision 5%"), runs(3, 30, Some(0.05)));
        assert_eq!(plan("--precision 2.5 --repeat 8"), runs(3, 8, Some(0.025)));
        assert_eq!(plan("--precision 5 --repeat 2"), runs(2, 2, Some(0.05)));
        assert_eq!(plan("--peer iperf3 --repeat 4"), runs(4, 4, None));
        let pause = plan("--repeat 2 --repeat-pause 0.2").map(|plan| plan.pause);
        assert_eq!(pause, Some(Duration::from_millis(200)));
    }

    #[test]
    fn what_cannot_be_repeated_is_refused() {
        for (text, part) in [
            ("--repeat 0", "is not between 1 and 1000"),
            ("--repeat 1001", "is not between 1 and 1000"),
            ("--precision 0", "needs a percentage"),
            ("--precision x", "needs a percentage"),
            ("--precision NaN", "needs a percentage"),
            ("--repeat-pause 1", "needs --repeat"),
            ("--repeat-csv /tmp/x", "needs --repeat"),
            ("--repeat 2 -t 0", "does not end by itself"),
            ("--repeat 2 --connect-only=0", "does not end by itself"),
            ("--repeat 2 -I", "standard input"),
            ("--repeat 2 --txstart-time 9", "a time of day"),
            ("--repeat 2 -y C", "this form of output"),
            ("--repeat 2 -f iperf3-json", "this form of output"),
        ] {
            let resolution = line(Native, &format!("-c h {text}"));
            assert_eq!(resolution.outcome, Err(ExitCode::Usage), "{text}");
            let said = said(&resolution);
            assert!(
                said.iter().any(|one| one.contains(part)),
                "{text}: {said:?}"
            );
        }
        assert_eq!(line(Native, "-s --repeat 2").outcome, Err(ExitCode::Usage));
    }
}
