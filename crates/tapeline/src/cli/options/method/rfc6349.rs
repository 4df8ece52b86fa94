//! Options of `rfc6349`.

use tapeline_base::{BitRate, parse_amount, parse_rate};
use tapeline_method::{Common, GivenBottleneck, MethodPlan, Rfc6349Plan, WindowShare};

use super::common::within;
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::Settings;
use crate::cli::spec::{Given, Group, Methods, OptionId as Id, OptionSpec, Remote, ValueKind};
use crate::cli::values::{refuse_number, refuse_value};

const ONLY: Methods = Methods::Only(&["rfc6349"]);
/// Congestion controls besides the first.
const MORE_ALGORITHMS: usize = 4;
/// Windows of a sweep.
const MOST_WINDOWS: usize = 16;
/// Length of a run, seconds.
const RUN: std::ops::RangeInclusive<f64> = 1.0..=3600.0;

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Cir, None, "cir", Remote::Yes(ValueKind::Text))
        .value("RATE[,RATE]")
        .apply(cir)
        .methods_only(ONLY)
        .help(
            Group::Method,
            "contracted rate at the IP layer, up and down, instead of a measurement",
        ),
    OptionSpec::new(
        Id::LineRate,
        None,
        "line-rate",
        Remote::Yes(ValueKind::Rate),
    )
    .value("RATE")
    .apply(line_rate)
    .methods_only(ONLY)
    .help(
        Group::Method,
        "rate of the Ethernet line at the bottleneck, instead of a measurement",
    ),
    OptionSpec::new(Id::Windows, None, "windows", Remote::Yes(ValueKind::Text))
        .value("LIST")
        .apply(windows)
        .methods_only(ONLY)
        .help(
            Group::Method,
            "windows of the sweep: percent of the bandwidth-delay product, or bytes",
        )
        .details("Default: 25%,50%,75%,100%. 64K is 64 KiB; none leaves the sweep out."),
    OptionSpec::new(
        Id::NoSimultaneous,
        None,
        "no-simultaneous",
        Remote::Yes(ValueKind::Switch),
    )
    .sets(|settings| settings.method.rfc6349.no_simultaneous = true)
    .methods_only(ONLY)
    .help(
        Group::Method,
        "leave out the run with both directions at once",
    ),
];

fn rate(text: &str, given: &Given, log: &mut Diagnostics) -> Result<f64, Exit> {
    let BitRate(rate) = parse_rate(text).map_err(|error| refuse_number(given, &error, log))?;
    if rate == 0 {
        return Err(refuse_value(given, "is no rate", log));
    }
    Ok(rate as f64)
}

fn cir(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    let (up, down) = text.split_once(',').unwrap_or((&text, &text));
    let contract = GivenBottleneck::Contract(rate(up, given, log)?, rate(down, given, log)?);
    settings.method.rfc6349.bottleneck = Some(contract);
    Ok(())
}

fn line_rate(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let line = GivenBottleneck::Line(rate(&given.text(), given, log)?);
    settings.method.rfc6349.bottleneck = Some(line);
    Ok(())
}

fn windows(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    if text == "none" {
        settings.method.rfc6349.windows = Some(Vec::new());
        return Ok(());
    }
    let mut windows = Vec::new();
    for word in text.split(',') {
        windows.push(window(word).ok_or_else(|| {
            let problem = "needs windows such as 50% (1 to 1000) or 64K (1K to 1G)";
            refuse_value(given, problem, log)
        })?);
    }
    if windows.len() > MOST_WINDOWS {
        return Err(refuse_value(given, "has more than 16 windows", log));
    }
    settings.method.rfc6349.windows = Some(windows);
    Ok(())
}

fn window(word: &str) -> Option<WindowShare> {
    if let Some(percent) = word.strip_suffix('%') {
        let percent: f64 = percent.parse().ok()?;
        return (1.0..=1000.0)
            .contains(&percent)
            .then_some(WindowShare::Percent(percent));
    }
    let bytes = parse_amount(word).ok()?.strict(word).ok()?;
    (1 << 10..=1 << 30)
        .contains(&bytes)
        .then_some(WindowShare::Bytes(bytes))
}

/// The plan; `-Z` may be a list.
///
/// # Errors
/// [`Exit`] when a value is outside of its range.
pub(crate) fn plan(
    settings: &Settings,
    mut common: Common,
    log: &mut Diagnostics,
) -> Result<MethodPlan, Exit> {
    let seconds = common.time.map(|time| time.as_secs_f64());
    within("-t", seconds, RUN, " s", log)?;
    let list = common.congestion.take();
    let names = list.iter().flat_map(|list| list.split(','));
    let names: Vec<String> = names.map(str::to_owned).collect();
    if names.len() > MORE_ALGORITHMS {
        return Err(log.fatal("", "option -Z: rfc6349 takes at most 4 algorithms"));
    }
    let mut names = names.into_iter();
    common.congestion = names.next();
    let own = &settings.method.rfc6349;
    let mut plan = Rfc6349Plan::new(common);
    plan.algorithms = names.collect();
    plan.bottleneck = own.bottleneck;
    plan.simultaneous = !own.no_simultaneous;
    if let Some(windows) = &own.windows {
        plan.windows.clone_from(windows);
    }
    Ok(plan.into())
}
