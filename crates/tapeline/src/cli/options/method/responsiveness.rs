//! `responsiveness` on the command line.

use tapeline_method::{Common, MethodPlan, ResponsivenessConstants, ResponsivenessPlan};

use super::common::within;
use crate::cli::diagnostics::{Diagnostics, Exit};

use crate::cli::settings::Settings;
use crate::cli::spec::{Given, Group, Methods, OptionId as Id, OptionSpec, Remote, ValueKind};
use crate::cli::values::{nearest_of, refuse};

pub(crate) const OPTIONS: &[OptionSpec] = &[OptionSpec::new(
    Id::Draft,
    None,
    "draft",
    Remote::Yes(ValueKind::Text),
)
.value("NAME=VALUE")
.apply(draft)
.methods_only(Methods::Only(&["responsiveness"]))
.help(
    Group::Method,
    "responsiveness: set a constant of the draft by its name (mad, id, ...)",
)
.details(
    "Names: mad, id (seconds), tmp, sdt, ptc (percent), inp, inc, mnp (connections), mps (per \
         second). \"--draft id=5\" is the draft's own interval.",
)];

/// `--draft`: the last value of a name counts.
fn draft(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    let (name, value) = text.split_once('=').unwrap_or((&text, ""));
    let Ok(value) = value.parse::<f64>() else {
        return Err(refuse(given, "needs NAME=NUMBER", log));
    };
    match settings.method.draft.set(name, value) {
        Ok(()) => Ok(()),
        Err(Some(range)) => Err(refuse(given, &format!("{name} takes {range}"), log)),
        Err(None) => {
            let names = ResponsivenessConstants::NAMES;
            let sentence = match nearest_of(name, names.into_iter()) {
                Some(near) => {
                    format!("the draft has no constant \"{name}\" (did you mean {near}?)")
                }
                None => format!(
                    "the draft has no constant \"{name}\"; it has {}",
                    names.join(", ")
                ),
            };
            Err(refuse(given, &sentence, log))
        }
    }
}

/// The plan; both stages of a load need as many intervals as a moving average has.
///
/// # Errors
/// [`Exit`] when a value is outside of its range.
pub(crate) fn plan(
    settings: &Settings,
    common: Common,
    log: &mut Diagnostics,
) -> Result<MethodPlan, Exit> {
    let (least, most) = ResponsivenessPlan::LOADS;
    let time = common.time.map(|time| time.as_secs_f64());
    within("-t", time, least..=most, " s", log)?;
    within("-P", common.parallel, 1..=64, "", log)?;
    let mut constants = settings.method.draft;
    if let Some(parallel) = common.parallel {
        constants.most = parallel;
    }
    Ok(ResponsivenessPlan { common, constants }.into())
}
