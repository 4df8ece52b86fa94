//! When sending begins, and tests that only connect.

use std::time::Duration;

use tapeline_base::parse_seconds;
use tapeline_dialect::StartTime;
use tapeline_report::Calendar;

use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{AskedConnects, AskedStart, Settings};
use crate::cli::spec::Section::Client;
use crate::cli::spec::{Given, Group, OptionId as Id, OptionSpec, Remote, Sides, ValueKind};
use crate::cli::values::{atoi, bad_value, count, duration};
use crate::message::CliMessage;

/// Furthest start, seconds.
const MAX_DELAY: f64 = 3600.0;

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        Id::TxStartTime,
        None,
        "txstart-time",
        Remote::Yes(ValueKind::Text),
    )
    .value("TIME")
    .apply(start)
    .sides(Sides::CLIENT)
    .help(
        Group::Amount,
        "start sending at this time of day, in seconds since 1970",
    )
    .details("With a fraction, as in 1536014418.25; at most an hour ahead.")
    .listed(&[(Client, "", "unix time at which sending starts")]),
    OptionSpec::new(
        Id::TxDelayTime,
        None,
        "txdelay-time",
        Remote::Yes(ValueKind::Seconds),
    )
    .value("SECONDS")
    .apply(delay)
    .sides(Sides::CLIENT)
    .help(Group::Amount, "wait so long between connecting and sending")
    .listed(&[(Client, "", "seconds between connecting and the first write")]),
    OptionSpec::new(
        Id::ConnectOnly,
        None,
        "connect-only",
        Remote::Yes(ValueKind::Count),
    )
    .optional_value("COUNT")
    .apply(connect_only)
    .sides(Sides::CLIENT)
    .help(
        Group::Amount,
        "connect, and send nothing, COUNT times (0: no end)",
    )
    .details("Without COUNT until -t is over. -i is the time between two connects.")
    .listed(&[(Client, "", "measure connects, without data")]),
    OptionSpec::new(
        Id::BouncebackTxDelay,
        None,
        "bounceback-txdelay",
        Remote::Yes(ValueKind::Seconds),
    )
    .value("SECONDS")
    .apply(delay)
    .sides(Sides::CLIENT)
    .help(
        Group::Latency,
        "start the requests so long after the working load",
    )
    .listed(&[(
        Client,
        "",
        "seconds between the working load's start and the requests",
    )]),
];

/// Seconds since 1970 with a decimal fraction.
fn start(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    settings.presentation.enhanced = true;
    match read_start(&given.text()) {
        Some(start) => settings.schedule.start = Some(start),
        None if settings.iperf() => log.warn("WARNING: invalid --txstart-time format", ""),
        None => {
            let sentence = bad_value(given, "is no number of seconds since 1970");
            return Err(log.fatal("", sentence));
        }
    }
    Ok(())
}

/// Digits, perhaps with a fraction: floating point would lose microseconds.
fn read_start(text: &str) -> Option<AskedStart> {
    if let Some(number) = text.strip_prefix('-') {
        return read_start(number).map(|_| AskedStart::Negative);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let seconds = whole.parse().ok()?;
    let nanos = format!("{fraction:0<9}")[..9].parse().ok()?;
    Some(AskedStart::At { seconds, nanos })
}

/// `--txdelay-time` and `--bounceback-txdelay` are one.
fn delay(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    match parse_seconds(&text) {
        Ok(delay) if delay >= 0.0 => settings.schedule.delay = Some(delay),
        Err(_) if settings.iperf() => log.say(CliMessage::err(format!(
            "Invalid value of '{text}' for --{} time",
            given.spec.long
        ))),
        _ => {
            return Err(log.fatal(
                format!("ERROR: --{} must be a positive value", given.spec.long),
                bad_value(given, "is no number of seconds, 0 or more"),
            ));
        }
    }
    Ok(())
}

fn connect_only(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    settings.schedule.connect_only = Some(if given.value.is_none() {
        AskedConnects::WhileTimeLasts
    } else if settings.iperf() {
        AskedConnects::Count(u64::try_from(atoi(&given.text())).unwrap_or(0))
    } else {
        AskedConnects::Count(count(given, log)?)
    });
    Ok(())
}

/// A start is either at a time or after a time.
pub(crate) fn one_start(settings: &mut Settings, log: &mut Diagnostics) {
    let both = settings.schedule.start.is_some() && settings.schedule.delay.is_some();
    if both && (!settings.udp || !settings.iperf()) {
        log.error(
            "ERROR: options of --txstart-time and --txdelay-time are mutually exclusive",
            "--txstart-time and --txdelay-time cannot be combined",
        );
    } else if settings.schedule.start == Some(AskedStart::Negative) {
        log.error(
            "ERROR: --txstart-time must be a positive value",
            "option --txstart-time: the time is negative",
        );
    } else {
        start_is_near(settings, log);
    }
}

/// A start more than an hour ahead is taken for a slip. iperf says so on standard output.
fn start_is_near(settings: &Settings, log: &mut Diagnostics) {
    if let Some(start @ AskedStart::At { seconds, nanos }) = settings.schedule.start {
        let ahead = start.wall().nanos_since(settings.now) as f64 / 1e9;
        if ahead > MAX_DELAY {
            let micros = nanos / 1000;
            let date = Calendar::new(settings.presentation.utc).date(settings.now, true);
            log.error_on_stdout(
                format!(
                    "ERROR: --txstart-time {seconds}.{micros:06} {date} exceeds max scheduled \
                     delay of 3600 secs"
                ),
                format!("option --txstart-time is {ahead:.0} s ahead; 3600 s is the most"),
            );
        }
    } else if let Some(delay) = settings.schedule.delay.filter(|delay| *delay > MAX_DELAY) {
        log.error_on_stdout(
            format!(
                "ERROR: --txdelay-time of {delay:.0} seconds is more than the supported delay of \
                 3600 seconds"
            ),
            format!("option --txdelay-time: {delay:.0} s; 3600 s is the most"),
        );
    }
}

/// Without data there is nothing to delay.
pub(crate) fn connects_start_at_once(settings: &mut Settings, log: &mut Diagnostics) {
    let delayed = settings.schedule.delay.is_some() && !settings.udp;
    if delayed && settings.schedule.connect_only.is_some() {
        log.error(
            "ERROR: Fail because --txdelay-time and --connect-only cannot be applied together",
            "--txdelay-time and --connect-only cannot be combined",
        );
    }
}

/// UDP does not connect.
pub(crate) fn connect_only_needs_tcp(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.udp && settings.schedule.connect_only.is_some() {
        log.error(
            "ERROR: option of --connect-only not supported with -u UDP",
            "option --connect-only needs TCP (leave out -u)",
        );
    }
}

/// Tests without data and tests of requests have no directions.
pub(crate) fn one_workload(settings: &mut Settings, log: &mut Diagnostics) {
    let asked: Vec<&str> = [
        (settings.schedule.connect_only.is_some(), "--connect-only"),
        (settings.bounceback.asked, "--bounceback"),
        (settings.shape.isochronous.is_some(), "--isochronous"),
        (settings.reverse, "--reverse"),
        (settings.full_duplex, "--full-duplex"),
        (settings.second_connection.is_some(), "-d and -r"),
    ]
    .into_iter()
    .filter_map(|(given, name)| given.then_some(name))
    .collect();
    let alone = settings.schedule.connect_only.is_some() || settings.bounceback.asked;
    if let [first, second, ..] = asked.as_slice()
        && alone
    {
        let both = format!("{first} and {second}");
        log.error(
            format!("ERROR: {both} exclude each other"),
            format!("{both} cannot be combined"),
        );
    }
}

/// When the first byte leaves.
pub(crate) fn start_time(settings: &Settings) -> StartTime {
    match (settings.schedule.start, settings.schedule.delay) {
        (Some(start), _) => StartTime::At(start.wall()),
        (_, Some(delay)) if delay > 0.0 => {
            StartTime::After(duration(delay).unwrap_or(Duration::ZERO))
        }
        _ => StartTime::Now,
    }
}

/// Whether a start was scheduled.
pub(crate) fn starts_by_the_clock(settings: &Settings) -> bool {
    settings.schedule.start.is_some()
}

/// Whether a start was put off.
pub(crate) fn starts_late(settings: &Settings) -> bool {
    settings.schedule.delay.is_some()
}

#[cfg(test)]
mod tests {
    use tapeline_base::WallTime;

    use super::*;

    #[test]
    fn starts_are_read_to_the_microsecond_and_beyond() {
        for (text, nanos) in [
            ("1536014418.5", 1_536_014_418_500_000_000),
            ("1536014418.123456", 1_536_014_418_123_456_000),
            ("1536014418.0000000019", 1_536_014_418_000_000_001),
            ("7", 7_000_000_000),
            ("7.", 7_000_000_000),
        ] {
            let wall = read_start(text).map(AskedStart::wall);
            assert_eq!(wall, Some(WallTime::from_nanos(nanos)), "{text}");
        }
        assert_eq!(read_start("-5"), Some(AskedStart::Negative));
        for text in ["", "abc", "1.x", "1e9", "99999999999999999999", "--5"] {
            assert!(
                !matches!(read_start(text), Some(AskedStart::At { .. })),
                "{text}"
            );
        }
    }
}
