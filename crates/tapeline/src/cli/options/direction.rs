//! Directions of a test and how the peers greet.

use super::rate;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::settings::{SecondConnection, Settings};
use crate::cli::spec::Section::{Both, Client};
use crate::cli::spec::{Group, OptionId as Id, OptionSpec, Remote, Sides, ValueKind};
use crate::message::CliMessage;

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        Id::Reverse,
        Some('R'),
        "reverse",
        Remote::Yes(ValueKind::Switch),
    )
    .every_method()
    .sets(|settings| settings.reverse = true)
    .sides(Sides::CLIENT)
    .help(Group::Direction, "the server sends")
    .listed(&[(Client, "", "the server sends, the client receives")]),
    OptionSpec::new(
        Id::FullDuplex,
        None,
        "full-duplex",
        Remote::Yes(ValueKind::Switch),
    )
    .every_method()
    .sides(Sides::CLIENT)
    .sets(|settings| settings.full_duplex = true)
    .help(Group::Direction, "both send at once on the same connection")
    .listed(&[(Client, "", "both ends send on one socket")]),
    OptionSpec::new(
        Id::DualTest,
        Some('d'),
        "dualtest",
        Remote::Yes(ValueKind::Switch),
    )
    .apply(|settings, _, log| {
        second_connection(settings, SecondConnection::Dual, log);
        Ok(())
    })
    .sides(Sides::CLIENT)
    .variable(5, "IPERF_DUALTEST")
    .help(
        Group::Direction,
        "both send at once; the server connects back",
    )
    .listed(&[(
        Client,
        "",
        "both directions at once, each on its own socket",
    )]),
    OptionSpec::new(
        Id::Tradeoff,
        Some('r'),
        "tradeoff",
        Remote::Yes(ValueKind::Switch),
    )
    .apply(|settings, _, log| {
        second_connection(settings, SecondConnection::Tradeoff, log);
        Ok(())
    })
    .sides(Sides::CLIENT)
    .variable(13, "IPERF_TRADEOFF")
    .help(
        Group::Direction,
        "both send, one after the other; the server connects back",
    )
    .listed(&[(Client, "", "both directions, one after the other")]),
    OptionSpec::new(
        Id::PeerDetect,
        Some('X'),
        "peer-detect",
        Remote::Yes(ValueKind::Switch),
    )
    .sets(|settings| settings.peer_detect = true)
    .manual_names(&["peerdetect"])
    .sides(Sides::CLIENT)
    .variable(33, "IPERF_PEER_DETECT")
    .help(
        Group::Direction,
        "ask for the server's version before the test (TCP)",
    )
    .listed(&[(Client, "", "exchange versions with the server first")]),
    OptionSpec::new(
        Id::Compatibility,
        Some('C'),
        "compatibility",
        Remote::Yes(ValueKind::Switch),
    )
    .apply(|settings, _, log| {
        compatibility(settings, log);
        Ok(())
    })
    .variable(21, "IPERF_COMPAT")
    .sides(Sides::CLIENT)
    .help(
        Group::Direction,
        "send no test header (for iperf 1.7 servers)",
    )
    .listed(&[(Both, "", "for old versions: no extra messages")]),
];

fn second_connection(settings: &mut Settings, kind: SecondConnection, log: &mut Diagnostics) {
    if settings.compatibility && settings.iperf() {
        warn_of_compatibility(kind, log);
    }
    settings.second_connection = Some(kind);
}

/// Under iperf `-C` cancels a `-d` or `-r` before it.
fn compatibility(settings: &mut Settings, log: &mut Diagnostics) {
    settings.compatibility = true;
    if settings.iperf()
        && let Some(kind) = settings.second_connection.take()
    {
        warn_of_compatibility(kind, log);
    }
}

fn warn_of_compatibility(kind: SecondConnection, log: &mut Diagnostics) {
    let option = match kind {
        SecondConnection::Dual => "-d",
        SecondConnection::Tradeoff => "-r",
    };
    log.say(CliMessage::err(format!(
        "WARNING: option {option} is not valid in compatibility mode"
    )));
}

/// A test has one arrangement of directions.
pub(crate) fn one_arrangement(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.arrangements() > 1 {
        log.error(
            "ERROR: options of --full-duplex, --reverse, -d and -r are mutually exclusive",
            "-R, --full-duplex, -d and -r cannot be combined",
        );
    }
}

/// `-C` sends no header, so nothing that needs one can be asked for.
pub(crate) fn compatibility_excludes_extensions(settings: &mut Settings, log: &mut Diagnostics) {
    let latency = settings.latency;
    let extended = settings.presentation.enhanced
        || settings.arrangements() > 0
        || rate::rate_varies(settings)
        || latency.trip_times
        || latency.histograms.is_some()
        || settings.shape.isochronous.is_some();
    if settings.compatibility && extended {
        log.error(
            "ERROR: compatibility mode not supported with the requested with options",
            "-C sends no test header, so -R, --full-duplex, -d, -r, -e and what brings -e \
             cannot be used",
        );
    }
}

/// `-X` speaks over the test's connection before the test.
pub(crate) fn peer_detect_needs_tcp(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.udp && settings.peer_detect {
        log.error(
            "ERROR: option of -X or --peer-detect not supported with -u UDP",
            "option -X needs TCP (leave out -u)",
        );
    }
}

/// `-C` wins over `-X`.
pub(crate) fn peer_detect_yields_to_compatibility(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.compatibility && settings.peer_detect {
        settings.peer_detect = false;
        log.warn(
            "WARNING: Options of '-C' '--compatibility' AND '-X' '--peerdetect' are mutually \
             exclusive, --peerdetect ignored",
            "-C sends no extra messages, so -X is ignored",
        );
    }
}
