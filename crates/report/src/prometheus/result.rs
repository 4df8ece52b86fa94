//! What tests came to, as metrics.

use tapeline_stats::DelayCounts;

use super::family::{Distribution, Family, Labels};
use crate::document::{
    DelaySummary, DirectionSum, FlowDirection, Report, SenderDetails, Stream, UdpReceiver,
};

/// Flows of a test beyond which none is reported by itself.
pub(crate) const MAX_FLOWS: usize = 16;

/// A number of one direction of a test.
type Number = (&'static str, &'static str, fn(&DirectionSum) -> Option<f64>);

fn count(number: Option<u64>) -> Option<f64> {
    number.map(|number| number as f64)
}

fn udp(sum: &DirectionSum, pick: fn(&UdpReceiver) -> Option<u64>) -> Option<f64> {
    count(sum.receiver.udp.as_ref().and_then(pick))
}

const NUMBERS: [Number; 14] = [
    (
        "tapeline_test_sent_bytes",
        "Payload that the sender counted",
        |sum| count(sum.sender.end.bytes),
    ),
    (
        "tapeline_test_sent_seconds",
        "Time in which the sender counted",
        |sum| sum.sender.end.seconds,
    ),
    (
        "tapeline_test_sent_bits_per_second",
        "Payload over time at the sender",
        |sum| sum.sender.end.bits_per_second,
    ),
    (
        "tapeline_test_received_bytes",
        "Payload that the receiver counted",
        |sum| count(sum.receiver.end.bytes),
    ),
    (
        "tapeline_test_received_seconds",
        "Time in which the receiver counted",
        |sum| sum.receiver.end.seconds,
    ),
    (
        "tapeline_test_received_bits_per_second",
        "Payload over time at the receiver",
        |sum| sum.receiver.end.bits_per_second,
    ),
    (
        "tapeline_test_sender_cpu_ratio",
        "Processor time of the sending end, share of one processor",
        |sum| sum.sender.end.cpu_percent.map(|percent| percent / 100.0),
    ),
    (
        "tapeline_test_receiver_cpu_ratio",
        "Processor time of the receiving end, share of one processor",
        |sum| sum.receiver.end.cpu_percent.map(|percent| percent / 100.0),
    ),
    (
        "tapeline_test_retransmits",
        "Segments that were sent again (TCP)",
        |sum| match &sum.sender.details {
            Some(SenderDetails::Tcp { retransmits, .. }) => count(*retransmits),
            _ => None,
        },
    ),
    (
        "tapeline_test_datagrams_received",
        "Distinct datagrams that arrived (UDP)",
        |sum| udp(sum, |udp| udp.packets),
    ),
    (
        "tapeline_test_datagrams_lost",
        "Datagrams that did not arrive (UDP)",
        |sum| udp(sum, |udp| udp.lost),
    ),
    (
        "tapeline_test_datagrams_reordered",
        "Datagrams that arrived after a later one (UDP)",
        |sum| udp(sum, |udp| udp.reordered),
    ),
    (
        "tapeline_test_datagrams_duplicate",
        "Datagrams that arrived again (UDP)",
        |sum| udp(sum, |udp| udp.duplicates),
    ),
    (
        "tapeline_test_jitter_seconds",
        "RFC 3550 jitter, mean of all its values where they are known, of the worst stream (UDP)",
        |sum| {
            let jitter = sum.receiver.udp.as_ref()?.jitter_of_test_ms()?;
            Some(jitter * 1e-3)
        },
    ),
];

/// A count of lost datagrams, where it is known.
type LossCount = fn(&UdpReceiver) -> Option<u64>;

/// Where datagrams were lost.
const PLACES: [(&str, LossCount); 3] = [
    ("network", |udp| udp.lost_network),
    ("receiver_host", |udp| udp.lost_receiver_host),
    ("sender_host", |udp| udp.lost_sender_host),
];

/// The metrics of these results, each under its labels.
pub(crate) fn families(results: &[(Labels, &Report)]) -> Vec<Family> {
    let mut families: Vec<Family> = NUMBERS
        .iter()
        .map(|(name, help, pick)| {
            let samples =
                directions(results).filter_map(|(labels, sum)| Some((labels, pick(sum)?)));
            Family::gauge(name, help, samples)
        })
        .collect();
    families.push(lost_at(results));
    families.extend(delays(
        "tapeline_test_rtt_seconds",
        "tapeline_test_rtt_mean_seconds",
        "tapeline_test_rtt_distribution_seconds",
        "Round trips of a stream, by quantile",
        flows(results).filter_map(|(labels, flow)| Some((labels, flow.rtt.as_ref()?))),
    ));
    families.extend(delays(
        "tapeline_test_one_way_delay_seconds",
        "tapeline_test_one_way_delay_mean_seconds",
        "tapeline_test_one_way_delay_distribution_seconds",
        "One-way delays of a stream, by quantile",
        flows(results)
            .filter_map(|(labels, flow)| Some((labels, &flow.one_way_delay.as_ref()?.delays))),
    ));
    families.push(Family::gauge(
        "tapeline_test_one_way_delay_error_seconds",
        "The true mean is at most this far from the one told, if the path is symmetric",
        flows(results).filter_map(|(labels, flow)| {
            let error = flow.one_way_delay.as_ref()?.error_ms?;
            Some((labels, error * 1e-3))
        }),
    ));
    families.push(Family::gauge(
        "tapeline_test_one_way_delay_error_worst_case_seconds",
        "The true mean is at most this far from the one told, whatever the path is like",
        flows(results).filter_map(|(labels, flow)| {
            let error = flow.one_way_delay.as_ref()?.error_worst_case_ms?;
            Some((labels, error * 1e-3))
        }),
    ));
    families.extend(under_load(results));
    families.push(limits(results));
    families.push(Family::gauge(
        "tapeline_test_trust",
        "How far the numbers are to be trusted; always 1",
        results.iter().filter_map(|(labels, report)| {
            let trust = report.trust.as_ref()?;
            Some((with(labels, "level", trust.level.word()), 1.0))
        }),
    ));
    families.push(Family::gauge(
        "tapeline_test_complete",
        "Whether the test ran to its end",
        results.iter().map(|(labels, report)| {
            let complete = f64::from(u8::from(report.test.complete));
            (labels.clone(), complete)
        }),
    ));
    families
}

fn direction_word(direction: FlowDirection) -> String {
    match direction {
        FlowDirection::Forward => "forward",
        FlowDirection::Reverse => "reverse",
        FlowDirection::RoundTrip => "round_trip",
    }
    .to_owned()
}

/// Labels with another one.
fn with(labels: &Labels, name: &'static str, value: impl Into<String>) -> Labels {
    let mut labels = labels.clone();
    labels.push((name, value.into()));
    labels
}

fn directions<'a>(
    results: &'a [(Labels, &'a Report)],
) -> impl Iterator<Item = (Labels, &'a DirectionSum)> {
    results.iter().flat_map(|(labels, report)| {
        let sums = report.sum.directions.iter();
        sums.map(|sum| {
            (
                with(labels, "direction", direction_word(sum.direction)),
                sum,
            )
        })
    })
}

fn flows<'a>(
    results: &'a [(Labels, &'a Report)],
) -> impl Iterator<Item = (Labels, &'a Stream)> + Clone {
    let few = results
        .iter()
        .filter(|(_, report)| report.sum.stream_count <= MAX_FLOWS);
    few.flat_map(|(labels, report)| {
        report.streams.iter().map(|flow| {
            let labels = with(labels, "direction", direction_word(flow.direction));
            (with(&labels, "stream", flow.id.to_string()), flow)
        })
    })
}

fn lost_at(results: &[(Labels, &Report)]) -> Family {
    let samples = directions(results).flat_map(|(labels, sum)| {
        PLACES
            .into_iter()
            .filter_map(move |(place, pick)| Some((with(&labels, "place", place), udp(sum, pick)?)))
    });
    Family::gauge(
        "tapeline_test_datagrams_lost_at",
        "Of the lost datagrams, those lost at a place, where that is known (UDP)",
        samples,
    )
}

/// The published percentiles of delays as quantiles, their means, and how they are distributed where they are known
/// one by one.
fn delays<'a>(
    name: &'static str,
    mean: &'static str,
    distribution: &'static str,
    help: &'static str,
    known: impl Iterator<Item = (Labels, &'a DelaySummary)> + Clone,
) -> [Family; 3] {
    let quantiles = known.clone().flat_map(|(labels, delays)| {
        let values = [
            ("0", delays.min_ms),
            ("0.5", delays.p50_ms),
            ("0.9", delays.p90_ms),
            ("0.95", delays.p95_ms),
            ("0.99", delays.p99_ms),
            ("0.999", delays.p999_ms),
            ("1", delays.max_ms),
        ];
        values.into_iter().filter_map(move |(quantile, millis)| {
            Some((with(&labels, "quantile", quantile), millis? * 1e-3))
        })
    });
    let means = known.clone();
    let means = means.filter_map(|(labels, delays)| Some((labels, delays.mean_ms? * 1e-3)));
    let spread = known.filter_map(|(labels, delays)| Some((labels, distributed(&delays.counts)?)));
    [
        Family::gauge(name, help, quantiles),
        Family::gauge(mean, "Their mean", means),
        Family::histogram(distribution, "The same in buckets", spread),
    ]
}

/// Delays in buckets. Nothing of those below 0, by clocks that disagree: a sum of them has no meaning.
fn distributed(counts: &DelayCounts) -> Option<Distribution> {
    let (least, _) = counts.points().first()?;
    (*least >= 0).then(|| {
        let mut distribution = Distribution::for_delays();
        for (nanos, count) in counts.points() {
            distribution.add(*nanos as f64 * 1e-9, *count);
        }
        distribution
    })
}

/// Round trips of probes next to the traffic and after it, and what the load adds.
fn under_load(results: &[(Labels, &Report)]) -> Vec<Family> {
    let known = results.iter().filter_map(|(labels, report)| {
        let latency = report.latency_under_load.as_ref()?;
        Some((labels, latency))
    });
    let paths = known.clone().flat_map(|(labels, latency)| {
        [("loaded", &latency.loaded), ("idle", &latency.idle)]
            .map(|(path, delays)| (with(labels, "path", path), delays))
    });
    let mut families: Vec<Family> = delays(
        "tapeline_test_probe_rtt_seconds",
        "tapeline_test_probe_rtt_mean_seconds",
        "tapeline_test_probe_rtt_distribution_seconds",
        "Round trips of probes while the traffic flowed and on the idle path, by quantile",
        paths,
    )
    .into();
    families.push(Family::gauge(
        "tapeline_test_latency_increase_seconds",
        "Median round trip under load less the idle one",
        known.clone().filter_map(|(labels, latency)| {
            let increase = latency.increase_ms?;
            Some((labels.clone(), increase * 1e-3))
        }),
    ));
    families.push(Family::gauge(
        "tapeline_test_bufferbloat_grade",
        "Grade of that increase; always 1",
        known.filter_map(|(labels, latency)| {
            let grade = latency.bufferbloat_grade?;
            Some((with(labels, "grade", grade), 1.0))
        }),
    ));
    families
}

fn limits(results: &[(Labels, &Report)]) -> Family {
    let samples = directions(results).filter_map(|(labels, sum)| {
        let verdict = sum.verdict.as_ref()?;
        let labels = with(&labels, "limit", verdict.limited_by.unwrap_or("unknown"));
        Some((with(&labels, "confidence", verdict.confidence), 1.0))
    });
    Family::gauge(
        "tapeline_test_limited_by",
        "What limited the test, and how sure that is; always 1",
        samples,
    )
}
