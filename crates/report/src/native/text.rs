//! tapeline's own text.

use std::collections::VecDeque;

use tapeline_base::{FlowId, Role};

use super::accounts::{Account, Accounts};
use super::cells::{self, Field, Units};
use super::client::{ClientText, RequestedTest};
use super::messages::{Message, Messages};
use super::repetition::SeriesText;
use super::requests::RequestsText;
use super::table::{Table, wrap};
use super::text_parts::Paint;
use super::{distribution, peer, repetition, setup, timing, verdict, views};
use crate::calendar::Calendar;
use crate::model::{
    ControlPeer, Event, HistogramRow, Measure, NoPeerResults, Notice, PeerProgress, Phase,
    Repetition, RequestResponse, Row, Severity, Subject, WarningId,
};
use crate::render::{Output, Renderer};
use crate::style::{Style, Terminal};

/// Sender's totals that wait for the receiver's view.
const MAX_WAITING: usize = 4096;

/// Renders tapeline's own text: aligned columns under one header per kind of row, units
/// that stay, both ends' views beside each other, a headline at the end.
#[derive(Debug)]
pub struct NativeText {
    style: Style,
    terminal: Terminal,
    paint: Paint,
    calendar: Calendar,
    /// Target rate of the banner, bits per second.
    target: Option<u64>,
    units: Option<Units>,
    tables: Vec<Table>,
    accounts: Accounts,
    messages: Messages,
    /// Totals of UDP senders whose receiver may still tell its view.
    waiting: VecDeque<(FlowId, Row)>,
    /// What the peer has counted so far.
    so_far: peer::SoFar,
    /// The runs of a series, and whether the settings of the first are still to be shown.
    series: Option<SeriesText>,
    banner_due: bool,
    /// How many runs there are to be, in words.
    runs: Option<String>,
    /// A client's test of requests, or of connections without data.
    requests: Option<RequestsText>,
    /// What a client was asked to do.
    requested: Option<RequestedTest>,
    /// A client's test of traffic.
    client: Option<ClientText>,
}

impl NativeText {
    /// A renderer for one process.
    #[must_use]
    pub fn new(style: Style, terminal: Terminal) -> Self {
        Self {
            style,
            terminal,
            paint: Paint::new(terminal.colour),
            calendar: Calendar::new(style.utc),
            target: None,
            units: None,
            tables: Vec::new(),
            accounts: Accounts::default(),
            messages: Messages::plain(),
            waiting: VecDeque::new(),
            so_far: peer::SoFar::default(),
            series: None,
            banner_due: false,
            runs: None,
            requests: None,
            requested: None,
            client: None,
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

    /// A client's test of traffic begins with this event.
    fn begin_client(&mut self, event: &Event) {
        let begins = match event {
            Event::Connecting(banner) => {
                !banner.connect_back && banner.request_response.is_none() && !banner.connect_only
            }
            Event::ControlConnected(control) => {
                matches!(control.peer, ControlPeer::ConnectingTo { .. })
            }
            Event::TestStart(start) => start.role == Role::Client,
            _ => false,
        };
        if begins && self.client.is_none() {
            let (style, terminal) = (self.style, self.terminal);
            let client = ClientText::new(style, terminal, self.requested, self.runs.clone());
            self.client = Some(client);
        }
    }

    /// Tells what happens in a client's test of traffic; says whether there is one.
    fn render_client(&mut self, event: &Event, out: &mut Output) -> bool {
        self.begin_client(event);
        let Some(client) = &mut self.client else {
            return false;
        };
        client.render(event, &self.calendar, out);
        match event {
            // The result says so.
            Event::Notice(Notice::Interrupted)
            | Event::NoPeerResults(NoPeerResults::NotRecognised) => true,
            Event::Notice(_)
            | Event::StartDelay(_)
            | Event::ClockCheck(_)
            | Event::Dropped(_)
            | Event::NoPeerResults(_)
            | Event::Repetition(_) => false,
            Event::TestEnd(_) => false,
            _ => true,
        }
    }

    fn finish_client(&mut self, out: &mut Output) {
        if let Some(client) = self.client.take() {
            client.finish(&self.calendar, out);
            self.messages.forget();
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

    fn phrases(&self, phrases: &[String], out: &mut Output) {
        out.line(&wrap(phrases, self.terminal.width, 4));
    }

    fn row(&mut self, row: &Row, out: &mut Output) {
        self.accounts.row(row);
        if row.phase != Phase::Total {
            self.so_far.interval_ended();
        }
        if let (Subject::Flow(tag), Phase::Total, Measure::UdpSend(_)) =
            (row.subject, row.phase, &row.measure)
        {
            if self.waiting.len() >= MAX_WAITING {
                self.waiting.pop_front();
            }
            self.waiting.push_back((tag.id, row.clone()));
        }
        let exclude = self.style.exclude;
        let hidden = match row.subject {
            Subject::Flow(_) | Subject::Duplex(_) => exclude.data || self.style.sum_only,
            Subject::Sum { .. } => exclude.sums,
        };
        if !hidden {
            self.print_row(row, out);
            self.lines(timing::shared_arrivals(row), out);
        }
    }

    fn print_row(&mut self, row: &Row, out: &mut Output) {
        let target = self.target;
        let format = self.style.format;
        let units = *self
            .units
            .get_or_insert_with(|| Units::suiting(target, row, format));
        let (columns, cells) = cells::fields(self.subject(row), row, units)
            .into_iter()
            .map(|Field { column, cell }| (column, cell))
            .unzip::<_, _, Vec<_>, Vec<_>>();
        let known = self.tables.iter().position(|table| table.is_of(&columns));
        let index = known.unwrap_or_else(|| {
            let mark = " total".len();
            let width = self.terminal.width.saturating_sub(mark);
            let table = Table::fitting(columns, width);
            if self.tables.is_empty() {
                out.line("");
            }
            out.line(&self.paint.dim(&table.header()));
            self.tables.push(table);
            self.tables.len() - 1
        });
        let line = self.tables[index].line(cells);
        let line = match row.phase {
            Phase::Interval if loses(row) => self.paint.yellow(&line),
            Phase::Interval | Phase::Omitted => line,
            Phase::Total => self.paint.bold(&(line + " total")),
        };
        out.line(&line);
    }

    /// `1 ->`: which flow, which way.
    fn subject(&self, row: &Row) -> String {
        let (sends, receives) = match row.measure {
            Measure::TcpSend(_) | Measure::UdpSend(_) => (true, false),
            Measure::TcpReceive(_) | Measure::UdpReceive(_) => (false, true),
            Measure::Both { .. } | Measure::RequestResponse(_) => (true, true),
        };
        let arrow = match (sends, receives, self.terminal.unicode) {
            (true, true, false) => "<>",
            (true, false, false) => "->",
            (_, _, false) => "<-",
            (true, true, true) => "↔",
            (true, false, true) => "→",
            (_, _, true) => "←",
        };
        match row.subject {
            Subject::Flow(tag) | Subject::Duplex(tag) => format!("{} {arrow}", tag.id),
            Subject::Sum { .. } => format!("sum {arrow}"),
        }
    }

    fn server_report(&mut self, row: &Row, out: &mut Output) {
        let (Subject::Flow(tag) | Subject::Duplex(tag)) = row.subject else {
            return;
        };
        self.accounts.of(tag).summary.delivered(row);
        let sender = self.waiting.iter().position(|(id, _)| *id == tag.id);
        let sender = sender.and_then(|index| self.waiting.remove(index));
        if self.style.exclude.server_report {
            return;
        }
        out.line("");
        let format = self.style.format;
        let sender = sender.as_ref().map(|(_, row)| row);
        for (index, line) in views::lines(tag, sender, row, format)
            .into_iter()
            .enumerate()
        {
            out.line(&if index == 0 {
                self.paint.dim(&line)
            } else {
                line
            });
        }
    }

    /// Reports a condition at once; the same one once for a test. That it was interrupted is known to
    /// whoever interrupted.
    fn notice(&mut self, notice: &Notice, out: &mut Output) {
        let message = Message::from_notice(notice, &self.style);
        if notice.is_of_server() {
            self.messages.report(&message, out);
        } else if *notice != Notice::Interrupted {
            self.messages.report_once(&message, out);
        }
    }

    fn say(&mut self, id: WarningId, sentence: (Severity, String), out: &mut Output) {
        self.messages.report_once(&Message::new(id, sentence), out);
    }

    /// Facts beside the rows; they go with the data.
    fn lines(&self, lines: impl IntoIterator<Item = String>, out: &mut Output) {
        if self.style.exclude.data {
            return;
        }
        for line in lines {
            out.line(&line);
        }
    }

    /// A histogram of an interval stands below its row, one of a whole test with the result.
    fn histogram(&mut self, row: &HistogramRow, out: &mut Output) {
        if self.style.exclude.data || self.style.sum_only {
            return;
        }
        match row.phase {
            Phase::Interval | Phase::Omitted if row.histogram.total() == 0 => {}
            Phase::Interval | Phase::Omitted => {
                out.line(&self.paint.dim(&distribution::interval(row)))
            }
            Phase::Total => self.accounts.of(row.tag).histogram(row),
        }
    }

    /// The peer's running counters: a line for each interval of this end.
    fn progress(&mut self, progress: &PeerProgress, out: &mut Output) {
        let line = self.so_far.line(progress, self.style.format);
        if !self.style.exclude.data
            && let Some(line) = line
        {
            out.line(&self.paint.dim(&line));
        }
    }

    /// Runs have a row each, or are told in full, and a result together.
    fn repetition(&mut self, repetition: &Repetition, out: &mut Output) {
        match repetition {
            Repetition::Begins { run, least, most } => {
                let (style, terminal) = (self.style, self.terminal);
                let series = self
                    .series
                    .get_or_insert_with(|| SeriesText::new(style, terminal));
                series.begin(*run, *most, out);
                self.banner_due = series.is_first();
                self.runs = Some(match least == most {
                    true => format!("{most} runs"),
                    false => format!("{least} to {most} runs"),
                });
            }
            Repetition::Ends(result) => {
                self.within_run(out, |text, out| {
                    text.finish_client(out);
                    text.conclude_all(out);
                    text.tables.clear();
                });
                if let Some(series) = &mut self.series {
                    series.end(result, out);
                }
            }
            Repetition::Over(result) => {
                if let Some(series) = self.series.take() {
                    series.conclude(result, out);
                }
                if let Some(sentence) = repetition::unreached(result) {
                    self.say(
                        WarningId::ConfidenceNotReached,
                        (Severity::Warning, sentence),
                        out,
                    );
                }
            }
        }
    }

    /// Prints what a run has to say: all of it, or of a run that has a row only the first one's settings,
    /// which end with the first empty line.
    fn within_run(&mut self, out: &mut Output, print: impl FnOnce(&mut Self, &mut Output)) {
        if self.series.as_ref().is_none_or(SeriesText::is_full) {
            return print(self, out);
        }
        let mut whole = Output::default();
        print(self, &mut whole);
        out.stderr.push_str(&whole.stderr);
        for line in whole.stdout.lines() {
            self.banner_due &= !line.is_empty();
            if self.banner_due {
                out.line(line);
            }
        }
    }

    /// Prints what is left of everything that ended, and forgets it.
    fn conclude_all(&mut self, out: &mut Output) {
        self.waiting.clear();
        if let Some(requests) = self.requests.take() {
            requests.conclude(out);
        }
        for account in self.accounts.take() {
            self.conclude(account, out);
        }
        self.messages.forget();
    }

    /// Prints headline and verdicts of a test that ended.
    fn conclude(&mut self, account: Account, out: &mut Output) {
        let Account {
            summary,
            limit_verdicts,
            histograms,
            cost,
            mut peer_lines,
        } = account;
        self.messages.forget();
        for row in histograms {
            out.line("");
            let lines = distribution::total(&row, self.terminal.unicode, &self.calendar);
            self.lines(lines, out);
        }
        let mut headlines = summary.headlines(&self.style);
        peer_lines.extend(cost.headline(summary.bytes()));
        if !headlines.is_empty() {
            headlines.extend(peer_lines);
        }
        if headlines.is_empty() {
            return;
        }
        out.line("");
        for (title, number, details) in headlines {
            let title = format!("{title:<8} {number}");
            let mut phrases = details;
            if let Some(first) = phrases.first_mut() {
                *first = format!("{title}  {first}");
            }
            let text = wrap(&phrases, self.terminal.width, 9);
            out.line(&text.replacen(&title, &self.paint.bold(&title), 1));
        }
        for limit_verdict in &limit_verdicts {
            let several = limit_verdicts.len() > 1;
            let phrases = verdict::phrases(limit_verdict, several);
            out.line(&wrap(&phrases, self.terminal.width, 9));
        }
    }
}

/// Stamps that contradict each other, at the end of a test.
pub(crate) fn clock_errors(row: &Row) -> Option<String> {
    let (Subject::Flow(tag), Phase::Total) = (row.subject, row.phase) else {
        return None;
    };
    let Measure::RequestResponse(RequestResponse {
        one_way: Some(times),
        ..
    }) = &row.measure
    else {
        return None;
    };
    (times.clock_errors > 0).then(|| {
        format!(
            "flow {}: {} of {} exchanges were answered before they were asked by the stamps: \
             the clocks of both hosts disagree",
            tag.id, times.clock_errors, times.transmit.count
        )
    })
}

/// Whether a receiver's row shows losses.
fn loses(row: &Row) -> bool {
    matches!(&row.measure, Measure::UdpReceive(receive) if receive.lost > 0)
}

impl NativeText {
    /// Tells an event of one test.
    fn tell(&mut self, event: &Event, out: &mut Output) {
        if self.requests.is_none() && RequestsText::begins(event) {
            self.requests = Some(RequestsText::new(
                self.style,
                self.terminal,
                self.runs.clone(),
            ));
        }
        if let Event::Row(row) = event
            && let Some(sentence) = clock_errors(row)
        {
            self.say(
                WarningId::ClocksDisagree,
                (Severity::Warning, sentence),
                out,
            );
        }
        if let Some(requests) = &mut self.requests
            && requests.render(event, out)
        {
            return;
        }
        if self.render_client(event, out) {
            return;
        }
        match event {
            Event::Listening(banner) => {
                self.accounts.serve(!banner.of_client);
                if !self.style.exclude.settings && !banner.of_client {
                    self.phrases(&setup::listening(banner), out);
                }
            }
            Event::Connecting(banner) => {
                self.accounts.serve(banner.connect_back);
                self.target = banner.rate.or(self.target);
                if let Some(congestion) =
                    banner.congestion.as_ref().filter(|_| !banner.connect_back)
                {
                    self.accounts.client().summary.uses(&congestion.name);
                }
                if !self.style.exclude.settings {
                    let mut phrases = setup::connecting(banner, &self.style);
                    phrases.extend(self.runs.clone());
                    self.phrases(&phrases, out);
                }
            }
            Event::Connected(connected) => {
                self.accounts.connected(connected);
                if !self.style.exclude.connection && !self.style.sum_only {
                    let phrases = setup::connected(connected, &self.style, &self.calendar);
                    self.phrases(&phrases, out);
                }
            }
            Event::Row(row) => self.row(row, out),
            // The rows tell the datagrams already.
            Event::Sent { .. } => {}
            Event::ServerReport { row, .. } => self.server_report(row, out),
            Event::Notice(notice) => self.notice(notice, out),
            Event::Histogram(row) => self.histogram(row, out),
            Event::StartDelay(delay) => {
                let said = timing::start_delay(delay, &self.calendar);
                self.say(WarningId::StartTimePassed, said, out);
            }
            Event::ClockCheck(check) => {
                self.say(WarningId::ClocksCompared, timing::clock_check(check), out);
            }
            Event::ScheduleErrors(schedule) => self.lines(timing::schedule_errors(schedule), out),
            Event::SendTiming(send_timing) => self.lines(timing::send_timing(send_timing), out),
            Event::Markov(report) => self.lines(timing::markov(report), out),
            Event::LimitVerdict(limit_verdict) => {
                if let Some(tag) = limit_verdict.flows.first() {
                    self.accounts.of(*tag).judged(limit_verdict);
                }
            }
            Event::Dropped(connected) => {
                let peer = setup::shown(connected.peer, &self.style);
                let sentence = format!("refused {peer}: wrong or missing permit key");
                self.say(
                    WarningId::PermitKeyRefused,
                    (Severity::Warning, sentence),
                    out,
                );
            }
            Event::TestEnd(end) => {
                // An interrupt is known to whoever interrupted.
                let failure = end.failure.as_ref().filter(|failure| !failure.interrupted);
                if let Some(failure) = failure {
                    self.messages
                        .report_once(&Message::from_failure(failure), out);
                }
            }
            Event::ControlConnected(_) => {}
            Event::TestStart(start) => self.accounts.announced(start),
            // Requests and connections without data have a text of their own.
            Event::PeerFound(_) | Event::Probes(_) | Event::ConnectTimes(_) => {}
            Event::PeerProgress(progress) => self.progress(progress, out),
            Event::PeerResults(end) => {
                let account = self.accounts.peer_results(end);
                account.cost.other(end);
                account.peer_lines(peer::headlines(end, self.style.format));
            }
            Event::Processor(used) => {
                if let Some(account) = self.accounts.only() {
                    account.cost.own(used);
                }
            }
            Event::Clocks(clock) => {
                let account = self.accounts.client();
                account.peer_lines([peer::clocks(clock)]);
            }
            Event::OneWayDelay(delay) => {
                let account = self.accounts.of(delay.tag);
                account.peer_lines([peer::one_way(delay)]);
            }
            Event::Repetition(_) => {}
            Event::LoadedLatency(latency) => {
                let account = self.accounts.client();
                account.peer_lines([peer::under_load(latency)]);
            }
            Event::NoPeerResults(reason) => {
                let said = (Severity::Note, peer::absence(reason));
                self.say(WarningId::Other, said, out);
            }
            Event::TestOver(flows) => {
                for account in self.accounts.over(flows) {
                    self.conclude(account, out);
                }
                // The rows of others go on below, under a head of their own.
                self.tables.clear();
                if self.accounts.is_empty() {
                    out.line("");
                }
            }
            Event::Idle => {
                self.tables.clear();
                self.so_far = peer::SoFar::default();
                if self.accounts.serves() {
                    self.units = None;
                    self.target = None;
                    self.conclude_all(out);
                }
            }
        }
    }
}

impl Renderer for NativeText {
    fn render(&mut self, event: &Event, out: &mut Output) {
        match event {
            Event::Repetition(repetition) => self.repetition(repetition, out),
            _ => self.within_run(out, |text, out| text.tell(event, out)),
        }
    }

    fn missed(&mut self, rows: u64, out: &mut Output) {
        if let Some(client) = &mut self.client {
            client.dropped(rows);
            return;
        }
        self.lines(
            [format!(
                "({rows} rows are missing here: the output was too slow)"
            )],
            out,
        );
    }

    fn finish(&mut self, out: &mut Output) {
        self.finish_client(out);
        self.conclude_all(out);
    }
}
