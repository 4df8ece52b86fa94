//! Histograms as people read them: percentiles and a row of bars.

use tapeline_base::FlowTag;
use tapeline_stats::LinearHistogram;

use super::number::millis;
use crate::calendar::Calendar;
use crate::model::{HistogramKind, HistogramRow};

/// Percentiles of a whole test.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];
/// Percentiles of an interval.
const FEW_PERCENTILES: [f64; 3] = [50.0, 90.0, 99.0];
/// Bars from the shortest to the longest time.
const BARS: usize = 40;
const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_HEIGHTS: [char; 9] = [' ', '.', '.', ':', ':', '+', '+', '#', '#'];

/// The line of an interval.
pub(crate) fn interval(row: &HistogramRow) -> String {
    let histogram = &row.histogram;
    let mut phrases = percentiles(histogram, &FEW_PERCENTILES);
    phrases.push(samples(histogram.total()));
    format!(
        "{:>6}  {}: {}",
        row.tag.id,
        name(row.kind),
        phrases.join(", ")
    )
}

/// The lines of a whole test.
pub(crate) fn total(row: &HistogramRow, unicode: bool, calendar: &Calendar) -> Vec<String> {
    let histogram = &row.histogram;
    let summary = histogram.summary();
    let mut phrases = vec![samples(summary.total)];
    for (number, what) in [
        (summary.outliers, "far above the rest"),
        (summary.below, "below 0: the clocks differ"),
        (summary.above, "beyond the last bin"),
    ] {
        if number > 0 {
            phrases.push(format!("{number} {what}"));
        }
    }
    let mut lines = vec![format!(
        "{}: {}",
        title(row.kind, row.tag),
        phrases.join(", ")
    )];
    if summary.total == 0 {
        return lines;
    }
    let mut shares = percentiles(histogram, &PERCENTILES);
    if let Some((nanos, at)) = histogram.maximum() {
        let seconds = nanos as f64 / 1e9;
        let time = calendar.time_of_day(at);
        shares.push(format!("max {} ms at {time}", millis(seconds)));
    }
    lines.push(format!("  {}", shares.join(", ")));
    lines.extend(bars(histogram, unicode).map(|bars| format!("  {bars}")));
    lines
}

fn title(kind: HistogramKind, tag: FlowTag) -> String {
    format!("stream {}, {}", tag.id, name(kind))
}

fn name(kind: HistogramKind) -> &'static str {
    match kind {
        HistogramKind::Transit => "one-way delay",
        HistogramKind::Frame => "delay of bursts",
        HistogramKind::Jitter => "differences of delays",
        HistogramKind::Write => "times of writes",
        HistogramKind::RoundTrip => "round trips",
        HistogramKind::Transmit => "requests to the server",
        HistogramKind::Receive => "responses from the server",
    }
}

fn samples(number: u64) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} sample{plural}")
}

/// `p50 <0.100 ms, p90-p99 <0.200 ms`: the upper edges of the bins that the shares end in,
/// equal ones together. A share that needs more samples than there are is left out.
fn percentiles(histogram: &LinearHistogram, shares: &[f64]) -> Vec<String> {
    let mut groups: Vec<(f64, f64, Option<f64>)> = Vec::new();
    for share in shares {
        if histogram.total() as f64 * (100.0 - share) < 100.0 {
            continue;
        }
        let edge = upper_edge(histogram, *share);
        match groups.last_mut() {
            Some((_, last, known)) if *known == edge => *last = *share,
            _ => groups.push((*share, *share, edge)),
        }
    }
    groups
        .into_iter()
        .map(|(first, last, edge)| {
            let name = if first == last {
                format!("p{first}")
            } else {
                format!("p{first}-p{last}")
            };
            match edge {
                Some(seconds) => format!("{name} <{} ms", millis(seconds)),
                None => format!("{name} beyond the last bin"),
            }
        })
        .collect()
}

/// Upper edge, in seconds, of the bin that holds the share's last sample.
fn upper_edge(histogram: &LinearHistogram, percent: f64) -> Option<f64> {
    let summary = histogram.summary();
    let wanted = (summary.total as f64 * percent / 100.0).ceil() as u64;
    let mut passed = summary.below;
    if passed >= wanted {
        return Some(0.0);
    }
    for (bin, count) in histogram.bins() {
        passed += count;
        if passed >= wanted {
            return Some(edge(histogram, bin));
        }
    }
    None
}

/// Upper edge of a bin, seconds.
fn edge(histogram: &LinearHistogram, bin: u32) -> f64 {
    f64::from(bin) * histogram.shape().width_ns as f64 / 1e9
}

/// One bar for each group of bins from 0 to the highest one used; none for a single bin.
fn bars(histogram: &LinearHistogram, unicode: bool) -> Option<String> {
    let (last, _) = histogram.bins().last()?;
    let width = last.div_ceil(BARS as u32).max(1);
    let mut groups = vec![0u64; last.div_ceil(width) as usize];
    if groups.len() < 2 {
        return None;
    }
    for (bin, count) in histogram.bins() {
        groups[((bin - 1) / width) as usize] += count;
    }
    let highest = *groups.iter().max()?;
    let heights = if unicode { HEIGHTS } else { ASCII_HEIGHTS };
    let picture: String = groups
        .iter()
        .map(|count| heights[(count * 8).div_ceil(highest.max(1)) as usize])
        .collect();
    let end = millis(edge(histogram, width * groups.len() as u32));
    Some(format!("0 |{picture}| {end} ms"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tapeline_base::{FlowId, WallTime};
    use tapeline_stats::HistogramShape;

    use super::*;
    use crate::model::{Phase, Span};

    fn row(samples: &[i64]) -> HistogramRow {
        let mut histogram = LinearHistogram::new(HistogramShape::DELAY);
        for sample in samples {
            let at = WallTime::from_nanos(1_795_215_956_108_000_000);
            histogram.record_at(*sample, at);
        }
        HistogramRow {
            tag: FlowTag {
                id: FlowId(1),
                reversed: false,
            },
            phase: Phase::Total,
            span: Span {
                start: Duration::ZERO,
                end: Duration::from_secs(1),
            },
            kind: HistogramKind::Transit,
            in_micros: true,
            histogram,
        }
    }

    fn spread() -> Vec<i64> {
        let mut samples = vec![50_000; 90];
        samples.extend([150_000; 9]);
        samples.push(950_000);
        samples
    }

    #[test]
    fn percentiles_are_upper_edges_and_need_samples() {
        assert_eq!(
            interval(&row(&spread())),
            "     1  one-way delay: p50-p90 <0.100 ms, p99 <0.200 ms, 100 samples"
        );
        assert_eq!(interval(&row(&[5])), "     1  one-way delay: 1 sample");
    }

    #[test]
    fn a_whole_test_has_bars_and_its_worst_moment() {
        let calendar = Calendar::new(true);
        assert_eq!(
            total(&row(&spread()), false, &calendar),
            [
                "stream 1, one-way delay: 100 samples, 1 far above the rest",
                "  p50-p90 <0.100 ms, p95-p99 <0.200 ms, max 0.950 ms at 23:05:56",
                "  0 |#.       .| 1.00 ms",
            ]
        );
        let shown = total(&row(&spread()), true, &calendar);
        assert_eq!(shown[2], "  0 |█▁       ▁| 1.00 ms");
    }

    #[test]
    fn samples_out_of_bounds_are_named() {
        let shown = total(&row(&[-5, 50, i64::MAX]), false, &Calendar::new(true));
        assert_eq!(
            shown[0],
            "stream 1, one-way delay: 3 samples, 1 below 0: the clocks differ, 1 beyond the last bin"
        );
        assert_eq!(total(&row(&[]), true, &Calendar::new(true)).len(), 1);
    }

    #[test]
    fn a_wide_spread_keeps_to_the_width() {
        let samples: Vec<i64> = (0..10_000).map(|sample| sample * 100_000).collect();
        let shown = total(&row(&samples), true, &Calendar::new(true));
        assert!(shown[2].chars().count() < 70, "{}", shown[2]);
    }
}
