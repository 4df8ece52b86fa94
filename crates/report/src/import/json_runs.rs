//! The runs of a file of JSON: a document each, or the lines of `--json-stream`.

use std::collections::VecDeque;

use serde_json::value::RawValue;

use super::error::{Fault, UNKNOWN};
use super::iperf3_json::Iperf3Test;
use super::json::{self, Document, Documents, Parts};
use super::kind::Kind;
use super::run::ImportedRun;
use super::tapeline::{self, SeriesRuns};
use super::tapeline_stream::TapelineStream;
use crate::document::{SCHEMA, SERIES_SCHEMA};

/// The runs of a file of JSON.
#[derive(Debug)]
pub(crate) struct JsonRuns<'a> {
    documents: Documents<'a>,
    /// Whose they must be; each document says it where that is `None`.
    kind: Option<Kind>,
    /// The test whose lines are being read.
    stream: Option<Iperf3Test>,
    /// The same of tapeline.
    own: TapelineStream<'a>,
    /// The cookie of the last test of lines: its whole document may follow.
    cookie: Option<String>,
    /// The series whose runs come next, and how many came before it.
    series: Option<SeriesRuns<'a>>,
    series_before: usize,
    ready: VecDeque<ImportedRun<'a>>,
}

impl<'a> JsonRuns<'a> {
    /// Of a file; `kind` is what each document must be.
    pub(crate) fn new(file: &'a [u8], kind: Option<Kind>) -> Self {
        Self {
            documents: Documents::new(file),
            kind,
            stream: None,
            own: TapelineStream::default(),
            cookie: None,
            series: None,
            series_before: 0,
            ready: VecDeque::new(),
        }
    }

    /// Takes a document: runs become ready, or a series is found, or a test goes on.
    fn take(&mut self, document: Document<'a>) -> Result<(), Fault> {
        let parts = Parts::new(document.text)
            .map_err(|error| Fault::new(document.offset(&error), json::said(&error)))?;
        let fault = |why: String| Fault::new(document.at, why);
        let is = |kind| self.kind.is_none_or(|wanted| wanted == kind);
        let schema = parts.schema.map(|schema| schema.get().trim_matches('"'));
        match (schema, parts.event) {
            (Some(SCHEMA), _) if is(Kind::Tapeline) => {
                let text = std::str::from_utf8(document.text).unwrap_or_default();
                let run = tapeline::run(text, parts.intervals).map_err(fault)?;
                self.ready.push_back(run);
                Ok(())
            }
            (Some(SERIES_SCHEMA), _) if is(Kind::Tapeline) => {
                let series =
                    SeriesRuns::new(&parts, document.at, self.series_before).map_err(fault)?;
                self.series = Some(series);
                self.series_before += 1;
                Ok(())
            }
            (Some(other), _) if is(Kind::Tapeline) => Err(fault(format!(
                "{} is no schema of runs: {SCHEMA} and {SERIES_SCHEMA} are",
                other.chars().take(64).collect::<String>()
            ))),
            (None, Some(event))
                if is(Kind::Tapeline) && (parts.test.is_some() || parts.at.is_some()) =>
            {
                let event = event.get().trim_matches('"');
                self.take_own(event, &parts).map_err(fault)
            }
            (None, Some(event)) if is(Kind::Iperf3Json) => self
                .take_event(event.get().trim_matches('"'), parts.data)
                .map_err(fault),
            (None, None) if is(Kind::Iperf3Json) => self.take_whole(&parts).map_err(fault),
            _ => Err(fault(match self.kind {
                Some(kind) => format!("not {kind}"),
                None => UNKNOWN.to_owned(),
            })),
        }
    }

    /// Takes a line of tapeline's `--json-stream`.
    fn take_own(&mut self, event: &str, parts: &Parts<'a>) -> Result<(), String> {
        let Some(data) = parts.data else {
            return Ok(());
        };
        if event == "series" {
            let runs = self.own.finish(Some((self.series_before, data)))?;
            self.series_before += 1;
            self.ready.extend(runs);
            return Ok(());
        }
        let test = parts.test.and_then(|test| test.get().parse().ok());
        test.map_or(Ok(()), |test| self.own.take(event, test, data))
    }

    /// Takes a line of iperf3's `--json-stream`.
    fn take_event(&mut self, event: &str, data: Option<&'a RawValue>) -> Result<(), String> {
        match event {
            "start" => self.end_stream(),
            "interval" | "error" | "end" => {}
            _ => return Ok(()),
        }
        let test = self.stream.get_or_insert_with(Iperf3Test::default);
        match (event, data) {
            ("start", Some(data)) => test.start(&json::value(data)?),
            ("interval", Some(data)) => test.interval(&json::value(data)?)?,
            ("error", Some(data)) => test.error(&json::value(data)?),
            ("end", Some(data)) => {
                test.end(&json::value(data)?)?;
                self.end_stream();
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes a document of a whole test.
    fn take_whole(&mut self, parts: &Parts<'a>) -> Result<(), String> {
        let known = [parts.start, parts.intervals, parts.end, parts.error];
        if known.iter().all(Option::is_none) {
            return Err(UNKNOWN.to_owned());
        }
        self.end_stream();
        let mut test = Iperf3Test::default();
        if let Some(start) = parts.start {
            test.start(&json::value(start)?);
        }
        let streamed = self.cookie.take();
        if streamed.is_some() && test.cookie() == streamed.as_deref() {
            return Ok(());
        }
        if let Some(intervals) = parts.intervals {
            json::elements(intervals, &mut |interval| {
                test.interval(&json::value(interval)?)
            })?;
        }
        if let Some(end) = parts.end {
            test.end(&json::value(end)?)?;
        }
        if let Some(error) = parts.error {
            test.error(&json::value(error)?);
        }
        self.ready.push_back(test.finish());
        Ok(())
    }

    fn end_stream(&mut self) {
        if let Some(test) = self.stream.take() {
            self.cookie = test.cookie().map(str::to_owned);
            self.ready.push_back(test.finish());
        }
    }
}

impl<'a> Iterator for JsonRuns<'a> {
    type Item = Result<ImportedRun<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(run) = self.ready.pop_front() {
                return Some(Ok(run));
            }
            if let Some(run) = self.series.as_mut().and_then(Iterator::next) {
                return Some(run);
            }
            match self.documents.next() {
                Some(document) => {
                    if let Err(fault) = document.and_then(|document| self.take(document)) {
                        return Some(Err(fault));
                    }
                }
                None if self.stream.is_some() => self.end_stream(),
                None => match self.own.finish(None) {
                    Ok(runs) if runs.is_empty() => return None,
                    Ok(runs) => self.ready.extend(runs),
                    Err(why) => return Some(Err(Fault::new(0, why))),
                },
            }
        }
    }
}
