//! A metric with its samples, and the text of many.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text::encode};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

/// The media type of the text.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Names and values that distinguish the samples of a metric.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// Upper bounds of the buckets of delays, seconds: from a loopback to a satellite.
const BOUNDS: [f64; 20] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025,
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// The values of a metric's samples.
#[derive(Clone, Debug)]
enum Samples {
    /// What is now.
    Gauge(Vec<(Labels, f64)>),
    /// What has happened so far; `_total` is put behind the name.
    Counter(Vec<(Labels, u64)>),
    /// How often values up to each bound have occurred.
    Histogram(Vec<(Labels, Distribution)>),
}

/// Values, counted by buckets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Distribution {
    /// Of all values.
    sum: f64,
    count: u64,
    /// Upper bound, and values in it alone; the last bound is infinite.
    buckets: Vec<(f64, u64)>,
}

impl Distribution {
    /// Nothing yet, in buckets up to these bounds and beyond.
    pub(crate) fn new(bounds: &[f64]) -> Self {
        let bounds = bounds.iter().copied().chain([f64::INFINITY]);
        Self {
            sum: 0.0,
            count: 0,
            buckets: bounds.map(|bound| (bound, 0)).collect(),
        }
    }

    /// Nothing yet, in the buckets of delays.
    pub(crate) fn for_delays() -> Self {
        Self::new(&BOUNDS)
    }

    /// Takes `count` equal values.
    pub(crate) fn add(&mut self, value: f64, count: u64) {
        self.sum += value * count as f64;
        self.count += count;
        let bucket = self.buckets.iter_mut().find(|(bound, _)| value <= *bound);
        if let Some((_, counted)) = bucket {
            *counted += count;
        }
    }
}

/// A metric.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    name: &'static str,
    help: &'static str,
    samples: Samples,
}

impl Family {
    /// What is now.
    pub(crate) fn gauge(
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Labels, f64)>,
    ) -> Self {
        let samples = Samples::Gauge(samples.into_iter().collect());
        Self {
            name,
            help,
            samples,
        }
    }

    /// What has happened so far.
    pub(crate) fn counter(
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Labels, u64)>,
    ) -> Self {
        let samples = Samples::Counter(samples.into_iter().collect());
        Self {
            name,
            help,
            samples,
        }
    }

    /// How values are distributed.
    pub(crate) fn histogram(
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Labels, Distribution)>,
    ) -> Self {
        let samples = Samples::Histogram(samples.into_iter().collect());
        Self {
            name,
            help,
            samples,
        }
    }

    /// The version of this program.
    pub(crate) fn build(version: &str) -> Self {
        Self::gauge(
            "tapeline_build_info",
            "The program that answers; always 1",
            [(vec![("version", version.to_owned())], 1.0)],
        )
    }

    fn is_empty(&self) -> bool {
        match &self.samples {
            Samples::Gauge(samples) => samples.is_empty(),
            Samples::Counter(samples) => samples.is_empty(),
            Samples::Histogram(samples) => samples.is_empty(),
        }
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let kind = match &self.samples {
            Samples::Gauge(_) => MetricType::Gauge,
            Samples::Counter(_) => MetricType::Counter,
            Samples::Histogram(_) => MetricType::Histogram,
        };
        let mut metric = encoder.encode_descriptor(self.name, self.help, None, kind)?;
        match &self.samples {
            Samples::Gauge(samples) => each(&mut metric, samples, |metric, value| {
                metric.encode_gauge(value)
            }),
            Samples::Counter(samples) => each(&mut metric, samples, |metric, value| {
                metric.encode_counter::<NoLabelSet, u64, u64>(value, None)
            }),
            Samples::Histogram(samples) => each(&mut metric, samples, |metric, value| {
                metric.encode_histogram::<NoLabelSet>(value.sum, value.count, &value.buckets, None)
            }),
        }
    }
}

/// Encodes the samples of a metric.
fn each<T>(
    metric: &mut MetricEncoder<'_>,
    samples: &[(Labels, T)],
    encode: impl Fn(&mut MetricEncoder<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (labels, value) in samples {
        if labels.is_empty() {
            encode(metric, value)?;
        } else {
            encode(&mut metric.encode_family(labels)?, value)?;
        }
    }
    Ok(())
}

/// Metrics that are collected as they are.
#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = self.0.iter().filter(|family| !family.is_empty());
        families.try_for_each(|family| family.encode(&mut encoder))
    }
}

/// The text of metrics. Those without samples are left out.
pub(crate) fn text(families: Vec<Family>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families)));
    let mut text = String::new();
    // A string takes all that is written.
    let _ = encode(&mut text, &registry);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_that_of_openmetrics() {
        let mut delays = Distribution::for_delays();
        delays.add(0.001, 2);
        delays.add(0.02, 1);
        delays.add(99.0, 1);
        let text = text(vec![
            Family::gauge("a_seconds", "How long", [(vec![], 0.25)]),
            Family::counter(
                "b",
                "How often",
                [(vec![("why", "so \"and\"\nso\\".to_owned())], 3)],
            ),
            Family::gauge("none", "Nothing", []),
            Family::histogram("c_seconds", "How late", [(vec![], delays)]),
        ]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..6],
            [
                "# HELP a_seconds How long",
                "# TYPE a_seconds gauge",
                "a_seconds 0.25",
                "# HELP b How often",
                "# TYPE b counter",
                r#"b_total{why="so \"and\"\nso\\"} 3"#,
            ]
        );
        assert!(!text.contains("none"));
        for line in [
            "c_seconds_count 4",
            "c_seconds_sum 99.022",
            r#"c_seconds_bucket{le="0.0005"} 0"#,
            r#"c_seconds_bucket{le="0.001"} 2"#,
            r#"c_seconds_bucket{le="0.025"} 3"#,
            r#"c_seconds_bucket{le="30.0"} 3"#,
            r#"c_seconds_bucket{le="+Inf"} 4"#,
        ] {
            assert!(lines.contains(&line), "{line} in\n{text}");
        }
        assert_eq!(lines.last(), Some(&"# EOF"));
    }
}
