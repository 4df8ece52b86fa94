//! Delays that are to be measured, and their distributions.

use std::time::Duration;

use tapeline_base::parse_seconds;
use tapeline_dialect::{HistogramPlan, LatencyPlan};

use crate::options::OptionId as Id;
use crate::raw::Given;
use crate::values::atoi;

use super::log::{Log, Stop};
use super::reading::{count, refuse_value};
use super::settings::{Mode, Settings};

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

/// What was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LatencySettings {
    pub(crate) trip_times: bool,
    pub(crate) write_times: bool,
    pub(crate) histograms: Option<HistogramPlan>,
    pub(crate) jitter_histograms: Option<Duration>,
    pub(crate) by_frame: bool,
}

/// Carries out one option of this kind.
pub(super) fn apply(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    match given.spec.id {
        Id::TripTimes => settings.latency.trip_times = true,
        Id::WriteTimes => settings.latency.write_times = true,
        Id::Histograms => {
            settings.latency.histograms = Some(histogram(given, log)?);
            settings.presentation.enhanced = true;
        }
        _ => {
            settings.latency.jitter_histograms = Some(jitter_width(settings, given, log)?);
            settings.presentation.enhanced = true;
        }
    }
    Ok(())
}

/// `WIDTH[u|m],BINS[,LOW[,HIGH]]`; what is left out has its default.
fn histogram(given: &Given, log: &mut Log) -> Result<HistogramPlan, Stop> {
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
fn jitter_width(settings: &Settings, given: &Given, log: &mut Log) -> Result<Duration, Stop> {
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
pub(super) fn by_frame(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    if !settings.iperf() && !matches!(given.text().as_str(), "f" | "F") {
        return Err(refuse_value(
            given,
            "is no number of seconds, nor f (frames)",
            log,
        ));
    }
    settings.interval = None;
    settings.latency.by_frame = true;
    settings.presentation.enhanced = true;
    Ok(())
}

/// Jitter is seen where datagrams arrive.
pub(super) fn jitter_is_for_servers(settings: &mut Settings, log: &mut Log) {
    if settings.latency.jitter_histograms.is_some() {
        log.warn(
            "WARN: option of --jitter-histogram not supported on the client",
            "--jitter-histograms is for servers",
        );
    }
}

/// A stamp needs room in every write.
pub(super) fn stamps_fit_a_write(settings: &mut Settings, log: &mut Log) {
    stamps_fit(settings, SHORTEST_STAMPED_WRITE, log);
}

/// A datagram that asks the server to send carries an order beside its stamp.
pub(super) fn stamps_fit_a_datagram(settings: &mut Settings, log: &mut Log) {
    if settings.udp && settings.arrangements() > 0 {
        stamps_fit(settings, SHORTEST_STAMPED_ORDER, log);
    }
}

fn stamps_fit(settings: &Settings, shortest: u32, log: &mut Log) {
    let length = settings.effective_length();
    // Tapeline tells of the larger need once.
    let told = log.personality() == tapeline_dialect::Personality::Native && log.has_failed();
    if settings.latency.trip_times && length < shortest && !told {
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
pub(super) fn stamps_are_for_clients(settings: &mut Settings, log: &mut Log) {
    if settings.latency.trip_times {
        log.warn(
            "WARN: setting of option --trip-times is not supported on the server",
            "",
        );
    }
}

/// Measurements bring enhanced rows, and each other.
pub(super) fn measurements_bring_their_kind(settings: &mut Settings, _: &mut Log) {
    let asked = settings.latency;
    let tcp = !settings.udp;
    if settings.mode != Mode::Client {
        return;
    }
    settings.presentation.enhanced |= (asked.trip_times && (tcp || settings.arrangements() > 0))
        || (asked.write_times && tcp)
        || settings.bursts();
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

impl Settings {
    /// What is measured beside the amount.
    pub(super) fn latency_plan(&self) -> LatencyPlan {
        let asked = self.latency;
        let client = self.mode == Mode::Client;
        LatencyPlan {
            trip_times: asked.trip_times && client,
            write_times: asked.write_times && client && !self.udp,
            histograms: asked.histograms,
            jitter_histograms: asked.jitter_histograms.filter(|_| !client),
            by_frame: asked.by_frame,
        }
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
