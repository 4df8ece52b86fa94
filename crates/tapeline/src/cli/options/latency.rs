//! Delays that are to be measured, and their distributions.

use std::time::Duration;

use tapeline_base::parse_seconds;
use tapeline_dialect::{HistogramPlan, LatencyPlan};

use super::{lengths, shape};
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{Mode, Settings};
use crate::cli::spec::Section::{Both, Client, Server};
use crate::cli::spec::{Given, Group, OptionId as Id, OptionSpec, Remote, Sides, ValueKind};
use crate::cli::values::{atoi, count, refuse_value};

/// Width of the bins of `--jitter-histograms`.
const DEFAULT_JITTER_WIDTH: Duration = Duration::from_micros(100);
/// Most bins: more would be memory without any use.
const MAX_BINS: u32 = 1 << 20;
/// Widest bin, seconds.
const MAX_WIDTH: f64 = 3600.0;
/// Shortest TCP write that carries a stamp, bytes.
const SHORTEST_STAMPED_WRITE: u32 = 92;
/// Shortest datagram that carries a stamp and a test order, bytes.
const SHORTEST_STAMPED_ORDER: u32 = 128;
/// Unsent data that tapeline allows with `--trip-times`: more would be counted as delay.
const STAMPED_PREFETCH: u32 = 16_384;

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        Id::TripTimes,
        None,
        "trip-times",
        Remote::Yes(ValueKind::Switch),
    )
    .sides(Sides::CLIENT)
    .sets(|settings| settings.latency.trip_times = true)
    .help(
        Group::Latency,
        "one-way delays (the clocks of both ends must agree)",
    )
    .listed(&[(Client, "", "measure one-way delays (the clocks must agree)")]),
    OptionSpec::new(
        Id::WriteTimes,
        None,
        "tcp-write-times",
        Remote::Yes(ValueKind::Switch),
    )
    .sides(Sides::CLIENT)
    .sets(|settings| settings.latency.write_times = true)
    .help(Group::Latency, "how long TCP writes take")
    .listed(&[(Client, "", "measure how long writes take")]),
    OptionSpec::new(
        Id::Histograms,
        None,
        "histograms",
        Remote::Yes(ValueKind::Text),
    )
    .alias("udp-histograms")
    .optional_value("WIDTH,BINS,LOW,HIGH")
    .apply(|settings, given, log| {
        settings.latency.histograms = Some(histogram(given, log)?);
        settings.presentation.enhanced = true;
        Ok(())
    })
    .help(
        Group::Latency,
        "distribution of the delays (default 100u,100000,5,95)",
    )
    .details(
        "WIDTH of a bin in microseconds (u, or nothing) or milliseconds (m), number of bins, \
             percentiles to show. At a client it is the time of TCP writes or of bounce-backs.",
    )
    .listed(&[
        (Both, "", "distributions of delays"),
        (Server, "", "distribution of one-way delays"),
        (Client, "", "distribution of write times"),
    ]),
    OptionSpec::new(
        Id::JitterHistograms,
        None,
        "jitter-histograms",
        Remote::Yes(ValueKind::Text),
    )
    .optional_value("MICROSECONDS")
    .apply(|settings, given, log| {
        settings.latency.jitter_histograms = Some(jitter_width(settings, given, log)?);
        settings.presentation.enhanced = true;
        Ok(())
    })
    .sides(Sides::SERVER)
    .help(
        Group::Latency,
        "distribution of the UDP jitter, with bins so wide (default 100)",
    )
    .listed(&[(Server, "", "distribution of the UDP jitter")]),
];

/// `WIDTH[u|m],BINS[,LOW[,HIGH]]`; what is left out has its default.
fn histogram(given: &Given, log: &mut Diagnostics) -> Result<HistogramPlan, Exit> {
    let text = given.text();
    if text.is_empty() {
        return Ok(HistogramPlan::default());
    }
    read_histogram(&text).map_err(|problem| refuse_value(given, &problem, log))
}

fn read_histogram(text: &str) -> Result<HistogramPlan, String> {
    let mut plan = HistogramPlan::default();
    let mut parts = text.split(',');
    let width = parts.next().unwrap_or_default();
    let (number, micros) = match width.strip_suffix(['u', 'm']) {
        Some(number) if width.ends_with('m') => (number, 1e3),
        Some(number) => (number, 1.0),
        None => (width, 1.0),
    };
    plan.in_micros = micros < 1e3;
    plan.width = parse_seconds(number)
        .ok()
        .map(|number| number * micros / 1e6)
        .filter(|width| (1e-7..=MAX_WIDTH).contains(width))
        .map(Duration::from_secs_f64)
        .ok_or("has no bin width above 0 (such as 100u or 1m)")?;
    if let Some(bins) = parts.next() {
        plan.bins = bins
            .parse()
            .ok()
            .filter(|bins| (1..=MAX_BINS).contains(bins))
            .ok_or_else(|| format!("has no number of bins from 1 to {MAX_BINS}"))?;
    }
    for (percentile, text) in [&mut plan.low, &mut plan.high].into_iter().zip(&mut parts) {
        *percentile = parse_seconds(text)
            .ok()
            .filter(|share| (0.0..=100.0).contains(share))
            .ok_or("has no percentiles from 0 to 100")?;
    }
    if parts.next().is_some() {
        return Err("has more than four parts".into());
    }
    Ok(plan)
}

/// Whole microseconds; under iperf what is none is the default.
fn jitter_width(
    settings: &Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<Duration, Exit> {
    if given.value.is_none() {
        return Ok(DEFAULT_JITTER_WIDTH);
    }
    let micros = if settings.iperf() {
        u64::try_from(atoi(&given.text())).unwrap_or(0)
    } else {
        match count(given, log)? {
            micros @ 1..=3_600_000_000 => micros,
            _ => return Err(refuse_value(given, "is no number of microseconds", log)),
        }
    };
    Ok(match micros {
        0 => DEFAULT_JITTER_WIDTH,
        micros => Duration::from_micros(micros),
    })
}

/// `-i f`.
pub(crate) fn by_frame(
    settings: &mut Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<(), Exit> {
    if !settings.iperf() && !matches!(given.text().as_str(), "f" | "F") {
        return Err(refuse_value(
            given,
            "is no number of seconds, or f (frames)",
            log,
        ));
    }
    settings.interval = None;
    settings.latency.by_frame = true;
    settings.presentation.enhanced = true;
    Ok(())
}

/// Jitter is seen where datagrams arrive.
pub(crate) fn jitter_is_for_servers(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.latency.jitter_histograms.is_some() {
        log.warn(
            "WARN: option of --jitter-histogram not supported on the client",
            "--jitter-histograms is for servers",
        );
    }
}

/// A stamp needs room in every write.
pub(crate) fn stamps_fit_a_write(settings: &mut Settings, log: &mut Diagnostics) {
    stamps_fit(settings, SHORTEST_STAMPED_WRITE, log);
}

/// A datagram that asks the server to send carries an order beside its stamp.
pub(crate) fn stamps_fit_a_datagram(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.udp && settings.arrangements() > 0 {
        stamps_fit(settings, SHORTEST_STAMPED_ORDER, log);
    }
}

fn stamps_fit(settings: &Settings, shortest: u32, log: &mut Diagnostics) {
    let length = lengths::effective_length(settings);
    // Tapeline reports the larger need once.
    let reported = log.personality() == tapeline_dialect::Personality::Native && log.has_failed();
    if settings.latency.trip_times && length < shortest && !reported {
        log.error(
            format!(
                "ERROR: payload (-l) size of {length} too small for --trip-times, must be \
                 {shortest} or greater"
            ),
            format!("option -l: {length} bytes have no room for --trip-times ({shortest} needed)"),
        );
    }
}

/// A server learns of stamps from the client.
pub(crate) fn stamps_are_for_clients(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.latency.trip_times {
        log.warn(
            "WARN: setting of option --trip-times is not supported on the server",
            "",
        );
    }
}

/// Measurements bring enhanced rows, and each other.
pub(crate) fn measurements_bring_their_kind(settings: &mut Settings, _: &mut Diagnostics) {
    let asked = settings.latency;
    let tcp = !settings.udp;
    if settings.mode != Mode::Client {
        return;
    }
    settings.presentation.enhanced |= (asked.trip_times && (tcp || settings.arrangements() > 0))
        || (asked.write_times && tcp)
        || shape::bursts(settings);
    let writes = tcp && !settings.reverse && !settings.full_duplex && !settings.bounceback.asked;
    if asked.histograms.is_some() && writes {
        settings.latency.write_times = true;
    }
    if !settings.iperf() && asked.trip_times && tcp && !settings.bounceback.asked {
        settings.tcp.write_prefetch.get_or_insert(STAMPED_PREFETCH);
    }
    if settings.bounceback.asked
        && settings.interval.is_none()
        && settings.bounceback.period.is_none()
    {
        settings.interval = Some(Duration::from_secs(1));
    }
}

/// What is measured beside the amount.
pub(crate) fn latency_plan(settings: &Settings) -> LatencyPlan {
    let asked = settings.latency;
    let client = settings.mode == Mode::Client;
    LatencyPlan {
        trip_times: asked.trip_times && client,
        write_times: asked.write_times && client && !settings.udp,
        histograms: asked.histograms,
        jitter_histograms: asked.jitter_histograms.filter(|_| !client),
        by_frame: asked.by_frame,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_have_width_bins_and_percentiles() {
        let plan = |text| read_histogram(text).expect(text);
        assert_eq!(plan("100u").bins, 100_000);
        assert_eq!(
            plan("2m,500,10,99.7"),
            HistogramPlan {
                width: Duration::from_millis(2),
                in_micros: false,
                bins: 500,
                low: 10.0,
                high: 99.7,
            }
        );
        assert_eq!(plan("25,8").width, Duration::from_micros(25));
        assert_eq!(plan("25,8,1").high, 95.0);
        for bad in ["abc", "0", "-1m", "1u,0", "1u,x", "1u,5,101", "1u,5,1,2,3"] {
            assert!(read_histogram(bad).is_err(), "{bad}");
        }
    }
}
