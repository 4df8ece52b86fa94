//! The text of iperf 2.2.1, basic and enhanced.

use tapeline_base::FlowTag;

use super::header::Header;
use super::page::{self, Page, beyond_iperf2};
use super::{banner, histogram, lines, row};
use crate::model::{Connected, Event, Row, Subject};
use crate::render::{Output, Renderer};
use crate::style::Style;

/// Renders what iperf 2.2.1 prints, to the column. Where 2.2.1 is known to print a wrong
/// number (jitter and loss share of the server report, the target gap of the banner,
/// sums of read counts, packets per second of totals), the right one stands here.
#[derive(Debug)]
pub struct Iperf2Text {
    page: Page,
    /// Headers that stand above since the last idle moment.
    headers: Vec<Header>,
}

impl Iperf2Text {
    /// A renderer for one process.
    #[must_use]
    pub fn new(style: Style) -> Self {
        Self {
            page: Page::new(style),
            headers: Vec::new(),
        }
    }

    fn row(&mut self, row: &Row, out: &mut Output) {
        let style = &self.page.style;
        let (header, text) = match row.subject {
            Subject::Flow(_) if style.exclude.data || style.sum_only => return,
            Subject::Duplex(_) if style.exclude.data || style.sum_only => return,
            // Without -e, iperf 2.2.1 leaves the two directions to the reader's sum.
            Subject::Duplex(_) if !style.enhanced => return,
            Subject::Sum { .. } if style.exclude.sums => return,
            Subject::Flow(_) => row::flow(row, &self.page),
            Subject::Duplex(_) => row::duplex(row, &self.page),
            Subject::Sum { .. } => row::sum(row, &self.page),
        };
        self.header(header, out);
        out.line(&text);
        print(row::remarks(row, &self.page), out);
    }

    fn connected(&mut self, connected: &Connected, out: &mut Output) {
        if let Some(key) = &connected.permit_key {
            self.page.key(key);
        }
        let style = &self.page.style;
        if !style.exclude.connection && !style.sum_only {
            out.line(&lines::connected(connected, &self.page));
        }
    }

    fn sent(&self, tag: Option<FlowTag>, flows: usize, datagrams: u64, out: &mut Output) {
        let style = &self.page.style;
        match tag {
            Some(_) if style.exclude.data || style.sum_only => {}
            Some(tag) => out.line(&format!("{}Sent {datagrams} datagrams", page::plain(tag))),
            None if style.exclude.sums => {}
            None => out.line(&format!("[SUM-{flows}] Sent {datagrams} datagrams")),
        }
    }

    /// Prints a header unless it stands above already.
    fn header(&mut self, header: Header, out: &mut Output) {
        if !self.headers.contains(&header) {
            self.headers.push(header);
            out.line(&header.text(self.page.style.build));
        }
    }

    fn server_report(&mut self, row: &Row, enhanced: bool, out: &mut Output) {
        if self.page.style.exclude.server_report {
            return;
        }
        if let Subject::Flow(tag) | Subject::Duplex(tag) = row.subject {
            out.line(&format!("{}Server Report:", page::plain(tag)));
        }
        let (header, text) = row::server_report(row, enhanced, &self.page);
        // iperf 2.2.1 repeats the header above every basic report.
        if header == Header::UdpReceive {
            out.line(&header.text(self.page.style.build));
        } else {
            self.header(header, out);
        }
        out.line(&text);
        print(row::remarks(row, &self.page), out);
    }
}

impl Renderer for Iperf2Text {
    fn render(&mut self, event: &Event, out: &mut Output) {
        if let Event::Listening(banner) = event {
            self.page.serves = !banner.of_client;
        }
        let style = self.page.style;
        let rows = !style.exclude.data && !style.sum_only;
        match event {
            Event::Listening(server) if !style.exclude.settings => {
                banner::server(server, &style, out);
            }
            Event::Connecting(client) if !style.exclude.settings => {
                banner::client(client, &style, out);
            }
            Event::Listening(_) | Event::Connecting(_) => {}
            Event::Connected(connected) => self.connected(connected, out),
            Event::Dropped(connected) => out.line(&lines::dropped(connected, &self.page)),
            Event::Row(row) => self.row(row, out),
            Event::Histogram(row) if rows => out.line(&histogram::line(row, style.build)),
            Event::Histogram(_) => {}
            Event::Sent {
                tag,
                flows,
                datagrams,
            } => self.sent(*tag, *flows, *datagrams, out),
            Event::ServerReport { row, enhanced } => self.server_report(row, *enhanced, out),
            Event::StartDelay(delay) if !style.exclude.connection => {
                out.line(&lines::start_delay(delay, &self.page));
            }
            Event::StartDelay(_) => {}
            Event::ClockCheck(check) => out.error_line(&lines::clock_check(check, &self.page)),
            Event::ConnectTimes(times) => print(lines::connect_times(times), out),
            Event::ScheduleErrors(schedule) => {
                out.error_line(&lines::schedule_errors(schedule, &self.page));
            }
            Event::Markov(report) if rows => print(lines::markov(report, &self.page), out),
            Event::Markov(_) | Event::SendTiming(_) | Event::LimitVerdict(_) => {}
            Event::Notice(notice) => lines::say(lines::sentence(notice, &self.page), out),
            Event::ControlConnected(_) | Event::TestStart(_) | Event::TestEnd(_) => {}
            beyond_iperf2!() => {}
            Event::Idle => self.headers.clear(),
            Event::Method(_) => {}
        }
    }
}

fn print(lines: impl IntoIterator<Item = String>, out: &mut Output) {
    for line in lines {
        out.line(&line);
    }
}
