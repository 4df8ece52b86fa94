//! Rows of comma-separated values.

use serde_json::Value;

use crate::render::quoted;
use crate::run_facts::RunFacts;

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredCsvRows {
    /// A number of a run.
    Numbers,
    /// A stream in an interval.
    Intervals,
}

/// A table of many runs.
#[derive(Clone, Copy, Debug)]
pub struct StoredCsv {
    rows: StoredCsvRows,
}

/// Members of an interval that become columns.
const INTERVAL: [&str; 15] = [
    "stream",
    "direction",
    "counted_by",
    "start_seconds",
    "end_seconds",
    "omitted",
    "bytes",
    "bits_per_second",
    "retransmits",
    "cwnd_bytes",
    "rtt_ms",
    "packets",
    "lost",
    "jitter_ms",
    "delay_mean_ms",
];

impl StoredCsv {
    /// With rows of a kind.
    #[must_use]
    pub const fn new(rows: StoredCsvRows) -> Self {
        Self { rows }
    }

    /// The names of the columns.
    #[must_use]
    pub fn head(self) -> String {
        let columns = match self.rows {
            StoredCsvRows::Numbers => {
                "host,transport,test_direction,counts,quantity,direction,value,unit,counted_by"
                    .to_owned()
            }
            StoredCsvRows::Intervals => INTERVAL.join(","),
        };
        format!("run,started,{columns}\n")
    }

    /// The rows of a run: its name, its document with all intervals, and what is known of it.
    #[must_use]
    pub fn rows(self, run: &RunFacts, document: &Value) -> String {
        let name = run.name.clone().unwrap_or_default();
        let started = document["test"]["started"].as_str().unwrap_or_default();
        let head = format!("{},{}", quoted(&name), quoted(started));
        let mut out = String::new();
        match self.rows {
            StoredCsvRows::Numbers => {
                for one in &run.measurements {
                    let text =
                        |value: &Option<String>| quoted(value.as_deref().unwrap_or_default());
                    let unit = crate::quantity::QuantityInfo::find(one.quantity);
                    let unit = unit.map_or("", |info| info.dimension.unit());
                    let host = run.host.clone().or_else(|| run.address.clone());
                    out.push_str(&format!(
                        "{head},{},{},{},{},{},{},{},{unit},{}\n",
                        text(&host),
                        text(&run.transport),
                        text(&run.direction),
                        run.counts(),
                        one.quantity,
                        one.direction,
                        one.value,
                        one.counted_by.unwrap_or_default()
                    ));
                }
            }
            StoredCsvRows::Intervals => {
                let empty = Vec::new();
                for one in document["intervals"].as_array().unwrap_or(&empty) {
                    let cells = INTERVAL.map(|member| match &one[member] {
                        Value::Null => String::new(),
                        Value::String(text) => quoted(text),
                        other => other.to_string(),
                    });
                    out.push_str(&format!("{head},{}\n", cells.join(",")));
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::report_of_rate;

    #[test]
    fn every_number_and_every_interval_has_a_row() {
        let mut document = serde_json::to_value(report_of_rate(5e6)).expect("a document");
        document["peer"]["host"] = "a,\"b\"".into();
        document["intervals"] = serde_json::json!([
            {"stream": 1, "direction": "forward", "bytes": 7, "lost": null, "omitted": false}]);
        let mut run = RunFacts::from_document(&document);
        run.name = Some("r3".to_owned());
        let numbers = StoredCsv::new(StoredCsvRows::Numbers);
        let rows = numbers.rows(&run, &document);
        assert_eq!(rows.lines().count(), run.measurements.len());
        assert!(
            rows.contains(",\"a,\"\"b\"\"\",") && rows.contains(",rate,forward,5000000,bit/s,"),
            "{rows}"
        );
        let columns = |line: &str| line.split(',').count();
        let intervals = StoredCsv::new(StoredCsvRows::Intervals);
        let rows = intervals.rows(&run, &document);
        assert_eq!(columns(&rows), columns(&intervals.head()));
        assert!(
            rows.starts_with("r3,") && rows.contains(",1,forward,,,,false,7,"),
            "{rows}"
        );
    }
}
