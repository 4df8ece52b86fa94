//! Options whose value is a number.

use std::time::Duration;

use tapeline_base::{BitRate, Pace, PacketRate, Tos, parse_amount, parse_pace, parse_seconds};

use crate::raw::Given;
use crate::values::{atoi, lenient_amount};

use super::log::{Log, Stop};
use super::reading::{bad_value, refuse, refuse_value, strict_amount, unrecognized};
use super::settings::{AskedLimit, AskedPorts, AskedRate, Settings};
use super::{latency, lengths};

/// Longest read or write, bytes: more would be memory without any use.
pub(crate) const MAX_LENGTH: u32 = 1 << 28;
/// Most flows: as many as there are ports between two addresses.
pub(crate) const MAX_PARALLEL: usize = 65_535;
/// Longest interval and retry time, seconds: 32 bits of microseconds, as in iperf 2.
const MAX_MICROSECONDS: f64 = 4_294.967_295;
/// Shortest interval.
const MIN_INTERVAL: Duration = Duration::from_millis(5);
/// Shortest pause between connect attempts.
const MIN_RETRY: Duration = Duration::from_millis(10);
/// Below this a socket buffer is called small.
const SMALL_WINDOW: i64 = 2048;

/// `-p`: `m` or `m-n`. iperf reads integers as C does and cuts them to 16 bits.
pub(super) fn ports(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    let text = given.text();
    if settings.iperf() {
        let (first, last) = match text.split_once('-') {
            None => (text.as_str(), None),
            Some((first, last)) => (first, Some(last)),
        };
        if first.is_empty() && last.unwrap_or_default().is_empty() {
            return Ok(());
        }
        if first.is_empty() || last == Some("") {
            return Err(unrecognized(given, log));
        }
        settings.ports = Some(AskedPorts {
            first: atoi(first) as u16,
            last: last.map(|last| atoi(last) as u16),
        });
        return Ok(());
    }
    let (first, last) = match text.split_once('-') {
        None => (port(given, &text, log)?, None),
        Some((first, last)) => (port(given, first, log)?, Some(port(given, last, log)?)),
    };
    if let Some(last) = last
        && last < first
    {
        return Err(refuse(given, "the range goes down", log));
    }
    settings.ports = Some(AskedPorts { first, last });
    Ok(())
}

/// `-L`; 0 is the port of `-p`.
pub(super) fn listen_port(
    settings: &mut Settings,
    given: &Given,
    log: &mut Log,
) -> Result<(), Stop> {
    let text = given.text();
    let number = if settings.iperf() {
        atoi(&text) as u16
    } else {
        port(given, &text, log)?
    };
    settings.listen_port = Some(number).filter(|number| *number != 0);
    Ok(())
}

/// `-t`.
pub(super) fn time(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
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
pub(super) fn num(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
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

/// `-b`. Under iperf a text that is no rate is left to the rules, since TCP and UDP answer
/// differently.
pub(super) fn bandwidth(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    let text = given.text();
    let rate = |text: &str, log: &mut Log| {
        if settings.iperf() {
            Ok(lenient_pace(text))
        } else {
            let pace = parse_pace(text).map_err(|error| refuse(given, &error.to_string(), log))?;
            Ok(Some(pace))
        }
    };
    let asked = match text.split_once(',') {
        None => rate(&text, log)?.map(AskedRate::Pace),
        Some((mean, "")) => rate(mean, log)?.map(AskedRate::Pace),
        Some((mean, deviation)) => match (rate(mean, log)?, rate(deviation, log)?) {
            (Some(mean), Some(deviation)) => {
                let length = u64::from(settings.effective_length());
                Some(AskedRate::Variable {
                    mean: Pace::Bits(mean.bits(length)),
                    deviation: deviation.bits(length),
                })
            }
            _ => None,
        },
    };
    settings.rate = Some(asked.unwrap_or(AskedRate::Unusable(text)));
    Ok(())
}

/// iperf's rates: what follows the number is ignored. `None` for anything that would end
/// up as an unlimited rate without being a written zero.
fn lenient_pace(text: &str) -> Option<Pace> {
    let (number, packets) = match text.find(['p', 'P']) {
        Some(at) => (&text[..at], true),
        None => (text, false),
    };
    let value = parse_amount(number).ok()?.value;
    if value < 0.0 || (value > 0.0 && value < 1.0) {
        return None;
    }
    Some(if packets {
        Pace::Packets(PacketRate(value as u64))
    } else {
        Pace::Bits(BitRate(value as u64))
    })
}

/// `-l`. iperf crashes on negative and huge lengths and does nothing useful with 0.
pub(super) fn len(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    if lengths::is_chain(&given.text()) {
        settings.shape.chain = Some(lengths::chain(given, log)?);
        settings.length = None;
        return Ok(());
    }
    let bytes = if settings.iperf() {
        lenient_amount(&given.text())
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(0)
    } else {
        strict_amount(given, log)?
    };
    match u32::try_from(bytes) {
        Ok(bytes @ 1..=MAX_LENGTH) => {
            settings.length = Some(bytes);
            settings.shape.chain = None;
            Ok(())
        }
        _ => {
            let text = given.text();
            Err(log.fatal(
                format!("ERROR: -l value of '{text}' is not between 1 and {MAX_LENGTH} bytes"),
                bad_value(given, &format!("is not between 1 and {MAX_LENGTH} bytes")),
            ))
        }
    }
}

/// `-P`: flows of a client, connections of a server.
pub(super) fn parallel(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
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

/// `-i`. Under tapeline 0 is no reports, as in iperf 1.7.
pub(super) fn interval(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
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
    if interval < MIN_INTERVAL {
        log.warn(
            "WARNING: interval too small, increasing to 5.000 milliseconds.",
            format!("{}: {text} s is too short, 0.005 s is used", given.named()),
        );
        interval = MIN_INTERVAL;
    }
    settings.interval = Some(interval);
    Ok(())
}

/// `--connect-retry-time`; 0 and less are no retries.
pub(super) fn retry_total(
    settings: &mut Settings,
    given: &Given,
    log: &mut Log,
) -> Result<(), Stop> {
    let seconds = retry_seconds(given, "--connect-retry-time", log)?;
    if !settings.iperf() && seconds < 0.0 {
        return Err(refuse_value(given, "is negative", log));
    }
    settings.retry_total = (seconds > 0.0).then(|| Duration::from_secs_f64(seconds));
    Ok(())
}

/// `--connect-retry-timer`.
pub(super) fn retry_every(
    settings: &mut Settings,
    given: &Given,
    log: &mut Log,
) -> Result<(), Stop> {
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

fn retry_seconds(given: &Given, name: &str, log: &mut Log) -> Result<f64, Stop> {
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

/// `-w`; 0 leaves the system's choice.
pub(super) fn window(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    let bytes = if settings.iperf() {
        lenient_amount(&given.text()).unwrap_or(0)
    } else {
        i64::try_from(strict_amount(given, log)?)
            .map_err(|_| refuse_value(given, "is too large", log))?
    };
    if bytes < SMALL_WINDOW {
        log.warn(
            format!(
                "WARNING: TCP window size set to {bytes} bytes. A small window size\n\
                 will give poor performance. See the Iperf documentation."
            ),
            format!(
                "{}: a socket buffer of {bytes} bytes is very small",
                given.named()
            ),
        );
    }
    settings.window = u64::try_from(bytes).ok().filter(|bytes| *bytes > 0);
    Ok(())
}

/// `-M`, which also shows the size.
pub(super) fn segment_size(
    settings: &mut Settings,
    given: &Given,
    log: &mut Log,
) -> Result<(), Stop> {
    settings.show_segment_size = true;
    let bytes = if settings.iperf() {
        lenient_amount(&given.text())
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(0)
    } else {
        match strict_amount(given, log)? {
            0 => return Err(refuse_value(given, "is no segment size", log)),
            bytes => bytes,
        }
    };
    settings.segment_size = Some(u32::try_from(bytes).unwrap_or(u32::MAX)).filter(|size| *size > 0);
    Ok(())
}

/// `-S`.
pub(super) fn tos(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    if is_none(given) {
        settings.tos = None;
        settings.tos_by_user = false;
        return Ok(());
    }
    match Tos::parse(&given.text()) {
        Ok(tos) => {
            settings.tos = Some(tos);
            settings.tos_by_user = true;
            Ok(())
        }
        Err(error) if !settings.iperf() => Err(refuse(given, &error.to_string(), log)),
        Err(_) => {
            log.warn(
                format!("WARN: Invalid --tos value of {} ignored", given.text()),
                "",
            );
            Ok(())
        }
    }
}

/// `none`: the system's default stays.
fn is_none(given: &Given) -> bool {
    given.text().eq_ignore_ascii_case("none")
}

/// `--dscp`. iperf takes an integer and cuts it; tapeline takes 0..63 or a name.
pub(super) fn dscp(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    let text = given.text();
    let tos = if settings.iperf() {
        Tos::from_dscp(atoi(&text) as u8)
    } else {
        match text.parse::<u8>() {
            Ok(code @ 0..=63) => Tos::from_dscp(code),
            Ok(_) => return Err(refuse_value(given, "is more than 63", log)),
            Err(_) if text.starts_with(|first: char| first.is_ascii_alphabetic()) => {
                Tos::parse(&text).map_err(|error| refuse(given, &error.to_string(), log))?
            }
            Err(_) => return Err(refuse_value(given, "is no DSCP (0..63 or a name)", log)),
        }
    };
    settings.tos = Some(tos);
    Ok(())
}

/// `--tos-override`.
pub(super) fn tos_override(
    settings: &mut Settings,
    given: &Given,
    log: &mut Log,
) -> Result<(), Stop> {
    if is_none(given) {
        settings.reflected_tos = None;
        settings.reflected_tos_asked = true;
        return Ok(());
    }
    match Tos::parse(&given.text()) {
        Ok(tos) => {
            settings.reflected_tos = Some(tos);
            settings.reflected_tos_asked = true;
            Ok(())
        }
        Err(error) if !settings.iperf() => Err(refuse(given, &error.to_string(), log)),
        Err(_) => {
            log.warn(
                format!("Invalid --tos-overide value of {}", given.text()),
                "",
            );
            Ok(())
        }
    }
}

/// `-T`; the upper limit is a rule.
pub(super) fn ttl(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    let text = given.text();
    settings.ttl = Some(if settings.iperf() {
        atoi(&text)
    } else {
        match text.parse::<u8>() {
            Ok(hops @ 1..) => i32::from(hops),
            _ => return Err(refuse_value(given, "is not between 1 and 255", log)),
        }
    });
    Ok(())
}

fn port(given: &Given, text: &str, log: &mut Log) -> Result<u16, Stop> {
    text.parse()
        .map_err(|_| refuse(given, &format!("'{text}' is no port (0..65535)"), log))
}
