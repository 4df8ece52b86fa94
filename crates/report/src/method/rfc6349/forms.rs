//! The result in the forms that all methods have.

use tapeline_stats::rfc6349::Metric;

use super::super::figure::{Chart, ChartKind, ChartSeries, CsvTable, Mark, Quantity, cell};
use super::super::page::{MethodHead, PageStyle};
use super::super::pass::{Bound, Criterion};
use super::super::phase::Direction;
use super::super::result::MethodResult;
use super::result::{DirectionResult, Rfc6349Result, RunPhase, TransferRun};

const fn criterion(metric: Metric, unit: &'static str, bound: Bound) -> Criterion {
    Criterion {
        name: metric.name(),
        unit,
        bound,
        default: Some(metric.default_limit()),
    }
}

impl MethodResult for Rfc6349Result {
    const CRITERIA: &'static [Criterion] = &[
        criterion(Metric::TransferTimeRatio, "", Bound::AtMost),
        criterion(Metric::Efficiency, "%", Bound::AtLeast),
        criterion(Metric::BufferDelay, "%", Bound::AtMost),
    ];

    fn page(&self, head: &MethodHead, style: &PageStyle) -> String {
        super::page::page(self, head, style)
    }

    fn verdict(&self) -> String {
        super::findings::verdict(self)
    }

    fn csv(&self) -> CsvTable {
        let mut table = CsvTable::new(&[
            "direction",
            "phase",
            "connections",
            "window_asked_bytes",
            "window_used_bytes",
            "seconds",
            "bytes",
            "bits_per_second",
            "expected_bits_per_second",
            "ttr",
            "ttr_window",
            "transmitted_bytes",
            "retransmitted_bytes",
            "efficiency_percent",
            "rtt_mean_ms",
            "rtt_min_ms",
            "rtt_max_ms",
            "buffer_delay_percent",
            "buffer_delay_probe_percent",
            "cwnd_max_bytes",
            "congestion_control",
            "limited_by",
        ]);
        let alone = self
            .measured()
            .flat_map(|(direction, of)| of.runs.iter().map(move |run| (direction, run)));
        let both = self.simultaneous.iter().flat_map(|both| {
            let up = both.up.as_ref().map(|run| (Direction::Up, run));
            let down = both.down.as_ref().map(|run| (Direction::Down, run));
            up.into_iter().chain(down)
        });
        for (direction, run) in alone.chain(both) {
            table.push(vec![
                direction.word().to_owned(),
                run.phase.word().to_owned(),
                run.connections.to_string(),
                cell(run.window_asked_bytes),
                cell(run.window_used_bytes),
                run.seconds.to_string(),
                run.bytes.to_string(),
                run.bits_per_second.to_string(),
                cell(run.expected_bits_per_second),
                cell(run.ttr),
                cell(run.ttr_window),
                cell(run.transmitted_bytes),
                cell(run.retransmitted_bytes),
                cell(run.efficiency_percent),
                cell(run.rtt_mean_ms),
                cell(run.rtt_min_ms),
                cell(run.rtt_max_ms),
                cell(run.buffer_delay_percent),
                cell(run.buffer_delay_probe_percent),
                cell(run.cwnd_max_bytes),
                run.congestion_control.clone().unwrap_or_default(),
                cell(
                    run.limited_by
                        .as_ref()
                        .and_then(|verdict| verdict.limited_by),
                ),
            ]);
        }
        table
    }

    fn quantities(&self) -> Vec<Quantity> {
        let names = [
            (Metric::TransferTimeRatio, "ttr", "ratio"),
            (Metric::Efficiency, "efficiency", "percent"),
            (Metric::BufferDelay, "buffer_delay", "percent"),
        ];
        let of = |(direction, result): (Direction, &DirectionResult)| {
            let headline = result.headline;
            names.map(|(metric, name, unit)| {
                Quantity::new(format!("{name}.{direction}"), headline.of(metric), unit)
            })
        };
        self.measured().flat_map(of).collect()
    }

    fn charts(&self) -> Vec<Chart> {
        let mut charts = Vec::new();
        for (direction, result) in self.measured() {
            charts.extend(window_chart(direction, result, self.baseline_ms()));
            charts.extend(result.full().map(|run| rate_chart(direction, run, result)));
            charts.extend(result.full().map(|run| round_trip_chart(direction, run)));
        }
        charts
    }

    fn criterion(&self, name: &str) -> Option<f64> {
        let metric = Metric::ALL.into_iter().find(|one| one.name() == name)?;
        self.worse(metric)
    }

    fn host_limited(&self) -> bool {
        self.measured()
            .filter_map(|(_, direction)| direction.full())
            .any(TransferRun::host_limited)
    }

    fn shows_criteria(&self) -> bool {
        true
    }
}

/// Rate against window, with what is expected.
fn window_chart(
    direction: Direction,
    result: &DirectionResult,
    baseline_ms: Option<f64>,
) -> Option<Chart> {
    let held = || {
        let runs = result.runs.iter();
        runs.filter(|run| run.phase == RunPhase::Window)
    };
    let (ideal, round_trip) = (result.ideal.as_ref()?, baseline_ms? / 1e3);
    let kilo = |bytes: u64| bytes as f64 / 1e3;
    let largest = held().filter_map(|run| run.window_asked_bytes).max()?;
    let end = largest.max(result.minimum_window_bytes.unwrap_or(0)) as f64 * 1.1;
    let knee = (ideal.bits_per_second * round_trip / 8.0).min(end);
    let expected = [0.0, knee, end].map(|window| {
        let rate = (window * 8.0 / round_trip).min(ideal.bits_per_second);
        (window / 1e3, Some(rate))
    });
    let measured = held().filter_map(|run| {
        let window = run.window_asked_bytes?;
        Some((kilo(window), Some(run.bits_per_second)))
    });
    Some(Chart {
        title: format!("Rate of one connection by its window, {direction}"),
        kind: ChartKind::Rate,
        abscissa: "window, kB".into(),
        series: vec![
            ChartSeries {
                name: "expected".into(),
                mark: Mark::Expected,
                points: expected.to_vec(),
            },
            ChartSeries {
                name: "measured".into(),
                mark: Mark::Dots,
                points: measured.collect(),
            },
        ],
    })
}

/// Rate over time with the system's own windows.
fn rate_chart(direction: Direction, run: &TransferRun, result: &DirectionResult) -> Chart {
    let points = run.course.iter();
    let measured = points.map(|point| (point.seconds, point.bits_per_second));
    let mut series = vec![ChartSeries {
        name: "rate".into(),
        mark: Mark::Line,
        points: measured.collect(),
    }];
    if let (Some(ideal), Some(last)) = (&result.ideal, run.course.last()) {
        let rate = Some(ideal.bits_per_second);
        series.push(ChartSeries {
            name: "ideal".into(),
            mark: Mark::Expected,
            points: vec![(0.0, rate), (last.seconds, rate)],
        });
    }
    Chart {
        title: format!("Rate with the system's own window, {direction}"),
        kind: ChartKind::Rate,
        abscissa: "seconds".into(),
        series,
    }
}

/// Round trip over time of the same run.
fn round_trip_chart(direction: Direction, run: &TransferRun) -> Chart {
    let points = run.course.iter();
    Chart {
        title: format!("Round trip with the system's own window, {direction}"),
        kind: ChartKind::Ms,
        abscissa: "seconds".into(),
        series: vec![ChartSeries {
            name: "round trip".into(),
            mark: Mark::Line,
            points: points.map(|point| (point.seconds, point.rtt_ms)).collect(),
        }],
    }
}
