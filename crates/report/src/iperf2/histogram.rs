//! Histogram lines (`-PDF`).

use super::figure::interval;
use super::page;
use crate::model::{HistogramKind, HistogramRow, Phase};
use crate::style::Build;

/// Share that is always shown in addition to the chosen ones, percent.
const THREE_SIGMA: f64 = 99.7;

/// The whole line.
pub(crate) fn line(row: &HistogramRow, build: Build) -> String {
    let mark = match row.phase {
        Phase::Interval | Phase::Omitted => "",
        Phase::Total => "(f)",
    };
    let histogram = &row.histogram;
    let summary = histogram.summary();
    let mut line = format!(
        "{}{} {}{mark}-PDF: bin(w={}):cnt({})",
        page::plain(row.tag),
        interval(row.span, build),
        name(row.kind),
        width(row),
        summary.total
    );
    let bins: Vec<String> = histogram
        .bins()
        .map(|(bin, count)| format!("{bin}:{count}"))
        .collect();
    if !bins.is_empty() {
        line.push('=');
        line += &bins.join(",");
    }
    line += &format!(
        " ({}={}/{}/{},Outliers={},obl/obu={}/{})",
        shares(row),
        summary.lower_bin,
        summary.upper_bin,
        summary.three_sigma_bin,
        summary.outliers,
        summary.below,
        summary.above
    );
    if let Some((nanos, at)) = histogram.maximum().filter(|_| has_maximum(row.kind)) {
        let micros = at.as_nanos().div_euclid(1000);
        line += &format!(
            " ({:.3} ms/{}.{:06})",
            nanos as f64 / 1e6,
            micros.div_euclid(1_000_000),
            micros.rem_euclid(1_000_000)
        );
    }
    line
}

/// Three of the names bring a blank of their own, as in 2.2.1.
fn name(kind: HistogramKind) -> &'static str {
    match kind {
        HistogramKind::Transit => "T8",
        HistogramKind::Frame => "F8",
        HistogramKind::Jitter => "J8",
        HistogramKind::Write => "W8",
        HistogramKind::RoundTrip => " BB8",
        HistogramKind::Transmit => " OWD-TX",
        HistogramKind::Receive => " OWD-RX",
    }
}

/// 2.2.1 knows the time of the largest delay of data only.
fn has_maximum(kind: HistogramKind) -> bool {
    matches!(kind, HistogramKind::Transit | HistogramKind::Frame)
}

fn width(row: &HistogramRow) -> String {
    let nanos = row.histogram.shape().width_ns;
    if row.in_micros {
        format!("{}us", nanos / 1_000)
    } else {
        format!("{}ms", nanos / 1_000_000)
    }
}

/// The shares behind which the three bins lie, the chosen upper one in its place next to
/// 99.7 %.
fn shares(row: &HistogramRow) -> String {
    let shape = row.histogram.shape();
    let (low, high) = (shape.lower_percent, shape.upper_percent);
    if high > THREE_SIGMA {
        format!("{low:.2}/99.7/{high:.2}/%")
    } else {
        format!("{low:.2}/{high:.2}/99.7%")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tapeline_base::{FlowId, FlowTag, WallTime};
    use tapeline_stats::{HistogramShape, LinearHistogram};

    use super::*;
    use crate::model::Span;

    fn row(upper_percent: f64, samples: &[i64]) -> HistogramRow {
        let mut histogram = LinearHistogram::new(HistogramShape {
            upper_percent,
            ..HistogramShape::DELAY
        });
        for (at, sample) in samples.iter().enumerate() {
            histogram.record_at(
                *sample,
                WallTime::from_nanos(1_000_000_000 + at as i64 * 1000),
            );
        }
        HistogramRow {
            tag: FlowTag {
                id: FlowId(1),
                reversed: true,
            },
            phase: Phase::Total,
            span: Span {
                start: Duration::ZERO,
                end: Duration::from_millis(1500),
            },
            kind: HistogramKind::RoundTrip,
            in_micros: true,
            histogram,
        }
    }

    #[test]
    fn an_upper_share_beyond_three_sigma_comes_last() {
        let line = line(&row(99.9, &[50_000, 250_000, -1]), Build::Plain);
        assert_eq!(
            line,
            "[  1] 0.00-1.50 sec  BB8(f)-PDF: bin(w=100us):cnt(3)=1:1,3:1 \
             (5.00/99.7/99.90/%=1/100000/100000,Outliers=0,obl/obu=1/0)"
        );
    }

    #[test]
    fn delays_of_data_have_the_moment_of_the_largest() {
        let mut delays = row(95.0, &[50_000, 250_000, -1]);
        delays.kind = HistogramKind::Frame;
        let line = line(&delays, Build::Plain);
        assert!(
            line.ends_with(",obl/obu=1/0) (0.250 ms/1.000001)"),
            "{line}"
        );
    }

    #[test]
    fn an_empty_one_has_no_bins() {
        let mut empty = row(95.0, &[]);
        empty.in_micros = false;
        assert_eq!(
            line(&empty, Build::Plain),
            "[  1] 0.00-1.50 sec  BB8(f)-PDF: bin(w=0ms):cnt(0) \
             (5.00/95.00/99.7%=0/100000/100000,Outliers=0,obl/obu=0/0)"
        );
    }
}
