//! A test that was ordered from the page, and what is known of it.

use serde::Serialize;
use serde_json::Value;
use tapeline_remote::{GivenOption, Listening};

use crate::program::{Job, MeshCommand, MeshRequest};

/// Lines of `--json-stream` that are kept of a test.
const MAX_LINES: usize = 20_000;
/// Bytes of them.
const MAX_BYTES: usize = 16 << 20;

/// How far a test is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// It waits for others to end.
    Queued,
    /// It has been ordered.
    Running,
    /// Nothing more comes.
    Ended,
}

/// A test, as `GET /api/tests` shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Test {
    /// Its number.
    pub(crate) test: u64,
    pub(crate) job: Job,
    /// The command line.
    pub(crate) line: String,
    /// Its options, a permit key left out.
    pub(crate) options: Vec<GivenOption>,
    pub(crate) state: State,
    /// When it was queued, then when it began, seconds since 1970.
    pub(crate) at: f64,
    /// Where a server listens.
    pub(crate) listening: Option<Listening>,
    /// The exit code of its process.
    pub(crate) code: Option<i32>,
    /// Its name in the history.
    pub(crate) run: Option<String>,
    /// Why it has no result.
    pub(crate) error: Option<String>,
    /// Why its result is not in the history.
    pub(crate) unsaved: Option<String>,
    /// It has a result.
    pub(crate) has_document: bool,
    /// Until it has been ordered.
    #[serde(skip)]
    pub(crate) order: Option<TestOrder>,
    #[serde(skip)]
    pub(crate) lines: Lines,
    /// That of a mesh.
    #[serde(skip)]
    pub(crate) document: Vec<u8>,
}

/// What a test is to do.
#[derive(Clone, Debug)]
pub(crate) enum TestOrder {
    /// A client's test, with its key.
    Client(Vec<GivenOption>),
    /// A server, with its key.
    Server(Vec<GivenOption>),
    /// Tests among many hosts.
    Mesh(MeshRequest, MeshCommand),
}

impl TestOrder {
    /// What it is for.
    pub(crate) const fn job(&self) -> Job {
        match self {
            Self::Client(_) => Job::Client,
            Self::Server(_) => Job::Server,
            Self::Mesh(..) => Job::Mesh,
        }
    }

    /// The options that everybody may see.
    pub(crate) fn shown(&self) -> Vec<GivenOption> {
        match self {
            Self::Client(options) | Self::Server(options) => {
                let shown = options.iter().filter(|given| given.name != "permit-key");
                shown.cloned().collect()
            }
            Self::Mesh(..) => Vec::new(),
        }
    }
}

impl Test {
    /// Whether it takes a place among those that run.
    pub(crate) fn runs(&self, job: Job) -> bool {
        self.state == State::Running && self.job == job
    }

    /// What is kept of it in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.lines.bytes() + self.document.len()
    }
}

/// Lines of `--json-stream`: all of them, of a long test all but some of its intervals, of a long
/// server the latest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    kept: Vec<Line>,
    bytes: usize,
    /// Of so many intervals one is kept.
    every: usize,
    intervals: usize,
    /// The first ones have gone.
    is_cut: bool,
}

#[derive(Clone, Debug)]
struct Line {
    text: Box<str>,
    is_interval: bool,
}

impl Lines {
    /// Adds one. The first rows of a long test are thinned as later ones come, each other one at a time.
    pub(crate) fn push(&mut self, event: &Value) {
        let is_interval = event["event"] == "interval";
        let every = self.every.max(1);
        if is_interval {
            self.intervals += 1;
            if !self.intervals.is_multiple_of(every) {
                return;
            }
        }
        let text: Box<str> = event.to_string().into();
        self.bytes += text.len();
        self.kept.push(Line { text, is_interval });
        let intervals = |kept: &[Line]| kept.iter().filter(|line| line.is_interval).count();
        if self.is_full() && 2 * intervals(&self.kept) >= self.kept.len() {
            self.every = every * 2;
            let mut number = 0;
            self.kept.retain(|line| {
                number += usize::from(line.is_interval);
                !line.is_interval || number % 2 == 0
            });
            self.weigh();
        }
        // It is not intervals that fill it.
        while self.is_full() {
            self.kept.drain(..self.kept.len().div_ceil(4));
            self.is_cut = true;
            self.weigh();
        }
    }

    fn is_full(&self) -> bool {
        self.kept.len() > MAX_LINES || self.bytes > MAX_BYTES
    }

    fn weigh(&mut self) {
        self.bytes = self.kept.iter().map(|line| line.text.len()).sum();
    }

    /// Whether some are missing.
    pub(crate) fn are_thinned(&self) -> bool {
        self.every > 1 || self.is_cut
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// As they were written.
    pub(crate) fn stream(&self) -> Vec<u8> {
        let mut stream = Vec::with_capacity(self.bytes + self.kept.len());
        for line in &self.kept {
            stream.extend_from_slice(line.text.as_bytes());
            stream.push(b'\n');
        }
        stream
    }

    /// `{"events":[…],"thinned":false}`.
    pub(crate) fn json(&self) -> String {
        let lines: Vec<&str> = self.kept.iter().map(|line| &*line.text).collect();
        let (events, thinned) = (lines.join(","), self.are_thinned());
        format!("{{\"events\":[{events}],\"thinned\":{thinned}}}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_test_keeps_fewer_rows_and_all_the_rest() {
        let mut lines = Lines::default();
        lines.push(&json!({"event": "start"}));
        for number in 0..3 * MAX_LINES {
            lines.push(&json!({"event": "interval", "data": number}));
        }
        assert!(lines.are_thinned());
        lines.push(&json!({"event": "end"}));
        let all: Value = serde_json::from_str(&lines.json()).expect("JSON");
        let events = all["events"].as_array().expect("events");
        assert!(events.len() <= MAX_LINES + 1 && events.len() > MAX_LINES / 4);
        assert_eq!(
            (&events[0]["event"], &events[events.len() - 1]["event"]),
            (&json!("start"), &json!("end"))
        );
        let rows = events.iter().filter_map(|event| event["data"].as_u64());
        let rows: Vec<u64> = rows.collect();
        let steps: Vec<u64> = rows.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(
            steps.iter().all(|step| *step == steps[0]),
            "{:?}",
            &steps[..4]
        );
        assert_eq!(all["thinned"], true);
    }

    #[test]
    fn a_server_keeps_the_lines_of_its_latest_tests() {
        let mut lines = Lines::default();
        let last = 5 * MAX_LINES;
        for number in 0..=last {
            lines.push(&json!({"event": "end", "test": number}));
        }
        assert!(lines.kept.len() <= MAX_LINES && lines.are_thinned());
        let all: Value = serde_json::from_str(&lines.json()).expect("JSON");
        let events = all["events"].as_array().expect("events");
        assert_eq!(events[events.len() - 1]["test"], last);
        let long = "x".repeat(MAX_BYTES / 5);
        for _ in 0..20 {
            lines.push(&json!({"event": "end", "data": long}));
        }
        assert!(lines.bytes <= MAX_BYTES && !lines.is_empty());
    }
}
