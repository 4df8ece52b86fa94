//! Rules about a server's options, and about lines that choose no job.

use super::log::Log;
use super::settings::{AskedPorts, AskedRate, Mode, Settings};

/// A range of ports goes upwards.
pub(super) fn port_range_ascends(settings: &mut Settings, log: &mut Log) {
    if let Some(AskedPorts {
        first,
        last: Some(last),
    }) = settings.ports
        && last < first
    {
        log.error(
            format!("ERROR: invalid port range of {first}-{last}"),
            format!("option -p: the range {first}-{last} goes down"),
        );
    }
}

/// A text that is no rate would silently mean "unlimited".
pub(super) fn server_rate_is_a_rate(settings: &mut Settings, log: &mut Log) {
    if let Some(AskedRate::Unusable(text)) = &settings.rate {
        log.error(format!("ERROR: -b value of '{text}' not recognized"), "");
    }
}

/// iperf names the client's options that a server leaves aside; tapeline refused them
/// where they stood.
pub(super) fn client_options_have_no_effect(settings: &mut Settings, log: &mut Log) {
    if !settings.iperf() {
        return;
    }
    let varies = matches!(settings.rate, Some(AskedRate::Variable(_)));
    for (given, text) in [
        (
            varies,
            "option of variance per -b is not supported on the server",
        ),
        (
            settings.full_duplex,
            "option of --full-duplex is not supported on the server",
        ),
        (
            settings.reverse,
            "option of --reverse is not supported on the server",
        ),
        (
            settings.ignore_shutdown,
            "option of --ignore-shutdown is not supported on the server",
        ),
        (
            settings.no_udp_fin,
            "option of --no-udp-fin is not supported on the server",
        ),
        (
            settings.peer_detect,
            "option of -X or --peer-detect not supported on the server",
        ),
        (
            settings.retry_every.is_some(),
            "option --connect-retries not supported on the server",
        ),
    ] {
        if given {
            log.warn(format!("WARN: {text}"), "");
        }
    }
}

/// tapeline needs to be told what to do; iperf shows its usage (see `resolve`).
pub(super) fn neither_client_nor_server(settings: &mut Settings, log: &mut Log) {
    if settings.mode == Mode::Undecided && !settings.iperf() {
        log.error(
            "",
            "nothing to do: give -s to serve, -c HOST to test towards a server, or \"try\" to \
             measure at once (--help shows all)",
        );
    }
}

/// `-D` is for servers, and comes later even there. Under tapeline it was refused where it
/// stood.
pub(super) fn daemon_is_a_server(settings: &mut Settings, log: &mut Log) {
    match settings.mode {
        _ if !settings.daemon => {}
        Mode::Client => log.error("Iperf client cannot be run as a daemon", ""),
        Mode::Server => log.error(
            format!(
                "ERROR: option -D is not available in tapeline {} (running in the background)",
                env!("CARGO_PKG_VERSION")
            ),
            "",
        ),
        Mode::Undecided | Mode::Trial => {}
    }
}
