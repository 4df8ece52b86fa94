//! How much, how long, how many, how often it is reported; connects that are tried again.

use std::time::Duration;

use tapeline_base::parse_seconds;
use tapeline_report::Build;

use super::latency;
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{AskedLimit, Settings};
use crate::cli::spec::Section::{Both, Client, Server};
use crate::cli::spec::{
    Given, Group, OptionId as Id, OptionSpec, Personalities, Remote, Sides, ValueKind,
};
use crate::cli::values::{atoi, bad_value, lenient_amount, refuse_value, strict_amount};

/// Most flows: as many as there are ports between two addresses.
pub(crate) const MAX_PARALLEL: usize = 65_535;
/// Longest interval and retry time, seconds: 32 bits of microseconds, as in iperf 2.
const MAX_MICROSECONDS: f64 = 4_294.967_295;
/// Shortest pause between connect attempts.
const MIN_RETRY: Duration = Duration::from_millis(10);

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Time, Some('t'), "time", Remote::Yes(ValueKind::Seconds))
        .every_method()
        .value("SECONDS")
        .apply(time)
        .sides(Sides::ANY)
        .variable(15, "IPERF_TIME")
        .help(Group::Amount, "how long to send (default 10)")
        .details(
            "0 or less: until interrupted. At a server the listener and each test end after this \
             time. The last of -t and -n counts.",
        )
        .listed(&[
            (
                Server,
                "#",
                "seconds to listen and to receive (default: no limit)",
            ),
            (Client, "#", "seconds to send (default 10)"),
        ]),
    OptionSpec::new(Id::Num, Some('n'), "num", Remote::Yes(ValueKind::Bytes))
        .value("BYTES")
        .apply(num)
        .sides(Sides::CLIENT)
        .variable(11, "IPERF_NUM")
        .help(Group::Amount, "bytes to send per stream, instead of -t")
        .listed(&[(Client, "#[kmgKMG]", "bytes to send (instead of -t)")]),
    OptionSpec::new(
        Id::Parallel,
        Some('P'),
        "parallel",
        Remote::Yes(ValueKind::Count),
    )
    .every_method()
    .value("COUNT")
    .apply(parallel)
    .variable(28, "IPERF_PARALLEL")
    .help(
        Group::Amount,
        "parallel streams; at a server, connections to serve before it ends",
    )
    .listed(&[(Client, "#", "parallel flows")]),
    OptionSpec::new(
        Id::Interval,
        Some('i'),
        "interval",
        Remote::Yes(ValueKind::Seconds),
    )
    .value("SECONDS")
    .apply(interval)
    .variable(8, "IPERF_INTERVAL")
    .help(Group::Output, "report every so many seconds")
    .details("At least 0.005; f is a row for each frame or burst.")
    .native_details("0 is no interval reports.")
    .listed(&[(Both, "#", "seconds between reports")]),
    OptionSpec::new(
        Id::NoConnectSync,
        None,
        "no-connect-sync",
        Remote::Yes(ValueKind::Switch),
    )
    .sides(Sides::CLIENT)
    .sets(|settings| settings.no_connect_sync = true)
    .help(
        Group::Amount,
        "let each stream send as soon as it is connected",
    )
    .listed(&[(
        Client,
        "",
        "do not wait for all connects before sending (-P)",
    )]),
    OptionSpec::new(
        Id::ConnectRetryTimer,
        None,
        "connect-retry-timer",
        Remote::Yes(ValueKind::Seconds),
    )
    .value("SECONDS")
    .apply(retry_every)
    .sides(Sides::CLIENT)
    .help(
        Group::Amount,
        "pause between connect attempts (default 1, at least 0.01)",
    )
    .listed(&[(Client, "", "seconds between connect attempts")]),
    OptionSpec::new(
        Id::ConnectRetryTime,
        None,
        "connect-retry-time",
        Remote::Yes(ValueKind::Seconds),
    )
    .value("SECONDS")
    .apply(retry_total)
    .sides(Sides::CLIENT)
    .help(Group::Amount, "keep trying to connect for this long")
    .details("With --connect-retry-timer alone: 10 seconds.")
    .listed(&[(Client, "", "seconds to keep trying to connect")]),
    OptionSpec::new(
        Id::ConnectTimeout,
        None,
        "connect-timeout",
        Remote::Yes(ValueKind::Seconds),
    )
    .value("SECONDS")
    .apply(connect_timeout)
    .only(Personalities::Native)
    .sides(Sides::CLIENT)
    .help(
        Group::Amount,
        "give up connecting after this time (default 10)",
    )
    .details("With --peer iperf3, the time for the server's first answer too."),
    OptionSpec::new(
        Id::IgnoreShutdown,
        None,
        "ignore-shutdown",
        Remote::Yes(ValueKind::Switch),
    )
    .sides(Sides::CLIENT)
    .sets(|settings| settings.ignore_shutdown = true)
    .help(
        Group::Amount,
        "end a TCP test at the last write, not at the server's close",
    )
    .listed(&[(Client, "", "end at the last write, not at the TCP close")]),
    OptionSpec::new(
        Id::NoUdpFin,
        None,
        "no-udp-fin",
        Remote::Yes(ValueKind::Switch),
    )
    .sides(Sides::CLIENT)
    .sets(|settings| settings.no_udp_fin = true)
    .help(
        Group::Amount,
        "end a UDP test without the exchange that brings the server's report",
    )
    .listed(&[(
        Client,
        "",
        "no exchange of results at the end of a UDP test",
    )]),
];

/// `-t`.
fn time(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    let Ok(seconds) = parse_seconds(&text) else {
        return Err(log.fatal(
            format!("ERROR: -t value of '{text}' not recognized"),
            bad_value(given, "is no number of seconds"),
        ));
    };
    settings.limit = Some(AskedLimit::Seconds(seconds));
    Ok(())
}

/// `-n`.
fn num(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    let bytes = if settings.iperf() {
        lenient_amount(&text)
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(0)
    } else {
        strict_amount(given, log)?
    };
    if bytes == 0 {
        return Err(log.fatal(
            format!("Invalid value for -n amount of '{text}'"),
            bad_value(given, "is nothing to send"),
        ));
    }
    settings.limit = Some(AskedLimit::Bytes(bytes));
    Ok(())
}

/// `-P`: flows of a client, connections of a server.
fn parallel(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    let count = if settings.iperf() {
        usize::try_from(atoi(&text)).unwrap_or(0)
    } else {
        match text.parse() {
            Ok(0) | Err(_) => return Err(refuse_value(given, "is no positive number", log)),
            Ok(count) => count,
        }
    };
    if count > MAX_PARALLEL {
        return Err(log.fatal(
            format!("ERROR: -P value of '{text}' is more than {MAX_PARALLEL}"),
            bad_value(given, &format!("is more than {MAX_PARALLEL}")),
        ));
    }
    settings.parallel = Some(count).filter(|count| *count > 0);
    Ok(())
}

/// The shortest interval of a build of iperf, and its milliseconds in that build's words.
fn least_interval(build: Build) -> (Duration, &'static str) {
    match build {
        Build::Plain => (Duration::from_millis(5), "5.000"),
        Build::FastSampling => (Duration::from_micros(100), "0.1000"),
    }
}

/// `-i`. Under tapeline 0 is no reports, as in iperf 1.7.
fn interval(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    settings.interval_given = true;
    if text.starts_with(['f', 'F']) {
        return latency::by_frame(settings, given, log);
    }
    let Ok(seconds) = parse_seconds(&text) else {
        return Err(log.fatal(
            format!("Invalid value of '{text}' for -i interval"),
            bad_value(given, "is no number of seconds"),
        ));
    };
    if seconds > MAX_MICROSECONDS {
        return Err(log.fatal(
            format!("Too large value of '{text}' for -i interval, max is 4294.967295"),
            bad_value(given, "is more than 4294.967295 seconds"),
        ));
    }
    if !settings.iperf() && seconds < 0.0 {
        return Err(refuse_value(given, "is negative", log));
    }
    if seconds < 0.0 || (!settings.iperf() && seconds == 0.0) {
        settings.interval = None;
        return Ok(());
    }
    settings.latency.by_frame = false;
    let mut interval = Duration::from_micros((seconds * 1e6).ceil() as u64);
    let (least, millis) = least_interval(settings.presentation.build);
    if interval < least {
        log.warn(
            format!("WARNING: interval too small, increasing to {millis} milliseconds."),
            format!("{}: {text} s is too short, using 0.005 s", given.named()),
        );
        interval = least;
    }
    settings.interval = Some(interval);
    Ok(())
}

/// `--connect-retry-time`; 0 and less are no retries.
fn retry_total(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let seconds = retry_seconds(given, "--connect-retry-time", log)?;
    if !settings.iperf() && seconds < 0.0 {
        return Err(refuse_value(given, "is negative", log));
    }
    settings.retry_total = (seconds > 0.0).then(|| Duration::from_secs_f64(seconds));
    Ok(())
}

/// `--connect-retry-timer`.
fn retry_every(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let seconds = retry_seconds(given, "--connect-retry-timer", log)?;
    if seconds < 0.0 {
        return Err(log.fatal(
            format!(
                "Invalid value of '{}' for --connect-retry-timer",
                given.text()
            ),
            bad_value(given, "is negative"),
        ));
    }
    settings.retry_every = Some(Duration::from_secs_f64(seconds.max(0.0)).max(MIN_RETRY));
    Ok(())
}

/// `--connect-timeout`.
fn connect_timeout(
    settings: &mut Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<(), Exit> {
    let seconds = retry_seconds(given, "--connect-timeout", log)?;
    if seconds <= 0.0 {
        return Err(refuse_value(given, "is no time", log));
    }
    settings.connect_timeout = Some(Duration::from_secs_f64(seconds));
    Ok(())
}

fn retry_seconds(given: &Given, name: &str, log: &mut Diagnostics) -> Result<f64, Exit> {
    let text = given.text();
    match parse_seconds(&text) {
        Err(_) => Err(log.fatal(
            format!("Invalid value of '{text}' for {name}"),
            bad_value(given, "is no number of seconds"),
        )),
        Ok(seconds) if seconds > MAX_MICROSECONDS => Err(log.fatal(
            format!("Too large value of '{text}' for {name}, max is 4294.967295"),
            bad_value(given, "is more than 4294.967295 seconds"),
        )),
        Ok(seconds) => Ok(seconds),
    }
}

/// A time of 0 or less never ends.
pub(crate) fn endless_time_is_announced(settings: &mut Settings, log: &mut Diagnostics) {
    if matches!(settings.limit, Some(AskedLimit::Seconds(seconds)) if seconds <= 0.0) {
        log.warn(
            "WARNING: client will send traffic forever or until an external signal (e.g. SIGINT \
             or SIGTERM) occurs to stop it",
            "-t of 0 or less: the test runs until it is interrupted",
        );
    }
}

/// Each of the retry options brings the other.
pub(crate) fn retry_options_come_in_pairs(settings: &mut Settings, log: &mut Diagnostics) {
    match (settings.retry_total, settings.retry_every) {
        (Some(_), None) => {
            warn_of_default("--connect-retry-timer", "one second", log);
            settings.retry_every = Some(Duration::from_secs(1));
        }
        (None, Some(_)) => {
            warn_of_default("--connect-retry-time", "ten seconds", log);
            settings.retry_total = Some(Duration::from_secs(10));
        }
        _ => {}
    }
}

/// tapeline's defaults are in its help and need no message.
fn warn_of_default(option: &str, default: &str, log: &mut Diagnostics) {
    if log.personality() == tapeline_dialect::Personality::Iperf2 {
        log.warn(
            format!(
                "WARN: companion option of {option} not set - setting to default value of {default}"
            ),
            "",
        );
    }
}

/// UDP has no connections to try again.
pub(crate) fn retries_need_tcp(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.udp && settings.retry_total.is_some() {
        log.error(
            "ERROR: option --connect-retries not supported with -u UDP",
            "--connect-retry-time and --connect-retry-timer need TCP (leave out -u)",
        );
    }
}

/// Only UDP ends with an exchange of datagrams.
pub(crate) fn udp_fin_needs_udp(settings: &mut Settings, log: &mut Diagnostics) {
    if !settings.udp && settings.no_udp_fin {
        log.error(
            "ERROR: option --no-udp-fin requires -u UDP",
            "option --no-udp-fin needs -u",
        );
    }
}
