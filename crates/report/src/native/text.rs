//! What a client prints under tapeline's own name.

use tapeline_base::Role;

use super::brief::BriefLine;
use super::client::{ClientText, RequestedTest};
use super::messages::{Message, Messages};
use super::repetition::{self, SeriesText};
use super::requests::RequestsText;
use super::{setup, timing};
use crate::calendar::Calendar;
use crate::model::{
    ControlPeer, Event, NoPeerResults, Notice, Repetition, RunResult, Severity, WarningId,
};
use crate::render::{Output, Renderer};
use crate::style::{Amount, Style, Terminal};

/// Renders a client's tests: banner, one table and the result of each, and that of a series of them.
#[derive(Debug)]
pub struct NativeText {
    style: Style,
    terminal: Terminal,
    calendar: Calendar,
    messages: Messages,
    /// What the client was asked to do.
    requested: Option<RequestedTest>,
    /// A test of traffic.
    client: Option<ClientText>,
    /// A test of requests, or of connections without data.
    requests: Option<RequestsText>,
    /// The runs of a series, and whether the settings of the first are still to be shown.
    series: Option<SeriesText>,
    banner_due: bool,
    /// How many runs there are to be, in words.
    runs: Option<String>,
}

impl NativeText {
    /// A renderer for one process.
    #[must_use]
    pub fn new(style: Style, terminal: Terminal) -> Self {
        Self {
            style,
            terminal,
            calendar: Calendar::new(style.utc),
            messages: Messages::plain(),
            requested: None,
            client: None,
            requests: None,
            series: None,
            banner_due: false,
            runs: None,
        }
    }

    /// The same for a client that was asked to do this.
    #[must_use]
    pub fn requested(self, requested: RequestedTest) -> Self {
        Self {
            requested: Some(requested),
            ..self
        }
    }

    /// Standard error is this device; its conditions go to the report too where that is elsewhere.
    #[must_use]
    pub fn with_errors(self, errors: Terminal, in_report: bool) -> Self {
        Self {
            messages: Messages::new(errors, in_report),
            ..self
        }
    }

    /// Begins a test with the first event that says of which kind it is.
    fn begin(&mut self, event: &Event) {
        let (style, terminal) = (self.style, self.terminal);
        if self.requests.is_none() && RequestsText::begins(event) {
            let runs = self.runs.clone();
            self.requests = Some(RequestsText::new(style, terminal, runs));
        } else if self.requests.is_none() && self.client.is_none() && begins_traffic(event) {
            let runs = self.runs.clone();
            self.client = Some(ClientText::new(style, terminal, self.requested, runs));
        }
    }

    /// Prints what an event adds to its test.
    fn render_test(&mut self, event: &Event, out: &mut Output) {
        self.begin(event);
        let is_done = match (&mut self.requests, &mut self.client) {
            (Some(requests), _) => requests.render(event, out),
            (None, Some(client)) => {
                client.render(event, &self.calendar, out);
                false
            }
            (None, None) => false,
        };
        if !is_done {
            self.report(event, out);
        }
    }

    /// Reports a condition at once; the same one once for a test.
    fn report(&mut self, event: &Event, out: &mut Output) {
        let said = |id, sentence| Some(Message::new(id, sentence));
        let message = match event {
            // The result says so.
            Event::Notice(Notice::Interrupted)
            | Event::NoPeerResults(NoPeerResults::NotRecognised) => None,
            Event::Notice(notice) => {
                let message = Message::from_notice(notice, &self.style);
                if notice.is_of_server() {
                    self.messages.report(&message, out);
                    return;
                }
                Some(message)
            }
            Event::Row(row) => timing::clock_errors(row)
                .and_then(|text| said(WarningId::ClocksDisagree, (Severity::Warning, text))),
            Event::StartDelay(delay) => said(
                WarningId::StartTimePassed,
                timing::start_delay(delay, &self.calendar),
            ),
            Event::ClockCheck(check) => said(WarningId::ClocksCompared, timing::clock_check(check)),
            Event::Dropped(connected) => {
                let peer = setup::shown(connected.peer, &self.style);
                let text = format!("refused {peer}: wrong or missing permit key");
                said(WarningId::PermitKeyRefused, (Severity::Warning, text))
            }
            Event::NoPeerResults(reason) => Message::from_absence(reason),
            Event::TestEnd(end) => {
                let failure = end.failure.as_ref().filter(|failure| !failure.interrupted);
                failure.map(Message::from_failure)
            }
            _ => None,
        };
        if let Some(message) = message {
            self.messages.report_once(&message, out);
        }
    }

    /// Prints the result of the test that has ended, with its line for programs.
    fn finish_test(&mut self, out: &mut Output) -> Option<BriefLine> {
        let requests = self.requests.take();
        let brief = match (requests, self.client.take()) {
            (Some(requests), _) => requests.finish(out),
            (None, Some(client)) => client.finish(&self.calendar, out),
            (None, None) => return None,
        };
        self.messages.forget();
        brief
    }

    /// Runs have a row each, or are printed in full, and a result together.
    fn repetition(&mut self, repetition: &Repetition, out: &mut Output) {
        match repetition {
            Repetition::Begins { run, least, most } => {
                let (style, terminal) = (self.style, self.terminal);
                let series = self
                    .series
                    .get_or_insert_with(|| SeriesText::new(style, terminal));
                series.begin(*run, *most, out);
                self.banner_due = series.is_first() && style.amount == Amount::Usual;
                self.runs = Some(match least == most {
                    true => format!("{most} runs"),
                    false => format!("{least} to {most} runs"),
                });
            }
            Repetition::Ends(result) => self.end_run(result, out),
            Repetition::Over(result) => {
                if let Some(series) = self.series.take() {
                    series.conclude(result, out);
                }
                if let Some(text) = repetition::unreached(result) {
                    let sentence = (Severity::Warning, text);
                    let message = Message::new(WarningId::ConfidenceNotReached, sentence);
                    self.messages.report_once(&message, out);
                }
            }
        }
    }

    fn end_run(&mut self, result: &RunResult, out: &mut Output) {
        let brief = self.within_run(out, Self::finish_test);
        if let Some(series) = &mut self.series {
            series.end(result, brief, out);
        }
    }

    /// Prints what a run has to say: all of it, or of a run that has a row only the first one's settings,
    /// which end with the first empty line.
    fn within_run<T>(
        &mut self,
        out: &mut Output,
        print: impl FnOnce(&mut Self, &mut Output) -> T,
    ) -> T {
        if self.series.as_ref().is_none_or(SeriesText::is_full) {
            return print(self, out);
        }
        let mut whole = Output::default();
        let printed = print(self, &mut whole);
        out.stderr.push_str(&whole.stderr);
        for line in whole.stdout.lines() {
            self.banner_due &= !line.is_empty();
            if self.banner_due {
                out.line(line);
            }
        }
        printed
    }
}

/// Whether an event is the first of a test of traffic.
fn begins_traffic(event: &Event) -> bool {
    match event {
        Event::Connecting(banner) => !banner.connect_back,
        Event::ControlConnected(control) => {
            matches!(control.peer, ControlPeer::ConnectingTo { .. })
        }
        Event::TestStart(start) => start.role == Role::Client,
        Event::Row(_) => true,
        _ => false,
    }
}

impl Renderer for NativeText {
    fn render(&mut self, event: &Event, out: &mut Output) {
        match event {
            Event::Repetition(repetition) => self.repetition(repetition, out),
            _ => self.within_run(out, |text, out| text.render_test(event, out)),
        }
    }

    fn missed(&mut self, rows: u64, _: &mut Output) {
        if let Some(requests) = &mut self.requests {
            requests.dropped(rows);
        } else if let Some(client) = &mut self.client {
            client.dropped(rows);
        }
    }

    fn finish(&mut self, out: &mut Output) {
        self.finish_test(out);
    }
}
