//! Options of `find-rate`.

use std::time::Duration;

use tapeline_method::{Common, DatagramSizes, FindRatePlan, Laboratory, MethodPlan};

use super::common::{one_stream, within};
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::Settings;
use crate::cli::spec::{Given, Group, Methods, OptionId as Id, OptionSpec, Remote, ValueKind};
use crate::cli::values::{refuse, refuse_value};

const ONLY: Methods = Methods::Only(&["find-rate"]);
/// Most goals of a search, and most sizes.
const MOST_GOALS: usize = 3;
const MOST_SIZES: usize = 16;

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::LossGoal, None, "loss", Remote::Yes(ValueKind::Text))
        .value("PERCENT[,PERCENT...]")
        .apply(loss)
        .methods_only(ONLY)
        .help(
            Group::Method,
            "share of the datagrams that may be lost (default 0)",
        )
        .details("One search finds the rates of up to three shares."),
    OptionSpec::new(
        Id::Resolution,
        None,
        "resolution",
        Remote::Yes(ValueKind::Percent),
    )
    .value("PERCENT")
    .apply(resolution)
    .methods_only(ONLY)
    .help(
        Group::Method,
        "distance of the bounds at which a search ends (default 0.5)",
    ),
    OptionSpec::new(Id::Frames, None, "frames", Remote::Yes(ValueKind::Text))
        .value("LIST|rfc2544")
        .apply(frames)
        .methods_only(ONLY)
        .help(Group::Method, "sizes of Ethernet frames; a search for each")
        .details("-l takes sizes of payloads instead, also several: -l 100,1472."),
    OptionSpec::new(Id::Rfc2544, None, "rfc2544", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.method.find_rate.laboratory = Some(Laboratory::Rfc2544))
        .methods_only(ONLY)
        .help(
            Group::Method,
            "trials of 60 s, no loss, the frames of RFC 2544",
        )
        .details("For laboratories: towards public addresses it needs -b (RFC 6815)."),
    OptionSpec::new(Id::Tst009, None, "tst009", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.method.find_rate.laboratory = Some(Laboratory::Tst009))
        .methods_only(ONLY)
        .help(
            Group::Method,
            "trials of 60 s, a bad one may be repeated (TST009)",
        ),
    OptionSpec::new(
        Id::LossCurve,
        None,
        "loss-curve",
        Remote::Yes(ValueKind::Switch),
    )
    .sets(|settings| settings.method.find_rate.loss_curve = true)
    .methods_only(ONLY)
    .help(
        Group::Method,
        "then the loss at 100, 90, ... % of a rate that loses",
    ),
];

/// `--loss`.
fn loss(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    let goals: Option<Vec<f64>> = text.split(',').map(|part| part.parse().ok()).collect();
    let Some(goals) = goals else {
        return Err(refuse_value(given, "is no list of percentages", log));
    };
    if goals.len() > MOST_GOALS {
        return Err(refuse(given, "one search has at most three goals", log));
    }
    if goals.iter().any(|goal| !(0.0..=50.0).contains(goal)) {
        return Err(refuse_value(given, "is not between 0 and 50 %", log));
    }
    settings.method.find_rate.loss = Some(goals);
    Ok(())
}

/// `--resolution`.
fn resolution(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    match given.text().parse::<f64>() {
        Ok(percent) if (0.01..=50.0).contains(&percent) => {
            settings.method.find_rate.resolution = Some(percent);
            Ok(())
        }
        _ => Err(refuse_value(given, "is not between 0.01 and 50 %", log)),
    }
}

/// `--frames`.
fn frames(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    let sizes = match DatagramSizes::rfc2544() {
        DatagramSizes::Frames(frames) if text == "rfc2544" => Some(frames),
        _ => sizes(&text, 64, 9216),
    };
    let Some(sizes) = sizes else {
        let problem = "is neither rfc2544 nor a list of up to 16 sizes of 64 to 9216 bytes";
        return Err(refuse_value(given, problem, log));
    };
    settings.method.find_rate.frames = Some(sizes);
    Ok(())
}

/// A list of sizes.
fn sizes(text: &str, least: u32, most: u32) -> Option<Vec<u32>> {
    let sizes: Option<Vec<u32>> = text
        .split(',')
        .map(|part| {
            part.parse()
                .ok()
                .filter(|size| (least..=most).contains(size))
        })
        .collect();
    sizes.filter(|sizes| sizes.len() <= MOST_SIZES)
}

/// From the settings to the plan.
pub(crate) fn plan(
    settings: &Settings,
    common: Common,
    log: &mut Diagnostics,
) -> Result<MethodPlan, Exit> {
    let asked = &settings.method.find_rate;
    let seconds = common.time.as_ref().map(Duration::as_secs_f64);
    within("-t", seconds, 0.5..=3600.0, " s", log)?;
    one_stream("find-rate", &common, log)?;
    let mut plan = FindRatePlan::new(common);
    if let Some(goals) = &asked.loss {
        plan.loss_percent.clone_from(goals);
    }
    if let Some(resolution) = asked.resolution {
        plan.resolution_percent = resolution;
    }
    plan.sizes = match (&settings.method.length, &asked.frames) {
        (Some(_), Some(_)) => {
            let why = "-l and --frames are sizes of the same datagrams: leave out one of them";
            return Err(log.fatal("", why));
        }
        (Some(text), None) => match sizes(text, 16, 65_507) {
            Some(payloads) => DatagramSizes::Payloads(payloads),
            None => {
                let why = format!(
                    "option -l: '{text}' is no list of up to 16 sizes of 16 to 65507 bytes"
                );
                return Err(log.fatal("", why));
            }
        },
        (None, Some(frames)) => DatagramSizes::Frames(frames.clone()),
        (None, None) => DatagramSizes::Largest,
    };
    plan.laboratory = asked.laboratory;
    plan.loss_curve = asked.loss_curve;
    Ok(plan.into())
}
