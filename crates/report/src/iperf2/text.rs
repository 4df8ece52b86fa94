//! The text of iperf 2.2.1, basic and enhanced.

use super::notice::{self, Stream};
use super::{banner, connection, figure, row};
use crate::calendar::Calendar;
use crate::layout::Header;
use crate::model::{Event, Row, Subject};
use crate::render::{Output, Renderer};
use crate::style::Style;

/// Renders what iperf 2.2.1 prints, to the column. Where 2.2.1 is known to print a wrong
/// number (jitter and loss share of the server report, the target gap of the banner,
/// sums of read counts, packets per second of totals), the right one stands here.
#[derive(Debug)]
pub struct Iperf2Text {
    style: Style,
    calendar: Calendar,
    /// Headers that stand above since the last idle moment.
    headers: Vec<Header>,
}

impl Iperf2Text {
    /// A renderer for one process.
    #[must_use]
    pub fn new(style: Style) -> Self {
        Self {
            style,
            calendar: Calendar::new(style.utc),
            headers: Vec::new(),
        }
    }

    fn row(&mut self, row: &Row, out: &mut Output) {
        let style = &self.style;
        let (header, text) = match row.subject {
            Subject::Flow(_) if style.exclude.data || style.sum_only => return,
            Subject::Duplex(_) if style.exclude.data || style.sum_only => return,
            // Without -e, iperf 2.2.1 leaves the two directions to the reader's sum.
            Subject::Duplex(_) if !style.enhanced => return,
            Subject::Sum { .. } if style.exclude.sums => return,
            Subject::Flow(_) => row::flow(row, style),
            Subject::Duplex(_) => row::duplex(row, style),
            Subject::Sum { .. } => row::sum(row, style),
        };
        let late = row::out_of_order(row, style);
        self.header(header, out);
        out.line(&text);
        if let Some(late) = late {
            out.line(&late);
        }
    }

    /// Prints a header unless it stands above already.
    fn header(&mut self, header: Header, out: &mut Output) {
        if !self.headers.contains(&header) {
            self.headers.push(header);
            out.line(header.text());
        }
    }

    fn server_report(&mut self, row: &Row, enhanced: bool, out: &mut Output) {
        if self.style.exclude.server_report {
            return;
        }
        if let Subject::Flow(tag) | Subject::Duplex(tag) = row.subject {
            out.line(&format!("{}Server Report:", figure::plain_id(tag)));
        }
        let (header, text) = row::server_report(row, enhanced, &self.style);
        // iperf 2.2.1 repeats the header above every basic report.
        if header == Header::UdpReceive {
            out.line(header.text());
        } else {
            self.header(header, out);
        }
        out.line(&text);
        if let Some(late) = row::out_of_order(row, &self.style) {
            out.line(&late);
        }
    }
}

impl Renderer for Iperf2Text {
    fn render(&mut self, event: &Event, out: &mut Output) {
        let style = self.style;
        match event {
            Event::Listening(server) if !style.exclude.settings => {
                banner::server(server, &style, out);
            }
            Event::Connecting(client) if !style.exclude.settings => {
                banner::client(client, &style, out);
            }
            Event::Connected(connected) if !style.exclude.connection && !style.sum_only => {
                out.line(&connection::line(connected, &style, &self.calendar));
            }
            Event::Listening(_) | Event::Connecting(_) | Event::Connected(_) => {}
            Event::Row(row) => self.row(row, out),
            Event::Sent {
                tag: Some(tag),
                datagrams,
                ..
            } => {
                if !style.exclude.data && !style.sum_only {
                    out.line(&format!(
                        "{}Sent {datagrams} datagrams",
                        figure::plain_id(*tag)
                    ));
                }
            }
            Event::Sent {
                tag: None,
                flows,
                datagrams,
            } => {
                if !style.exclude.sums {
                    out.line(&format!("[SUM-{flows}] Sent {datagrams} datagrams"));
                }
            }
            Event::ServerReport { row, enhanced } => self.server_report(row, *enhanced, out),
            Event::Notice(notice) => say(notice::sentence(notice, &style, &self.calendar), out),
            Event::Histogram(_)
            | Event::StartDelay(_)
            | Event::ClockCheck(_)
            | Event::ConnectTimes(_)
            | Event::ScheduleErrors(_)
            | Event::Markov(_)
            | Event::Dropped(_) => {}
            Event::Idle => self.headers.clear(),
        }
    }
}

/// Puts a sentence on its stream.
pub(super) fn say(sentence: Option<(Stream, String)>, out: &mut Output) {
    match sentence {
        Some((Stream::Output, text)) => out.line(&text),
        Some((Stream::Error, text)) => out.error_line(&text),
        None => {}
    }
}
