//! Rules about a client's options.

use std::time::Duration;

use tapeline_base::{BitRate, Pace};

use super::log::Log;
use super::settings::{AskedLimit, AskedRate, Settings};
use super::shape::MAX_GAP;

/// Largest UDP payload over IPv4: 65535 less 20 bytes IP and 8 bytes UDP header.
const MAX_DATAGRAM: u32 = 65_507;

/// A time of 0 or less never ends.
pub(super) fn endless_time_is_announced(settings: &mut Settings, log: &mut Log) {
    if matches!(settings.limit, Some(AskedLimit::Seconds(seconds)) if seconds <= 0.0) {
        log.warn(
            "WARNING: client will send traffic forever or until an external signal (e.g. SIGINT \
             or SIGTERM) occurs to stop it",
            "-t of 0 or less: the test runs until it is interrupted",
        );
    }
}

/// `-C` sends no header, so nothing that needs one can be asked for.
pub(super) fn compatibility_excludes_extensions(settings: &mut Settings, log: &mut Log) {
    let latency = settings.latency;
    let extended = settings.presentation.enhanced
        || settings.arrangements() > 0
        || settings.rate_varies()
        || latency.trip_times
        || latency.histograms.is_some()
        || settings.shape.isochronous.is_some();
    if settings.compatibility && extended {
        log.error(
            "ERROR: compatibility mode not supported with the requested with options",
            "-C sends no test header, so -R, --full-duplex, -d, -r, -e and what brings -e are \
             impossible",
        );
    }
}

/// `--tos-override` marks a server's traffic.
pub(super) fn tos_override_is_for_servers(settings: &mut Settings, log: &mut Log) {
    if settings.reflected_tos_asked {
        log.warn(
            "WARN: option of --tos-override not supported on the client",
            "--tos-override is for servers",
        );
    }
}

/// `-T` goes into one byte.
pub(super) fn ttl_fits_a_byte(settings: &mut Settings, log: &mut Log) {
    if settings.ttl.is_some_and(|ttl| ttl > 255) {
        log.error(
            "ERROR: option of -ttl (-T) must be less than 255",
            "option -T: more than 255 hops are impossible",
        );
    }
}

/// Each of the retry options brings the other.
pub(super) fn retry_options_come_in_pairs(settings: &mut Settings, log: &mut Log) {
    match (settings.retry_total, settings.retry_every) {
        (Some(_), None) => {
            log_companion("--connect-retry-timer", "one second", log);
            settings.retry_every = Some(Duration::from_secs(1));
        }
        (None, Some(_)) => {
            log_companion("--connect-retry-time", "ten seconds", log);
            settings.retry_total = Some(Duration::from_secs(10));
        }
        _ => {}
    }
}

/// tapeline's defaults are in its help and need no message.
fn log_companion(option: &str, default: &str, log: &mut Log) {
    if log.personality() == tapeline_dialect::Personality::Iperf2 {
        log.warn(
            format!(
                "WARN: companion option of {option} not set - setting to default value of {default}"
            ),
            "",
        );
    }
}

/// `-X` speaks over the test's connection before the test.
pub(super) fn peer_detect_needs_tcp(settings: &mut Settings, log: &mut Log) {
    if settings.udp && settings.peer_detect {
        log.error(
            "ERROR: option of -X or --peer-detect not supported with -u UDP",
            "option -X needs TCP (leave out -u)",
        );
    }
}

/// UDP has no connections to try again.
pub(super) fn retries_need_tcp(settings: &mut Settings, log: &mut Log) {
    if settings.udp && settings.retry_total.is_some() {
        log.error(
            "ERROR: option --connect-retries not supported with -u UDP",
            "--connect-retry-time and --connect-retry-timer need TCP (leave out -u)",
        );
    }
}

/// A datagram has a largest size.
pub(super) fn datagram_fits_udp(settings: &mut Settings, log: &mut Log) {
    let length = settings.effective_length();
    if settings.udp && length > MAX_DATAGRAM {
        let sentence =
            format!("option -l: {length} bytes do not fit a UDP datagram (at most {MAX_DATAGRAM})");
        log.error(format!("ERROR: {sentence}"), sentence);
    }
}

/// A text that is no rate would mean "unlimited": too much for a slip.
pub(super) fn udp_rate_is_a_rate(settings: &mut Settings, log: &mut Log) {
    if let Some(AskedRate::Unusable(text)) = settings.rate.as_ref().filter(|_| settings.udp) {
        log.error(format!("ERROR: -b value of '{text}' not recognized"), "");
    }
}

/// More than a minute between datagrams is taken for a slip.
pub(super) fn udp_gap_is_bounded(settings: &mut Settings, log: &mut Log) {
    let Some(Pace::Bits(BitRate(rate @ 1..))) = settings.pace().filter(|_| settings.udp) else {
        return;
    };
    if settings.shape.gap.is_some() {
        return;
    }
    let gap = f64::from(settings.effective_length()) * 8.0 / rate as f64;
    if gap > MAX_GAP {
        log.error(
            format!("ERROR: IPG delay target of {gap:.1} secs too large (max value is 60 secs)"),
            format!("option -b: one datagram every {gap:.1} s; more than 60 s is refused"),
        );
    }
}

/// iperf sends whole writes, so one second's worth must hold one. tapeline chooses its
/// writes to fit the rate.
pub(super) fn tcp_rate_covers_a_write(settings: &mut Settings, log: &mut Log) {
    if settings.udp || !settings.iperf() {
        return;
    }
    let rate = match (&settings.rate, settings.pace()) {
        (None, _) | (_, Some(Pace::Packets(_) | Pace::Gap(_))) => return,
        (_, Some(Pace::Bits(rate))) => rate.0,
        (Some(_), None) => 0,
    };
    let length = settings.effective_length();
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

/// Only UDP ends with an exchange of datagrams.
pub(super) fn udp_fin_needs_udp(settings: &mut Settings, log: &mut Log) {
    if !settings.udp && settings.no_udp_fin {
        log.error(
            "ERROR: option --no-udp-fin requires -u UDP",
            "option --no-udp-fin needs -u",
        );
    }
}

/// TCP has no packets that could be counted out.
pub(super) fn packet_rate_needs_udp(settings: &mut Settings, log: &mut Log) {
    if !settings.udp && matches!(settings.pace(), Some(Pace::Packets(_))) {
        log.error(
            "ERROR: units of pps not supported with TCP",
            "option -b: packets per second need -u",
        );
    }
}

/// A test has one arrangement of directions.
pub(super) fn one_arrangement(settings: &mut Settings, log: &mut Log) {
    if settings.arrangements() > 1 {
        log.error(
            "ERROR: options of --full-duplex, --reverse, -d and -r are mutually exclusive",
            "-R, --full-duplex, -d and -r exclude each other",
        );
    }
}

/// `-C` wins over `-X`.
pub(super) fn peer_detect_yields_to_compatibility(settings: &mut Settings, log: &mut Log) {
    if settings.compatibility && settings.peer_detect {
        settings.peer_detect = false;
        log.warn(
            "WARNING: Options of '-C' '--compatibility' AND '-X' '--peerdetect' are mutually \
             exclusive, --peerdetect ignored",
            "-C sends no extra messages, so -X is left out",
        );
    }
}
