//! Several runs of one test.

use std::time::Duration;

use tapeline_dialect::Payload;

use crate::options::OptionId as Id;
use crate::plan::RepeatPlan;
use crate::presentation::TextStyle;
use crate::raw::Given;

use super::log::{Log, Stop};
use super::reading::{count, refuse_value, seconds};
use super::schedule::AskedConnects;
use super::settings::{AskedLimit, Settings};

/// Runs that a series has at most.
const MOST: u64 = 1000;
/// The fewest and the most runs of `--until-ci`, as netperf has them.
const UNTIL: (u32, u32) = (3, 30);
/// The pause without `--repeat-pause`: servers come to rest.
const PAUSE: Duration = Duration::from_secs(1);

/// What was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RepeatSettings {
    count: Option<u32>,
    /// As a share of the mean.
    width: Option<f64>,
    pause: Option<Duration>,
}

/// Carries out one option of this kind.
pub(super) fn apply(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    match given.spec.id {
        Id::Repeat => {
            let runs = count(given, log)?;
            let fits = u32::try_from(runs)
                .ok()
                .filter(|_| (1..=MOST).contains(&runs));
            let fault = || refuse_value(given, "is not between 1 and 1000", log);
            settings.repeat.count = Some(fits.ok_or_else(fault)?);
        }
        Id::UntilCi => {
            let text = given.text();
            let number = text.strip_suffix('%').unwrap_or(&text);
            let width = number
                .parse::<f64>()
                .ok()
                .filter(|width| *width > 0.0 && *width <= 100.0);
            let fault = || refuse_value(given, "is no percentage above 0, up to 100", log);
            settings.repeat.width = Some(width.ok_or_else(fault)? / 100.0);
        }
        _ => settings.repeat.pause = Some(seconds(given, log)?),
    }
    Ok(())
}

/// A series needs runs that end by themselves and can be run again, and a form that has room for
/// them.
pub(super) fn runs_can_be_repeated(settings: &mut Settings, log: &mut Log) {
    let files = &settings.presentation.files;
    let has_csv = files.iter().any(|file| file.form.is_of_series());
    if settings.repeat_plan().is_none() {
        if settings.repeat.pause.is_some() {
            log.error("", "option --repeat-pause needs --repeat or --until-ci");
        } else if has_csv {
            log.error("", "option --repeat-csv needs --repeat or --until-ci");
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
    } else if settings.starts_by_the_clock() {
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
        format!("--repeat and --until-ci are impossible with {fault}"),
    );
}

impl Settings {
    /// The series that was asked for.
    pub(super) fn repeat_plan(&self) -> Option<RepeatPlan> {
        let RepeatSettings {
            count,
            width,
            pause,
        } = self.repeat;
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
}

#[cfg(test)]
mod tests {
    use super::super::tests::{line, said};
    use super::*;
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
        assert_eq!(plan("--until-ci 5%"), runs(3, 30, Some(0.05)));
        assert_eq!(plan("--until-ci 2.5 --repeat 8"), runs(3, 8, Some(0.025)));
        assert_eq!(plan("--until-ci 5 --repeat 2"), runs(2, 2, Some(0.05)));
        assert_eq!(plan("--peer iperf3 --repeat 4"), runs(4, 4, None));
        let pause = plan("--repeat 2 --repeat-pause 0.2").map(|plan| plan.pause);
        assert_eq!(pause, Some(Duration::from_millis(200)));
    }

    #[test]
    fn what_cannot_be_repeated_is_refused() {
        for (text, part) in [
            ("--repeat 0", "is not between 1 and 1000"),
            ("--repeat 1001", "is not between 1 and 1000"),
            ("--until-ci 0", "is no percentage"),
            ("--until-ci x", "is no percentage"),
            ("--until-ci NaN", "is no percentage"),
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
