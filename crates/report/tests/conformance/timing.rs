//! Histograms, delays and connect times read back from recorded lines.

use std::time::Duration;

use tapeline_base::{Role, WallTime};
use tapeline_report::{
    ClockCheck, ConnectTimes, Event, HistogramKind, HistogramRow, Phase, ScheduleErrors, Span,
    StartDelay,
};
use tapeline_stats::{HistogramShape, LinearHistogram};
use tapeline_testkit::iperf2_text::{Distribution, LineKind};

use crate::setup::date;
use crate::values::{float, integer, moments, tag};

/// The event behind a line that is no row; `shape` has the bins of the run.
pub(crate) fn event(kind: &LineKind, fields: &[&str], shape: HistogramShape) -> Option<Event> {
    Some(match kind {
        LineKind::Histogram(distribution) => {
            Event::Histogram(histogram(*distribution, Phase::Interval, fields, shape))
        }
        LineKind::FinalHistogram(distribution) => {
            Event::Histogram(histogram(*distribution, Phase::Total, fields, shape))
        }
        LineKind::ClientDelay => Event::StartDelay(StartDelay {
            tag: tag(fields[0]),
            role: Role::Client,
            start: date(&format!("on {} (", fields[2])),
            now: date(fields[3]),
        }),
        LineKind::ClockCheck => Event::ClockCheck(ClockCheck {
            tag: tag(fields[0]),
            round_trip: float(fields[1]) / 1e3,
            send: float(fields[3]) / 1e3,
            acknowledge: float(fields[4]) / 1e3,
        }),
        LineKind::ScheduleErrors => Event::ScheduleErrors(ScheduleErrors {
            tag: tag(fields[0]),
            errors: moments(100, &fields[1..4], fields[4]),
        }),
        LineKind::ConnectTimes => connect_times(fields),
        _ => return None,
    })
}

fn connect_times(fields: &[&str]) -> Event {
    let (extremes, tail) = fields.split_at(3);
    let (deviation, tail) = match tail {
        [deviation, tail @ ..] if tail.len() == 2 => (*deviation, tail),
        _ => ("0", tail),
    };
    // 2.2.1 prints the least one first.
    let ordered = [extremes[1], extremes[0], extremes[2]];
    Event::ConnectTimes(ConnectTimes {
        times: moments(integer(tail[0]), &ordered, deviation),
        errors: integer(tail[1]),
    })
}

fn histogram(
    distribution: Distribution,
    phase: Phase,
    fields: &[&str],
    shape: HistogramShape,
) -> HistogramRow {
    let width = fields[3].trim_end_matches("us");
    let shape = HistogramShape {
        width_ns: integer(width) * 1000,
        lower_percent: float(fields[6]),
        upper_percent: float(fields[7]),
        bins: if distribution == Distribution::Jitter {
            HistogramShape::JITTER.bins
        } else {
            shape.bins
        },
    };
    HistogramRow {
        tag: tag(fields[0]),
        phase,
        span: Span {
            start: Duration::from_secs_f64(float(fields[1])),
            end: Duration::from_secs_f64(float(fields[2])),
        },
        kind: kind(distribution),
        in_micros: true,
        histogram: counts(shape, fields),
    }
}

fn counts(shape: HistogramShape, fields: &[&str]) -> LinearHistogram {
    let mut counts = Vec::new();
    for bin in fields[5].split(',').filter(|bin| !bin.is_empty()) {
        let (bin, count) = bin.split_once(':').expect("a bin");
        counts.resize(integer(bin) as usize - 1, 0);
        counts.push(integer(count));
    }
    let maximum = fields.get(14).map(|millis| {
        let micros = integer(fields[15]) * 1_000_000 + integer(fields[16]);
        let at = WallTime::from_nanos(micros as i64 * 1000);
        ((float(millis) * 1e6).round() as i64, at)
    });
    LinearHistogram::from_counts(
        shape,
        counts,
        integer(fields[12]),
        integer(fields[13]),
        maximum,
    )
}

fn kind(distribution: Distribution) -> HistogramKind {
    match distribution {
        Distribution::Transit => HistogramKind::Transit,
        Distribution::Frame => HistogramKind::Frame,
        Distribution::Jitter => HistogramKind::Jitter,
        Distribution::Write => HistogramKind::Write,
        Distribution::RoundTrip => HistogramKind::RoundTrip,
        Distribution::OneWaySent => HistogramKind::Transmit,
        Distribution::OneWayReceived => HistogramKind::Receive,
    }
}
