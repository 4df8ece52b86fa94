//! Results that stay: which are saved, where, and how they are marked.

use std::path::PathBuf;

use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{HistorySettings, Settings};
use crate::cli::spec::{Given, Group, OptionId as Id, OptionSpec, Origin, Personalities, Remote};
use crate::cli::values::{refuse_value, strict_amount};
use crate::presentation::SavePlan;

/// Bytes of a history without `--history-size`.
const MOST_BYTES: u64 = 2 << 30;

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Save, None, "save", Remote::No("whoever orders a test keeps its result"))
        .sets(|settings| settings.history.save = true)
        .only(Personalities::Native)
        .help(Group::Output, "keep the result (see tapeline history)")
        .details(
            "The line save = true in tapeline/config.toml below ~/.config makes it the habit of clients. \
             A server keeps each of its tests. A result that cannot be kept is a warning, never a failure.",
        ),
    OptionSpec::new(Id::NoSave, None, "no-save", Remote::No("whoever orders a test keeps its result"))
        .sets(|settings| {
            settings.history.save = false;
            settings.history.is_undone = true;
        })
        .only(Personalities::Native)
        .help(
            Group::Output,
            "do not keep the result, whatever the file says",
        ),
    OptionSpec::new(Id::Tag, None, "tag", Remote::No("whoever orders a test keeps its result"))
        .value("KEY=VALUE")
        .apply(tag)
        .only(Personalities::Native)
        .help(Group::Output, "mark the kept result; may be repeated"),
    OptionSpec::new(Id::History, None, "history", Remote::No("it names a file"))
        .value("FILE")
        .apply(|settings, given, _| {
            settings.history.file = given.value.as_ref().map(PathBuf::from);
            companion(settings, given, "--history");
            Ok(())
        })
        .only(Personalities::Native)
        .help(Group::Output, "the file that results are kept in")
        .details(
            "Otherwise TAPELINE_HISTORY, or history.db in a service's STATE_DIRECTORY, or in \
             ~/.local/share/tapeline.",
        ),
    OptionSpec::new(Id::HistorySize, None, "history-size", Remote::No("it is about a file"))
        .value("BYTES")
        .apply(|settings, given, log| {
            settings.history.bytes = Some(strict_amount(given, log)?);
            companion(settings, given, "--history-size");
            Ok(())
        })
        .only(Personalities::Native)
        .help(Group::Output, "bound of that file (default 2G)")
        .details("Beyond 90 % of it the intervals of the oldest results go; their numbers stay."),
    OptionSpec::new(Id::Retention, None, "retention", Remote::No("it is about a file"))
        .value("WHAT")
        .apply(retention)
        .only(Personalities::Native)
        .help(Group::Output, "at that bound: warn, or prune old results")
        .details("prune removes the oldest results that have no tag and are no baseline."),
];

/// An option that means something with `--save` only.
fn companion(settings: &mut Settings, given: &Given, name: &'static str) {
    if given.origin == Origin::CommandLine {
        settings.history.companion = Some(name);
    }
}

/// `--tag`.
fn tag(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    let parts = text.split_once('=');
    let Some((key, value)) = parts.filter(|(key, _)| !key.is_empty()) else {
        return Err(refuse_value(given, "is not of the form KEY=VALUE", log));
    };
    let pair = (key.to_owned(), value.to_owned());
    settings.history.tags.retain(|(known, _)| *known != pair.0);
    settings.history.tags.push(pair);
    companion(settings, given, "--tag");
    Ok(())
}

/// `--retention`.
fn retention(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    settings.history.drops_runs = match given.text().as_str() {
        "warn" => false,
        "prune" => true,
        _ => return Err(refuse_value(given, "is neither warn nor prune", log)),
    };
    companion(settings, given, "--retention");
    Ok(())
}

/// What is kept needs a build with a history, and a test that is one.
pub(crate) fn results_can_be_kept(settings: &mut Settings, log: &mut Diagnostics) {
    let HistorySettings {
        save,
        companion,
        is_undone,
        ..
    } = &settings.history;
    match companion {
        Some(name) if !save && !is_undone => log.error("", format!("option {name} needs --save")),
        _ if *save && cfg!(not(feature = "history")) => log.error(
            "",
            "this build has no history; build it with --features history, or take a package",
        ),
        _ => {}
    }
}

/// Where results go, if they are to be kept.
///
/// # Errors
/// [`Exit`] without a place.
pub(crate) fn save_plan(
    settings: &Settings,
    log: &mut Diagnostics,
) -> Result<Option<SavePlan>, Exit> {
    let asked = &settings.history;
    if !asked.save {
        return Ok(None);
    }
    let Some(file) = asked.file.clone().or_else(default_file) else {
        return Err(log.fatal("", "--save needs a place: set --history FILE"));
    };
    Ok(Some(SavePlan {
        file,
        tags: asked.tags.clone(),
        most_bytes: asked.bytes.unwrap_or(MOST_BYTES),
        drops_runs: asked.drops_runs,
    }))
}

/// The file that is used if nobody names one.
#[cfg(feature = "history")]
pub(crate) fn default_file() -> Option<PathBuf> {
    tapeline_archive::default_location(&|name| std::env::var_os(name))
}

#[cfg(not(feature = "history"))]
fn default_file() -> Option<PathBuf> {
    None
}

#[cfg(feature = "history")]
#[cfg(test)]
mod tests {
    use tapeline_base::ExitCode;
    use tapeline_dialect::Personality::Native;

    use super::*;
    use crate::cli::tests::{line, said};
    use crate::plan::Plan;

    fn plan(text: &str) -> Option<SavePlan> {
        match line(Native, text).outcome {
            Ok(Plan::Client(_, presentation, _) | Plan::Server(_, presentation, ..)) => {
                presentation.save
            }
            Ok(Plan::Iperf3(job)) => job.presentation.save,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn results_are_kept_where_it_is_said() {
        assert_eq!(plan("-c h"), None);
        let place = |tags: &[(&str, &str)]| {
            let pair = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
            SavePlan {
                file: PathBuf::from("f.db"),
                tags: tags.iter().map(pair).collect(),
                most_bytes: MOST_BYTES,
                drops_runs: false,
            }
        };
        assert_eq!(plan("-c h --save --history f.db"), Some(place(&[])));
        assert_eq!(plan("-s --save --history f.db"), Some(place(&[])));
        assert_eq!(
            plan("-c h --peer iperf3 --save --history f.db"),
            Some(place(&[]))
        );
        assert_eq!(
            plan("-c h --tag a=1 --tag b=x=y --tag a=2 --save --history f.db"),
            Some(place(&[("b", "x=y"), ("a", "2")]))
        );
        assert_eq!(plan("-c h --save --history f.db --no-save"), None);
        let bounded = plan("-c h --save --history f.db --history-size 1M --retention prune");
        let bounded = bounded.expect("a plan");
        assert_eq!((bounded.most_bytes, bounded.drops_runs), (1 << 20, true));
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        for (text, part) in [
            ("-c h --tag a=1", "--tag needs --save"),
            ("-c h --history f", "--history needs --save"),
            ("-c h --retention warn", "--retention needs --save"),
            ("-c h --save --tag a", "KEY=VALUE"),
            ("-c h --save --tag =a", "KEY=VALUE"),
            ("-c h --save --retention none", "neither warn nor prune"),
            ("-c h --save --history f --flow -u", "several flows"),
            ("try --save", "does not apply to try"),
        ] {
            let resolution = line(Native, text);
            assert_eq!(resolution.outcome, Err(ExitCode::Usage), "{text}");
            let said = said(&resolution);
            assert!(
                said.iter().any(|one| one.contains(part)),
                "{text}: {said:?}"
            );
        }
    }
}
