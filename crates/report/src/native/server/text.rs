//! What a server prints: a line for each event, at any number of clients.

use std::collections::BTreeSet;

use tapeline_base::{FlowTag, WallTime};

use super::intervals::Intervals;
use super::record::ServedTest;
use super::words;
use crate::calendar::Calendar;
use crate::model::{
    Connected, Event, HistogramRow, Notice, PeerProgram, Phase, Row, ServerBanner, Severity,
    Subject, TestEnd, WarningId,
};
use crate::native::burst_period::over_period;
use crate::native::messages::{Message, Messages};
use crate::native::paint::Paint;
use crate::native::{distribution, setup, table, timing, warning};
use crate::render::{Output, Renderer, tame};
use crate::style::{Amount, Style, Terminal};
use crate::tracker::{TestKey, TestRecord, TestTracker};

/// Programs that are kept until their clients' connections are reported.
const MAX_FOUND: usize = 64;

/// Gives the time of day.
type Clock = fn() -> WallTime;

/// Prints a server's log under tapeline's own name. Each test has a number and is summed up when it
/// ends, alone, whatever runs beside it.
#[derive(Debug)]
pub struct ServerText {
    style: Style,
    terminal: Terminal,
    paint: Paint,
    calendar: Calendar,
    /// In front of each line, where whoever reads them has none of its own.
    clock: Option<Clock>,
    messages: Messages,
    banners: Vec<ServerBanner>,
    tests: TestTracker<ServedTest>,
    intervals: Intervals,
    /// Programs of clients whose connection is reported next, the latest first.
    found: Vec<(FlowTag, PeerProgram)>,
}

impl ServerText {
    /// A renderer for one process.
    #[must_use]
    pub fn new(style: Style, terminal: Terminal) -> Self {
        Self {
            style,
            terminal,
            paint: Paint::new(terminal.colour),
            calendar: Calendar::new(style.utc),
            clock: None,
            messages: Messages::plain(),
            banners: Vec::new(),
            tests: TestTracker::default(),
            intervals: Intervals::new(terminal.width),
            found: Vec::new(),
        }
    }

    /// The same with the time in front of each line.
    #[must_use]
    pub fn timed(self, clock: fn() -> WallTime) -> Self {
        Self {
            clock: Some(clock),
            ..self
        }
    }

    /// Standard error is this device; its conditions go to the log too where that is elsewhere.
    #[must_use]
    pub fn with_errors(self, errors: Terminal, in_report: bool) -> Self {
        Self {
            messages: Messages::new(errors, in_report),
            ..self
        }
    }

    /// Ends of tests and refusals only.
    fn is_quiet(&self) -> bool {
        self.style.amount == Amount::Quiet
    }

    fn log(&self, line: &str, out: &mut Output) {
        self.log_at(self.clock.map(|clock| clock()), line, out);
    }

    fn log_at(&self, time: Option<WallTime>, line: &str, out: &mut Output) {
        let time = time.and_then(|time| {
            let time = self.calendar.formatted(time, "%H:%M:%S ")?;
            Some(self.paint.dim(&time))
        });
        out.line(&format!("{}{line}", time.unwrap_or_default()));
    }

    /// `#1 192.0.2.1 `.
    fn subject(&self, number: u32) -> String {
        let peer = self.tests.get(number).and_then(|test| test.peer);
        format!("#{number} {}", words::peer(peer, &self.style))
    }

    fn listening(&mut self, banner: &ServerBanner, out: &mut Output) {
        self.banners.push(banner.clone());
        if banner.following > 0 {
            return;
        }
        let banners = std::mem::take(&mut self.banners);
        if self.style.exclude.settings || self.is_quiet() {
            return;
        }
        out.line(&words::listening(&banners));
        out.line(&words::for_clients(&banners));
        if self.style.enhanced {
            for banner in &banners {
                let phrases = setup::listening(banner);
                out.line(&table::wrap(&phrases, self.terminal.width, 4));
            }
        }
    }

    fn connected(&mut self, line: &Connected, out: &mut Output) {
        if line.test.is_none() {
            // Of iperf3's test that starts next, or of a client that says nothing of itself.
            self.tests.wait(line.clone());
            return;
        }
        let key = TestKey::served(line);
        let number = self.tests.open(key);
        self.tests.own(line.tag, number);
        let begun = self.clock.map(|clock| clock());
        let test = self.tests.record(key);
        test.running.insert(line.tag, None);
        test.connected(line.clone());
        test.begun = test.begun.or(begun);
        let known = self.found.iter().position(|(tag, _)| *tag == line.tag);
        let program = known.map(|known| self.found.swap_remove(known).1);
        test.program = test.program.take().or(program);
        // Its control connection says at once which version it is.
        if !test.awaits_program() {
            self.announce(number, out);
        }
    }

    fn found(&mut self, program: &PeerProgram, all: &[FlowTag], out: &mut Output) {
        let number = all.iter().find_map(|tag| self.tests.owner_of_either(*tag));
        if let Some(number) = number
            && let Some(test) = self.tests.get_mut(number)
        {
            test.program = Some(program.clone());
            self.announce(number, out);
        } else if let Some(tag) = all.first() {
            self.found.truncate(MAX_FOUND - 1);
            self.found.insert(0, (*tag, program.clone()));
        }
    }

    /// Prints that a test has begun, once.
    fn announce(&mut self, number: u32, out: &mut Output) {
        let Some(test) = self.tests.get_mut(number) else {
            return;
        };
        if std::mem::replace(&mut test.announced, true) || self.is_quiet() {
            return;
        }
        if let Some(test) = self.tests.get(number)
            && !self.style.exclude.connection
        {
            let started = words::started(test, &self.style);
            let begun = test.begun.or(self.clock.map(|clock| clock()));
            self.log_at(begun, &format!("{} {started}", self.subject(number)), out);
        }
    }

    fn row(&mut self, row: &Row, out: &mut Output) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        let Some(number) = self.adopt(tag, row) else {
            return;
        };
        self.announce(number, out);
        let Some(test) = self.tests.get_mut(number) else {
            return;
        };
        match row.phase {
            Phase::Total => {
                test.running.remove(&tag);
                test.total(row);
            }
            Phase::Interval => {
                let flows = test.beside(tag, row);
                let sum = test.pending.add(&over_period(row), flows);
                let shown = !self.is_quiet() && !self.style.exclude.data;
                if let Some(sum) = sum.filter(|_| shown) {
                    for line in self.intervals.lines(number, &sum) {
                        out.line(&line);
                    }
                }
            }
            Phase::Omitted => {}
        }
    }

    /// The test of a flow.
    fn adopt(&mut self, tag: FlowTag, row: &Row) -> Option<u32> {
        if let Some(number) = self.tests.owner_of_either(tag) {
            self.tests.own(tag, number);
            return Some(number);
        }
        let line = self.tests.take_waiting(tag.id);
        let key = match (&line, row.endpoints) {
            (Some(line), _) => TestKey::served(line),
            (None, Some(endpoints)) => TestKey::from_address(endpoints.peer.ip()),
            (None, None) => return None,
        };
        let number = self.tests.open(key);
        self.tests.own(tag, number);
        if let Some(line) = line {
            self.tests.record(key).connected(line);
        }
        Some(number)
    }

    /// Histograms that were requested: a line for each interval, the spread of a whole test.
    fn histogram(&self, row: &HistogramRow, out: &mut Output) {
        let number = self.tests.owner_of_either(row.tag);
        let lines = match row.phase {
            Phase::Total => distribution::total(row, self.terminal.unicode, &self.calendar),
            Phase::Interval | Phase::Omitted if row.histogram.total() == 0 => Vec::new(),
            Phase::Interval | Phase::Omitted => {
                vec![distribution::interval(row).trim_start().to_owned()]
            }
        };
        let shown = !self.is_quiet() && !self.style.exclude.data;
        if let Some(number) = number.filter(|_| shown) {
            for line in lines {
                out.line(&format!("#{number} {line}"));
            }
        }
    }

    fn notice(&mut self, notice: &Notice, out: &mut Output) {
        if let Notice::PeerRefused { peer, reason } = notice {
            let peer = setup::shown_address(peer.ip(), &self.style);
            self.refused(&peer, &tame(reason), WarningId::ClientRefused, out);
            return;
        }
        let message = Message::from_notice(notice, &self.style);
        let number = warning::stream(notice).and_then(|tag| self.tests.owner_of_either(tag));
        let Some(number) = number else {
            self.messages.report(&message, out);
            return;
        };
        let ends = matches!(
            notice,
            Notice::PeerVanished { .. } | Notice::PeerGone { .. } | Notice::TrafficFailed { .. }
        );
        if let Some(test) = self.tests.get_mut(number).filter(|_| ends) {
            test.failure.get_or_insert((message.text, message.id));
            return;
        }
        let text = format!("{}: {}", self.subject(number), message.text);
        self.messages.report_once(&Message { text, ..message }, out);
    }

    fn refused(&self, peer: &str, why: &str, id: WarningId, out: &mut Output) {
        self.log(&format!("{peer} refused: {why} [{}]", id.name()), out);
    }

    fn ended(&mut self, end: &TestEnd, out: &mut Output) {
        let key = TestKey::Announced(end.test);
        let Some(number) = self.tests.number(key) else {
            return;
        };
        if let (Some(failure), Some(test)) = (&end.failure, self.tests.get_mut(number)) {
            test.failure.get_or_insert((tame(&failure.text), None));
        }
        // One that has not begun has no flows whose end is reported.
        let begun = |test: &ServedTest| test.start.is_some();
        if !self.tests.get(number).is_some_and(begun) {
            self.close(number, out);
        }
    }

    fn over(&mut self, flows: &[FlowTag], out: &mut Output) {
        let numbers = flows
            .iter()
            .filter_map(|tag| self.tests.owner_of_either(*tag));
        let numbers: BTreeSet<u32> = numbers.collect();
        for number in numbers {
            // Another one of the same address may run.
            let running = self
                .tests
                .get(number)
                .is_some_and(|test| test.running.keys().any(|tag| !flows.contains(tag)));
            let unnamed = matches!(self.tests.key(number), Some(TestKey::From(_)));
            if !(unnamed && running) {
                self.close(number, out);
            }
        }
    }

    /// Sums a test up and forgets it.
    fn close(&mut self, number: u32, out: &mut Output) {
        let begun = |test: &ServedTest| test.line.is_some() || test.start.is_some();
        if self.tests.get(number).is_some_and(begun) {
            self.announce(number, out);
        }
        let subject = self.subject(number);
        if let Some(test) = self.tests.close(number) {
            let clock = self.clock.map_or(0, |_| "12:40:20 ".len());
            let before = clock + subject.len() + 1;
            // A file has no width to speak of: nothing is dropped there.
            let room = match self.terminal.width {
                width if width < Terminal::default().width => width.saturating_sub(before),
                _ => usize::MAX,
            };
            let done = words::done(&test, &self.style, room);
            self.log(&format!("{subject} {}", self.paint.bold(&done)), out);
        }
        self.messages.forget();
    }

    /// Sums up what is left: all of it, or what is over.
    fn close_all(&mut self, all: bool, out: &mut Output) {
        for number in self.tests.numbers_by_key() {
            if all || self.tests.get(number).is_some_and(ServedTest::is_over) {
                self.close(number, out);
            }
        }
    }

    fn say(
        &mut self,
        tag: FlowTag,
        id: WarningId,
        (severity, text): (Severity, String),
        out: &mut Output,
    ) {
        let text = match self.tests.owner_of_either(tag) {
            Some(number) => format!("{}: {text}", self.subject(number)),
            None => text,
        };
        let message = Message::new(id, (severity, text));
        self.messages.report_once(&message, out);
    }
}

impl Renderer for ServerText {
    fn render(&mut self, event: &Event, out: &mut Output) {
        match event {
            Event::Listening(banner) => self.listening(banner, out),
            Event::Connected(line) => self.connected(line, out),
            Event::ControlConnected(control) => {
                let key = TestKey::Announced(control.test);
                self.tests.record(key).controlled(control);
            }
            Event::TestStart(start) => {
                let key = TestKey::Announced(start.test);
                let number = self.tests.start(key, start);
                let flows = start.flows.iter().map(|(tag, sends)| (*tag, Some(*sends)));
                self.tests.record(key).running.extend(flows);
                self.announce(number, out);
            }
            Event::Row(row) => self.row(row, out),
            Event::Notice(notice) => self.notice(notice, out),
            Event::Dropped(line) => {
                let peer = setup::shown_address(line.peer.ip(), &self.style);
                let why = "wrong or missing permit key";
                self.refused(&peer, why, WarningId::PermitKeyRefused, out);
            }
            Event::StartDelay(delay) => {
                let said = timing::start_delay(delay, &self.calendar);
                self.say(delay.tag, WarningId::StartTimePassed, said, out);
            }
            Event::LimitVerdict(verdict) => {
                let mut tags = verdict.flows.iter();
                let number = tags.find_map(|tag| self.tests.owner_of_either(*tag));
                if let Some(test) = number.and_then(|number| self.tests.get_mut(number)) {
                    test.verdicts.push((**verdict).clone());
                }
            }
            Event::Histogram(row) => self.histogram(row, out),
            Event::PeerFound { program, flows } => self.found(program, flows, out),
            Event::TestEnd(end) => self.ended(end, out),
            Event::TestOver(flows) => self.over(flows, out),
            Event::Idle => self.close_all(false, out),
            _ => {}
        }
    }

    fn missed(&mut self, rows: u64, out: &mut Output) {
        out.line(&format!(
            "({rows} rows are missing here: the output was too slow)"
        ));
    }

    fn finish(&mut self, out: &mut Output) {
        self.close_all(true, out);
    }
}
