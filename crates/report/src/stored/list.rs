//! Many runs, a line for each.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tapeline_stats::{Confidence, ConfidenceInterval, LimitedBy, Moments};

use super::show::test_line;
use crate::calendar::zone;
use crate::native::limit_words;
use crate::run_facts::RunFacts;

/// A run, or the runs of a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListEntry {
    /// `r125`, `s13`.
    pub name: String,
    /// It is a series.
    pub is_series: bool,
    /// One run, or all of the series.
    pub runs: Vec<RunFacts>,
    /// Words to find it by: `link=uplink`.
    pub tags: Vec<String>,
    /// What somebody wrote of it.
    pub note: Option<String>,
}

const HEAD: [&str; 8] = [
    "id",
    "when",
    "peer",
    "test",
    "Mbit/s",
    "rtt ms",
    "limited by",
    "tags",
];

/// The table, with a line end behind each line. `utc` gives times in universal time.
#[must_use]
pub fn list(entries: &[ListEntry], utc: bool) -> String {
    let zone = zone(utc);
    let mut rows: Vec<[String; 8]> = vec![HEAD.map(str::to_owned)];
    rows.extend(entries.iter().map(|entry| entry.cells(&zone)));
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::from(" ");
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            if matches!(column, 4 | 5) {
                line.push_str(&format!(" {cell:>width$} "));
            } else {
                line.push_str(&format!(" {cell:width$} "));
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

impl ListEntry {
    fn cells(&self, zone: &TimeZone) -> [String; 8] {
        let Some(first) = self.runs.first() else {
            return Default::default();
        };
        let name = if self.is_series {
            format!("{} ×{}", self.name, self.runs.len())
        } else {
            self.name.clone()
        };
        let when = first.started.and_then(|millis| {
            let time = Timestamp::from_millisecond(millis).ok()?;
            let zoned = time.to_zoned(zone.clone());
            Some(zoned.strftime("%Y-%m-%d %H:%M").to_string())
        });
        let mut tags = self.tags.clone();
        tags.extend(self.note.iter().map(|note| format!("({note})")));
        [
            name,
            when.unwrap_or_default(),
            self.peer(),
            test_line(first, false),
            self.number("rate", 1e6),
            self.number("rtt", 1.0),
            self.limit(),
            tags.join(" "),
        ]
    }

    /// Who was tested; of a mesh how many were.
    fn peer(&self) -> String {
        let peers = self.runs.iter();
        let peers = peers.filter_map(|run| run.host.as_ref().or(run.address.as_ref()));
        let peers: BTreeSet<&String> = peers.collect();
        match peers.len() {
            0 | 1 => peers.first().map_or_else(String::new, ToString::to_string),
            several => format!("{several} peers"),
        }
    }

    /// A number of the runs that count: its mean, and of several its interval of 95 %; of both
    /// directions one beside the other. Of runs that do not count it is a dash.
    fn number(&self, quantity: &str, unit: f64) -> String {
        let directions = ["forward", "reverse", "round_trip"];
        let of = |direction: &str| {
            let counted = self.runs.iter().filter(|run| run.counts());
            let values: Moments = counted
                .filter_map(|run| run.value(quantity, direction))
                .map(|value| value / unit)
                .collect();
            if values.is_empty() {
                return None;
            }
            let mean = four_digits(values.mean);
            Some(
                match ConfidenceInterval::of_mean(&values, Confidence::P95) {
                    Some(interval) => {
                        format!("{mean} ± {}", like(&mean, interval.half_width))
                    }
                    None => mean,
                },
            )
        };
        let known: Vec<String> = directions.into_iter().filter_map(of).collect();
        if known.is_empty() {
            return "–".to_owned();
        }
        known.join(" / ")
    }

    /// What limited most of the runs, or why there is none.
    fn limit(&self) -> String {
        if self.runs.iter().all(|run| run.error.is_some()) {
            return "failed".to_owned();
        }
        if self.runs.iter().all(|run| !run.complete) {
            return "interrupted".to_owned();
        }
        let count = |limit: LimitedBy| {
            let is = |run: &&RunFacts| run.limited_by.as_deref() == Some(limit.id());
            self.runs.iter().filter(is).count()
        };
        let most = LimitedBy::ALL.into_iter().max_by_key(|limit| count(*limit));
        let most = most.filter(|limit| count(*limit) > 0);
        most.map_or_else(String::new, |limit| limit_words(limit).to_owned())
    }
}

/// Four digits, whole from 1000 on: the spread of a series is in the fourth.
fn four_digits(value: f64) -> String {
    match value.abs() {
        small if small < 9.9995 => format!("{value:.3}"),
        tens if tens < 99.995 => format!("{value:.2}"),
        hundreds if hundreds < 999.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A value with the decimals of another.
fn like(other: &str, value: f64) -> String {
    let decimals = other.split_once('.').map_or(0, |(_, behind)| behind.len());
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(mbps: f64, minute: u32, complete: bool) -> RunFacts {
        RunFacts::from_document(&json!({
            "version": "0.1.0", "peer": {"host": "db1"},
            "test": {"role": "client", "transport": "tcp", "direction": "reverse",
                "workload": "stream", "streams": 1, "complete": complete, "interrupted": false,
                "started": format!("2026-11-22T14:{minute:02}:00Z")},
            "streams": [{"direction": "reverse", "rtt": {"mean_ms": 0.41, "samples": 10}}],
            "sum": {"directions": [{"direction": "reverse", "receiver": {"bits_per_second": mbps * 1e6}}]},
            "verdict": {"limited_by": "network", "confidence": "high"},
        }))
    }

    #[test]
    fn runs_and_series_are_lines() {
        let alone = ListEntry {
            name: "r125".to_owned(),
            runs: vec![run(941.3, 2, true)],
            tags: vec!["link=uplink".to_owned()],
            note: Some("new switch".to_owned()),
            ..ListEntry::default()
        };
        let series = ListEntry {
            name: "s13".to_owned(),
            is_series: true,
            runs: vec![
                run(938.0, 1, true),
                run(940.0, 2, true),
                run(100.0, 3, false),
            ],
            ..ListEntry::default()
        };
        let broken = ListEntry {
            name: "r7".to_owned(),
            runs: vec![run(1.0, 0, false)],
            ..ListEntry::default()
        };
        let text = list(&[alone, series, broken], true);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "  id      when              peer  test                         Mbit/s         rtt ms  limited by   tags",
                "  r125    2026-11-22 14:02  db1   TCP reverse, 1 stream         941.3          0.410  network      link=uplink (new switch)",
                "  s13 ×3  2026-11-22 14:01  db1   TCP reverse, 1 stream  939.0 ± 12.7  0.410 ± 0.000  network",
                "  r7      2026-11-22 14:00  db1   TCP reverse, 1 stream             –              –  interrupted",
            ]
        );
    }

    #[test]
    fn a_mesh_has_several_peers() {
        let mut other = run(1.0, 1, true);
        other.host = Some("db2".to_owned());
        let mesh = ListEntry {
            name: "s1".to_owned(),
            is_series: true,
            runs: vec![run(1.0, 1, true), other, run(1.0, 1, true)],
            ..ListEntry::default()
        };
        assert_eq!(mesh.peer(), "2 peers");
    }

    #[test]
    fn numbers_have_four_digits() {
        for (value, shown) in [
            (0.0312, "0.031"),
            (9.41, "9.410"),
            (99.97, "99.97"),
            (941.31, "941.3"),
            (9411.3, "9411"),
        ] {
            assert_eq!(four_digits(value), shown);
        }
    }
}
