//! The report of `tapeline try`: a few measurements of one path on one page.

use tapeline_base::FormatLetter;

use super::paint::Paint;
use super::unit::{millis, percent, rate, size};
use super::warning::sentence;
use crate::model::{Measure, Notice, Row};
use crate::style::{Style, Terminal};

/// What one measurement was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialPart {
    /// Round trips of small messages over TCP, nothing else running.
    Latency,
    /// TCP as fast as it goes, towards the server.
    TcpUp,
    /// TCP as fast as it goes, from the server.
    TcpDown,
    /// UDP at a fixed rate, bits per second, towards the server.
    Udp {
        /// Rate asked for.
        rate: u64,
    },
}

/// A measurement, as far as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    /// What it was about.
    pub part: TrialPart,
    /// The sender's total, where the sender's end is known.
    pub sender: Option<Row>,
    /// The receiver's total, where the receiver's end is known. For latency, the client's.
    pub receiver: Option<Row>,
    /// Congestion control in force.
    pub congestion: Option<String>,
    /// Conditions that arose.
    pub notices: Vec<Notice>,
}

/// The whole page.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialReport {
    /// What was tried, in words: `127.0.0.1 (this machine against itself)`.
    pub target: String,
    /// The measurements in the order in which they ran.
    pub results: Vec<TrialResult>,
}

const LABEL: usize = 10;

impl TrialReport {
    /// The page as text.
    #[must_use]
    pub fn render(&self, terminal: Terminal) -> String {
        let paint = Paint::new(terminal.colour);
        let mut page = format!("{} {}\n\n", paint.bold("tapeline try"), self.target);
        for result in &self.results {
            page.push_str(&result.lines(paint));
        }
        let warnings = self.warnings();
        if !warnings.is_empty() {
            page.push('\n');
        }
        for (word, text) in warnings {
            let painted = match word {
                "error" => paint.red(word),
                "warning" => paint.yellow(word),
                _ => paint.dim(word),
            };
            page.push_str(&format!("{painted}: {text}\n"));
        }
        page
    }

    /// Each condition once.
    fn warnings(&self) -> Vec<(&'static str, String)> {
        let style = Style::default();
        let mut lines: Vec<(&'static str, String)> = Vec::new();
        for result in &self.results {
            for notice in &result.notices {
                let (severity, text) = sentence(notice, &style);
                let line = (severity.word(), format!("{}: {text}", result.part.name()));
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        lines
    }
}

impl TrialPart {
    fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::TcpUp => "TCP up",
            Self::TcpDown => "TCP down",
            Self::Udp { .. } => "UDP up",
        }
    }
}

impl TrialResult {
    fn lines(&self, paint: Paint) -> String {
        let label = format!("{:<LABEL$}", self.part.name());
        let head = |value: &str| format!("  {}{}\n", paint.dim(&label), paint.bold(value));
        let more = |text: String| format!("  {:LABEL$}{text}\n", "");
        let unreachable = self.notices.iter().any(|notice| {
            matches!(
                notice,
                Notice::ConnectFailed { .. } | Notice::Unresolvable { .. }
            )
        });
        let (headline, details) = match self.part {
            _ if unreachable => ("not measured".into(), Vec::new()),
            TrialPart::Latency => self.latency(),
            TrialPart::TcpUp | TrialPart::TcpDown => self.tcp(),
            TrialPart::Udp { rate } => self.udp(rate),
        };
        let mut lines = head(&headline);
        for detail in details {
            lines.push_str(&more(detail));
        }
        lines
    }

    fn latency(&self) -> (String, Vec<String>) {
        let exchange = self.receiver.as_ref().and_then(|row| match &row.measure {
            Measure::RequestResponse(exchange) => Some(exchange),
            _ => None,
        });
        let Some(exchange) = exchange.filter(|exchange| exchange.round_trips.count > 0) else {
            return (
                "no answer".into(),
                vec!["the server does not answer small requests (iperf before 2.1 cannot)".into()],
            );
        };
        let trips = &exchange.round_trips;
        let [median, ninety, _, ninety_nine, _] = exchange.percentiles;
        let shown = |value: Option<f64>| value.map_or_else(|| "n/a".into(), millis);
        let headline = median.map_or_else(
            || format!("{} ms mean round trip", millis(trips.mean)),
            |median| format!("{} ms median round trip", millis(median)),
        );
        let details = vec![format!(
            "min {}   90 % {}   99 % {}   max {} ms   {} round trips, path idle",
            millis(trips.min),
            shown(ninety),
            shown(ninety_nine),
            millis(trips.max),
            trips.count,
        )];
        (headline, details)
    }

    fn tcp(&self) -> (String, Vec<String>) {
        // What arrived counts; what was written only where nothing better is known.
        let Some(row) = self.receiver.as_ref().or(self.sender.as_ref()) else {
            return ("not measured".into(), Vec::new());
        };
        let known = if self.receiver.is_some() {
            "received"
        } else {
            "sent"
        };
        let headline = format!("{} {known}", row_rate(row));
        let mut details = Vec::new();
        if let Some(sender) = self.sender.as_ref().filter(|_| self.receiver.is_some()) {
            details.push(format!(
                "sender     {}   {} in {:.2} s",
                row_rate(sender),
                size(sender.bytes),
                sender.span.length().as_secs_f64()
            ));
            details.push(format!(
                "receiver   {}   {} in {:.2} s",
                row_rate(row),
                size(row.bytes),
                row.span.length().as_secs_f64()
            ));
        } else {
            let span = row.span.length().as_secs_f64();
            details.push(format!("{} in {span:.2} s", size(row.bytes)));
        }
        let mut facts = Vec::new();
        if let Some(name) = &self.congestion {
            facts.push(format!("congestion control {name}"));
        }
        if let Some(Measure::TcpSend(send)) = self.sender.as_ref().map(|row| &row.measure) {
            if let Some(count) = send.retransmits {
                facts.push(format!("{count} retransmissions"));
            }
            if let Some(rtt) = send.state.and_then(|state| state.rtt_micros) {
                facts.push(format!(
                    "round trip under load {} ms",
                    millis(f64::from(rtt) * 1e-6)
                ));
            }
        }
        if !facts.is_empty() {
            details.push(facts.join(", "));
        }
        (headline, details)
    }

    fn udp(&self, wanted: u64) -> (String, Vec<String>) {
        let received = self.receiver.as_ref().and_then(|row| match &row.measure {
            Measure::UdpReceive(receive) => Some((row, receive)),
            _ => None,
        });
        let asked = rate(wanted as f64, FormatLetter::BITS);
        let Some((row, receive)) = received else {
            return (
                "no report".into(),
                vec![format!("sent at {asked}; nothing tells what arrived")],
            );
        };
        let lost = if receive.total > 0 {
            receive.lost as f64 / receive.total as f64
        } else {
            0.0
        };
        let headline = format!("{} received of {asked} asked for", row_rate(row));
        let mut details = vec![format!(
            "{} of {} datagrams lost ({}), {} out of order",
            receive.lost,
            receive.total,
            percent(lost),
            receive.out_of_order
        )];
        if receive.duplicates > 0 {
            details.push(format!("{} arrived twice", receive.duplicates));
        }
        if let Some(jitter) = receive.jitter {
            details.push(format!("jitter {} ms", millis(jitter)));
        }
        if let Some(host) = receive.lost_in_host.filter(|count| *count > 0) {
            details.push(format!(
                "{host} of the losses happened in the receiving host, not in the network"
            ));
        }
        (headline, details)
    }
}

fn row_rate(row: &Row) -> String {
    let bits = tapeline_base::BitRate::over(row.bytes, row.span.length());
    rate(bits, FormatLetter::BITS)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tapeline_base::{FlowId, FlowTag, WallTime};

    use super::*;
    use crate::model::{Phase, RequestResponse, Span, Subject, UdpReceive};
    use tapeline_stats::Moments;

    fn row(bytes: u64, measure: Measure) -> Row {
        Row {
            subject: Subject::Flow(FlowTag {
                id: FlowId(1),
                reversed: false,
            }),
            phase: Phase::Total,
            span: Span {
                start: Duration::ZERO,
                end: Duration::from_secs(2),
            },
            ended: WallTime::default(),
            bytes,
            endpoints: None,
            trip_times: false,
            measure,
        }
    }

    #[test]
    fn a_page_shows_every_part() {
        let trips: Moments = [0.001, 0.002, 0.003].into_iter().collect();
        let report = TrialReport {
            target: "192.0.2.1".into(),
            results: vec![
                TrialResult {
                    part: TrialPart::Latency,
                    sender: None,
                    receiver: Some(row(
                        600,
                        Measure::RequestResponse(RequestResponse {
                            round_trips: trips,
                            percentiles: [Some(0.002), None, None, None, None],
                            ..RequestResponse::default()
                        }),
                    )),
                    congestion: None,
                    notices: Vec::new(),
                },
                TrialResult {
                    part: TrialPart::Udp { rate: 10_000_000 },
                    sender: None,
                    receiver: Some(row(
                        2_500_000,
                        Measure::UdpReceive(UdpReceive {
                            received: 1690,
                            total: 1700,
                            lost: 10,
                            ..UdpReceive::default()
                        }),
                    )),
                    congestion: None,
                    notices: vec![Notice::Interrupted],
                },
                TrialResult {
                    part: TrialPart::TcpUp,
                    sender: None,
                    receiver: None,
                    congestion: None,
                    notices: Vec::new(),
                },
            ],
        };
        assert_eq!(
            report.render(Terminal::default()),
            "tapeline try 192.0.2.1\n\
             \n\
             \x20 latency   2.000 ms median round trip\n\
             \x20           min 1.000   90 % n/a   99 % n/a   max 3.000 ms   3 round trips, path idle\n\
             \x20 UDP up    10.00 Mbit/s received of 10.00 Mbit/s asked for\n\
             \x20           10 of 1700 datagrams lost (0.59 %), 0 out of order\n\
             \x20 TCP up    not measured\n\
             \n\
             warning: UDP up: interrupted: the numbers cover a part of the test\n"
        );
    }
}
