//! `--bounceback` and its family: requests and responses over TCP.

use std::time::Duration;

use tapeline_base::parse_seconds;
use tapeline_dialect::RequestResponsePlan;

use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::Settings;
use crate::cli::spec::Section::Client;
use crate::cli::spec::{Given, Group, OptionId as Id, OptionSpec, Remote, Sides, ValueKind};
use crate::cli::values::{amount, atoi, count, duration, refuse_value, seconds, unrecognized_as};

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

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        Id::Bounceback,
        None,
        "bounceback",
        Remote::Yes(ValueKind::Count),
    )
    .optional_value("COUNT")
    .apply(bounceback)
    .sides(Sides::CLIENT)
    .help(
        Group::Latency,
        "request and response over TCP: COUNT (default 10) in each period",
    )
    .listed(&[(
        Client,
        "",
        "request and response over TCP (-l is the size, default 100 bytes)",
    )]),
    OptionSpec::new(
        Id::BouncebackPeriod,
        None,
        "bounceback-period",
        Remote::Yes(ValueKind::Seconds),
    )
    .value("SECONDS")
    .apply(|settings, given, log| {
        settings.bounceback.period = Some(seconds(given, log)?);
        note_companion(settings, given);
        Ok(())
    })
    .sides(Sides::CLIENT)
    .help(
        Group::Latency,
        "time between bursts of requests (default 1; 0: back to back)",
    )
    .listed(&[(Client, "", "seconds between bursts of requests")]),
    OptionSpec::new(
        Id::BouncebackHold,
        None,
        "bounceback-hold",
        Remote::Yes(ValueKind::Millis),
    )
    .value("MILLISECONDS")
    .apply(|settings, given, log| {
        settings.bounceback.hold = hold(given, log)?;
        note_companion(settings, given);
        Ok(())
    })
    .sides(Sides::CLIENT)
    .help(
        Group::Latency,
        "how long the server holds a response back (default 0)",
    )
    .listed(&[(
        Client,
        "",
        "milliseconds that the server holds a response back",
    )]),
    OptionSpec::new(
        Id::BouncebackRequest,
        None,
        "bounceback-request",
        Remote::Yes(ValueKind::Bytes),
    )
    .value("BYTES")
    .apply(|settings, given, log| {
        settings.bounceback.request = size(settings, given, log)?;
        note_companion(settings, given);
        Ok(())
    })
    .sides(Sides::CLIENT)
    .help(
        Group::Latency,
        "size of a request, 68 to 1M (default 100, or -l)",
    ),
    OptionSpec::new(
        Id::BouncebackReply,
        None,
        "bounceback-reply",
        Remote::Yes(ValueKind::Bytes),
    )
    .value("BYTES")
    .apply(|settings, given, log| {
        settings.bounceback.reply = size(settings, given, log)?;
        note_companion(settings, given);
        Ok(())
    })
    .sides(Sides::CLIENT)
    .help(
        Group::Latency,
        "size of a response, 68 to 1M (default: that of a request)",
    )
    .listed(&[(Client, "", "size of a response (default: as the request)")]),
    OptionSpec::new(
        Id::BouncebackNoQuickAck,
        None,
        "bounceback-no-quickack",
        Remote::Yes(ValueKind::Switch),
    )
    .sides(Sides::CLIENT)
    .apply(|settings, given, _| {
        settings.bounceback.no_quickack = true;
        note_companion(settings, given);
        Ok(())
    })
    .help(
        Group::Latency,
        "leave acknowledgements to the system during --bounceback",
    )
    .listed(&[(Client, "", "no TCP_QUICKACK during requests and responses")]),
];

/// `--bounceback`.
fn bounceback(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let burst = burst(settings, given, log)?;
    settings.bounceback.asked = true;
    settings.bounceback.burst = burst;
    settings.nodelay = true;
    settings.presentation.enhanced = true;
    Ok(())
}

/// Remembers an option that only means something with `--bounceback`.
fn note_companion(settings: &mut Settings, given: &Given) {
    settings.bounceback.companion = Some(given.spec.long);
}

/// Under iperf numbers below 1 are replaced by the default, with a warning.
fn burst(settings: &Settings, given: &Given, log: &mut Diagnostics) -> Result<Option<u32>, Exit> {
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
fn hold(given: &Given, log: &mut Diagnostics) -> Result<Duration, Exit> {
    let Ok(milliseconds) = parse_seconds(&given.text()) else {
        return Err(unrecognized_as(given, "is no number of milliseconds", log));
    };
    duration(milliseconds / 1e3)
        .filter(|hold| *hold <= LONGEST_HOLD)
        .ok_or_else(|| refuse_value(given, "is not between 0 and 4294967 milliseconds", log))
}

/// 0 is the default.
fn size(settings: &Settings, given: &Given, log: &mut Diagnostics) -> Result<Option<u32>, Exit> {
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
pub(crate) fn messages_fit_the_length(settings: &mut Settings, log: &mut Diagnostics) {
    if !settings.bounceback.asked {
        return;
    }
    if settings.shape.burst_size.take().is_some() {
        log.warn(
            "WARN: options of --burst-size for bounce-back ignored, use -l sets size",
            "--burst-size cannot be used with --bounceback: use --bounceback-request",
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
                format!("--bounceback-{name} is more than -l: using {length} bytes"),
            );
            *size = Some(length);
        }
    }
}

/// Servers read a message's head before they look, and answer no endless ones.
pub(crate) fn exchange_sizes_are_possible(settings: &mut Settings, log: &mut Diagnostics) {
    let exchange = exchange(settings);
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
pub(crate) fn quickack_is_one_way(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.tcp.quickack && settings.bounceback.no_quickack {
        log.error(
            "ERROR: --tcp-quickack and --bounceback-no-quickack are mutually exclusive",
            "--tcp-quickack and --bounceback-no-quickack cannot be combined",
        );
    }
}

/// Requests and responses need TCP.
pub(crate) fn bounceback_needs_tcp(settings: &mut Settings, log: &mut Diagnostics) {
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
pub(crate) fn companions_need_bounceback(settings: &mut Settings, log: &mut Diagnostics) {
    if let Some(name) = settings.bounceback.companion
        && !settings.bounceback.asked
        && !settings.iperf()
    {
        log.error("", format!("option --{name} needs --bounceback"));
    }
}

/// A server answers whoever asks.
pub(crate) fn servers_answer_unasked(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.bounceback.asked {
        log.error(
            "ERROR: setting of option --bounce-back is not supported on the server",
            "",
        );
    }
}

/// The exchange of requests and responses.
pub(crate) fn exchange(settings: &Settings) -> RequestResponsePlan {
    let asked = &settings.bounceback;
    let request = asked.request.or(settings.length).unwrap_or(DEFAULT_REQUEST);
    let period = asked
        .period
        .or(settings.shape.burst_period)
        .unwrap_or(DEFAULT_PERIOD);
    RequestResponsePlan {
        request,
        response: asked.reply.unwrap_or(request),
        hold: asked.hold,
        burst: (period > SHORTEST_PERIOD).then_some((asked.burst.unwrap_or(DEFAULT_BURST), period)),
        quickack: !asked.no_quickack,
    }
}
