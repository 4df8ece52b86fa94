//! The report of `tapeline try` without a host: a few measurements of this machine, a line each.

use std::time::Duration;

use tapeline_base::{BitRate, FormatLetter};
use tapeline_stats::Verdict;

use super::messages::Message;
use super::number::{digits, millis, percent, rate};
use super::paint::Paint;
use super::result_line;
use super::{latency, verdict};
use crate::model::{
    CountedBy, Event, LoadedLatency, Measure, Notice, PeerKind, Phase, Row, Severity, Subject,
    Trust, TrustFacts,
};
use crate::style::{Style, Terminal};

/// What one measurement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialPart {
    /// Round trips of small messages over TCP, nothing else running.
    Latency,
    /// TCP as fast as it goes; both ways are the same here.
    TcpUp,
    /// UDP at a fixed rate, bits per second, towards the server.
    Udp {
        /// Requested rate.
        rate: u64,
    },
}

impl TrialPart {
    /// Its name in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "Latency",
            Self::TcpUp => "TCP up",
            Self::Udp { .. } => "UDP up",
        }
    }
}

/// A measurement, as far as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    part: TrialPart,
    /// How long it is to last.
    length: Duration,
    /// The sender's total.
    sender: Option<Row>,
    /// The receiver's total; of requests, the client's.
    receiver: Option<Row>,
    verdict: Option<Verdict>,
    latency: Option<LoadedLatency>,
    peer: PeerKind,
    /// The peer reported its CPU and buffers.
    peer_visible: bool,
    interrupted: bool,
    clock_jump: Option<i64>,
    errors: Vec<Notice>,
}

impl TrialResult {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(part: TrialPart, length: Duration) -> Self {
        Self {
            part,
            length,
            sender: None,
            receiver: None,
            verdict: None,
            latency: None,
            peer: PeerKind::default(),
            peer_visible: false,
            interrupted: false,
            clock_jump: None,
            errors: Vec::new(),
        }
    }

    /// Takes what the client reports.
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::Connected(connected) if connected.peer_is_tapeline => {
                self.peer = PeerKind::Tapeline;
            }
            Event::PeerFound { .. } => self.peer = PeerKind::Tapeline,
            Event::Row(row) => self.take(row),
            Event::ServerReport { row, .. } => self.receiver = Some(row.clone()),
            Event::PeerResults(results) => {
                self.peer = PeerKind::Tapeline;
                self.peer_visible = results.cpu.is_some();
                for flow in &results.flows {
                    self.take(&flow.total);
                }
            }
            Event::LimitVerdict(judged) => self.verdict = Some(judged.verdict.clone()),
            Event::LoadedLatency(latency) => self.latency = Some((**latency).clone()),
            Event::Notice(Notice::Interrupted) => self.interrupted = true,
            Event::Notice(Notice::ClockSet { by }) => self.clock_jump = Some(*by),
            Event::Notice(notice) if is_error(notice) => self.errors.push(notice.clone()),
            _ => {}
        }
    }

    /// Takes a reason for which the measurement did not take place.
    pub fn fail(&mut self, reason: String) {
        self.errors.push(Notice::Text(reason));
    }

    /// Whether nothing was measured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self.part {
            TrialPart::Latency => self.round_trips().is_none(),
            _ => self.sender.is_none() && self.receiver.is_none(),
        }
    }

    /// Why nothing was measured, where that is known, and what helps: the lines of the first error.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let error = self.errors.first().filter(|_| self.is_empty())?;
        let message = Message {
            severity: Severity::Error,
            ..Message::from_notice(error, &Style::default())
        };
        Some(message.lines(Paint::new(false), usize::MAX).join("\n"))
    }

    fn take(&mut self, row: &Row) {
        if (row.phase, matches!(row.subject, Subject::Flow(_))) != (Phase::Total, true) {
            return;
        }
        match row.measure {
            Measure::TcpSend(_) | Measure::UdpSend(_) => self.sender = Some(row.clone()),
            Measure::TcpReceive(_) | Measure::UdpReceive(_) | Measure::RequestResponse(_) => {
                self.receiver = Some(row.clone());
            }
            Measure::Both { .. } => {}
        }
    }

    /// The line of the measurement, behind its name.
    fn text(&self) -> String {
        let text = match self.part {
            TrialPart::Latency => self.idle_latency(),
            TrialPart::TcpUp => self.tcp(),
            TrialPart::Udp { rate } => self.udp(rate),
        };
        text.unwrap_or_else(|| match self.part {
            TrialPart::Latency => "not measured: the server does not answer requests".to_owned(),
            _ => "not measured".to_owned(),
        })
    }

    fn round_trips(&self) -> Option<&crate::model::RequestResponse> {
        match &self.receiver.as_ref()?.measure {
            Measure::RequestResponse(requests) if requests.round_trips.count > 0 => Some(requests),
            _ => None,
        }
    }

    /// `2.10 ms median, 2.87 ms p99 (1412 round trips, idle path)`.
    fn idle_latency(&self) -> Option<String> {
        let requests = self.round_trips()?;
        let trips = &requests.round_trips;
        let [median, _, _, p99, _] = requests.percentiles;
        let middle = match median {
            Some(median) => format!("{} ms median", millis(median)),
            None => format!("{} ms mean", millis(trips.mean)),
        };
        let p99 = p99.map_or_else(String::new, |p99| format!(", {} ms p99", millis(p99)));
        let count = trips.count;
        Some(format!("{middle}{p99} ({count} round trips, idle path)"))
    }

    /// `939 Mbit/s, limited by network (high confidence)`.
    fn tcp(&self) -> Option<String> {
        let counted = match (&self.receiver, &self.sender) {
            (Some(row), _) => rate(bits_per_second(row), FormatLetter::BITS),
            (None, Some(row)) => format!("{} sent", rate(bits_per_second(row), FormatLetter::BITS)),
            (None, None) => return None,
        };
        let limit = self.verdict.as_ref().and_then(verdict::limit_phrase);
        Some(match limit {
            Some(limit) => format!("{counted}, limited by {limit}"),
            None => format!("{counted}, limit unknown"),
        })
    }

    /// `10.0 of 10.0 Mbit/s, no loss (0 of 2552), jitter 0.042 ms`.
    fn udp(&self, requested: u64) -> Option<String> {
        let megabits = |row: &Row| digits(bits_per_second(row) / 1e6);
        let received = self.receiver.as_ref().and_then(|row| match &row.measure {
            Measure::UdpReceive(receive) => Some((row, receive)),
            _ => None,
        });
        let Some((row, receive)) = received else {
            let sent = megabits(self.sender.as_ref()?);
            return Some(format!("{sent} Mbit/s sent, no report from the server"));
        };
        let (lost, total) = (receive.lost, receive.total);
        let loss = match lost {
            0 => format!("no loss (0 of {total})"),
            _ => {
                let share = percent(lost as f64 / total.max(1) as f64);
                format!("{share} lost ({lost} of {total})")
            }
        };
        let jitter = receive.jitter.map_or_else(String::new, |jitter| {
            format!(", jitter {} ms", millis(jitter))
        });
        let requested = digits(requested as f64 / 1e6);
        Some(format!(
            "{} of {requested} Mbit/s, {loss}{jitter}",
            megabits(row)
        ))
    }

    /// `B up` and `+45.2 ms`.
    fn bufferbloat(&self) -> Option<(String, String)> {
        let way = match self.part {
            TrialPart::TcpUp => "up",
            TrialPart::Latency | TrialPart::Udp { .. } => return None,
        };
        let measured = self.latency.as_ref()?;
        let (grade, increase) = measured.grade.zip(latency::increase(measured))?;
        Some((format!("{} {way}", grade.letter()), increase))
    }

    fn trust(&self) -> Trust {
        let row = self.receiver.as_ref().or(self.sender.as_ref());
        let counted_by = match (self.part, &self.sender, &self.receiver) {
            (TrialPart::Latency, ..) => CountedBy::OneClock,
            (_, Some(_), Some(_)) => CountedBy::BothEnds,
            (_, None, Some(_)) => CountedBy::Receiver,
            (TrialPart::Udp { .. }, _, None) => CountedBy::Nobody,
            (_, _, None) => CountedBy::Sender,
        };
        let ends = row.and_then(|row| row.endpoints);
        let verdict = self.verdict.as_ref();
        Trust::new(&TrustFacts {
            duration: row.map_or(Duration::ZERO, |row| row.span.length()),
            counted_by,
            peer: self.peer,
            peer_visible: self.peer_visible,
            same_machine: ends.is_some_and(|ends| ends.local.ip() == ends.peer.ip()),
            clock_jump: self.clock_jump,
            interrupted: self.interrupted,
            requested: Some(self.length),
            streams: 1,
            datagrams: matches!(self.part, TrialPart::Udp { .. }),
            limits: verdict
                .map(|verdict| (verdict.limited_by, verdict.certainty))
                .into_iter()
                .collect(),
            ..TrustFacts::default()
        })
    }
}

/// The whole report; its lines come as the measurements end.
#[derive(Clone, Debug)]
pub struct TrialReport {
    terminal: Terminal,
    results: Vec<TrialResult>,
}

impl TrialReport {
    /// A report without results.
    #[must_use]
    pub fn new(terminal: Terminal) -> Self {
        Self {
            terminal,
            results: Vec::new(),
        }
    }

    /// What is going to be measured.
    #[must_use]
    pub fn opening(&self) -> String {
        let [what, meaning] = [
            "Testing this machine against itself (loopback):",
            "this measures its CPU, not a network",
        ];
        let fits = what.len() + 1 + meaning.len() <= self.terminal.width;
        let gap = if fits { ' ' } else { '\n' };
        format!("{what}{gap}{meaning}\n\n")
    }

    /// Takes a result; with its line.
    #[must_use]
    pub fn add(&mut self, result: TrialResult) -> String {
        let line = self.line(result.part.name(), &result.text());
        self.results.push(result);
        line
    }

    /// What all measurements together say.
    #[must_use]
    pub fn closing(&self) -> String {
        let grades = self.results.iter().filter_map(TrialResult::bufferbloat);
        let grades = grades.zip(std::iter::once(" under load").chain(std::iter::repeat("")));
        let grades = grades.map(|((grade, increase), when)| format!("{grade} ({increase}{when})"));
        let grades: Vec<String> = grades.collect();
        let mut lines = String::new();
        if !grades.is_empty() {
            lines.push_str(&self.line("Bufferbloat", &grades.join(", ")));
        }
        if let Some(trust) = self.trust() {
            lines.push_str(&result_line::trust(&trust, self.terminal));
            lines.push('\n');
        }
        lines
    }

    /// That of the worst result; of equals, TCP's comes first.
    fn trust(&self) -> Option<Trust> {
        let streams = |result: &&TrialResult| result.part != TrialPart::Latency;
        let measured = self.results.iter().filter(|result| !result.is_empty());
        let (streams, others): (Vec<_>, Vec<_>) = measured.partition(streams);
        let all = streams.into_iter().chain(others).map(TrialResult::trust);
        all.reduce(|worst, other| {
            if other.level > worst.level {
                other
            } else {
                worst
            }
        })
    }

    fn line(&self, label: &str, text: &str) -> String {
        result_line::fact(label, text, Paint::new(self.terminal.colour)) + "\n"
    }
}

/// Whether every measurement would meet the same. An old server may end a connection whose test it
/// does not know.
fn is_error(notice: &Notice) -> bool {
    let is_error = Message::from_notice(notice, &Style::default()).severity == Severity::Error;
    is_error && !matches!(notice, Notice::TrafficFailed { .. })
}

fn bits_per_second(row: &Row) -> f64 {
    BitRate::over(row.bytes, row.span.length())
}
