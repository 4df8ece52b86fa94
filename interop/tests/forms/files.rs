//! The files of one process, and those among them that say the same number for number.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::findings::Findings;

/// Where the files of a process go.
pub(crate) struct Files(TempDir);

/// What there is of a test in files.
pub(crate) struct Documents {
    pub(crate) json: Value,
    page: Value,
    stream: Value,
    csv: Vec<BTreeMap<String, String>>,
}

impl Files {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> String {
        let path: &Path = self.0.path();
        path.join(name).display().to_string()
    }

    /// What has them written.
    pub(crate) fn options(&self) -> Vec<String> {
        vec![
            format!("--json={}", self.path("json")),
            format!("--json-stream={}", self.path("ndjson")),
            format!("--csv={}", self.path("csv")),
            "--html".to_owned(),
            self.path("html"),
        ]
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Whether a test that has ended is in all of them.
    pub(crate) fn are_complete(&self) -> bool {
        let ended = self.read("ndjson").contains("\"event\":\"end\"");
        let ends = self.read("json").trim_end().ends_with('}');
        ended
            && ends
            && self.read("csv").lines().count() > 1
            && self.read("html").contains("</html>")
    }

    /// All of a client's, or of a server's one test.
    pub(crate) fn documents(&self) -> Result<Documents, String> {
        let json = self.read("json");
        let page = self.read("html");
        let begin = "<script type=\"application/json\" id=\"report\">";
        let (_, embedded) = page.split_once(begin).ok_or("no document in the page")?;
        let (embedded, _) = embedded.split_once("</script>").ok_or("no end of it")?;
        let stream = self.read("ndjson");
        let mut events = stream.lines();
        let end = events.find(|line| line.contains("\"event\":\"end\""));
        let value = |text: &str| {
            serde_json::from_str::<Value>(text).map_err(|error| format!("{error}: {text}"))
        };
        let csv = self.read("csv");
        let mut lines = csv.lines();
        let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let rows = lines.map(|line| {
            let cells = line.split(',').map(str::to_owned);
            head.iter()
                .map(|name| (*name).to_owned())
                .zip(cells)
                .collect()
        });
        Ok(Documents {
            json: value(json.trim())?,
            page: value(embedded.trim())?,
            stream: value(end.unwrap_or_default())?["data"].take(),
            csv: rows.collect(),
        })
    }
}

impl Documents {
    /// Page, stream of events and CSV against the document.
    pub(crate) fn compare(&self, findings: &mut Findings) {
        if self.page != self.json {
            findings.add("the page has another document");
        }
        // Intervals were events of their own.
        let mut whole = self.json.clone();
        let mut end = self.stream.clone();
        for report in [&mut whole, &mut end] {
            report["intervals"] = Value::Null;
        }
        if whole != end {
            findings.add(format!(
                "the stream of events ends with another document: {end}"
            ));
        }
        self.compare_rows(findings);
    }

    fn compare_rows(&self, findings: &mut Findings) {
        let key = |stream: &str, direction: &str, start: &str| {
            (stream.to_owned(), direction.to_owned(), start.to_owned())
        };
        let number = |value: &Value| value.as_f64().map_or_else(String::new, |it| it.to_string());
        let intervals = self.json["intervals"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let known = intervals.iter().map(|interval| {
            let direction = interval["direction"].as_str().unwrap_or_default();
            let key = key(
                &number(&interval["stream"]),
                direction,
                &number(&interval["start_seconds"]),
            );
            (key, interval)
        });
        let known: BTreeMap<_, _> = known.collect();
        if known.len() != self.csv.len() {
            let (rows, intervals) = (self.csv.len(), known.len());
            findings.add(format!(
                "{rows} rows of CSV, {intervals} intervals in the document"
            ));
        }
        let mut trust: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
        for row in &self.csv {
            let key = key(&row["stream"], &row["direction"], &row["start_seconds"]);
            let of_stream = (key.0.clone(), key.1.clone());
            trust.entry(of_stream).or_default().push(&row["trust"]);
            let Some(interval) = known.get(&key) else {
                findings.add(format!(
                    "a row of CSV that the document does not have: {key:?}"
                ));
                continue;
            };
            for (name, cell) in row
                .iter()
                .filter(|(name, _)| !["test", "trust"].contains(&name.as_str()))
            {
                let same = match &interval[name.as_str()] {
                    Value::Null => cell.is_empty(),
                    Value::String(text) => text == cell,
                    Value::Bool(flag) => flag.to_string() == *cell,
                    other => cell.parse::<f64>().ok() == other.as_f64(),
                };
                if !same {
                    let known = &interval[name.as_str()];
                    findings.add(format!(
                        "CSV {key:?} {name}: {cell:?}, and {known} in the document"
                    ));
                }
            }
        }
        let level = self.json["trust"]["level"].as_str().unwrap_or_default();
        for (stream, words) in trust {
            let (last, others) = words.split_last().expect("a row");
            if *last != level || others.iter().any(|word| !word.is_empty()) {
                findings.add(format!("CSV trust of {stream:?}: {words:?}, not {level}"));
            }
        }
    }
}
