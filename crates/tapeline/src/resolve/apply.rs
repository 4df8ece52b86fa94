//! One option at a time: its effect on the settings, in the order given.

use crate::message::CliMessage;
use crate::options::{OptionId as Id, Sides};
use crate::plan::HelpPage;
use crate::presentation::DocumentForm;
use crate::raw::{Given, Origin};
use crate::values::Endpoint;

use super::log::{Log, Stop};
use super::settings::{Mode, SecondConnection, Settings};
use super::{
    access, bounceback, latency, load, peer, quantity, reading, repeat, route, schedule, shape,
    shown, tcp,
};

/// Carries out one option.
///
/// # Errors
/// [`Stop`] when nothing behind this option is to be looked at.
pub(super) fn apply(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    if given.letter_with_equals {
        warn_of_equals(settings, given, log);
    }
    if !belongs_here(settings, given, log)? {
        return Ok(());
    }
    match given.spec.id {
        Id::Server => settings.mode = Mode::Server,
        Id::Client => {
            settings.host = Some(given.text());
            if settings.mode == Mode::Undecided {
                settings.mode = Mode::Client;
            }
        }
        Id::Udp => settings.udp = true,
        Id::V4 => settings.v4 = true,
        Id::V6 | Id::Ipv6Domain => settings.v6 = true,
        Id::Port => quantity::ports(settings, given, log)?,
        Id::Bind => bind(settings, given),
        Id::ListenPort => quantity::listen_port(settings, given, log)?,
        Id::Daemon => settings.daemon = true,
        Id::SingleClient => settings.single_client = true,
        Id::SingleUdp => {
            settings.udp = true;
            settings.single_udp = true;
            settings.single_client = true;
        }
        Id::Time => quantity::time(settings, given, log)?,
        Id::Num => quantity::num(settings, given, log)?,
        Id::Bandwidth => quantity::bandwidth(settings, given, log)?,
        Id::Len => quantity::len(settings, given, log)?,
        Id::Parallel => quantity::parallel(settings, given, log)?,
        Id::Interval => quantity::interval(settings, given, log)?,
        Id::NoConnectSync => settings.no_connect_sync = true,
        Id::ConnectRetryTime => quantity::retry_total(settings, given, log)?,
        Id::ConnectRetryTimer => quantity::retry_every(settings, given, log)?,
        Id::IgnoreShutdown => settings.ignore_shutdown = true,
        Id::NoUdpFin => settings.no_udp_fin = true,
        Id::Window => quantity::window(settings, given, log)?,
        Id::Mss => quantity::segment_size(settings, given, log)?,
        Id::PrintMss => settings.show_segment_size = true,
        Id::NoDelay => settings.nodelay = true,
        Id::Tos => quantity::tos(settings, given, log)?,
        Id::Dscp => quantity::dscp(settings, given, log)?,
        Id::TosOverride => quantity::tos_override(settings, given, log)?,
        Id::TcpCongestion | Id::TcpCca => congestion(settings, given, log),
        Id::Ttl => quantity::ttl(settings, given, log)?,
        Id::Reverse => settings.reverse = true,
        Id::FullDuplex => settings.full_duplex = true,
        Id::DualTest => second_connection(settings, SecondConnection::Dual, log),
        Id::Tradeoff => second_connection(settings, SecondConnection::Tradeoff, log),
        Id::PeerDetect => settings.peer_detect = true,
        Id::Compatibility => compatibility(settings, log),
        Id::Bounceback
        | Id::BouncebackPeriod
        | Id::BouncebackHold
        | Id::BouncebackRequest
        | Id::BouncebackReply
        | Id::BouncebackNoQuickAck => bounceback::apply(settings, given, log)?,
        Id::BurstPeriod
        | Id::BurstSize
        | Id::Isochronous
        | Id::Ipg
        | Id::NearCongestion
        | Id::RandomSeed
        | Id::Pacing
        | Id::FileInput
        | Id::StdinInput
        | Id::UdpL4s
        | Id::UdpL4sVideo => shape::apply(settings, given, log)?,
        Id::TxStartTime | Id::TxDelayTime | Id::BouncebackTxDelay | Id::ConnectOnly => {
            schedule::apply(settings, given, log)?;
        }
        Id::TripTimes | Id::WriteTimes | Id::Histograms | Id::JitterHistograms => {
            latency::apply(settings, given, log)?;
        }
        Id::QuickAck
        | Id::SkipRxCopy
        | Id::ZeroCopy
        | Id::RxWindowClamp
        | Id::TxDelay
        | Id::WritePrefetch
        | Id::LocalOnly
        | Id::FqRate
        | Id::FqRateStep
        | Id::FqRateStepInterval
        | Id::Realtime => tcp::apply(settings, given, log)?,
        Id::WorkingLoad | Id::WorkingLoadCca => load::apply(settings, given, log)?,
        Id::IncrDstIp
        | Id::IncrDstPort
        | Id::IncrSrcIp
        | Id::IncrSrcPort
        | Id::SsmHost
        | Id::L2Checks
        | Id::SumDstIp
        | Id::TapDevice
        | Id::TunDevice => route::apply(settings, given, log)?,
        Id::PermitKey
        | Id::PermitKeyFile
        | Id::User
        | Id::PermitKeyTimeout
        | Id::TestExchangeTimeout
        | Id::SyncTransferId
        | Id::Trust
        | Id::Allow
        | Id::Deny
        | Id::Limit => {
            access::apply(settings, given, log)?;
        }
        Id::Peer | Id::Omit | Id::MaxTests | Id::OneAtATime | Id::NoControl | Id::NoProbe => {
            peer::apply(settings, given, log)?;
        }
        // Read before all others; its limits can be read again.
        Id::Config => settings.supervision.reloads = true,
        Id::ReadyFd => settings.supervision.ready = Some(ready(given, log)?),
        Id::PrintConfig => settings.print_config = true,
        Id::Repeat | Id::UntilCi | Id::RepeatPause => repeat::apply(settings, given, log)?,
        Id::RepeatCsv => shown::document(settings, given, DocumentForm::SeriesCsv, log)?,
        Id::ReportStructs => report_structs(settings, given, log)?,
        Id::Remove => {
            return Err(log.fatal(
                "ERROR: option --remove is for the service on Windows; use the system's own tools",
                "option --remove is for iperf's service on Windows, which tapeline does not install",
            ));
        }
        Id::Enhanced => settings.presentation.enhanced = true,
        Id::Format => shown::format(settings, given, log)?,
        Id::ReportStyle => shown::report_style(settings, given, log)?,
        Id::ReportExclude => shown::report_exclude(settings, given, log)?,
        Id::SumOnly => settings.presentation.sum_only = true,
        Id::HideIps => settings.presentation.hide_addresses = true,
        Id::Utc => settings.presentation.utc = true,
        Id::Output => {
            settings.presentation.output_file = given.value.as_ref().map(Into::into);
        }
        Id::Json => shown::document(settings, given, DocumentForm::Json, log)?,
        Id::JsonStream => shown::document(settings, given, DocumentForm::Stream, log)?,
        Id::DocumentCsv => shown::document(settings, given, DocumentForm::Csv, log)?,
        Id::Metrics => shown::metrics(settings, given, log)?,
        Id::FailIfLimited => settings.presentation.fail_if_limited = true,
        Id::Tui => shown::view(settings, log)?,
        Id::Html => shown::document(settings, given, DocumentForm::Html, log)?,
        Id::SuggestWindowSize => {
            log.say(CliMessage::err(
                "The -W option is not available in this release",
            ));
        }
        Id::Help => return Err(Stop::Help(help_page(settings, given))),
        Id::Version => return Err(Stop::Version),
        // Accepted without effect, as in the reference.
        Id::Awdl => {}
    }
    Ok(())
}

/// `-P=4` is `-P 4` here; iperf 2 takes the sign into the value and reads 0.
fn warn_of_equals(settings: &Settings, given: &Given, log: &mut Log) {
    if settings.iperf() {
        let (option, value) = (&given.spelled, given.text());
        log.say(CliMessage::err(format!(
            "WARNING: {option}={value} is read as {option} {value}"
        )));
    }
}

/// Whether the option applies to the job. Under iperf this depends on what was given
/// before it, for the few options that the reference checks; under tapeline the job is
/// known beforehand and every option is checked. Variables are general wishes and are
/// left aside where they do not apply.
fn belongs_here(settings: &Settings, given: &Given, log: &mut Log) -> Result<bool, Stop> {
    let id = given.spec.id;
    if settings.iperf() {
        let job = match (settings.mode, id) {
            (
                Mode::Undecided | Mode::Server,
                Id::DualTest | Id::Tradeoff | Id::FileInput | Id::StdinInput | Id::ListenPort,
            ) => "server",
            (Mode::Client, Id::SsmHost) => "client",
            // The reference says so of a second -s too.
            (Mode::Client | Mode::Server, Id::Server) => "client",
            _ => return Ok(true),
        };
        let option = given.spec.shortest_name();
        log.say(CliMessage::err(format!(
            "WARNING: option {option} is not valid for {job} mode"
        )));
        return Ok(false);
    }
    let Sides {
        client,
        server,
        trial,
        exporter,
    } = given.spec.sides;
    // `-s -c HOST` restricts a server.
    let (fits, job) = match settings.mode {
        Mode::Undecided => (true, ""),
        Mode::Client => (client, "a client"),
        Mode::Server => (server || id == Id::Client, "a server"),
        Mode::Trial => (trial, "try"),
        Mode::Exporter => (exporter, "exporter"),
    };
    if fits {
        return Ok(true);
    }
    match given.origin {
        Origin::Environment(_) => Ok(false),
        Origin::CommandLine | Origin::File => {
            Err(log.fatal("", format!("{} does not apply to {job}", given.named())))
        }
    }
}

/// A descriptor that is none of the three that everybody has.
fn ready(given: &Given, log: &mut Log) -> Result<u32, Stop> {
    let number = given.text().parse().ok().filter(|number| *number > 2);
    number.ok_or_else(|| reading::refuse_value(given, "is no descriptor (3 or more)", log))
}

/// There is no ring of reports between traffic and output whose size would matter.
fn report_structs(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    if settings.iperf() {
        log.say(CliMessage::err(
            "WARN: option of --NUM_REPORT_STRUCTS has no effect: results pass through no ring",
        ));
    } else {
        reading::count(given, log)?;
        log.warn(
            "",
            format!(
                "{} has no effect: results pass through no ring",
                given.named()
            ),
        );
    }
    Ok(())
}

/// Under iperf the first `-B` counts, and the environment comes first.
fn bind(settings: &mut Settings, given: &Given) {
    if settings.bind.is_none() || !settings.iperf() {
        settings.bind = Some(Endpoint::parse(&given.text()));
    }
}

/// Under iperf the first algorithm counts.
fn congestion(settings: &mut Settings, given: &Given, log: &mut Log) {
    if settings.iperf() && settings.congestion.is_some() {
        log.say(CliMessage::err(if given.spec.id == Id::TcpCca {
            "Option --tcp-cca ignored because --tcp-congestion or -Z set"
        } else {
            "Option --tcp-congestion or -Z ignored because --tcp-cca set"
        }));
    } else {
        settings.congestion = Some(given.text());
    }
}

fn second_connection(settings: &mut Settings, kind: SecondConnection, log: &mut Log) {
    if settings.compatibility && settings.iperf() {
        warn_of_compatibility(kind, log);
    }
    settings.second_connection = Some(kind);
}

/// Under iperf `-C` cancels a `-d` or `-r` before it.
fn compatibility(settings: &mut Settings, log: &mut Log) {
    settings.compatibility = true;
    if settings.iperf()
        && let Some(kind) = settings.second_connection.take()
    {
        warn_of_compatibility(kind, log);
    }
}

fn warn_of_compatibility(kind: SecondConnection, log: &mut Log) {
    let option = match kind {
        SecondConnection::Dual => "-d",
        SecondConnection::Tradeoff => "-r",
    };
    log.say(CliMessage::err(format!(
        "WARNING: option {option} is not valid in compatibility mode"
    )));
}

fn help_page(settings: &Settings, given: &Given) -> HelpPage {
    match (settings.iperf(), given.spelled.as_str()) {
        (true, _) => HelpPage::Iperf2,
        (false, "-h") => HelpPage::Short,
        (false, _) => HelpPage::Full,
    }
}
