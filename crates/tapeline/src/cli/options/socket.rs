//! Socket options: buffers, types of service, acknowledgements, delays, pacing by the kernel.

use std::time::Duration;

use tapeline_base::{BitRate, Tos, parse_bit_or_byte_rate, parse_rate, parse_seconds};
use tapeline_dialect::{AffinityPlan, ClientWorkload, FairQueuePlan, WaitMode};

use super::peer;
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{Mode, Protocol, Settings};
use crate::cli::spec::Section::{Both, Client, Server};
use crate::cli::spec::{
    Given, Group, OptionId as Id, OptionSpec, Personalities, Remote, Sides, ValueKind,
};
use crate::cli::values::{
    atoi, bad_value, duration, lenient_amount, refuse, refuse_number, refuse_value, small_amount,
    strict_amount, unrecognized_as,
};
use crate::message::CliMessage;

/// Below this a socket buffer is called small.
const SMALL_WINDOW: i64 = 2048;
/// Time between two steps of the pacing rate.
const DEFAULT_STEP_INTERVAL: Duration = Duration::from_secs(1);
/// Shortest delay that the kernel can be asked for.
const SHORTEST_DELAY: f64 = 0.001;
/// Longest delay, milliseconds: the kernel takes 31 bits of microseconds.
const LONGEST_DELAY: f64 = 2_147_483.0;
/// CPUs that the kernel can be asked for by number.
const MAX_CPU: u32 = 1024;

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        Id::Window,
        Some('w'),
        "window",
        Remote::Yes(ValueKind::Bytes),
    )
    .every_method()
    .value("BYTES")
    .apply(window)
    .variable(17, "TCP_WINDOW_SIZE")
    .help(
        Group::Socket,
        "socket buffer: sending at a client, receiving at a server",
    )
    .listed(&[(Both, "#[KM]", "socket buffer (TCP window) size")]),
    OptionSpec::new(
        Id::PrintMss,
        Some('m'),
        "print_mss",
        Remote::Yes(ValueKind::Switch),
    )
    .sets(|settings| settings.show_segment_size = true)
    .variable(10, "IPERF_PRINT_MSS")
    .help(Group::Socket, "show the TCP segment size")
    .listed(&[(Both, "", "show the TCP maximum segment size")]),
    OptionSpec::new(Id::Mss, Some('M'), "mss", Remote::Yes(ValueKind::Bytes))
        .every_method()
        .value("BYTES")
        .apply(segment_size)
        .variable(25, "IPERF_MSS")
        .help(Group::Socket, "TCP maximum segment size")
        .listed(&[(Both, "#", "set the TCP maximum segment size (TCP_MAXSEG)")]),
    OptionSpec::new(
        Id::NoDelay,
        Some('N'),
        "nodelay",
        Remote::Yes(ValueKind::Switch),
    )
    .sets(|settings| settings.nodelay = true)
    .variable(26, "IPERF_NODELAY")
    .help(
        Group::Socket,
        "send small TCP writes at once (Nagle's algorithm off)",
    )
    .listed(&[(Both, "", "switch Nagle's algorithm off (TCP_NODELAY)")]),
    OptionSpec::new(Id::Tos, Some('S'), "tos", Remote::Yes(ValueKind::Text))
        .every_method()
        .value("TOS")
        .apply(tos)
        .variable(29, "IPERF_TOS")
        .help(Group::Socket, "type-of-service byte: a DSCP name or 0..255")
        .details("Names: af11..af43, cs0..cs7, ef, le, nqb; numbers also as 0x.. or 0.. (octal).")
        .listed(&[
            (Both, "#", "type-of-service byte (IP_TOS)"),
            (Client, "", "DSCP name or type-of-service byte"),
        ]),
    OptionSpec::new(Id::Dscp, None, "dscp", Remote::Yes(ValueKind::Text))
        .every_method()
        .value("DSCP")
        .apply(dscp)
        .sides(Sides::CLIENT)
        .help(Group::Socket, "DSCP 0..63; the ECN bits stay 0")
        .native_details("Its names are read too.")
        .listed(&[(Client, "", "DSCP part of the type-of-service byte")]),
    OptionSpec::new(
        Id::TosOverride,
        None,
        "tos-override",
        Remote::Yes(ValueKind::Text),
    )
    .value("TOS")
    .apply(tos_override)
    .sides(Sides::SERVER)
    .help(
        Group::Socket,
        "type of service of what the server sends (-R, --full-duplex)",
    ),
    OptionSpec::new(
        Id::TcpCongestion,
        Some('Z'),
        "tcp-congestion",
        Remote::Yes(ValueKind::Text),
    )
    .every_method()
    .value("NAME")
    .apply(congestion)
    .manual_names(&["linux-congestion"])
    .variable(34, "IPERF_CONGESTION_CONTROL")
    .help(Group::Socket, "TCP congestion control")
    .listed(&[(Both, "<algo>", "TCP congestion control algorithm")]),
    OptionSpec::new(Id::TcpCca, None, "tcp-cca", Remote::Yes(ValueKind::Text))
        .every_method()
        .value("NAME")
        .apply(congestion)
        .help(Group::Socket, "the same as -Z"),
    OptionSpec::new(Id::Ttl, Some('T'), "ttl", Remote::Yes(ValueKind::Count))
        .value("HOPS")
        .apply(ttl)
        .sides(Sides::CLIENT)
        .variable(30, "IPERF_TTL")
        .help(Group::Socket, "time to live, 1..255 (multicast default 1)")
        .listed(&[(Client, "#", "time to live (multicast default 1)")]),
    OptionSpec::new(
        Id::LocalOnly,
        None,
        "local-only",
        Remote::Yes(ValueKind::Choice(&["0", "1"])),
    )
    .optional_value("0|1")
    .apply(|settings, given, log| {
        settings.tcp.local_only = local_only(settings, given, log)?;
        Ok(())
    })
    .sides(Sides::CLIENT)
    .help(
        Group::Socket,
        "send to hosts on attached networks only (SO_DONTROUTE)",
    )
    .listed(&[(Client, "", "send without routes (SO_DONTROUTE)")]),
    OptionSpec::new(Id::FqRate, None, "fq-rate", Remote::Yes(ValueKind::Rate))
        .value("RATE")
        .apply(|settings, given, log| {
            settings.tcp.rate = rate(settings, given, log)?;
            Ok(())
        })
        .sides(Sides::CLIENT)
        .help(Group::Socket, "pacing by the kernel (SO_MAX_PACING_RATE)")
        .iperf2_words(
            "pacing by the kernel (SO_MAX_PACING_RATE): k m g bits/s, K M G bytes/s",
            "",
        )
        .listed(&[(Client, "#[kmgKMG]", "rate of pacing by the kernel")]),
    OptionSpec::new(
        Id::FqRateStep,
        None,
        "fq-rate-step",
        Remote::Yes(ValueKind::Rate),
    )
    .value("RATE")
    .apply(|settings, given, log| {
        settings.tcp.step = rate(settings, given, log)?;
        settings.presentation.enhanced = true;
        Ok(())
    })
    .sides(Sides::CLIENT)
    .help(Group::Socket, "what is added to --fq-rate at each step")
    .details("Without --fq-rate the first rate is the step itself.")
    .listed(&[(Client, "#[kmgKMG]", "step of the kernel's pacing rate")]),
    OptionSpec::new(
        Id::FqRateStepInterval,
        None,
        "fq-rate-step-interval",
        Remote::Yes(ValueKind::Seconds),
    )
    .value("SECONDS")
    .apply(|settings, given, log| {
        settings.tcp.step_interval = step_interval(settings, given, log)?;
        settings.presentation.enhanced = true;
        Ok(())
    })
    .sides(Sides::CLIENT)
    .help(
        Group::Socket,
        "time between two steps of --fq-rate (default 1)",
    )
    .listed(&[(Client, "#", "seconds between steps of the pacing rate")]),
    OptionSpec::new(
        Id::RxWindowClamp,
        None,
        "tcp-rx-window-clamp",
        Remote::Yes(ValueKind::Bytes),
    )
    .value("BYTES")
    .apply(|settings, given, log| {
        let clamp = small_amount(settings, given, log)?;
        settings.tcp.window_clamp = Some(clamp).filter(|clamp| *clamp > 0);
        Ok(())
    })
    .help(
        Group::Socket,
        "largest TCP window that is offered (TCP_WINDOW_CLAMP)",
    )
    .listed(&[(Server, "", "largest TCP receive window, bytes")]),
    OptionSpec::new(
        Id::WritePrefetch,
        None,
        "tcp-write-prefetch",
        Remote::Yes(ValueKind::Bytes),
    )
    .value("BYTES")
    .apply(|settings, given, log| {
        settings.tcp.write_prefetch = Some(small_amount(settings, given, log)?);
        settings.presentation.enhanced = true;
        Ok(())
    })
    .sides(Sides::CLIENT)
    .help(
        Group::Socket,
        "write only while less is unsent (TCP_NOTSENT_LOWAT)",
    )
    .native_details("With --trip-times 16K is used; 0 switches it off.")
    .listed(&[(
        Client,
        "",
        "write only while fewer bytes are unsent (TCP_NOTSENT_LOWAT)",
    )]),
    OptionSpec::new(
        Id::QuickAck,
        None,
        "tcp-quickack",
        Remote::Yes(ValueKind::Switch),
    )
    .sets(|settings| settings.tcp.quickack = true)
    .help(Group::Socket, "acknowledge at once (TCP_QUICKACK)")
    .listed(&[(Client, "", "acknowledge at once (TCP_QUICKACK)")]),
    OptionSpec::new(
        Id::TxDelay,
        None,
        "tcp-tx-delay",
        Remote::Yes(ValueKind::Millis),
    )
    .value("MILLISECONDS")
    .apply(|settings, given, log| {
        settings.tcp.transmit_delay = transmit_delay(settings, given, log)?;
        settings.presentation.enhanced = true;
        Ok(())
    })
    .help(
        Group::Socket,
        "delay that the kernel adds before sending (TCP_TX_DELAY)",
    )
    .details("Needs the packet scheduler fq on the way out.")
    .listed(&[(Both, "", "milliseconds that the kernel holds data back")]),
    OptionSpec::new(
        Id::SkipRxCopy,
        None,
        "skip-rx-copy",
        Remote::Yes(ValueKind::Switch),
    )
    .sides(Sides::SERVER)
    .sets(|settings| {
        settings.tcp.skip_receive_copy = true;
        settings.presentation.enhanced = true;
    })
    .help(
        Group::Socket,
        "leave received TCP data in the kernel (MSG_TRUNC)",
    )
    .listed(&[(Server, "", "leave received data in the kernel (MSG_TRUNC)")]),
    OptionSpec::new(
        Id::ZeroCopy,
        None,
        "zero-copy",
        Remote::Yes(ValueKind::Switch),
    )
    .sets(|settings| settings.tcp.zero_copy = true)
    .only(Personalities::Native)
    .help(
        Group::Socket,
        "send TCP data without copying it into the kernel (splice)",
    )
    .details("At a server this is for what it sends (-R, --full-duplex)."),
    OptionSpec::new(
        Id::Realtime,
        Some('z'),
        "realtime",
        Remote::No("it changes the priority of the process"),
    )
    .sets(|settings| settings.tcp.realtime = true)
    .help(
        Group::Socket,
        "run before all other programs (needs privileges)",
    )
    .listed(&[(Both, "", "real-time scheduling")]),
    OptionSpec::new(
        Id::Wait,
        None,
        "wait",
        Remote::No("it takes processors of this machine"),
    )
    .value("HOW")
    .apply(|settings, given, log| {
        settings.tcp.wait = wait_mode(given, log)?;
        Ok(())
    })
    .only(Personalities::Native)
    .help(
        Group::Socket,
        "what a stream's thread does until something arrives: auto, spin, yield or sleep",
    )
    .details(
        "auto sleeps; where an answer is expected at once, it looks for it first. \
             spin looks all the time: the shortest round trips, at the price of a CPU for each stream. \
             yield looks too, and lets other programs run in between. sleep sleeps at once.",
    ),
    OptionSpec::new(
        Id::Affinity,
        None,
        "affinity",
        Remote::No("it takes processors of this machine"),
    )
    .value("CPU[,CPU]")
    .apply(|settings, given, log| {
        settings.tcp.affinity = affinity(given, log)?;
        Ok(())
    })
    .only(Personalities::Native)
    .help(
        Group::Socket,
        "CPU that this end runs on, and (client) the server's streams of this test",
    )
    .details(
        "CPUs are counted from 0. ,CPU chooses the server's alone: the server is tapeline, and gives each \
             stream a thread (TCP up to 64 streams, UDP with -R), or is iperf3.",
    ),
    OptionSpec::new(
        Id::SuggestWindowSize,
        Some('W'),
        "suggest_win_size",
        Remote::Yes(ValueKind::Switch),
    )
    .apply(|_, _, log| {
        log.say(CliMessage::err(
            "The -W option is not available in this release",
        ));
        Ok(())
    })
    .variable(32, "IPERF_SUGGEST_WIN_SIZE")
    .only(Personalities::Iperf2),
];

/// `-w`; 0 leaves the system's choice.
fn window(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
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
fn segment_size(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
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
fn tos(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
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
fn dscp(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
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
fn tos_override(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
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
fn ttl(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
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

/// Under iperf the first algorithm counts.
fn congestion(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    if settings.iperf() && settings.congestion.is_some() {
        log.say(CliMessage::err(if given.spec.id == Id::TcpCca {
            "Option --tcp-cca ignored because --tcp-congestion or -Z set"
        } else {
            "Option --tcp-congestion or -Z ignored because --tcp-cca set"
        }));
    } else {
        settings.congestion = Some(given.text());
    }
    Ok(())
}

/// `--tos-override` marks a server's traffic.
pub(crate) fn tos_override_is_for_servers(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.reflected_tos_asked {
        log.warn(
            "WARN: option of --tos-override not supported on the client",
            "--tos-override is for servers",
        );
    }
}

/// `-T` goes into one byte.
pub(crate) fn ttl_fits_a_byte(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.ttl.is_some_and(|ttl| ttl > 255) {
        log.error(
            "ERROR: option of -ttl (-T) must be less than 255",
            "option -T: more than 255 hops are impossible",
        );
    }
}

/// Milliseconds; iperf ignores what the kernel could not be asked for.
fn transmit_delay(
    settings: &Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<Option<Duration>, Exit> {
    let text = given.text();
    match parse_seconds(&text) {
        Ok(delay) if (SHORTEST_DELAY..=LONGEST_DELAY).contains(&delay) => {
            Ok(Some(Duration::from_micros((delay * 1e3).round() as u64)))
        }
        Ok(delay) if delay == 0.0 || (settings.iperf() && delay < SHORTEST_DELAY) => Ok(None),
        Ok(_) => Err(refuse_value(
            given,
            "is not between 0.001 and 2147483 milliseconds",
            log,
        )),
        Err(_) => Err(log.fatal(
            format!("ERROR: Invalid value of '{text}' for --tcp-tx-delay"),
            bad_value(given, "is no number of milliseconds"),
        )),
    }
}

/// Without a value, or with anything but 0: on.
fn local_only(settings: &Settings, given: &Given, log: &mut Diagnostics) -> Result<bool, Exit> {
    match (given.value.is_some(), given.text().as_str()) {
        (false, _) | (true, "1") => Ok(true),
        (true, "0") => Ok(false),
        (true, text) if settings.iperf() => Ok(atoi(text) != 0),
        _ => Err(refuse_value(given, "is neither 0 nor 1", log)),
    }
}

/// A pacing rate; 0 is none, and so is what iperf cannot read.
fn rate(
    settings: &Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<Option<BitRate>, Exit> {
    let text = given.text();
    let rate = if settings.iperf() {
        let bits = parse_bit_or_byte_rate(&text).map_or(0.0, |rate| rate.value);
        if bits < 0.0 {
            return Err(refuse_value(given, "is negative", log));
        }
        BitRate(bits as u64)
    } else {
        parse_rate(&text).map_err(|error| refuse_number(given, &error, log))?
    };
    Ok(Some(rate).filter(|rate| rate.0 > 0))
}

fn step_interval(
    settings: &Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<Option<Duration>, Exit> {
    match parse_seconds(&given.text()).map(|seconds| (seconds > 0.0, duration(seconds))) {
        Ok((true, Some(interval))) => Ok(Some(interval)),
        Ok((false, _)) if settings.iperf() => Ok(settings.tcp.step_interval),
        Ok(_) => Err(refuse_value(given, "is not above 0", log)),
        Err(_) => Err(unrecognized_as(given, "is no number of seconds", log)),
    }
}

/// Clients that only send leave the receive window alone, and all do under iperf.
pub(crate) fn window_clamp_is_for_receivers(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.tcp.window_clamp.is_none() {
        return;
    }
    if settings.iperf() {
        log.warn(
            "WARN: option of --tcp-rx-window-clamp not supported on the client",
            "",
        );
    } else if !(settings.reverse || settings.full_duplex) {
        log.error(
            "",
            "option --tcp-rx-window-clamp: a client needs -R or --full-duplex with it",
        );
    }
}

/// TCP's details say nothing about datagrams.
pub(crate) fn tcp_details_need_tcp(settings: &mut Settings, log: &mut Diagnostics) {
    if !settings.udp {
        return;
    }
    let asked = settings.tcp;
    for (given, name) in [
        (asked.write_prefetch.is_some(), "--tcp-write-prefetch"),
        (asked.quickack, "--tcp-quickack"),
        (asked.transmit_delay.is_some(), "--tcp-tx-delay"),
        (asked.zero_copy, "--zero-copy"),
    ] {
        if given {
            tcp_only(name, log);
        }
    }
    settings.tcp.write_prefetch = None;
    settings.tcp.quickack = false;
    settings.tcp.transmit_delay = None;
    settings.tcp.zero_copy = false;
}

/// Under iperf a warning; tapeline stops.
fn tcp_only(name: &str, log: &mut Diagnostics) {
    if log.personality() == tapeline_dialect::Personality::Iperf2 {
        let text = format!("WARN: setting of option {name} is not supported with -u UDP");
        log.warn(text, "");
    } else {
        log.error("", format!("option {name} needs TCP (leave out -u)"));
    }
}

/// The same for a server's details.
pub(crate) fn server_details_need_tcp(settings: &mut Settings, log: &mut Diagnostics) {
    if !settings.udp || settings.mode != Mode::Server {
        return;
    }
    if settings.tcp.window_clamp.take().is_some() {
        log.warn(
            "WARN: option of --tcp-rx-window-clamp not supported using -u UDP ",
            "--tcp-rx-window-clamp cannot be used with -u",
        );
    }
    if std::mem::take(&mut settings.tcp.skip_receive_copy) {
        log.warn(
            "WARN: Option of --skip-rx-copy not supported with -u UDP",
            "--skip-rx-copy cannot be used with -u",
        );
    }
}

fn wait_mode(given: &Given, log: &mut Diagnostics) -> Result<WaitMode, Exit> {
    match given.text().as_str() {
        "auto" => Ok(WaitMode::Auto),
        "spin" => Ok(WaitMode::Spin),
        "yield" => Ok(WaitMode::Yield),
        "sleep" => Ok(WaitMode::Sleep),
        _ => Err(refuse_value(
            given,
            "is none of auto, spin, yield, sleep",
            log,
        )),
    }
}

/// `--affinity`.
fn affinity(given: &Given, log: &mut Diagnostics) -> Result<AffinityPlan, Exit> {
    let text = given.text();
    let (own, peer) = match text.split_once(',') {
        None => (text.as_str(), None),
        Some((own, peer)) => (own, Some(peer)),
    };
    let cpu = |word: &str| word.parse::<u32>().ok().filter(|cpu| *cpu < MAX_CPU);
    let plan = match (own, peer) {
        ("", Some(peer)) => cpu(peer).map(|peer| (None, Some(peer))),
        (own, Some(peer)) => cpu(own)
            .zip(cpu(peer))
            .map(|(own, peer)| (Some(own), Some(peer))),
        (own, None) => cpu(own).map(|own| (Some(own), None)),
    };
    let Some((own, peer)) = plan else {
        return Err(refuse_value(
            given,
            "is no CPU, or two with a comma between them",
            log,
        ));
    };
    Ok(AffinityPlan { own, peer })
}

/// The CPUs of a client. The server's can be chosen where it gives each stream a thread, and learns of the choice.
///
/// # Errors
/// [`Exit`] for a server's CPU in a test that cannot have one.
pub(crate) fn client_affinity(
    settings: &Settings,
    workload: &ClientWorkload,
    log: &mut Diagnostics,
) -> Result<AffinityPlan, Exit> {
    let affinity = settings.tcp.affinity;
    let streams = matches!(workload, ClientWorkload::Stream(_));
    let learns = settings.peer.protocol == Protocol::Iperf3 || peer::control(settings);
    let why = match affinity.peer {
        Some(_) if !streams => "only tests of streams can choose the server's CPU",
        Some(_) if !learns => "with --no-peer-results the server does not learn of its CPU",
        _ => return Ok(affinity),
    };
    Err(log.fatal("", format!("option --affinity: {why}")))
}

/// The CPU of a server.
///
/// # Errors
/// [`Exit`] when there are two.
pub(crate) fn server_affinity(
    settings: &Settings,
    log: &mut Diagnostics,
) -> Result<Option<u32>, Exit> {
    match settings.tcp.affinity {
        AffinityPlan { own, peer: None } => Ok(own),
        _ => Err(log.fatal("", "option --affinity: a server has one CPU, its own")),
    }
}

/// Pacing by the kernel.
pub(crate) fn fair_queue(settings: &Settings) -> Option<FairQueuePlan> {
    let asked = &settings.tcp;
    Some(FairQueuePlan {
        rate: asked.rate.or(asked.step)?,
        step: asked
            .step
            .map(|step| (step, asked.step_interval.unwrap_or(DEFAULT_STEP_INTERVAL))),
    })
}
