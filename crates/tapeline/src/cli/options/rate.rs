//! `-b`: how fast.

use tapeline_base::{BitRate, Pace, PacketRate, parse_amount, parse_pace};

use super::lengths;
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{AskedRate, Settings};
use crate::cli::spec::Section::Both;
use crate::cli::spec::{Given, Group, OptionId as Id, OptionSpec, Remote, ValueKind};
use crate::cli::values::refuse_number;

/// Longest gap between datagrams, seconds.
pub(crate) const MAX_GAP: f64 = 60.0;

pub(crate) const OPTIONS: &[OptionSpec] = &[OptionSpec::new(Id::Bandwidth, Some('b'), "bandwidth", Remote::Yes(ValueKind::Rate))
        .every_method()
    .value("RATE")
    .apply(bandwidth)
    .variable(3, "IPERF_BANDWIDTH")
    .help(Group::Amount, "target rate per stream, bits/s or packets/s")
    .details(
        "10M or 10m is 10 Mbit/s, 1000pps is packets per second (UDP), 10M,2M varies with that mean \
             and standard deviation. Default: 1 Mbit/s for UDP, unlimited for TCP; 0 is unlimited. At \
             a server it limits the reads of TCP tests.",
    )
    .iperf2_words(
        "target rate per flow, bits/s or packets/s",
        "10m is 10^7 bits/s, 10M is 10 x 2^20 bits/s, 1000pps is packets per second (UDP), \
             10m,2m varies with that mean and standard deviation. Default: 1 Mbit/s (2^20) for \
             UDP, unlimited for TCP; 0 is unlimited. At a server it limits the reads of TCP \
             tests.",
    )
    .listed(&[(
        Both,
        "#[kmgKMG | pps]",
        "rate to send (or read) at, bits/sec or packets/sec",
    )])];

/// `-b`. Under iperf a text that is no rate is left to the rules, since TCP and UDP answer
/// differently.
fn bandwidth(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    let rate = |text: &str, log: &mut Diagnostics| {
        if settings.iperf() {
            Ok(lenient_pace(text))
        } else {
            let pace = parse_pace(text).map_err(|error| refuse_number(given, &error, log))?;
            Ok(Some(pace))
        }
    };
    let asked = match text.split_once(',') {
        None => rate(&text, log)?.map(AskedRate::Pace),
        Some((mean, "")) => rate(mean, log)?.map(AskedRate::Pace),
        Some((mean, deviation)) => match (rate(mean, log)?, rate(deviation, log)?) {
            (Some(mean), Some(deviation)) => {
                let length = u64::from(lengths::effective_length(settings));
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

/// A text that is no rate would mean "unlimited": too much for a slip.
pub(crate) fn udp_rate_is_a_rate(settings: &mut Settings, log: &mut Diagnostics) {
    if let Some(AskedRate::Unusable(text)) = settings.rate.as_ref().filter(|_| settings.udp) {
        log.error(format!("ERROR: -b value of '{text}' not recognized"), "");
    }
}

/// A text that is no rate would silently mean "unlimited".
pub(crate) fn server_rate_is_a_rate(settings: &mut Settings, log: &mut Diagnostics) {
    if let Some(AskedRate::Unusable(text)) = &settings.rate {
        log.error(format!("ERROR: -b value of '{text}' not recognized"), "");
    }
}

/// More than a minute between datagrams is taken for a slip.
pub(crate) fn udp_gap_is_bounded(settings: &mut Settings, log: &mut Diagnostics) {
    let Some(Pace::Bits(BitRate(rate @ 1..))) = pace(settings).filter(|_| settings.udp) else {
        return;
    };
    if settings.shape.gap.is_some() {
        return;
    }
    let gap = f64::from(lengths::effective_length(settings)) * 8.0 / rate as f64;
    if gap > MAX_GAP {
        log.error(
            format!("ERROR: IPG delay target of {gap:.1} secs too large (max value is 60 secs)"),
            format!("option -b: one datagram every {gap:.1} s; more than 60 s is refused"),
        );
    }
}

/// iperf sends whole writes, so one second's worth must hold one. tapeline chooses its
/// writes to fit the rate.
pub(crate) fn tcp_rate_covers_a_write(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.udp || !settings.iperf() {
        return;
    }
    let rate = match (&settings.rate, pace(settings)) {
        (None, _) | (_, Some(Pace::Packets(_) | Pace::Gap(_))) => return,
        (_, Some(Pace::Bits(rate))) => rate.0,
        (Some(_), None) => 0,
    };
    let length = lengths::effective_length(settings);
    if rate / 8 < u64::from(length) {
        log.error(
            format!(
                "ERROR: option -b and -l of {length} are incompatible, consider setting -l to {} \
                 or lower",
                rate / 8
            ),
            "",
        );
    }
}

/// TCP has no packets that could be counted out.
pub(crate) fn packet_rate_needs_udp(settings: &mut Settings, log: &mut Diagnostics) {
    if !settings.udp && matches!(pace(settings), Some(Pace::Packets(_))) {
        log.error(
            "ERROR: units of pps not supported with TCP",
            "option -b: packets per second need -u",
        );
    }
}

/// The rate that was asked for, if it is one.
pub(crate) fn pace(settings: &Settings) -> Option<Pace> {
    match settings.rate {
        Some(AskedRate::Pace(pace) | AskedRate::Variable { mean: pace, .. }) => Some(pace),
        Some(AskedRate::Unusable(_)) | None => None,
    }
}

/// Whether `-b` asks for a varying rate.
pub(crate) fn rate_varies(settings: &Settings) -> bool {
    matches!(settings.rate, Some(AskedRate::Variable { .. }))
}
