//! `responsiveness`: round trips per minute under working conditions.

use serde::Serialize;
use tapeline_stats::{ResponsivenessClass, ResponsivenessConstants};

use super::figure::{Chart, ChartKind, ChartSeries, CsvTable, Mark, Quantity, cell};
use super::page::{MethodHead, PageStyle};
use super::pass::{Bound, Criterion};
use super::phase::Direction;
use super::result::MethodResult;
use crate::native::digits;

/// New connections are answered so much faster than loading ones where each flow has a queue of its own.
const FLOW_QUEUEING: f64 = 3.0;

/// What `responsiveness` found out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponsivenessResult {
    /// What the probes spoke: `native`. Numbers of different protocols are not comparable.
    pub protocol: &'static str,
    /// Revision of draft-ietf-ippm-responsiveness.
    pub draft: &'static str,
    /// Round trips per minute before the load.
    pub idle_rpm: Option<f64>,
    /// The round trip that they stand for.
    pub idle_ms: Option<f64>,
    /// Loaded upwards; `null` when that was not wanted, or both directions were loaded at once.
    pub up: Option<LoadedResponsiveness>,
    /// Loaded downwards; `null` as for `up`.
    pub down: Option<LoadedResponsiveness>,
    /// Both directions loaded at once; `null` when that was not wanted.
    pub both: Option<LoadedResponsiveness>,
}

impl Default for ResponsivenessResult {
    fn default() -> Self {
        Self {
            protocol: "native",
            draft: ResponsivenessConstants::DRAFT,
            idle_rpm: None,
            idle_ms: None,
            up: None,
            down: None,
            both: None,
        }
    }
}

/// Responsiveness under one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadedResponsiveness {
    /// Round trips per minute: the mean of `foreign_rpm` and `self_rpm`; `null` with fewer than 20 pairs of
    /// probes.
    pub rpm: Option<f64>,
    /// The draft's word: `poor`, `fair`, `good` or `excellent`.
    pub class: Option<&'static str>,
    /// Of new connections.
    pub foreign_rpm: Option<f64>,
    /// Of the connections that load the path.
    pub self_rpm: Option<f64>,
    /// Trimmed mean of connecting.
    pub tcp_f_ms: Option<f64>,
    /// Trimmed mean of an answer of one byte on the new connection.
    pub http_f_ms: Option<f64>,
    /// Trimmed mean on the connections that load the path.
    pub self_ms: Option<f64>,
    /// Where that is from: `tcp_info`, the smoothed round trip of the sending end.
    pub self_source: Option<&'static str>,
    /// As in the result.
    pub idle_rpm: Option<f64>,
    /// As in the result.
    pub idle_ms: Option<f64>,
    /// Goodput of all load connections, over the last intervals.
    pub goodput_bits_per_second: Option<f64>,
    /// Load connections at the end.
    pub flows: Option<u64>,
    /// How sure the numbers are.
    pub confidence: ResponsivenessConfidence,
    /// Probes that were sent.
    pub probes: ResponsivenessProbes,
    /// The intervals, in their order.
    pub intervals: Vec<ResponsivenessPoint>,
    /// Why something of it was not measured.
    pub reason: Option<String>,
}

/// How sure the numbers are: `low`, `medium` or `high`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponsivenessConfidence {
    /// The goodput.
    pub goodput: Option<&'static str>,
    /// The round trips per minute.
    pub responsiveness: Option<&'static str>,
}

/// Probes of a load, in both stages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponsivenessProbes {
    /// New connections that were answered.
    pub foreign: u64,
    /// Round trips of load connections that were read.
    #[serde(rename = "self")]
    pub own: u64,
    /// New connections without an answer.
    pub failed: u64,
    /// Bytes of IP packets that they took, both directions together.
    pub bytes: u64,
}

/// One interval of the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponsivenessPoint {
    /// Its end, seconds since the load began.
    pub end: f64,
    /// Goodput in it.
    pub bits_per_second: f64,
    /// Round trips per minute by its own probes.
    pub rpm: Option<f64>,
    /// Load connections.
    pub flows: u64,
}

impl LoadedResponsiveness {
    /// Enters the number and its class.
    pub fn enter(&mut self, rpm: Option<f64>) {
        self.rpm = rpm;
        self.class = rpm.map(|rpm| ResponsivenessClass::of(rpm).name());
    }

    fn round_trip(&self) -> Option<f64> {
        self.rpm.map(|rpm| 60_000.0 / rpm)
    }

    fn class(&self) -> Option<ResponsivenessClass> {
        self.rpm.map(ResponsivenessClass::of)
    }

    /// The less sure of both stages.
    fn least_confidence(&self) -> Option<&'static str> {
        let both = [self.confidence.goodput, self.confidence.responsiveness];
        ["low", "medium", "high"]
            .into_iter()
            .find(|word| both.contains(&Some(*word)))
    }

    /// Each flow has a queue of its own.
    fn is_queued_by_flow(&self) -> bool {
        self.foreign_rpm
            .zip(self.self_rpm)
            .is_some_and(|(foreign, own)| foreign > FLOW_QUEUEING * own)
    }
}

/// What was loaded, in the words of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Way(Direction),
    Both,
}

impl Load {
    const fn word(self) -> &'static str {
        match self {
            Self::Way(direction) => direction.word(),
            Self::Both => "both",
        }
    }

    const fn activity(self) -> &'static str {
        match self {
            Self::Way(Direction::Up) => "something uploads",
            Self::Way(Direction::Down) => "something downloads",
            Self::Both => "both directions are busy",
        }
    }

    const fn place(self) -> &'static str {
        match self {
            Self::Way(Direction::Up) => {
                "a queue on the way up, most likely in the router or modem at this end"
            }
            Self::Way(Direction::Down) => {
                "a queue on the way down, most likely at the provider's end of the access line or in \
                 the modem"
            }
            Self::Both => "the queues on the way; measure without --full-duplex to see which",
        }
    }
}

impl ResponsivenessResult {
    fn loads(&self) -> impl Iterator<Item = (Load, &LoadedResponsiveness)> {
        let all = [
            (Load::Way(Direction::Up), &self.up),
            (Load::Way(Direction::Down), &self.down),
            (Load::Both, &self.both),
        ];
        let measured = all.into_iter();
        measured.filter_map(|(load, one)| Some((load, one.as_ref()?)))
    }

    fn way(&self, direction: Direction) -> Option<&LoadedResponsiveness> {
        match direction {
            Direction::Up => self.up.as_ref(),
            Direction::Down => self.down.as_ref(),
        }
    }

    /// The load under which the path is slowest.
    fn worst(&self) -> Option<(Load, &LoadedResponsiveness)> {
        let measured = self.loads().filter(|(_, one)| one.rpm.is_some());
        measured.min_by(|(_, one), (_, other)| {
            let rpm = |one: &LoadedResponsiveness| one.rpm.unwrap_or(f64::INFINITY);
            rpm(one).total_cmp(&rpm(other))
        })
    }
}

impl MethodResult for ResponsivenessResult {
    const CRITERIA: &'static [Criterion] = &[Criterion {
        name: "rpm",
        unit: "round trips per minute",
        bound: Bound::AtLeast,
        default: Some(1000.0),
    }];

    fn page(&self, head: &MethodHead, style: &PageStyle) -> String {
        let title = format!(
            "responsiveness to {}, draft-{}, over tapeline's own protocol",
            head.target(),
            self.draft
        );
        let mut page = style.paragraph(&title);
        page.push('\n');
        page.push_str(
            "            RPM               round trip        streams   throughput  confidence\n",
        );
        let delay = |millis: f64| format!("{:>7} ms", digits(millis));
        match self.idle_rpm.zip(self.idle_ms) {
            Some((rpm, idle)) => {
                let class = ResponsivenessClass::of(rpm).name();
                page.push_str(&format!(
                    "  {:<6}{rpm:>7.0}   {class:<10}{}\n",
                    "idle",
                    delay(idle)
                ));
            }
            None => page.push_str(&format!("  {:<6}   {}\n", "idle", head.missing())),
        }
        for (load, one) in self.loads() {
            let word = load.word();
            let Some((rpm, round_trip)) = one.rpm.zip(one.round_trip()) else {
                let said = match &one.reason {
                    Some(reason) => format!("not measured: {reason}"),
                    None => head.missing().to_owned(),
                };
                let label = format!("  {word:<6}   ");
                let lines = crate::native::hanging(&label, &said, style.width);
                page.push_str(&lines.join("\n"));
                page.push('\n');
                continue;
            };
            let more = self
                .idle_ms
                .map_or_else(String::new, |idle| format!("({:+.1})", round_trip - idle));
            let class = one.class.unwrap_or_default();
            let goodput = one.goodput_bits_per_second;
            let goodput =
                goodput.map_or_else(String::new, |bits| format!("{} Mbit/s", digits(bits / 1e6)));
            let line = format!(
                "  {word:<6}{rpm:>7.0}   {class:<10}{} {more:<10}{:>7}{goodput:>14}  {}",
                delay(round_trip),
                cell(one.flows),
                one.least_confidence().unwrap_or_default()
            );
            page.push_str(line.trim_end());
            page.push('\n');
        }
        // Those that did not begin.
        for direction in head.directions.iter().filter(|_| head.interrupted) {
            if self.both.is_none() && self.way(*direction).is_none() {
                page.push_str(&format!("  {:<6}   {}\n", direction.word(), head.missing()));
            }
        }
        let verdict = self.verdict();
        if !verdict.is_empty() {
            page.push('\n');
            page.push_str(&style.paragraph(&verdict));
        }
        page
    }

    fn verdict(&self) -> String {
        let Some((load, worst)) = self.worst() else {
            return String::new();
        };
        let (Some(class), Some(round_trip)) = (worst.class(), worst.round_trip()) else {
            return String::new();
        };
        let activity = load.activity();
        let seconds = |millis: f64| {
            if millis >= 100.0 {
                format!("{} s", digits(millis / 1e3))
            } else {
                format!("{} ms", digits(millis))
            }
        };
        let takes = seconds(round_trip);
        let mut text = match class {
            ResponsivenessClass::Poor => {
                let place = load.place();
                format!(
                    "While {activity}, every click takes about {takes}. The delay sits in {place}."
                )
            }
            ResponsivenessClass::Fair => format!(
                "While {activity}, a round trip takes {takes}: calls work, and games feel it."
            ),
            ResponsivenessClass::Good => {
                format!("Calls and games stay quick while {activity}: a round trip takes {takes}.")
            }
            ResponsivenessClass::Excellent => {
                format!("Even while {activity}, a round trip takes only {takes}.")
            }
        };
        if worst.is_queued_by_flow() {
            text.push_str(
                " New connections are answered far sooner than the busy ones: the path has a queue \
                 for each stream, and only bulk transfers wait.",
            );
        }
        text
    }

    fn csv(&self) -> CsvTable {
        let mut table = CsvTable::new(&[
            "direction",
            "end_seconds",
            "bits_per_second",
            "rpm",
            "streams",
        ]);
        for (load, one) in self.loads() {
            for point in &one.intervals {
                table.push(vec![
                    load.word().to_owned(),
                    point.end.to_string(),
                    point.bits_per_second.to_string(),
                    cell(point.rpm),
                    point.flows.to_string(),
                ]);
            }
        }
        table
    }

    fn quantities(&self) -> Vec<Quantity> {
        let mut quantities = vec![Quantity::new("rpm.idle", self.idle_rpm, "rpm")];
        for (load, one) in self.loads() {
            let word = load.word();
            quantities.push(Quantity::new(format!("rpm.{word}"), one.rpm, "rpm"));
            let goodput = one.goodput_bits_per_second;
            let name = format!("throughput.{word}");
            quantities.push(Quantity::new(name, goodput, "bits_per_second"));
        }
        quantities
    }

    fn charts(&self) -> Vec<Chart> {
        let chart = |kind, title: &str, of: &dyn Fn(&ResponsivenessPoint) -> Option<f64>| Chart {
            kind,
            title: title.to_owned(),
            abscissa: "seconds".to_owned(),
            series: self
                .loads()
                .map(|(load, one)| ChartSeries {
                    name: load.word().to_owned(),
                    mark: Mark::Line,
                    points: one
                        .intervals
                        .iter()
                        .map(|point| (point.end, of(point)))
                        .collect(),
                })
                .collect(),
        };
        vec![
            chart(ChartKind::Count, "Round trips per minute", &|point| {
                point.rpm
            }),
            chart(ChartKind::Rate, "Throughput", &|point| {
                Some(point.bits_per_second)
            }),
        ]
    }

    fn criterion(&self, name: &str) -> Option<f64> {
        let rpm: Option<Vec<f64>> = self.loads().map(|(_, one)| one.rpm).collect();
        let worst = rpm?.into_iter().reduce(f64::min);
        worst.filter(|_| name == "rpm")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(rpm: f64, rate: f64, flows: u64, confidence: &'static str) -> LoadedResponsiveness {
        let mut one = LoadedResponsiveness {
            goodput_bits_per_second: Some(rate),
            flows: Some(flows),
            confidence: ResponsivenessConfidence {
                goodput: Some("high"),
                responsiveness: Some(confidence),
            },
            intervals: vec![ResponsivenessPoint {
                end: 1.0,
                bits_per_second: rate,
                rpm: Some(rpm),
                flows: 1,
            }],
            ..LoadedResponsiveness::default()
        };
        one.enter(Some(rpm));
        one
    }

    fn example() -> ResponsivenessResult {
        ResponsivenessResult {
            idle_rpm: Some(2940.0),
            idle_ms: Some(20.4),
            up: Some(loaded(2140.0, 47.6e6, 8, "high")),
            down: Some(loaded(92.0, 9.6e6, 9, "medium")),
            ..ResponsivenessResult::default()
        }
    }

    fn page(result: &ResponsivenessResult) -> String {
        let head = MethodHead {
            method: "responsiveness",
            host: "192.0.2.10".into(),
            ..MethodHead::default()
        };
        let page = result.page(&head, &PageStyle::default());
        assert!(page.lines().all(|line| line.len() <= 80), "{page}");
        assert!(page.is_ascii(), "{page}");
        page
    }

    #[test]
    fn the_page_has_a_row_for_each_load() {
        let expected = "\
responsiveness to 192.0.2.10, draft-09, over tapeline's own protocol

            RPM               round trip        streams   throughput  confidence
  idle     2940   good         20.4 ms
  up       2140   good         28.0 ms (+7.6)          8   47.6 Mbit/s  high
  down       92   poor          652 ms (+631.8)        9   9.60 Mbit/s  medium

While something downloads, every click takes about 0.652 s. The delay sits in a
queue on the way down, most likely at the provider's end of the access line or
in the modem.
";
        assert_eq!(page(&example()), expected);
    }

    #[test]
    fn the_worse_direction_passes_or_fails() {
        let result = example();
        assert_eq!(result.criterion("rpm"), Some(92.0));
        assert_eq!(result.criterion("other"), None);
        let mut open = result;
        open.up.as_mut().expect("up").enter(None);
        assert_eq!(open.criterion("rpm"), None);
        let page = page(&open);
        assert!(page.contains("up       not known with this peer"), "{page}");
        assert_eq!(open.csv().rows.len(), 2);
    }

    #[test]
    fn what_an_interruption_left_out_has_its_row() {
        let head = MethodHead {
            directions: Direction::BOTH.to_vec(),
            interrupted: true,
            ..MethodHead::default()
        };
        let mut result = example();
        result.down = None;
        let page = result.page(&head, &PageStyle::default());
        assert!(page.contains("\n  down     not measured\n"), "{page}");
        assert!(!page.contains("up       not measured"), "{page}");
    }

    #[test]
    fn queues_of_flows_are_recognised() {
        let mut result = example();
        let down = result.down.as_mut().expect("down");
        (down.foreign_rpm, down.self_rpm) = (Some(2800.0), Some(90.0));
        assert!(result.verdict().contains("a queue for each stream"));
        result.up = None;
        result.down = None;
        assert_eq!(result.verdict(), "");
    }
}
