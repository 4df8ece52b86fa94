//! Shapes of traffic: bursts, frames, gaps, pauses, random numbers, payload.

use std::path::PathBuf;
use std::time::Duration;

use tapeline_base::{
    BitRate, Bytes, Pace, parse_amount, parse_bit_or_byte_rate, parse_decimal, parse_seconds,
};
use tapeline_dialect::{FrameMean, IsochronousPlan, Payload, Precision, Shape};

use super::lengths;
use super::rate::{self, MAX_GAP};
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{AskedRate, Mode, Settings};
use crate::cli::spec::Section::Client;
use crate::cli::spec::{
    Given, Group, OptionId as Id, OptionSpec, Personalities, Remote, Sides, ValueKind,
};
use crate::cli::values::{amount, bad_value, count, duration, refuse_value, seconds};
use crate::files::input::size_of_input;
use crate::message::CliMessage;

/// Periods up to this are none.
const SHORTEST_PERIOD: Duration = Duration::from_micros(10);
/// Time between bursts.
const DEFAULT_PERIOD: Duration = Duration::from_secs(1);
/// Bytes of a burst.
const DEFAULT_BURST: u64 = 1 << 20;
/// Round-trip times of `--near-congestion`.
const DEFAULT_FACTOR: f64 = 0.5;
/// Most frames per second.
const MAX_FRAME_RATE: f64 = 1e6;

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        Id::Isochronous,
        None,
        "isochronous",
        Remote::Yes(ValueKind::Text),
    )
    .optional_value("FPS:MEAN,DEVIATION")
    .apply(|settings, given, log| {
        settings.shape.isochronous = frames(settings, given, log)?;
        settings.presentation.enhanced |= settings.shape.isochronous.is_some();
        Ok(())
    })
    .sides(Sides::CLIENT)
    .help(
        Group::Traffic,
        "frames of log-normal size, like video (default 60:20m,0)",
    )
    .details(
        "MEAN and DEVIATION are rates over all frames; MEAN with p behind it is datagrams per \
             frame (UDP).",
    )
    .iperf2_words(
        "frames of log-normal size, like video (default 60:20m,0)",
        "MEAN and DEVIATION are rates over all frames: k m g bits/s, K M G bytes/s; MEAN with \
             p behind it is datagrams per frame (UDP).",
    )
    .listed(&[(
        Client,
        "<frames-per-second>:<mean>,<deviation>",
        "frames of varying size, like video",
    )]),
    OptionSpec::new(
        Id::BurstPeriod,
        None,
        "burst-period",
        Remote::Yes(ValueKind::Seconds),
    )
    .value("SECONDS")
    .apply(burst_period)
    .sides(Sides::CLIENT)
    .help(Group::Traffic, "send in bursts, one so often (default 1)"),
    OptionSpec::new(
        Id::BurstSize,
        None,
        "burst-size",
        Remote::Yes(ValueKind::Bytes),
    )
    .value("BYTES")
    .apply(|settings, given, log| {
        settings.shape.burst_size = Some(amount(settings, given, log)?).filter(|size| *size > 0);
        Ok(())
    })
    .sides(Sides::CLIENT)
    .help(Group::Traffic, "bytes of a burst (default 1M)")
    .details("With -b and one of the two burst options the other follows from the rate."),
    OptionSpec::new(
        Id::NearCongestion,
        None,
        "near-congestion",
        Remote::Yes(ValueKind::Text),
    )
    .optional_value("FACTOR")
    .apply(|settings, given, log| {
        settings.shape.near_congestion = Some(factor(settings, given, log)?);
        Ok(())
    })
    .sides(Sides::CLIENT)
    .help(
        Group::Traffic,
        "after each write a pause of FACTOR round-trip times (TCP, default 0.5)",
    )
    .listed(&[(Client, "", "pause after writes, in round-trip times (TCP)")]),
    OptionSpec::new(Id::RandomSeed, None, "", Remote::Yes(ValueKind::Count))
        .value("NUMBER")
        .apply(|settings, given, log| {
            settings.shape.seed = Some(seed(given, log)?);
            Ok(())
        })
        .manual_names(&["set-rand-seed"])
        .sides(Sides::CLIENT)
        .help(
            Group::Traffic,
            "random sizes and rates repeat with the same number",
        ),
    OptionSpec::new(
        Id::Pacing,
        None,
        "pacing",
        Remote::Yes(ValueKind::Choice(&["spin", "sleep"])),
    )
    .value("spin|sleep")
    .apply(|settings, given, log| {
        settings.shape.precision = precision(given, log)?;
        Ok(())
    })
    .only(Personalities::Native)
    .sides(Sides::CLIENT)
    .help(
        Group::Traffic,
        "how a UDP sender waits: spinning at the end (default), or asleep",
    )
    .details(
        "spin keeps gaps to a fraction of a microsecond and takes up to one core. \
             sleep only sleeps; its gaps are off by the time the system takes to wake it.",
    ),
    OptionSpec::new(
        Id::FileInput,
        Some('F'),
        "file_input",
        Remote::No("it names a file"),
    )
    .value("FILE")
    .apply(|settings, given, log| {
        settings.shape.payload = file(settings, given, log)?;
        Ok(())
    })
    .manual_names(&["fileinput"])
    .sides(Sides::CLIENT)
    .variable(23, "IPERF_FILE_INPUT")
    .help(Group::Traffic, "send this file; the test ends with it")
    .listed(&[(Client, "<name>", "send the content of a file")]),
    OptionSpec::new(
        Id::StdinInput,
        Some('I'),
        "stdin_input",
        Remote::No("orders come on standard input"),
    )
    .sets(|settings| settings.shape.payload = Payload::StandardInput)
    .sides(Sides::CLIENT)
    .variable(24, "IPERF_STDIN_INPUT")
    .help(Group::Traffic, "send standard input; the test ends with it")
    .listed(&[(Client, "", "send standard input")]),
    OptionSpec::new(Id::UdpL4s, None, "udp-l4s", Remote::Yes(ValueKind::Switch))
        .sides(Sides::CLIENT)
        .sets(|settings| settings.shape.l4s = true)
        .help(
            Group::Traffic,
            "datagrams under L4S congestion control, marked ECT(1)",
        )
        .listed(&[(Client, "", "UDP under L4S congestion control")]),
    OptionSpec::new(
        Id::UdpL4sVideo,
        None,
        "udp-l4s-video",
        Remote::Yes(ValueKind::Text),
    )
    .optional_value("FPS:MEAN,DEVIATION")
    .apply(|settings, given, log| {
        settings.shape.l4s = true;
        settings.shape.isochronous = frames(settings, given, log)?;
        settings.presentation.enhanced = true;
        Ok(())
    })
    .sides(Sides::CLIENT)
    .help(Group::Traffic, "the same with --isochronous frames")
    .listed(&[(Client, "", "video frames under L4S congestion control")]),
    OptionSpec::new(Id::Ipg, None, "ipg", Remote::Yes(ValueKind::Seconds))
        .value("SECONDS")
        .apply(gap)
        .sides(Sides::CLIENT)
        .help(
            Group::Amount,
            "gap between datagrams; with --isochronous, within a frame",
        )
        .listed(&[(
            Client,
            "",
            "seconds between datagrams, or within an isochronous frame",
        )]),
];

fn burst_period(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let period = seconds(given, log)?;
    if period <= SHORTEST_PERIOD {
        if !settings.iperf() {
            return Err(refuse_value(given, "is not more than 0.00001 seconds", log));
        }
        log.warn(
            "WARN: burst-period too small, must be greater than 10 usecs",
            "",
        );
        return Ok(());
    }
    settings.shape.burst_period = Some(period);
    Ok(())
}

/// `FPS:MEAN,DEVIATION`; what is left out has its default. Under iperf a bad number of
/// frames leaves the whole option without effect.
fn frames(
    settings: &Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<Option<IsochronousPlan>, Exit> {
    let text = given.text();
    let (rate, sizes) = text.split_once(':').unwrap_or((&text, ""));
    let (mean, deviation) = sizes.split_once(',').unwrap_or((sizes, ""));
    let frames_per_second = match rate {
        "" => 60.0,
        rate => match parse_seconds(rate) {
            Ok(rate) if rate > 0.0 && rate <= MAX_FRAME_RATE => rate,
            _ if settings.iperf() => {
                log.say(CliMessage::err(
                    "Invalid value for frames per second in the isochronous settings\n failed: \
                     Success",
                ));
                return Ok(None);
            }
            _ => {
                let sentence = "has no frames per second above 0 and up to 1000000";
                return Err(refuse_value(given, sentence, log));
            }
        },
    };
    Ok(Some(IsochronousPlan {
        frames_per_second,
        mean: frame_mean(settings, given, mean, log)?,
        deviation: frame_deviation(settings, given, deviation, log)?,
    }))
}

fn frame_mean(
    settings: &Settings,
    given: &Given,
    text: &str,
    log: &mut Diagnostics,
) -> Result<FrameMean, Exit> {
    if text.is_empty() {
        return Ok(FrameMean::Bits(20e6));
    }
    let mean = frame_number(settings, given, text, log)?;
    if mean.value <= 0.0 {
        return Err(log.fatal(
            "ERROR: Invalid --isochronous mean value, must be greater than zero",
            bad_value(given, "has no mean above 0"),
        ));
    }
    Ok(if mean.rest.starts_with(['p', 'P']) {
        FrameMean::Packets(mean.value)
    } else {
        FrameMean::Bits(mean.value)
    })
}

/// iperf takes what is no number, or negative, for 0.
fn frame_deviation(
    settings: &Settings,
    given: &Given,
    text: &str,
    log: &mut Diagnostics,
) -> Result<f64, Exit> {
    if text.is_empty() {
        return Ok(0.0);
    }
    let deviation = frame_number(settings, given, text, log)?;
    if deviation.value < 0.0 || deviation.rest.starts_with(['p', 'P']) {
        let sentence = "has a deviation that is no rate of 0 or more";
        return Err(refuse_value(given, sentence, log));
    }
    Ok(deviation.value)
}

fn frame_number(
    settings: &Settings,
    given: &Given,
    text: &str,
    log: &mut Diagnostics,
) -> Result<tapeline_base::Amount, Exit> {
    let sentence = format!("has '{text}' where a rate should be");
    let read = match settings.iperf() {
        true => parse_bit_or_byte_rate,
        false => parse_decimal,
    };
    match read(text) {
        Ok(amount) if settings.iperf() || matches!(amount.rest.as_str(), "" | "p" | "P") => {
            Ok(amount)
        }
        _ => Err(refuse_value(given, &sentence, log)),
    }
}

fn gap(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    match parse_seconds(&text) {
        Ok(gap) => {
            settings.shape.gap = Some(gap);
            Ok(())
        }
        Err(_) => Err(log.fatal(
            format!("ERROR: Invalid value of '{text}' for --ipg"),
            bad_value(given, "is no number of seconds"),
        )),
    }
}

/// Under iperf what is no positive number is the default.
fn factor(settings: &Settings, given: &Given, log: &mut Diagnostics) -> Result<f64, Exit> {
    if given.value.is_none() {
        return Ok(DEFAULT_FACTOR);
    }
    let number = parse_amount(&given.text());
    match number {
        Ok(factor) if factor.value > 0.0 && (settings.iperf() || factor.rest.is_empty()) => {
            Ok(factor.value)
        }
        _ if settings.iperf() => Ok(DEFAULT_FACTOR),
        _ => Err(refuse_value(given, "is no number above 0", log)),
    }
}

fn precision(given: &Given, log: &mut Diagnostics) -> Result<Precision, Exit> {
    match given.text().as_str() {
        // The words behind them are former ones.
        "spin" | "precise" => Ok(Precision::Precise),
        "sleep" | "economical" => Ok(Precision::Economical),
        _ => Err(refuse_value(given, "is neither spin nor sleep", log)),
    }
}

/// Any whole number; negative ones are other seeds.
fn seed(given: &Given, log: &mut Diagnostics) -> Result<u64, Exit> {
    match given.text().parse::<i64>() {
        Ok(seed) => Ok(seed.cast_unsigned()),
        Err(_) => count(given, log),
    }
}

/// Under iperf a file that cannot be read is reported, and digits are sent.
fn file(settings: &Settings, given: &Given, log: &mut Diagnostics) -> Result<Payload, Exit> {
    let path = PathBuf::from(given.value.clone().unwrap_or_default());
    match size_of_input(&path) {
        Ok(_) => Ok(Payload::File(path)),
        Err(_) if settings.iperf() => {
            log.say(CliMessage::err(
                "Unable to open the file stream\nWill use the default data stream",
            ));
            Ok(Payload::Digits)
        }
        Err(error) => {
            let sentence = format!("cannot be read: {}", tapeline_sys::reason(&error));
            Err(refuse_value(given, &sentence, log))
        }
    }
}

/// Bursts, frames and pauses are three answers to one question.
pub(crate) fn one_shape(settings: &mut Settings, log: &mut Diagnostics) {
    let shape = &settings.shape;
    let other = if shape.isochronous.is_some() {
        "--isochronous"
    } else if shape.near_congestion.is_some() {
        "--near-congestion"
    } else {
        return;
    };
    if shape.burst_period.is_some() {
        log.error(
            format!("ERROR: options of --burst-period and {other} cannot be applied together"),
            format!("--burst-period and {other} cannot be combined"),
        );
    }
}

/// Shapes that iperf 2.2.1 lets one another overrule.
pub(crate) fn other_shapes_exclude_each_other(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.bounceback.asked {
        return;
    }
    let shape = &settings.shape;
    let bursts = shape.burst_period.is_some() || shape.burst_size.is_some();
    let asked: Vec<&str> = [
        (bursts, "--burst-period"),
        (shape.isochronous.is_some(), "--isochronous"),
        (shape.near_congestion.is_some(), "--near-congestion"),
        (shape.chain.is_some(), "-l as a chain of lengths"),
        (rate::rate_varies(settings), "-b mean,deviation"),
    ]
    .into_iter()
    .filter_map(|(given, name)| given.then_some(name))
    .collect();
    if let [first, second, ..] = asked.as_slice() {
        let both = format!("{first} and {second}");
        log.error(
            format!("ERROR: {both} exclude each other"),
            format!("{both} cannot be combined"),
        );
    }
}

/// A TCP burst holds one write at least. iperf wants its size; tapeline has a default.
pub(crate) fn burst_holds_a_write(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.udp || settings.bounceback.asked {
        return;
    }
    let length = u64::from(lengths::effective_length(settings));
    let size = match (settings.shape.burst_period, settings.shape.burst_size) {
        (Some(_), None) if settings.iperf() => 0,
        (Some(_), Some(size)) => size,
        _ => return,
    };
    // Without -l tapeline chooses a write that fits.
    if size < length && (settings.iperf() || settings.length.is_some()) {
        log.error(
            format!(
                "ERROR: option of --burst-size {size} must be equal or larger to write length \
                 (-l) {length}"
            ),
            format!("--burst-size {size} is less than one write (-l {length})"),
        );
    }
}

/// Without a period a TCP burst is made as large as a write. A server says so too.
pub(crate) fn burst_is_raised_to_a_write(settings: &mut Settings, log: &mut Diagnostics) {
    let length = u64::from(lengths::effective_length(settings));
    if settings.iperf()
        && !settings.udp
        && (settings.shape.burst_period.is_none() || settings.mode == Mode::Server)
        && settings.shape.burst_size.is_some_and(|size| size < length)
    {
        settings.shape.burst_size = Some(length);
        log.warn(
            format!(
                "WARN: Setting --burst-size to {length} because value given is smaller than -l \
                 value"
            ),
            "",
        );
    }
}

/// Round-trip times are TCP's.
pub(crate) fn near_congestion_needs_tcp(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.udp && settings.shape.near_congestion.is_some() {
        log.error(
            "ERROR: option of --near-congestion not supported with -u UDP",
            "option --near-congestion needs TCP (leave out -u)",
        );
    }
}

/// Pauses by round-trip times make the rate.
pub(crate) fn near_congestion_makes_the_rate(settings: &mut Settings, log: &mut Diagnostics) {
    if !settings.udp && settings.shape.near_congestion.is_some() && settings.rate.is_some() {
        log.error(
            "ERROR: option of --near-congestion and -b rate limited are mutually exclusive",
            "--near-congestion and -b cannot be combined",
        );
    }
}

/// A gap between datagrams is a rate already.
pub(crate) fn gap_is_the_rate(settings: &mut Settings, log: &mut Diagnostics) {
    let Some(gap) = settings.shape.gap.filter(|_| settings.udp) else {
        return;
    };
    if settings.rate.is_some() {
        log.error(
            "ERROR: options of --b and --ipg cannot be applied together",
            "-b and --ipg cannot be combined",
        );
    }
    if gap < 0.0 {
        log.error(
            "ERROR: option --ipg must be a positive value",
            "option --ipg: the gap is negative",
        );
    } else if gap > MAX_GAP {
        log.error(
            format!("ERROR: IPG delay target of {gap:.1} secs too large (max value is 60 secs)"),
            format!("option --ipg: {gap:.1} s; more than 60 s is refused"),
        );
    }
}

/// TCP has no packets to space.
pub(crate) fn gap_needs_udp(settings: &mut Settings, log: &mut Diagnostics) {
    if !settings.udp && settings.shape.gap.is_some() {
        log.error(
            "ERROR: option --ipg requires -u UDP",
            "option --ipg needs -u",
        );
    }
}

/// Frames have a rate of their own.
pub(crate) fn frames_make_the_rate(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.shape.isochronous.is_some() && settings.rate.is_some() {
        log.error(
            "ERROR: options of --b and --isochronous cannot be applied together",
            "-b and --isochronous cannot be combined",
        );
    }
}

/// TCP has no datagrams to count.
pub(crate) fn packet_frames_need_udp(settings: &mut Settings, log: &mut Diagnostics) {
    if !settings.udp
        && let Some(IsochronousPlan {
            mean: FrameMean::Packets(_),
            ..
        }) = settings.shape.isochronous
    {
        log.error(
            "ERROR: Invalid --isochronous units of 'p' with TCP must be bytes",
            "option --isochronous: datagrams per frame (p) need -u",
        );
    }
}

/// Content and chains of lengths stay with the client: a server does not learn of them.
pub(crate) fn content_needs_a_sender(settings: &mut Settings, log: &mut Diagnostics) {
    let name = if settings.shape.payload != Payload::Digits {
        "-F and -I"
    } else if settings.shape.chain.is_some() {
        "-l as a chain of lengths"
    } else if rate::rate_varies(settings) && !settings.iperf() {
        // iperf 2.2.1 lets the server keep the mean.
        "-b MEAN,DEVIATION"
    } else {
        return;
    };
    let sends =
        !settings.reverse && !settings.bounceback.asked && settings.schedule.connect_only.is_none();
    if !sends {
        let sentence = format!("{name}: the client must send data of its own");
        log.error(format!("ERROR: {sentence}"), sentence);
    }
}

/// L4S is congestion control for datagrams; TCP has its own.
pub(crate) fn l4s_needs_udp(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.shape.l4s && !settings.udp {
        log.error(
            "ERROR: option --udp-l4s requires -u UDP",
            "option --udp-l4s needs -u",
        );
    }
}

/// Acknowledgements make an L4S flow's rate and lengths: it goes one way, and nothing else
/// shapes it.
pub(crate) fn l4s_shapes_itself(settings: &mut Settings, log: &mut Diagnostics) {
    let shape = &settings.shape;
    if !shape.l4s {
        return;
    }
    if settings.arrangements() > 0 {
        log.error(
            "ERROR: option --udp-l4s not supported with --reverse, --full-duplex, -d and -r",
            "option --udp-l4s: only the client sends; --reverse, --full-duplex, -d and -r are refused",
        );
    }
    let shaped = rate::rate_varies(settings)
        || bursts(settings)
        || shape.gap.is_some()
        || shape.chain.is_some()
        || shape.payload != Payload::Digits;
    if shaped {
        log.error(
            "ERROR: option --udp-l4s not supported with varying rates or lengths, bursts, --ipg, -F and -I",
            "option --udp-l4s: congestion control makes rate and lengths; -b MEAN,DEVIATION, --burst-..., \
             --ipg, chains of lengths, -F and -I are refused",
        );
    }
}

/// Whether traffic comes in bursts (bounce-back has its own).
pub(crate) fn bursts(settings: &Settings) -> bool {
    (settings.shape.burst_period.is_some() || settings.shape.burst_size.is_some())
        && !settings.bounceback.asked
}

/// The shape of a client's traffic.
pub(crate) fn traffic_shape(settings: &Settings) -> Shape {
    let shape = &settings.shape;
    if let Some(frames) = shape.isochronous {
        Shape::Isochronous(frames)
    } else if bursts(settings) {
        burst_shape(settings)
    } else if let Some(factor) = shape.near_congestion {
        Shape::NearCongestion { factor }
    } else if let Some(chain) = &shape.chain {
        Shape::Markov(chain.clone())
    } else if let Some(AskedRate::Variable { deviation, .. }) = settings.rate {
        Shape::Variable { deviation }
    } else {
        Shape::Steady
    }
}

/// With a rate the missing one of size and period follows from it.
fn burst_shape(settings: &Settings) -> Shape {
    let rate = rate::pace(settings)
        .map(|pace| pace.bits(u64::from(lengths::effective_length(settings))).0)
        .filter(|rate| *rate > 0 && settings.udp);
    let (period, size) = match (settings.shape.burst_period, settings.shape.burst_size, rate) {
        (Some(period), Some(size), _) => (period, size),
        (Some(period), None, Some(rate)) => (
            period,
            ((rate as f64 * period.as_secs_f64() / 8.0) as u64).max(1),
        ),
        (Some(period), None, None) => (period, DEFAULT_BURST),
        (None, size, rate) => {
            let size = size.unwrap_or(DEFAULT_BURST);
            let period = rate.and_then(|rate| duration(size as f64 * 8.0 / rate as f64));
            (period.unwrap_or(DEFAULT_PERIOD), size)
        }
    };
    Shape::Burst {
        period: period.max(SHORTEST_PERIOD),
        size: Bytes(size),
    }
}

/// The rate, or the gap that stands for it.
pub(crate) fn client_pace(settings: &Settings) -> Option<Pace> {
    match settings.shape.gap {
        Some(gap) => Some(
            Duration::try_from_secs_f64(gap)
                .ok()
                .filter(|gap| !gap.is_zero())
                .map_or(Pace::Bits(BitRate(0)), Pace::Gap),
        ),
        // Bursts carry their rate in themselves.
        None if bursts(settings) && settings.udp => Some(Pace::Bits(BitRate(0))),
        None => rate::pace(settings),
    }
}
