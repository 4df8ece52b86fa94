//! iperf3 as the peer: tapeline's options in its terms, and its clients at our servers.

use std::time::Duration;

use tapeline_base::{Pace, Transport};
use tapeline_dialect::{
    Arrangement, BindPlan, ClientPlan, ClientWorkload, Iperf3Client, Iperf3Server, Iperf3Timeouts,
    Limit, MaxTests, Payload, Precision, ServedProtocols, ShortBuffers, Technique,
};
use tapeline_wire::iperf3 as wire;
use tapeline_wire::iperf3::{Direction, Parameters, limits};

use super::output;
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{Protocol, Settings};
use crate::cli::spec::{
    Given, Group, OptionId as Id, OptionSpec, Personalities, RawArgs, RawItem, Remote, Sides,
    ValueKind,
};
use crate::cli::values::refuse;
use crate::identity::IPERF3;

/// Time without data after which a client counts as gone.
const SILENCE: Duration = Duration::from_secs(10);
/// Time for each message of a peer.
const MESSAGE: Duration = Duration::from_secs(10);
/// iperf3's port.
pub(crate) const PORT: u16 = 5201;

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        Id::Peer,
        None,
        "peer",
        Remote::Yes(ValueKind::Choice(&["iperf2", "iperf3"])),
    )
    .every_method()
    .value("PROGRAM")
    .apply(peer)
    .only(Personalities::Native)
    .sides(Sides::CLIENT)
    .help(
        Group::Mode,
        "what the server is: iperf2 (default), or iperf3 of any version",
    )
    .details("Towards iperf3 the port is 5201 unless -p is given."),
    OptionSpec::new(Id::Omit, Some('O'), "omit", Remote::Yes(ValueKind::Seconds))
        .value("SECONDS")
        .apply(omit)
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(
            Group::Amount,
            "start of the test that does not count, 0 to 600 (--peer iperf3)",
        ),
    OptionSpec::new(
        Id::NoPeerResults,
        None,
        "no-peer-results",
        Remote::Yes(ValueKind::Switch),
    )
    .every_method()
    .formerly(&["no-control"])
    .only(Personalities::Native)
    .sets(|settings| settings.peer.no_peer_results = true)
    .sides(Sides::ANY)
    .help(Group::Mode, "no control connection with another tapeline")
    .details(
        "Without it two tapelines recognise each other and exchange their counts over one more \
             connection to the server's port.",
    ),
    OptionSpec::new(
        Id::NoLatencyProbes,
        None,
        "no-latency-probes",
        Remote::Yes(ValueKind::Switch),
    )
    .formerly(&["no-probe"])
    .only(Personalities::Native)
    .sets(|settings| settings.peer.no_latency_probes = true)
    .sides(Sides::CLIENT)
    .help(Group::Mode, "do not measure latency under load")
    .details(
        "Without it a client whose server is tapeline measures how much longer the path takes \
             under the test's load, by a stream of small datagrams to the same port: at most 50 a \
             second and 0.1 % of the test's bytes.",
    ),
    OptionSpec::new(
        Id::MaxTests,
        None,
        "max-tests",
        Remote::Yes(ValueKind::Count),
    )
    .value("NUMBER")
    .apply(max_tests)
    .only(Personalities::Native)
    .sides(Sides::SERVER)
    .help(Group::Access, "iperf3 tests at the same time (default 64)"),
    OptionSpec::new(
        Id::OneAtATime,
        None,
        "one-at-a-time",
        Remote::Yes(ValueKind::Switch),
    )
    .only(Personalities::Native)
    .sets(|settings| settings.peer.most = Some(MaxTests::One))
    .sides(Sides::SERVER)
    .help(
        Group::Access,
        "one iperf3 test at a time: others hear that the server is busy",
    ),
];

/// `--peer`.
fn peer(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    settings.peer.protocol = match given.text().as_str() {
        "iperf2" | "iperf" | "tapeline" => Protocol::Iperf2,
        "iperf3" => Protocol::Iperf3,
        _ => return Err(refuse(given, "a peer is iperf2 or iperf3", log)),
    };
    Ok(())
}

/// `-O`.
fn omit(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    settings.peer.omit = match given.text().parse() {
        Ok(seconds @ 0..=limits::MAX_OMIT) => seconds,
        _ => return Err(refuse(given, "omits 0 to 600 whole seconds", log)),
    };
    Ok(())
}

/// `--max-tests`.
fn max_tests(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    settings.peer.most = match given.text().parse() {
        Ok(number @ 1..) => Some(MaxTests::AtOnce(number)),
        _ => return Err(refuse(given, "a number of tests is 1 or more", log)),
    };
    Ok(())
}

/// Whose clients a server serves. iperf3's cannot be where there is no TCP for their control
/// connection, or a permit key, which that does not carry.
pub(crate) fn service(settings: &Settings) -> ServedProtocols {
    let closed = settings.iperf()
        || settings.udp
        || settings.access.key.is_some()
        || settings.route.tap_device.is_some();
    if closed {
        return ServedProtocols::Iperf2;
    }
    let default = Iperf3Server::default();
    // Silence of three intervals is no hiccup.
    let silence = SILENCE.max(output::reported_interval(settings).unwrap_or_default() * 3);
    ServedProtocols::Both(Iperf3Server {
        interval: output::reported_interval(settings),
        max_tests: settings.peer.most.unwrap_or(default.max_tests),
        reports_each: false,
        short_buffers: ShortBuffers::Warn,
        timeouts: Iperf3Timeouts {
            receive: silence,
            stalled: silence,
            message: MESSAGE,
            ..default.timeouts
        },
        ..default
    })
}

/// Whether another tapeline is recognised. iperf's own names know nothing of it.
pub(crate) fn control(settings: &Settings) -> bool {
    !settings.iperf() && !settings.peer.no_peer_results
}

/// A client ends at the latest so long after its test, whatever the server does.
fn client_timeouts(plan: &ClientPlan) -> Iperf3Timeouts {
    let silence = SILENCE.max(plan.interval.unwrap_or_default() * 3);
    Iperf3Timeouts {
        answer: plan.connect_timeout,
        control: MESSAGE,
        receive: silence,
        stalled: silence,
        ..Iperf3Timeouts::default()
    }
}

/// Whether round trips are measured beside a test's traffic, where the server is recognised.
pub(crate) fn probe(settings: &Settings) -> bool {
    control(settings) && !settings.peer.no_latency_probes
}

/// Without `-p` a server is found under iperf3's port too.
pub(crate) fn extra_port(settings: &Settings) -> Option<u16> {
    (settings.ports.is_none() && service(settings).iperf3().is_some()).then_some(PORT)
}

/// Refuses options that iperf3's protocol has no place for.
pub(crate) fn only_known(raw: &RawArgs, log: &mut Diagnostics) -> Result<(), Exit> {
    for item in &raw.line {
        if let RawItem::Option(given) = item
            && !is_known(given.spec.id)
        {
            let option = given.named();
            return Err(log.fatal("", format!("{option} cannot be used with --peer iperf3")));
        }
    }
    Ok(())
}

fn is_known(id: Id) -> bool {
    matches!(
        id,
        Id::Client
            | Id::Udp
            | Id::V4
            | Id::V6
            | Id::Ipv6Domain
            | Id::Port
            | Id::Bind
            | Id::Time
            | Id::Num
            | Id::Bandwidth
            | Id::Pacing
            | Id::Wait
            | Id::Affinity
            | Id::Interval
            | Id::ConnectTimeout
            | Id::Parallel
            | Id::Len
            | Id::Window
            | Id::Mss
            | Id::NoDelay
            | Id::Tos
            | Id::Dscp
            | Id::TcpCongestion
            | Id::TcpCca
            | Id::FqRate
            | Id::ZeroCopy
            | Id::FileInput
            | Id::Reverse
            | Id::Save
            | Id::NoSave
            | Id::Tag
            | Id::History
            | Id::HistorySize
            | Id::Retention
            | Id::FullDuplex
            | Id::Peer
            | Id::Omit
            | Id::Enhanced
            | Id::Quiet
            | Id::Brief
            | Id::Color
            | Id::Format
            | Id::ReportExclude
            | Id::SumOnly
            | Id::HideIps
            | Id::Utc
            | Id::Output
            | Id::Json
            | Id::JsonStream
            | Id::DocumentCsv
            | Id::Rendered
            | Id::From
            | Id::Via
            | Id::ServeOn
            | Id::FailIfHostLimited
            | Id::Exclusive
            | Id::Tui
            | Id::Repeat
            | Id::Precision
            | Id::RepeatPause
            | Id::RepeatCsv
            | Id::Html
    )
}

/// The plan in iperf3's terms.
///
/// # Errors
/// [`Exit`] when a value is outside of iperf3's limits.
pub(crate) fn client(
    settings: &Settings,
    plan: &ClientPlan,
    log: &mut Diagnostics,
) -> Result<Iperf3Client, Exit> {
    let parameters = parameters(settings, plan, log)?;
    Ok(Iperf3Client {
        family: plan.family,
        device: plan.device.clone(),
        bind: plan.bind.as_ref().map(|bind| BindPlan::address(&bind.host)),
        client_port: plan.bind.as_ref().and_then(|bind| bind.port),
        parameters,
        interval: plan.interval,
        held_window: plan.socket.held_window,
        window_clamp: plan.socket.window_clamp,
        file: match &plan.payload {
            Payload::File(path) => Some(path.clone()),
            _ => None,
        },
        affinity: plan.affinity.own,
        connect_timeout: Some(plan.connect_timeout),
        timeouts: client_timeouts(plan),
        techniques: match plan.precision {
            Precision::Precise => plan.techniques,
            Precision::Economical => plan.techniques.without(Technique::PacingSpin),
        },
        ..Iperf3Client::new(&plan.host, plan.ports.0)
    })
}

fn parameters(
    settings: &Settings,
    plan: &ClientPlan,
    log: &mut Diagnostics,
) -> Result<Parameters, Exit> {
    let udp = plan.transport == Transport::Udp;
    let parallel = within(plan.parallel as u64, limits::MAX_PARALLEL, "-P", log)?;
    let longest = if udp {
        limits::MAX_UDP_LENGTH
    } else {
        limits::MAX_TCP_LENGTH
    };
    let length = match plan.length {
        Some(length) if udp && length < limits::MIN_UDP_LENGTH => {
            return Err(log.fatal("", "option -l: iperf3's datagrams have 16 bytes or more"));
        }
        Some(length) => Some(within(length.into(), longest, "-l", log)?),
        None => None,
    };
    let (time, bytes) = match plan.limit {
        Limit::Time(time) => (whole_seconds(time, log)?, 0),
        // Of all streams of a direction together.
        Limit::Bytes(bytes) => (0, bytes.0.saturating_mul(parallel.into())),
        Limit::Never => (0, 0),
    };
    let socket = &plan.socket;
    let window = match socket.window {
        Some(window) => Some(within(window, limits::MAX_WINDOW, "-w", log)?),
        None => None,
    };
    let segment_size = match socket.segment_size {
        Some(bytes) => Some(within(bytes.into(), limits::MAX_MSS, "-M", log)?),
        None => None,
    };
    Ok(Parameters {
        protocol: if udp {
            wire::Protocol::Udp
        } else {
            wire::Protocol::Tcp
        },
        omit: settings.peer.omit,
        time,
        bytes,
        segment_size,
        nodelay: socket.nodelay,
        parallel,
        direction: match plan.workload {
            ClientWorkload::Stream(Arrangement::Reverse) => Direction::Reverse,
            ClientWorkload::Stream(Arrangement::FullDuplex) => Direction::Bidirectional,
            _ => Direction::Forward,
        },
        window,
        length,
        rate: rate(plan, length, log)?,
        pacing_rate: socket.fair_queue.map_or(0, |pacing| pacing.rate.0),
        tos: socket.tos.map_or(0, |tos| tos.0),
        congestion: socket.congestion.clone(),
        zerocopy: socket.zero_copy,
        server_affinity: plan.affinity.peer,
        client_version: Some(IPERF3.to_owned()),
        tapeline: Some(env!("CARGO_PKG_VERSION").to_owned()),
        ..Parameters::default()
    })
}

/// `-b`; packets per second need to know their size.
fn rate(plan: &ClientPlan, length: Option<u32>, log: &mut Diagnostics) -> Result<u64, Exit> {
    let udp = plan.transport == Transport::Udp;
    match (plan.pace, length) {
        (None, _) => Ok(if udp { ClientPlan::UDP_RATE.0 } else { 0 }),
        (Some(Pace::Bits(rate)), _) => Ok(rate.0),
        (Some(pace), Some(length)) => Ok(pace.bits(length.into()).0),
        (Some(_), None) => Err(log.fatal(
            "",
            "option -b: packets per second need -l with --peer iperf3",
        )),
    }
}

fn within(value: u64, most: u32, option: &str, log: &mut Diagnostics) -> Result<u32, Exit> {
    let fitting = u32::try_from(value).ok().filter(|value| *value <= most);
    fitting.ok_or_else(|| log.fatal("", format!("option {option}: iperf3 takes at most {most}")))
}

fn whole_seconds(time: Duration, log: &mut Diagnostics) -> Result<u32, Exit> {
    if time.subsec_nanos() != 0 {
        return Err(log.fatal("", "option -t: iperf3 counts whole seconds"));
    }
    within(time.as_secs(), limits::MAX_TIME, "-t", log)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use tapeline_base::ExitCode;
    use tapeline_dialect::ServerPlan;

    use super::*;
    use crate::cli::invocation::understand;
    use crate::plan::Invocation;
    use crate::plan::Resolution;
    use crate::plan::{Iperf3Task, Plan};
    use crate::presentation::{Iperf3Form, TextStyle};

    fn run(line: &str) -> Resolution {
        let invocation = Invocation {
            program: "tapeline".into(),
            arguments: line.split_whitespace().map(OsString::from).collect(),
            variable: &|_| None,
            resolver: |_| Vec::new(),
        };
        understand(&invocation).1
    }

    fn asks(line: &str) -> Iperf3Client {
        match run(&format!("-c h --peer iperf3 {line}")).outcome {
            Ok(Plan::Iperf3(job)) => match job.task {
                Iperf3Task::Client(plan) => *plan,
                Iperf3Task::Server(..) => panic!("{line}: a server"),
            },
            other => panic!("{line}: {other:?}"),
        }
    }

    fn serves(line: &str) -> ServerPlan {
        match run(&format!("-s {line}")).outcome {
            Ok(Plan::Server(plan, ..)) => *plan,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn iperf3(plan: ServerPlan) -> Iperf3Server {
        plan.protocols.iperf3().cloned().expect("served")
    }

    #[test]
    fn a_client_waits_for_no_word_of_a_server_longer_than_ten_seconds() {
        let plan = asks("-i 1");
        let timeouts = plan.timeouts;
        for wait in [
            plan.connect_timeout.expect("a limit"),
            timeouts.answer,
            timeouts.control,
            timeouts.receive,
            timeouts.stalled,
        ] {
            assert_eq!(wait, Duration::from_secs(10));
        }
        let short = asks("--connect-timeout 2");
        assert_eq!(short.connect_timeout, Some(Duration::from_secs(2)));
        assert_eq!(short.timeouts.answer, Duration::from_secs(2));
        // Intervals without a row are no silence.
        let slow = asks("-i 20").timeouts;
        assert_eq!(slow.receive, Duration::from_secs(60));
        assert_eq!(slow.answer, Duration::from_secs(10));
    }

    #[test]
    fn another_tapeline_is_recognised_under_the_own_name_unless_unwanted() {
        assert!(serves("").control && !serves("--no-peer-results").control);
        let asks = |line: &str| match run(line).outcome {
            Ok(Plan::Server(plan, ..)) => plan.control,
            Ok(Plan::Client(plan, ..)) => plan.control,
            other => panic!("{line}: {other:?}"),
        };
        assert!(asks("-c h") && asks("-c h -u") && !asks("-c h --no-peer-results"));
        assert!(!asks("--as iperf -c h") && !asks("--as iperf -s"));
        let probes = |line: &str| match run(line).outcome {
            Ok(Plan::Client(plan, ..)) => plan.probe,
            other => panic!("{line}: {other:?}"),
        };
        assert!(probes("-c h") && !probes("-c h --no-latency-probes"));
        assert!(!probes("-c h --no-peer-results") && !probes("--as iperf -c h"));
    }

    #[test]
    fn own_options_are_said_in_the_terms_of_iperf3() {
        let plan = asks("");
        assert_eq!((plan.host.as_str(), plan.port), ("h", 5201));
        assert_eq!((plan.parameters.time, plan.parameters.rate), (10, 0));
        assert_eq!(plan.interval, Some(Duration::from_secs(1)));
        let plan = asks(
            "-u -b 5m -t 3 -l 1000 -P 4 --full-duplex -w 1M -M 1400 -N -S 0x10 -O 2 -p 7 -i 0.5 \
             -B 10.0.0.1:9 -4",
        );
        assert_eq!(
            (plan.port, plan.client_port, plan.family),
            (7, Some(9), tapeline_base::Family::V4)
        );
        assert_eq!(plan.bind.map(|bind| bind.host).as_deref(), Some("10.0.0.1"));
        assert_eq!(plan.interval, Some(Duration::from_millis(500)));
        let asked = plan.parameters;
        assert_eq!(
            (asked.protocol, asked.direction),
            (wire::Protocol::Udp, Direction::Bidirectional)
        );
        assert_eq!(
            (asked.rate, asked.time, asked.length),
            (5_000_000, 3, Some(1000))
        );
        assert_eq!((asked.parallel, asked.omit, asked.tos), (4, 2, 16));
        assert_eq!(
            (asked.window, asked.segment_size),
            (Some(1 << 20), Some(1400))
        );
        assert!(asked.nodelay);
        let asked = asks("-R -Z cubic -n 1M -P 2").parameters;
        assert_eq!(
            (asked.direction, asked.time, asked.bytes),
            (Direction::Reverse, 0, 2 << 20)
        );
        assert_eq!(asked.congestion.as_deref(), Some("cubic"));
        assert_eq!(asks("-u").parameters.rate, 1_000_000);
        assert_eq!(asks("-u -b 50M").parameters.rate, 50_000_000);
        assert_eq!(asks("-u -b 100pps -l 500").parameters.rate, 400_000);
    }

    #[test]
    fn a_sender_to_iperf3_can_be_told_to_sleep() {
        for (line, spins) in [("-u", true), ("-u --pacing sleep", false)] {
            let techniques = asks(line).techniques;
            assert_eq!(techniques.uses(Technique::PacingSpin), spins, "{line}");
        }
    }

    #[test]
    fn what_iperf3_cannot_do_is_refused() {
        for (line, sentence) in [
            ("-d", "-d cannot be used with --peer iperf3"),
            (
                "--trip-times",
                "--trip-times cannot be used with --peer iperf3",
            ),
            ("-t 0.5", "-t: iperf3 counts whole seconds"),
            ("-P 129", "-P: iperf3 takes at most 128"),
            ("-l 2M", "-l: iperf3 takes at most 1048576"),
            ("-u -l 8", "-l: iperf3's datagrams have 16 bytes or more"),
            (
                "-u -b 10pps",
                "-b: packets per second need -l with --peer iperf3",
            ),
            ("-O 601", "-O: omits 0 to 600 whole seconds"),
            ("--peer netperf", "--peer: a peer is iperf2 or iperf3"),
        ] {
            let resolution = run(&format!("-c h --peer iperf3 {line}"));
            assert_eq!(resolution.outcome, Err(ExitCode::Usage), "{line}");
            assert_eq!(resolution.messages[0].text, format!("error: {sentence}"));
        }
    }

    #[test]
    fn a_server_serves_iperf3_too() {
        let plan = serves("");
        assert_eq!((plan.ports, plan.extra_port), ((5001, 5001), Some(5201)));
        assert_eq!(iperf3(plan).max_tests, MaxTests::AtOnce(64));
        let plan = serves("-p 7 -i 2 --max-tests 3");
        assert_eq!((plan.ports, plan.extra_port), ((7, 7), None));
        let service = iperf3(plan);
        assert_eq!(service.max_tests, MaxTests::AtOnce(3));
        assert_eq!(service.interval, Some(Duration::from_secs(2)));
        let one = iperf3(serves("--one-at-a-time"));
        assert_eq!(one.max_tests, MaxTests::One);
        for line in ["-u", "--permit-key=secret"] {
            let plan = serves(line);
            let closed = (ServedProtocols::Iperf2, None);
            assert_eq!((plan.protocols, plan.extra_port), closed, "{line}");
        }
        assert_eq!(run("-s --max-tests 0").outcome, Err(ExitCode::Usage));
        let under_the_name_iperf = run("--as iperf -s").outcome;
        let Ok(Plan::Server(plan, ..)) = under_the_name_iperf else {
            panic!("{under_the_name_iperf:?}");
        };
        assert_eq!(plan.protocols, ServedProtocols::Iperf2);
        assert_eq!(plan.extra_port, None);
    }

    #[test]
    fn documents_of_iperf3_can_be_had_of_any_test() {
        let Ok(Plan::Client(_, presentation, _)) = run("-c h --format iperf3-json").outcome else {
            panic!("a test over iperf 2's protocol");
        };
        assert_eq!(presentation.style, TextStyle::Iperf3(Iperf3Form::Json));
        let Ok(Plan::Server(_, presentation, ..)) = run("-s -f iperf3-json-stream").outcome else {
            panic!("a server");
        };
        let stream = Iperf3Form::Stream { full: false };
        assert_eq!(presentation.style, TextStyle::Iperf3(stream));
    }
}
