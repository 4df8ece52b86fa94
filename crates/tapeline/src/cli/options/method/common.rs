//! What every method can be asked for besides a client's options.

use tapeline_base::{BitRate, Pace, parse_amount};
use tapeline_dialect::BindPlan;
use tapeline_method::{Common, DirectionChoice, MethodPlan, PeerKind};
use tapeline_report::method::{Criterion, PassLimit};

use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::options::{access, addressing, peer};
use crate::cli::settings::{AskedLimit, AskedPorts, AskedRate, Mode, Protocol, Settings};
use crate::cli::spec::{Given, Group, Methods, OptionId as Id, OptionSpec, Remote, ValueKind};
use crate::cli::values::{duration, nearest_of, refuse, refuse_value, strict_amount};
use crate::presentation::TextStyle;

/// iperf 2's port.
const PORT: u16 = 5001;

/// A method on the command line.
pub(crate) struct MethodEntry {
    /// Its word.
    pub(crate) word: &'static str,
    /// Rows of its own options.
    pub(crate) options: &'static [OptionSpec],
    /// It reads `-l` itself (`settings.method.length`); else that is a number of bytes.
    pub(crate) own_length: bool,
    /// From the settings to its plan; refuses what is outside of its ranges.
    pub(crate) plan: fn(&Settings, Common, &mut Diagnostics) -> Result<MethodPlan, Exit>,
}

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Direction, None, "direction", Remote::Yes(ValueKind::Choice(&["up", "down", "both"])))
        .value("WHICH")
        .apply(direction)
        .methods_only(Methods::All)
        .help(
            Group::Method,
            "up (to the server), down, or both, one after the other (default)",
        )
        .details("-R is short for --direction down."),
    OptionSpec::new(Id::Pass, None, "pass", Remote::Yes(ValueKind::Text))
        .value("NAME=VALUE")
        .apply(pass)
        .methods_only(Methods::All)
        .help(
            Group::Method,
            "exit code 4 unless the result keeps this limit; several add up",
        )
        .details(
            "--pass default takes the limits that the method's help shows. A number that is not known \
             keeps no limit.",
        ),
    OptionSpec::new(Id::Budget, None, "budget", Remote::Yes(ValueKind::Bytes))
        .value("BYTES")
        .apply(budget)
        .methods_only(Methods::All)
        .help(
            Group::Method,
            "the most payload that the method moves, both directions together",
        ),
    OptionSpec::new(Id::Plan, None, "plan", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.method.only_plan = true)
        .methods_only(Methods::All)
        .help(
            Group::Method,
            "show phases, durations and bytes, and measure nothing",
        ),
];

/// `--direction`.
fn direction(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    settings.method.direction = Some(match given.text().as_str() {
        "up" => DirectionChoice::Up,
        "down" => DirectionChoice::Down,
        "both" => DirectionChoice::Both,
        _ => return Err(refuse_value(given, "is none of up, down, both", log)),
    });
    Ok(())
}

/// `--budget`.
fn budget(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    match strict_amount(given, log)? {
        0 => Err(refuse_value(given, "is nothing to move", log)),
        bytes => {
            settings.method.budget = Some(bytes);
            Ok(())
        }
    }
}

/// `--pass`: the last limit of a name counts.
fn pass(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let Mode::Method(word) = settings.mode else {
        return Ok(());
    };
    let criteria = MethodPlan::criteria(word);
    let text = given.text();
    if text == "default" {
        let defaults = criteria.iter().filter_map(|criterion| {
            let limit = criterion.default?;
            Some((*criterion, limit))
        });
        let defaults: Vec<_> = defaults.collect();
        if defaults.is_empty() {
            let sentence = format!("{word} has no default limits; it has {}", names(criteria));
            return Err(refuse(given, &sentence, log));
        }
        for (criterion, limit) in defaults {
            set(&mut settings.method.limits, criterion, limit);
        }
        return Ok(());
    }
    let (name, value) = text.split_once('=').unwrap_or((&text, ""));
    let Some(criterion) = criteria.iter().find(|criterion| criterion.name == name) else {
        let near = nearest_of(name, criteria.iter().map(|criterion| criterion.name));
        let sentence = match near {
            Some(near) => format!("{word} has no limit \"{name}\" (did you mean {near}?)"),
            None => format!("{word} has no limit \"{name}\"; it has {}", names(criteria)),
        };
        return Err(refuse(given, &sentence, log));
    };
    match value.parse::<f64>() {
        Ok(limit) if limit.is_finite() && limit >= 0.0 => {
            set(&mut settings.method.limits, *criterion, limit);
            Ok(())
        }
        _ => {
            let sentence = format!("{name} needs a number: --pass {name}=NUMBER");
            Err(refuse(given, &sentence, log))
        }
    }
}

fn set(limits: &mut Vec<PassLimit>, criterion: Criterion, limit: f64) {
    limits.retain(|known| known.criterion.name != criterion.name);
    limits.push(PassLimit { criterion, limit });
}

fn names(criteria: &[Criterion]) -> String {
    let names: Vec<&str> = criteria.iter().map(|criterion| criterion.name).collect();
    names.join(", ")
}

/// A plan is text, and nothing is measured that could be repeated.
pub(crate) fn plan_is_text(settings: &mut Settings, log: &mut Diagnostics) {
    let shown = &settings.presentation;
    if settings.method.only_plan && (shown.has_documents() || shown.view) {
        log.error("", "--plan is text: leave out other forms of output");
    }
}

/// iperf3's documents have no place for a method.
pub(crate) fn forms_are_own(settings: &mut Settings, log: &mut Diagnostics) {
    if matches!(settings.presentation.style, TextStyle::Iperf3(_)) {
        log.error("", "-f iperf3-json is for tests: a method has --json");
    }
}

/// `-R` and `--direction` agree.
pub(crate) fn one_direction(settings: &mut Settings, log: &mut Diagnostics) {
    let other = |direction| direction != DirectionChoice::Down;
    if settings.reverse && settings.method.direction.is_some_and(other) {
        log.error("", "-R is --direction down: leave out one of them");
    }
}

/// What all methods are asked for alike.
///
/// # Errors
/// [`Exit`] when a value has no meaning for a method.
pub(crate) fn common(
    settings: &Settings,
    entry: &MethodEntry,
    log: &mut Diagnostics,
) -> Result<Common, Exit> {
    let target = addressing::target(settings);
    let default_port = match settings.peer.protocol {
        Protocol::Iperf2 => PORT,
        Protocol::Iperf3 => peer::PORT,
    };
    let typed = match settings.ports {
        None => None,
        Some(AskedPorts {
            first: port @ 1..,
            last: None,
        }) => Some(port),
        Some(_) => {
            let word = entry.word;
            return Err(log.fatal("", format!("option -p: {word} takes one port (1..65535)")));
        }
    };
    let behind_host = match &target.port {
        None => None,
        Some(text) => match text.parse::<u16>() {
            Ok(port @ 1..) => Some(port),
            _ => {
                let why = format!("HOST:PORT needs a port (1..65535), not \"{text}\"");
                return Err(log.fatal("", why));
            }
        },
    };
    if typed.is_some() && behind_host.is_some() {
        let why = "the port is given twice: behind the host and with -p";
        return Err(log.fatal("", why));
    }
    let port = behind_host.or(typed).unwrap_or(default_port);
    Ok(Common {
        family: addressing::family(settings),
        device: target.device,
        bind: settings
            .bind
            .as_ref()
            .map(|bind| BindPlan::address(&bind.host)),
        tos: settings.tos,
        congestion: settings.congestion.clone(),
        mss: settings.segment_size,
        parallel: settings.parallel,
        window: settings.window,
        rate: rate(settings, log)?,
        length: if entry.own_length {
            None
        } else {
            length(settings, log)?
        },
        time: match settings.limit {
            None => None,
            Some(AskedLimit::Seconds(seconds)) if seconds > 0.0 => match duration(seconds) {
                Some(time) => Some(time),
                None => return Err(log.fatal("", "option -t: that is too long")),
            },
            Some(_) => {
                let word = entry.word;
                let sentence = format!("option -t: 0 is no length, and {word} needs an end");
                return Err(log.fatal("", sentence));
            }
        },
        peer: match settings.peer.protocol {
            Protocol::Iperf2 => PeerKind::Auto,
            Protocol::Iperf3 => PeerKind::Iperf3,
        },
        control: peer::control(settings),
        permit_key: access::client_key(settings),
        direction: match settings.method.direction {
            Some(direction) => direction,
            None if settings.reverse => DirectionChoice::Down,
            None => DirectionChoice::Both,
        },
        full_duplex: settings.full_duplex,
        budget: settings.method.budget,
        ..Common::new(&target.host, port)
    })
}

fn rate(settings: &Settings, log: &mut Diagnostics) -> Result<Option<BitRate>, Exit> {
    match &settings.rate {
        None => Ok(None),
        Some(AskedRate::Pace(Pace::Bits(rate))) if rate.0 > 0 => Ok(Some(*rate)),
        Some(_) => {
            let why = "option -b: a method takes a rate in bits per second above 0";
            Err(log.fatal("", why))
        }
    }
}

fn length(settings: &Settings, log: &mut Diagnostics) -> Result<Option<u32>, Exit> {
    let Some(text) = &settings.method.length else {
        return Ok(None);
    };
    let bytes = parse_amount(text).and_then(|amount| amount.strict(text));
    match bytes.ok().and_then(|bytes| u32::try_from(bytes).ok()) {
        Some(bytes @ 1..=65_535) => Ok(Some(bytes)),
        _ => {
            let why = format!("option -l: '{text}' is not between 1 and 65535 bytes");
            Err(log.fatal("", why))
        }
    }
}

/// Refuses several streams where a method has one.
///
/// # Errors
/// [`Exit`] when the command line has several.
pub(crate) fn one_stream(method: &str, common: &Common, log: &mut Diagnostics) -> Result<(), Exit> {
    match common.parallel {
        Some(streams) if streams != 1 => {
            let why = format!("-P does not apply to {method}, which has one stream");
            Err(log.fatal("", why))
        }
        _ => Ok(()),
    }
}

/// Refuses a value outside of a method's range, which the sentence states.
///
/// # Errors
/// [`Exit`] when the value is there and not within the range.
pub(crate) fn within<T: PartialOrd + std::fmt::Display + Copy>(
    option: &str,
    value: Option<T>,
    range: std::ops::RangeInclusive<T>,
    unit: &str,
    log: &mut Diagnostics,
) -> Result<(), Exit> {
    match value {
        Some(value) if !range.contains(&value) => {
            let (least, most) = (range.start(), range.end());
            let why = format!("option {option}: {value} is not between {least} and {most}{unit}");
            Err(log.fatal("", why))
        }
        _ => Ok(()),
    }
}
