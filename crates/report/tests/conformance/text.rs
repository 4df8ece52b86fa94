//! Text runs: read back, rendered, compared.

use std::iter::Peekable;
use std::slice::Iter;

use tapeline_base::{FormatLetter, Transport};
use tapeline_report::iperf2::Header;
use tapeline_report::{
    Build, Connected, Event, Iperf2Text, LinkErrors, Measure, Notice, OneWayTimes, Output, Phase,
    Renderer, Row, ServerBanner, Style, Subject, TrafficOperation,
};
use tapeline_stats::HistogramShape;
use tapeline_testkit::iperf2_text::{self, Columns, Complaint, LineKind, Who};

use crate::recorded::{Transcript, transcripts};
use crate::setup;
use crate::timing;
use crate::values::{self, Context, integer, tag};

/// Reads a transcript back into events and renders them one by one.
struct Replay<'a> {
    context: Context,
    renderer: Iperf2Text,
    lines: Peekable<Iter<'a, String>>,
    headers: Vec<Header>,
    /// Bins of histograms.
    shape: HistogramShape,
    expected: Vec<String>,
    out: Output,
}

fn style(transcript: &Transcript) -> Style {
    Style {
        enhanced: is_enhanced(transcript),
        format: transcript
            .value("-f")
            .and_then(|value| value.chars().next())
            .map_or(FormatLetter::BITS, FormatLetter::new),
        hide_addresses: transcript.has("--hide-ips"),
        utc: true,
        sum_only: transcript.has("--sum-only"),
        interval: transcript.has("-i"),
        build: transcript.build,
        ..Style::default()
    }
}

/// Some options make the output an enhanced one.
fn is_enhanced(transcript: &Transcript) -> bool {
    let enhanced = |line: &String| {
        line.contains(" with pid ") && !line.contains(" via ") && !line.contains(" ports ")
    };
    transcript.has("-e") || transcript.lines.iter().any(enhanced)
}

impl<'a> Replay<'a> {
    fn new(transcript: &'a Transcript) -> Self {
        let style = style(transcript);
        let server = transcript.has("-s");
        let full_duplex = transcript.has("--full-duplex") || transcript.name.contains("fullduplex");
        Self {
            context: Context {
                build: style.build,
                format: style.format,
                udp: transcript.has("-u"),
                receives: server != (transcript.has("-R") || transcript.name.contains("_R")),
                full_duplex,
                enhanced: style.enhanced,
                stamped: false,
            },
            renderer: Iperf2Text::new(style),
            lines: transcript.lines.iter().peekable(),
            headers: Vec::new(),
            shape: HistogramShape::DELAY,
            expected: Vec::new(),
            out: Output::default(),
        }
    }

    fn run(&mut self) {
        while let Some(line) = self.lines.next() {
            self.line(line);
        }
    }

    fn line(&mut self, line: &'a str) {
        let Some((kind, fields)) = iperf2_text::parse(line, self.context.build) else {
            return;
        };
        self.expected.push(line.to_owned());
        self.learn_key(fields.first());
        match kind {
            LineKind::Rule => self.banner(),
            LineKind::Setting(_) => panic!("'{line}' stands outside of a banner"),
            LineKind::Connection(_, remarks) => {
                let connected = setup::connected(&fields, &remarks);
                self.context.stamped |= connected.trip_times;
                self.play(&Event::Connected(connected));
            }
            LineKind::Refused(remarks) => {
                let fields = [&["1"], fields.as_slice()].concat();
                self.play(&Event::Dropped(setup::connected(&fields, &remarks)));
            }
            LineKind::Header(header) => self.header(header),
            LineKind::Row(who, columns) => {
                let event = Event::Row(self.row(line, who, columns, &fields));
                self.play(&event);
            }
            LineKind::OutOfOrder(_)
            | LineKind::OneWay
            | LineKind::ClockErrors
            | LineKind::LinkErrors => panic!("'{line}' without a row before it"),
            LineKind::Sent(who) => {
                let flow = matches!(who, Who::Flow | Who::Reversed);
                self.play(&Event::Sent {
                    tag: flow.then(|| tag(fields[0])),
                    flows: if flow {
                        1
                    } else {
                        integer(&fields[0]["SUM-".len()..]) as usize
                    },
                    datagrams: integer(fields[1]),
                });
            }
            LineKind::ServerReport => self.server_report(),
            LineKind::Complaint(complaint) => {
                if let Some(notice) = notice(complaint, line, &fields) {
                    self.play(&Event::Notice(notice));
                } else {
                    self.expected.pop();
                }
            }
            LineKind::CsvHeader(_) | LineKind::CsvRow(_) => panic!("'{line}' is CSV"),
            kind => {
                let event = timing::event(&kind, &fields, self.shape);
                self.play(&event.unwrap_or_else(|| panic!("'{line}' has no event")));
            }
        }
    }

    /// Standard error begins without the connection that tells the permit key.
    fn learn_key(&mut self, id: Option<&&str>) {
        let Some(key) = id.and_then(|id| values::key(id)) else {
            return;
        };
        let ends = "192.168.77.1:1".parse().expect("an address");
        let connected = Connected {
            permit_key: Some(key.to_owned()),
            ..Connected::new(tag("1"), Transport::Tcp, ends, ends)
        };
        let event = Event::Connected(connected);
        self.renderer.render(&event, &mut Output::default());
    }

    /// A header that stands already means that the process was idle in between.
    fn header(&mut self, header: Header) {
        if self.headers.contains(&header) {
            self.headers.clear();
            self.play(&Event::Idle);
        }
        self.headers.push(header);
    }

    fn banner(&mut self) {
        let mut lines = Vec::new();
        for line in self.lines.by_ref() {
            self.expected.push(line.clone());
            if line.starts_with("-----") {
                break;
            }
            lines.push(line.as_str());
        }
        let event = setup::banner(&lines, self.context.build);
        if let Event::Listening(ServerBanner {
            histograms: Some(shape),
            ..
        }) = &event
        {
            self.shape = *shape;
        }
        self.play(&event);
    }

    fn row(&mut self, line: &str, who: Who, columns: Columns, fields: &[&str]) -> Row {
        let mut row = values::row(who, columns, fields, self.context)
            .unwrap_or_else(|| panic!("no values print as\n{line}"));
        while let Some((kind, more)) = self
            .lines
            .peek()
            .and_then(|next| iperf2_text::parse(next, self.context.build))
        {
            if !remark(&kind, &more, &mut row) {
                break;
            }
            let next = self.lines.next().expect("peeked");
            self.expected.push(next.clone());
        }
        row
    }

    fn server_report(&mut self) {
        let mut line = self.lines.next().expect("a row follows");
        if let Some(LineKind::Header(header)) = iperf2_text::classify(line, self.context.build) {
            self.expected.push(line.clone());
            if header != Header::UdpReceive {
                self.headers.push(header);
            }
            line = self.lines.next().expect("a row follows");
        }
        let Some((LineKind::Row(who, columns), fields)) =
            iperf2_text::parse(line, self.context.build)
        else {
            panic!("'{line}' is no row");
        };
        let basic = Header::UdpReceive.text(self.context.build);
        if columns == Columns::JitterLoss && self.expected.last().is_none_or(|last| *last != basic)
        {
            // Of many recordings, one lacks the header above its second report.
            self.expected.push(basic.into_owned());
        }
        self.expected.push(line.clone());
        let row = self.row(line, who, columns, &fields);
        self.play(&Event::ServerReport {
            row,
            enhanced: columns == Columns::DelayInFlight,
        });
    }

    fn play(&mut self, event: &Event) {
        self.renderer.render(event, &mut self.out);
    }
}

/// Takes what a line says of the row before it; `false` for other lines.
fn remark(kind: &LineKind, fields: &[&str], row: &mut Row) -> bool {
    let is_sum = matches!(row.subject, Subject::Sum { .. });
    match (kind, &mut row.measure) {
        (LineKind::OutOfOrder(_), Measure::UdpReceive(receive)) => {
            receive.out_of_order = integer(fields[3]);
            if is_sum {
                row.phase = Phase::Total;
            }
        }
        (LineKind::LinkErrors, Measure::UdpReceive(receive)) => {
            receive.link_errors = Some(LinkErrors {
                length: integer(fields[4]),
                checksum: integer(fields[5]),
                unknown: integer(fields[6]),
            });
        }
        (LineKind::OneWay, Measure::RequestResponse(exchange)) => {
            let count = integer(fields[3]);
            let [transmit, receive, asymmetry] =
                [4, 8, 12].map(|at| values::moments(count, &fields[at..at + 3], fields[at + 3]));
            exchange.one_way = Some(OneWayTimes {
                transmit,
                receive,
                asymmetry,
                clock_errors: 0,
            });
        }
        _ => return false,
    }
    true
}

/// The condition behind a complaint, where its words tell enough.
fn notice(complaint: Complaint, line: &str, fields: &[&str]) -> Option<Notice> {
    use tapeline_base::Transport::{Tcp, Udp};
    let failed = |operation, transport| {
        Some(Notice::TrafficFailed {
            tag: tag(fields[0]),
            operation,
            transport,
            reason: fields
                .get(1)
                .map_or(String::new(), |reason| (*reason).to_owned()),
        })
    };
    match complaint {
        Complaint::WriteFailed => failed(TrafficOperation::Write, Tcp),
        Complaint::ReceiveFailed if line.contains("tcp") => failed(TrafficOperation::Receive, Tcp),
        Complaint::ShutdownFailed => failed(TrafficOperation::Shutdown, Tcp),
        Complaint::ReadFinFailed => failed(TrafficOperation::ReadFin, Udp),
        Complaint::NoServerReport => Some(Notice::NoServerReport {
            tag: tag(fields[0]),
            tries: integer(fields[1]) as u32,
        }),
        Complaint::ReportUnacknowledged => Some(Notice::ReportUnacknowledged {
            tag: tag(fields[0]),
        }),
        Complaint::WaitingForTests => Some(Notice::WaitingForTests),
        _ => None,
    }
}

/// Numbers that iperf 2.2.1 prints wrongly: what is left of the line without them.
fn without_known_errors(line: &str, build: Build) -> String {
    // Jitter without a sample.
    let line = &line.replace("  -nan ms", " 0.000 ms");
    let Some((LineKind::Row(_, columns), _)) = iperf2_text::parse(line, build) else {
        return line.to_owned();
    };
    // A row that ends within 5 ms has rate and power 0 there, whatever was transferred.
    if let Some(at) = line.find("0.00-0.00 sec") {
        let transfer = at + "0.00-0.00 sec  ".len();
        let rate = transfer + line[transfer..].find("  ").unwrap_or(0);
        return line[..rate].to_owned();
    }
    match columns {
        // Packets per second of a sender: totals divide by one interval too much (and
        // print -0 without -i); reverse intervals can be halved.
        Columns::Datagrams | Columns::Duplex | Columns::SumDatagrams => {
            line[..line.len() - "       1 pps".len()].to_owned()
        }
        Columns::FrameDatagrams => {
            let at = line.find(" pps").unwrap_or(0);
            line[..at - 8].to_owned() + &line[at..]
        }
        // The share of losses in a basic server report is always 0.
        Columns::JitterLoss => line[..line.rfind('(').unwrap_or(0)].to_owned(),
        // The least delay of a silent interval is the largest number that there is.
        Columns::SumDelay if line.contains("340282346638528") => {
            line[..line.rfind("  0.000/").unwrap_or(0)].to_owned()
        }
        _ => line.to_owned(),
    }
}

#[test]
fn recorded_runs_are_rendered_as_recorded() {
    let mut lines = 0;
    let mut excused = Vec::new();
    let mut wrong = Vec::new();
    for transcript in transcripts() {
        if transcript.has("-y") {
            continue;
        }
        let mut replay = Replay::new(&transcript);
        replay.run();
        let text = replay.out.stdout.clone() + &replay.out.stderr;
        let rendered: Vec<&str> = text.lines().collect();
        // The zone is the calendar's; the recordings were made in UTC.
        let expected: Vec<String> = replay
            .expected
            .iter()
            .map(|line| line.replace("(UTC)", "(GMT)"))
            .collect();
        if rendered.len() != expected.len() {
            wrong.push(format!("{}: {text}", transcript.name));
        }
        for (expected, rendered) in expected.iter().zip(rendered) {
            lines += 1;
            if expected == rendered {
                continue;
            }
            let [theirs, ours] = [expected.as_str(), rendered]
                .map(|line| without_known_errors(line, transcript.build));
            if ours == theirs {
                excused.push(format!("{expected}\n{rendered}"));
            } else {
                wrong.push(format!("{}:\n{expected}\n{rendered}", transcript.name));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(lines > 5000, "{lines} lines compared");
    assert!(
        excused.len() < 160,
        "{} excused:\n{}",
        excused.len(),
        excused.join("\n")
    );
}
