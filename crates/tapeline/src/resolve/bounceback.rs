//! `--bounceback` and its family: requests and responses over TCP.

use std::time::Duration;

use tapeline_base::parse_seconds;
use tapeline_dialect::ExchangePlan;

use crate::options::OptionId as Id;
use crate::raw::Given;
use crate::values::atoi;

use super::log::{Log, Stop};
use super::reading::{amount, count, duration, refuse_value, seconds, unrecognized_as};
use super::settings::Settings;

/// Requests in a burst, without a number behind `--bounceback=`.
const DEFAULT_BURST: u32 = 10;
/// Size of a request, bytes, without `--bounceback-request` and `-l`.
const DEFAULT_REQUEST: u32 = 100;
/// Time between bursts.
const DEFAULT_PERIOD: Duration = Duration::from_secs(1);
/// Periods up to this are none: requests follow each other back to back.
const SHORTEST_PERIOD: Duration = Duration::from_micros(10);
/// Sizes that a message can have, bytes: servers read 68 before they look.
const SIZES: std::ops::RangeInclusive<u32> = 68..=1 << 20;
/// Longest hold: 32 bits of microseconds on the wire.
const LONGEST_HOLD: Duration = Duration::from_micros(u32::MAX as u64);

/// What was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BouncebackSettings {
    pub(crate) asked: bool,
    /// Requests in a burst.
    burst: Option<u32>,
    pub(crate) period: Option<Duration>,
    hold: Duration,
    request: Option<u32>,
    reply: Option<u32>,
    pub(crate) no_quickack: bool,
    /// One of the options that only mean something with `--bounceback`.
    companion: Option<&'static str>,
}

/// Carries out one option of the family.
pub(super) fn apply(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    match given.spec.id {
        Id::Bounceback => {
            let burst = burst(settings, given, log)?;
            settings.bounceback.asked = true;
            settings.bounceback.burst = burst;
            settings.nodelay = true;
            settings.presentation.enhanced = true;
            return Ok(());
        }
        Id::BouncebackPeriod => settings.bounceback.period = Some(seconds(given, log)?),
        Id::BouncebackHold => settings.bounceback.hold = hold(given, log)?,
        Id::BouncebackRequest => settings.bounceback.request = size(settings, given, log)?,
        Id::BouncebackReply => settings.bounceback.reply = size(settings, given, log)?,
        _ => settings.bounceback.no_quickack = true,
    }
    settings.bounceback.companion = Some(given.spec.long);
    Ok(())
}

/// Under iperf numbers below 1 are replaced by the default, with a warning.
fn burst(settings: &Settings, given: &Given, log: &mut Log) -> Result<Option<u32>, Stop> {
    if given.value.is_none() {
        return Ok(None);
    }
    if !settings.iperf() {
        return match u32::try_from(count(given, log)?) {
            Ok(burst @ 1..) => Ok(Some(burst)),
            _ => Err(refuse_value(given, "is no number of requests", log)),
        };
    }
    let burst = u32::try_from(atoi(&given.text())).unwrap_or(0);
    if burst == 0 {
        log.warn("WARN: invalid bounceback value, setting it to 10", "");
    }
    Ok(Some(burst).filter(|burst| *burst > 0))
}

/// Milliseconds, with decimals.
fn hold(given: &Given, log: &mut Log) -> Result<Duration, Stop> {
    let Ok(milliseconds) = parse_seconds(&given.text()) else {
        return Err(unrecognized_as(given, "is no number of milliseconds", log));
    };
    duration(milliseconds / 1e3)
        .filter(|hold| *hold <= LONGEST_HOLD)
        .ok_or_else(|| refuse_value(given, "is not between 0 and 4294967 milliseconds", log))
}

/// 0 is the default.
fn size(settings: &Settings, given: &Given, log: &mut Log) -> Result<Option<u32>, Stop> {
    match u32::try_from(amount(settings, given, log)?) {
        Ok(0) => Ok(None),
        Ok(size) if SIZES.contains(&size) => Ok(Some(size)),
        _ => Err(refuse_value(
            given,
            "is not between 68 and 1048576 bytes",
            log,
        )),
    }
}

/// `-l` sizes both messages, and is the largest size.
pub(super) fn messages_fit_the_length(settings: &mut Settings, log: &mut Log) {
    if !settings.bounceback.asked {
        return;
    }
    if settings.shape.burst_size.take().is_some() {
        log.warn(
            "WARN: options of --burst-size for bounce-back ignored, use -l sets size",
            "--burst-size has no meaning with --bounceback: use --bounceback-request",
        );
    }
    let Some(length) = settings.length else {
        return;
    };
    for (name, size) in [
        ("request", &mut settings.bounceback.request),
        ("reply", &mut settings.bounceback.reply),
    ] {
        if size.is_some_and(|size| size > length) {
            log.warn(
                format!(
                    "WARN: bounceback {name} will use -l length and not --bounceback-{name} value"
                ),
                format!("--bounceback-{name} is more than -l: {length} bytes are used"),
            );
            *size = Some(length);
        }
    }
}

/// Servers read a message's head before they look, and answer no endless ones.
pub(super) fn exchange_sizes_are_possible(settings: &mut Settings, log: &mut Log) {
    let exchange = settings.exchange();
    let possible = SIZES.contains(&exchange.request) && SIZES.contains(&exchange.response);
    if settings.bounceback.asked && !possible {
        let sentence = format!(
            "option -l: {} bytes: messages of --bounceback have 68 to 1048576 bytes",
            settings.length.unwrap_or_default()
        );
        log.error(format!("ERROR: {sentence}"), sentence);
    }
}

/// `--bounceback-no-quickack` is the opposite of `--tcp-quickack`.
pub(super) fn quickack_is_one_way(settings: &mut Settings, log: &mut Log) {
    if settings.tcp.quickack && settings.bounceback.no_quickack {
        log.error(
            "ERROR: --tcp-quickack and --bounceback-no-quickack are mutually exclusive",
            "--tcp-quickack and --bounceback-no-quickack exclude each other",
        );
    }
}

/// Requests and responses need TCP.
pub(super) fn bounceback_needs_tcp(settings: &mut Settings, log: &mut Log) {
    if settings.udp && settings.bounceback.asked {
        // The reference asks for quick acknowledgements before it looks at the transport.
        settings.tcp.quickack |= settings.iperf() && !settings.bounceback.no_quickack;
        log.error(
            "ERROR: option of -X or --bounceback not supported with -u UDP",
            "option --bounceback needs TCP (leave out -u)",
        );
    }
}

/// iperf leaves the family's other options aside without `--bounceback`.
pub(super) fn companions_need_bounceback(settings: &mut Settings, log: &mut Log) {
    if let Some(name) = settings.bounceback.companion
        && !settings.bounceback.asked
        && !settings.iperf()
    {
        log.error("", format!("option --{name} needs --bounceback"));
    }
}

/// A server answers whoever asks.
pub(super) fn servers_answer_unasked(settings: &mut Settings, log: &mut Log) {
    if settings.bounceback.asked {
        log.error(
            "ERROR: setting of option --bounce-back is not supported on the server",
            "",
        );
    }
}

impl Settings {
    /// The exchange of requests and responses.
    pub(super) fn exchange(&self) -> ExchangePlan {
        let asked = &self.bounceback;
        let request = asked.request.or(self.length).unwrap_or(DEFAULT_REQUEST);
        let period = asked
            .period
            .or(self.shape.burst_period)
            .unwrap_or(DEFAULT_PERIOD);
        ExchangePlan {
            request,
            response: asked.reply.unwrap_or(request),
            hold: asked.hold,
            burst: (period > SHORTEST_PERIOD)
                .then_some((asked.burst.unwrap_or(DEFAULT_BURST), period)),
            quickack: !asked.no_quickack,
        }
    }
}
