//! Rules about a server's options, and about lines that choose no job.

use crate::message::CliMessage;

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
    let shape = &settings.shape;
    let steps = settings.route.steps;
    #[rustfmt::skip]
    let options = [
        (shape.l4s, "option of --udp-l4s is not supported on the server"),
        (settings.tcp.write_prefetch.is_some(), "setting of option --tcp-write-prefetch is not supported on the server"),
        (steps.source_address, "setting of option --incr-srcip is not supported on the server"),
        (settings.rate_varies(), "option of variance per -b is not supported on the server"),
        (settings.starts_by_the_clock(), "option of --txstart-time is not supported on the server"),
        (settings.starts_late(), "option of --txdelay-time is not supported on the server"),
        (shape.gap.is_some(), "option of --ipg is not supported on the server"),
        (shape.isochronous.is_some(), "option of --isochronous is not supported on the server"),
        (settings.full_duplex, "option of --full-duplex is not supported on the server"),
        (settings.reverse, "option of --reverse is not supported on the server"),
        (steps.destination_address, "option of --incr-dstip is not supported on the server"),
        (settings.ignore_shutdown, "option of --ignore-shutdown is not supported on the server"),
        (settings.tcp.rate.is_some(), "option of --fq-rate is not supported on the server"),
        (settings.no_udp_fin, "option of --no-udp-fin is not supported on the server"),
        (settings.peer_detect, "option of -X or --peer-detect not supported on the server"),
        (settings.retry_every.is_some(), "option --connect-retries not supported on the server"),
        (shape.near_congestion.is_some(), "option of --near-congestion not supported on the server"),
        (settings.access.sync_transfer_id, "option of --sync-transfer-id is not supported on the server"),
        (shape.burst_period.is_some(), "option of --burst-period can only be set on the client"),
        (shape.burst_size.is_some(), "option of --burst-size not supported on the server"),
    ];
    for (given, text) in options {
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

/// `-D` is for servers, on systems that know background processes.
pub(super) fn daemon_is_a_server(settings: &mut Settings, log: &mut Log) {
    if !settings.daemon {
        return;
    }
    if settings.mode == Mode::Client {
        log.error("Iperf client cannot be run as a daemon", "");
    } else if cfg!(not(unix)) {
        let sentence = "option -D is for Unix systems; use a service manager to run a server";
        log.error(format!("ERROR: {sentence}"), sentence);
    } else if settings.mode == Mode::Server && settings.iperf() {
        log.say(CliMessage::err("Running Iperf Server as a daemon"));
    }
}
