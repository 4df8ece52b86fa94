//! A client's test as it is printed: what happens meanwhile, and the answer at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_base::{BitRate, FlowTag, Transport};

use super::amount::{Amount, Way};
use super::rows::{ClientTable, Counted, Printed, place};
use super::run::{ClientRun, RequestedTest};
use super::{banner, brief, details, result_block};
use crate::calendar::Calendar;
use crate::model::{
    Event, HistogramRow, Measure, PeerProgress, Phase, Row, Subject, TestDirection,
};
use crate::native::brief::BriefLine;
use crate::native::burst_period::over_period;
use crate::native::paint::Paint;
use crate::native::{distribution, timing};
use crate::render::Output;
use crate::style::{Amount as Shown, Style, Terminal};

/// Streams whose totals have a row each.
const FEW_STREAMS: usize = 8;
/// Rows of the first part of a test wait for a banner that is complete.
const BANNER_WAITS: Duration = Duration::from_millis(250);
/// Histograms of whole tests that are kept.
const MAX_HISTOGRAMS: usize = 64;

/// Prints one test.
#[derive(Debug)]
pub(crate) struct ClientText {
    style: Style,
    terminal: Terminal,
    paint: Paint,
    run: ClientRun,
    /// Lines of the banner that are still to be printed.
    banner: usize,
    table: Option<ClientTable>,
    /// Rows of intervals that not all streams have reported.
    pending: BTreeMap<u64, Vec<Row>>,
    /// How many intervals each direction of a running stream has reported.
    running: BTreeMap<FlowTag, u64>,
    /// Directions of streams that have ended.
    ended: usize,
    /// What the server has counted when the last row was printed, and now.
    progress: (PeerProgress, PeerProgress),
    histograms: Vec<HistogramRow>,
    /// Chains of lengths, in words.
    chains: Vec<String>,
}

impl ClientText {
    /// Of a test that begins; `runs` says how often it is made.
    pub(crate) fn new(
        style: Style,
        terminal: Terminal,
        requested: Option<RequestedTest>,
        runs: Option<String>,
    ) -> Self {
        Self {
            style,
            terminal,
            paint: Paint::new(terminal.colour),
            run: ClientRun::new(requested, runs),
            banner: 2,
            table: None,
            pending: BTreeMap::new(),
            running: BTreeMap::new(),
            ended: 0,
            progress: Default::default(),
            histograms: Vec::new(),
            chains: Vec::new(),
        }
    }

    /// Prints what an event adds.
    pub(crate) fn render(&mut self, event: &Event, calendar: &Calendar, out: &mut Output) {
        self.run.observe(event);
        // A short test is over before the server has said what it is.
        let known = match event {
            Event::Row(row) => !row.is_total() && row.span.end >= BANNER_WAITS && !is_refused(row),
            Event::TestStart(_) => true,
            _ => false,
        };
        self.print_banner(known, calendar, out);
        match event {
            Event::Row(row) => self.row(row, out),
            Event::PeerProgress(progress) => self.progress.1 = *progress,
            Event::Histogram(row) => self.histogram(row, out),
            Event::Markov(report) => self.chains.extend(timing::markov(report)),
            _ => {}
        }
    }

    /// Learns that so many interval rows never came.
    pub(crate) fn dropped(&mut self, rows: u64) {
        self.run.dropped(rows);
    }

    /// Prints the totals and the answer.
    /// Gives its line for programs; nothing where nothing took place.
    pub(crate) fn finish(mut self, calendar: &Calendar, out: &mut Output) -> Option<BriefLine> {
        if self.run.is_void() {
            return None;
        }
        let brief = brief::line(&self.run, &self.style);
        self.print_banner(true, calendar, out);
        self.flush(true, out);
        if self.style.amount == Shown::Brief {
            out.line(&brief.to_string());
            return Some(brief);
        }
        self.totals(out);
        if self.style.amount == Shown::Usual {
            for row in std::mem::take(&mut self.histograms) {
                out.line("");
                let unicode = self.terminal.unicode;
                for line in distribution::total(&row, unicode, calendar) {
                    out.line(&line);
                }
            }
            for line in std::mem::take(&mut self.chains) {
                out.line(&line);
            }
            let details = match self.style.enhanced {
                true => details::lines(&self.run, self.terminal.width),
                false => Vec::new(),
            };
            if !details.is_empty() {
                out.line("");
            }
            for line in details {
                out.line(&line);
            }
            out.line("");
        }
        for line in result_block::lines(&self.run, &self.style, self.terminal) {
            out.line(&line);
        }
        Some(brief)
    }

    /// The lines of the banner as far as they are known; all of them when the test is `known` well enough.
    fn print_banner(&mut self, known: bool, calendar: &Calendar, out: &mut Output) {
        if !self.has_banner() {
            return;
        }
        let width = self.terminal.width;
        // A connection over TCP has shown that somebody is there.
        let connected = self.run.line.is_some() && self.run.transport() == Transport::Tcp;
        let answered = connected && self.run.control.is_none() || self.run.server.is_some();
        if self.banner == 2 && (known || answered) {
            self.banner = 1;
            let line = banner::first(&self.run, &self.style, calendar, width);
            out.line(&line);
        }
        if self.banner == 1 && (known || self.run.server.is_some()) {
            self.banner = 0;
            if !self.style.exclude.connection {
                for line in banner::second(&self.run, &self.style, calendar, width) {
                    out.line(&line);
                }
            }
        }
    }

    /// Whether some of the banner is still to be printed.
    fn has_banner(&self) -> bool {
        let hidden = self.style.exclude.settings || self.style.amount != Shown::Usual;
        !hidden && self.banner > 0 && self.run.target().is_some()
    }

    fn row(&mut self, row: &Row, out: &mut Output) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        match row.phase {
            Phase::Total => {
                self.running.remove(&tag);
                self.ended += 1;
            }
            Phase::Interval | Phase::Omitted => {
                let reported = self.running.entry(tag).or_default();
                self.pending
                    .entry(*reported)
                    .or_default()
                    .push(over_period(row));
                *reported += 1;
            }
        }
        self.flush(false, out);
    }

    /// Prints the intervals that are complete, or what there is of all.
    fn flush(&mut self, all: bool, out: &mut Output) {
        if !all && self.has_banner() {
            return;
        }
        let ways = match self.run.direction() {
            TestDirection::Bidirectional => 2,
            TestDirection::Forward | TestDirection::Reverse => 1,
        };
        let expected = ways * self.run.streams();
        let seen = self.running.len() + self.ended + self.run.failed.len();
        // Who has not begun when the next interval is over does not run at the same time.
        let late = u64::from(seen < expected);
        let slowest = self.running.values().min().copied();
        let complete = match slowest {
            Some(slowest) if !all => slowest.saturating_sub(late),
            None if !all && late > 0 => 0,
            _ => u64::MAX,
        };
        while let Some(entry) = self.pending.first_entry()
            && *entry.key() < complete
        {
            let mut rows = entry.remove();
            rows.sort_by_key(|row| match row.subject {
                Subject::Flow(tag) => Some(tag),
                Subject::Sum { .. } | Subject::Duplex(_) => None,
            });
            self.interval(&rows, out);
        }
    }

    fn interval(&mut self, rows: &[Row], out: &mut Output) {
        if self.style.amount != Shown::Usual {
            return;
        }
        let exclude = self.style.exclude;
        let received = self.server_rate();
        if self.run.direction() == TestDirection::Bidirectional {
            let of = |way| Amount::of(rows.iter().filter(|row| Way::of(row) == way));
            let (sent, came) = (of(Way::ToServer), of(Way::FromServer));
            if !exclude.data {
                self.both_ways(Counted::Interval, [sent, came], out);
            }
            return;
        }
        let several = self.run.streams() > 1;
        let single = self.style.enhanced && !self.style.sum_only && !exclude.data;
        if several && single {
            for row in rows {
                self.stream(Counted::Interval, row, out);
            }
        }
        let hidden = if several { exclude.sums } else { exclude.data };
        if !hidden && let Some(sum) = Amount::of(rows) {
            let only = rows.first().filter(|_| !several);
            self.print(Counted::Interval, "sum", &sum, only, received, out);
        }
    }

    /// What the server has received since the last row, bits per second, where it has reported more.
    fn server_rate(&mut self) -> Option<f64> {
        let (before, now) = self.progress;
        let time = now.elapsed.checked_sub(before.elapsed)?;
        let bytes = now.bytes.checked_sub(before.bytes)?;
        self.progress.0 = now;
        (!time.is_zero()).then(|| BitRate::over(bytes, time))
    }

    fn totals(&mut self, out: &mut Output) {
        if self.style.amount != Shown::Usual {
            return;
        }
        let exclude = self.style.exclude;
        if self.run.direction() == TestDirection::Bidirectional {
            let [received, sent] = [ClientRun::received, ClientRun::sent]
                .map(|count| Way::BOTH.map(|way| count(&self.run, way)));
            if received.iter().any(Option::is_none) && sent.iter().any(Option::is_some) {
                self.both_ways(Counted::Sent, sent, out);
            }
            self.both_ways(Counted::Received, received, out);
            return;
        }
        let Some(way) = self.run.ways().first().copied() else {
            return;
        };
        let streams = self.run.streams();
        let counted = match way {
            Way::ToServer => Counted::Sent,
            Way::FromServer => Counted::Received,
        };
        if streams > 1 && streams <= FEW_STREAMS && !self.style.sum_only && !exclude.data {
            let rows: Vec<Row> = self.run.totals.values().cloned().collect();
            for row in rows {
                self.stream(counted, &row, out);
            }
        }
        if streams > 1 && exclude.sums {
            return;
        }
        let total = self.run.totals.values().next().cloned();
        let own = total.as_ref().filter(|_| streams == 1);
        for (counted, sum) in [
            (Counted::Sent, self.run.sent(way)),
            (Counted::Received, self.run.received(way)),
        ] {
            let here = (counted == Counted::Sent) == (way == Way::ToServer);
            if !here && exclude.server_report {
                continue;
            }
            if let Some(sum) = sum {
                let only = own.filter(|_| here);
                self.print(counted, "sum", &sum, only, None, out);
            }
        }
    }

    fn stream(&mut self, counted: Counted, row: &Row, out: &mut Output) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        if let Some(amount) = Amount::of([row]) {
            self.print(counted, &tag.id.to_string(), &amount, None, None, out);
        }
    }

    fn print(
        &mut self,
        counted: Counted,
        stream: &str,
        amount: &Amount,
        only: Option<&Row>,
        received: Option<f64>,
        out: &mut Output,
    ) {
        let table = self.table(amount, out);
        let printed = table.row(counted, stream, amount, only, received);
        self.put(printed, out);
    }

    fn both_ways(&mut self, counted: Counted, ways: [Option<Amount>; 2], out: &mut Output) {
        let here = match self.run.transport() {
            Transport::Tcp => Way::ToServer,
            Transport::Udp => Way::FromServer,
        };
        let beside = match counted {
            Counted::Interval => ways[place(here)].clone(),
            // Losses of both directions; retransmissions of this end.
            Counted::Received if here == Way::FromServer => ways[place(here)].clone(),
            Counted::Sent | Counted::Received => self.run.own(here).map(|own| Amount {
                state: None,
                lost: None,
                jitter: None,
                ..own
            }),
        };
        let Some(first) = ways.iter().flatten().next().cloned() else {
            return;
        };
        let table = self.table(&first, out);
        let [sent, came] = &ways;
        let printed = table.both_ways(
            counted,
            [sent.as_ref(), came.as_ref()],
            &beside.unwrap_or_default(),
        );
        self.put(printed, out);
    }

    fn table(&mut self, first: &Amount, out: &mut Output) -> &mut ClientTable {
        if self.table.is_none() {
            out.line("");
        }
        let (run, style, terminal) = (&self.run, &self.style, self.terminal);
        self.table
            .get_or_insert_with(|| ClientTable::new(run, first, style, terminal))
    }

    fn put(&self, printed: Printed, out: &mut Output) {
        for line in printed.header.iter().flat_map(|header| header.lines()) {
            out.line(&self.paint.dim(line));
        }
        out.line(&printed.row);
    }

    /// A histogram of an interval stands below its row, one of a whole test with the result.
    fn histogram(&mut self, row: &HistogramRow, out: &mut Output) {
        let hidden = self.style.exclude.data || self.style.sum_only;
        if hidden || self.style.amount != Shown::Usual {
            return;
        }
        match row.phase {
            Phase::Interval | Phase::Omitted if row.histogram.total() == 0 => {}
            Phase::Interval | Phase::Omitted => {
                out.line(&self.paint.dim(&distribution::interval(row)));
            }
            Phase::Total if self.histograms.len() < MAX_HISTOGRAMS => {
                self.histograms.push(row.clone());
            }
            Phase::Total => {}
        }
    }
}

/// Whether most datagrams of an interval failed: nobody may listen at the port.
fn is_refused(row: &Row) -> bool {
    matches!(&row.measure, Measure::UdpSend(send) if send.errors > send.writes / 2)
}
