//! Options of `capacity`.

use std::ops::RangeInclusive;
use std::time::Duration;

use tapeline_base::parse_amount;
use tapeline_method::{CapacityPlan, Common, MethodPlan};

use super::common::{one_stream, within};
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::Settings;
use crate::cli::spec::{Given, Group, Methods, OptionId as Id, OptionSpec, Remote, ValueKind};
use crate::cli::values::refuse_value;

const ONLY: Methods = Methods::Only(&["capacity"]);

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Bimodal, None, "bimodal", Remote::Yes(ValueKind::Count))
        .value("COUNT")
        .apply(|settings, given, log| {
            let count = number(given, 1..=3600, "sub-intervals", log)?;
            settings.method.capacity.bimodal = Some(count as usize);
            Ok(())
        })
        .methods_only(ONLY)
        .help(
            Group::Method,
            "a maximum of the first COUNT sub-intervals, and one of the rest",
        ),
    OptionSpec::new(
        Id::SubInterval,
        None,
        "sub-interval",
        Remote::Yes(ValueKind::Seconds),
    )
    .value("SECONDS")
    .apply(sub_interval)
    .methods_only(ONLY)
    .help(
        Group::Method,
        "length of the sub-intervals, of which the best one counts (default 1)",
    ),
    OptionSpec::new(
        Id::FeedbackInterval,
        None,
        "feedback-interval",
        Remote::Yes(ValueKind::Millis),
    )
    .value("MS")
    .apply(|settings, given, log| {
        let ms = number(given, 5..=250, "ms", log)?;
        settings.method.capacity.feedback = Some(Duration::from_millis(ms));
        Ok(())
    })
    .methods_only(ONLY)
    .help(
        Group::Method,
        "time between two reports of the receiver (default 50)",
    ),
    OptionSpec::new(
        Id::LowDelay,
        None,
        "low-delay",
        Remote::Yes(ValueKind::Millis),
    )
    .value("MS")
    .apply(|settings, given, log| {
        let ms = number(given, 1..=10_000, "ms", log)?;
        settings.method.capacity.low_ms = Some(ms as f64);
        Ok(())
    })
    .methods_only(ONLY)
    .help(
        Group::Method,
        "delay variation below which the rate rises (default 30)",
    ),
    OptionSpec::new(
        Id::UpperDelay,
        None,
        "upper-delay",
        Remote::Yes(ValueKind::Millis),
    )
    .value("MS")
    .apply(|settings, given, log| {
        let ms = number(given, 1..=10_000, "ms", log)?;
        settings.method.capacity.upper_ms = Some(ms as f64);
        Ok(())
    })
    .methods_only(ONLY)
    .help(
        Group::Method,
        "delay variation above which the rate falls (default 90)",
    ),
    OptionSpec::new(
        Id::ErrorThreshold,
        None,
        "error-threshold",
        Remote::Yes(ValueKind::Count),
    )
    .value("COUNT")
    .apply(|settings, given, log| {
        settings.method.capacity.errors = Some(number(given, 0..=65_535, "losses", log)?);
        Ok(())
    })
    .methods_only(ONLY)
    .help(
        Group::Method,
        "losses in a report up to which the rate does not fall (default 10)",
    ),
    OptionSpec::new(
        Id::CountReordering,
        None,
        "count-reordering",
        Remote::Yes(ValueKind::Switch),
    )
    .sets(|settings| settings.method.capacity.count_reordering = true)
    .methods_only(ONLY)
    .help(
        Group::Method,
        "late and repeated datagrams count as losses do, as in RFC 9097",
    ),
    OptionSpec::new(Id::OneWay, None, "one-way", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.method.capacity.one_way = true)
        .methods_only(ONLY)
        .help(
            Group::Method,
            "the delay is the mean one-way variation, not a sampled round trip",
        ),
];

/// A whole number within a range.
fn number(
    given: &Given,
    range: RangeInclusive<u64>,
    unit: &str,
    log: &mut Diagnostics,
) -> Result<u64, Exit> {
    match given.text().parse() {
        Ok(value) if range.contains(&value) => Ok(value),
        _ => {
            let problem = format!(
                "is not between {} and {} {unit}",
                range.start(),
                range.end()
            );
            Err(refuse_value(given, &problem, log))
        }
    }
}

/// `--sub-interval`.
fn sub_interval(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    match given.text().parse::<f64>() {
        Ok(seconds) if (0.1..=10.0).contains(&seconds) => {
            settings.method.capacity.sub_interval = Some(Duration::from_secs_f64(seconds));
            Ok(())
        }
        _ => Err(refuse_value(given, "is not between 0.1 and 10 s", log)),
    }
}

/// From the settings to the plan.
pub(crate) fn plan(
    settings: &Settings,
    common: Common,
    log: &mut Diagnostics,
) -> Result<MethodPlan, Exit> {
    let asked = &settings.method.capacity;
    let seconds = common.time.as_ref().map(Duration::as_secs_f64);
    within("-t", seconds, 5.0..=3600.0, " s", log)?;
    one_stream("capacity", &common, log)?;
    let mut plan = CapacityPlan::new(common);
    match settings.method.length.as_deref() {
        None => {}
        Some("mtu") => plan.fills_packets = true,
        Some(text) => {
            let bytes = parse_amount(text).and_then(|amount| amount.strict(text));
            match bytes.ok().and_then(|bytes| u32::try_from(bytes).ok()) {
                Some(bytes @ 48..=65_507) => plan.common.length = Some(bytes),
                _ => {
                    let why = format!(
                        "option -l: '{text}' is neither mtu nor between 48 and 65507 bytes"
                    );
                    return Err(log.fatal("", why));
                }
            }
        }
    }
    let rules = &mut plan.rules;
    rules.low_ms = asked.low_ms.unwrap_or(rules.low_ms);
    rules.upper_ms = asked.upper_ms.unwrap_or(rules.upper_ms);
    rules.errors = asked.errors.unwrap_or(rules.errors);
    rules.count_reordering = asked.count_reordering;
    rules.one_way = asked.one_way;
    if rules.low_ms > rules.upper_ms {
        let why = "--low-delay is above --upper-delay";
        return Err(log.fatal("", why));
    }
    plan.sub_interval = asked.sub_interval.unwrap_or(plan.sub_interval);
    plan.feedback = asked.feedback.unwrap_or(plan.feedback);
    plan.bimodal = asked.bimodal;
    Ok(plan.into())
}
