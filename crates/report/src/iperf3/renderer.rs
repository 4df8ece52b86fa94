//! Tests as documents and as streams of JSON.

use super::document;
use super::interval_buffer::IntervalBuffer;
use super::json::{Json, Object};
use super::style::{Iperf3Output, Iperf3Style};
use super::text::Iperf3Text;
use super::tracker::{Iperf3Step, Iperf3Tracker};
use super::words;
use crate::model::{Event, PeerOutput};
use crate::render::{Output, Renderer};

/// JSON: a document for each test, a line for each event, or both.
#[derive(Debug)]
pub struct Iperf3Json {
    style: Iperf3Style,
    /// A line for each event.
    lines: bool,
    /// A document behind a test's end.
    documents: bool,
    tracker: Iperf3Tracker,
    /// IntervalBuffer for the documents.
    intervals: IntervalBuffer,
}

impl Iperf3Json {
    /// One document for each test (iperf3's `-J`).
    #[must_use]
    pub fn documents(style: Iperf3Style) -> Self {
        Self {
            style,
            lines: false,
            documents: true,
            tracker: Iperf3Tracker::default(),
            intervals: IntervalBuffer::default(),
        }
    }

    /// One line for each event (iperf3's `--json-stream`), and the document behind them where the
    /// style asks for it. While several tests run, each line names its own under `test`.
    #[must_use]
    pub fn stream(style: Iperf3Style) -> Self {
        Self {
            lines: true,
            documents: style.full_output,
            ..Self::documents(style)
        }
    }

    fn line(&self, test: u32, event: &str, data: impl Into<Json>, out: &mut Output) {
        if !self.lines {
            return;
        }
        let mut line = Object::new().with("event", event).with("data", data);
        if self.tracker.running() > 1 {
            line.set("test", test);
        }
        out.line(&Json::from(line).compact());
    }

    fn print(&mut self, step: Iperf3Step, out: &mut Output) {
        match step {
            Iperf3Step::Control(_) => {}
            Iperf3Step::Start(number) => {
                if let Some(test) = self.tracker.test(number) {
                    let start = document::start(test, &self.style);
                    self.line(number, "start", start, out);
                }
            }
            Iperf3Step::Interval(number, interval) => {
                if let Some(test) = self.tracker.test(number) {
                    let interval: Json = document::interval(test, &interval).into();
                    if self.documents {
                        self.intervals.push(number, &interval);
                    }
                    self.line(number, "interval", interval, out);
                }
            }
            Iperf3Step::End(number) => self.end(number, out),
        }
    }

    fn end(&mut self, number: u32, out: &mut Output) {
        let intervals = self.intervals.take(number);
        if let Some(test) = self.tracker.test(number) {
            if let Some(error) = document::error(test) {
                self.line(number, "error", error, out);
            }
            if let Some((event, output)) = document::peer_output(test) {
                self.line(number, event, output, out);
            }
            self.line(number, "end", document::end(test), out);
        }
        if let Some(test) = self.tracker.take(number)
            && self.documents
        {
            let document = document::document(&test, &self.style, intervals);
            out.line(&Json::from(document).indented());
        }
    }
}

impl Renderer for Iperf3Json {
    fn render(&mut self, event: &Event, out: &mut Output) {
        warn(event, out);
        for step in self.tracker.observe(event) {
            self.print(step, out);
        }
    }

    fn finish(&mut self, out: &mut Output) {
        for step in self.tracker.finish() {
            self.print(step, out);
        }
    }
}

/// Warnings stay outside of documents.
fn warn(event: &Event, out: &mut Output) {
    if let Some(text) = words::notice(event) {
        out.error_line(&text);
    }
}

/// The events of a test as its client is to see them (`--get-server-output`).
#[must_use]
pub fn iperf3_output(events: &[Event], form: &Iperf3Output) -> PeerOutput {
    let printed = |mut renderer: Box<dyn Renderer>| {
        let mut out = Output::default();
        for event in events {
            renderer.render(event, &mut out);
        }
        out.stdout
    };
    let style = form.style.clone();
    if form.json {
        PeerOutput::Json(printed(Box::new(Iperf3Json::documents(style))))
    } else {
        PeerOutput::Text(printed(Box::new(Iperf3Text::new(style))))
    }
}
