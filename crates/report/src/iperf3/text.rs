//! Tests as iperf3's text.

use std::collections::BTreeSet;

use tapeline_base::{Role, Transport};

use super::amounts::{Amount, Loss, percent};
use super::document::{protocol, retransmits};
use super::figure;
use super::flow::Iperf3Interval;
use super::record::{Iperf3Record, Lane};
use super::row::{Columns, Detail, Label, SEPARATOR};
use super::style::Iperf3Style;
use super::tracker::{Iperf3Step, Iperf3Tracker};
use super::words;
use crate::calendar::Calendar;
use crate::model::{
    ControlPeer, CpuUse, Event, PeerOutput, ServerBanner, TestDirection, TestEnd, TestLimit,
    TestStart, TestTransport,
};
use crate::render::{Output, Renderer};

/// Dashes around the line of a listening server.
const RULE: &str = "-----------------------------------------------------------";

/// Lines of text (iperf3 without `-J`). While several tests run on a server, each line names its
/// own.
#[derive(Debug)]
pub struct Iperf3Text {
    style: Iperf3Style,
    tracker: Iperf3Tracker,
    /// Port that is listened on.
    port: Option<u16>,
    /// Tests that a server has begun.
    begun: u32,
    /// Tests of which intervals have been reported.
    opened: BTreeSet<u32>,
    introduced: bool,
}

impl Iperf3Text {
    /// A renderer that has observed no test.
    #[must_use]
    pub fn new(style: Iperf3Style) -> Self {
        Self {
            style,
            tracker: Iperf3Tracker::default(),
            port: None,
            begun: 0,
            opened: BTreeSet::new(),
            introduced: false,
        }
    }

    /// Program and system, once.
    fn introduce(&mut self, page: &mut Page<'_>) {
        if self.style.verbose && !self.introduced {
            page.line(&self.style.version);
            page.line(&self.style.system_info);
        }
        self.introduced = true;
    }

    fn page<'a>(&self, test: Option<u32>, out: &'a mut Output) -> Page<'a> {
        let title = self.style.title.as_ref().map(|title| format!("{title}:  "));
        let several = self.tracker.running() > 1;
        let test = test.filter(|_| several && self.port.is_some());
        let prefix = test.map(|test| format!("test #{test}:  ")).or(title);
        Page {
            prefix: prefix.unwrap_or_default(),
            out,
        }
    }

    fn listening(&mut self, banner: &ServerBanner, out: &mut Output) {
        // Servers listen for datagrams on the same port.
        if banner.transport == Transport::Tcp && self.port.is_none() {
            self.port = Some(banner.ports.0);
            let mut page = self.page(None, out);
            self.introduce(&mut page);
            self.listen(out);
        }
    }

    fn listen(&self, out: &mut Output) {
        if let Some(port) = self.port {
            let next = self.begun + 1;
            let mut page = self.page(None, out);
            page.line(RULE);
            page.line(&format!("Server listening on {port} (test #{next})"));
            page.line(RULE);
        }
    }

    fn print(&mut self, step: Iperf3Step, out: &mut Output) {
        match step {
            Iperf3Step::Control(number) => {
                self.begun = self.begun.max(number);
                let mut page = self.page(Some(number), out);
                if let Some(test) = self.tracker.test(number).cloned()
                    && test.role() == Role::Client
                {
                    self.introduce(&mut page);
                    page.control(&test, &self.style);
                }
            }
            Iperf3Step::Start(number) => {
                let mut page = self.page(Some(number), out);
                if let Some(test) = self.tracker.test(number) {
                    if test.role() == Role::Server {
                        page.control(test, &self.style);
                    }
                    page.start(test, &self.style);
                }
            }
            Iperf3Step::Interval(number, interval) => {
                let first = self.opened.insert(number);
                let mut page = self.page(Some(number), out);
                if let Some(test) = self.tracker.test(number) {
                    page.interval(test, &interval, &self.style, first);
                }
            }
            Iperf3Step::End(number) => self.end(number, out),
        }
    }

    fn end(&mut self, number: u32, out: &mut Output) {
        let mut page = self.page(Some(number), out);
        if let Some(test) = self.tracker.test(number) {
            page.end(test, &self.style);
        }
        self.opened.remove(&number);
        let end = self.tracker.take(number).and_then(|test| test.end);
        let failure = end.and_then(|end| end.failure);
        let interrupted = failure.is_some_and(|failure| failure.interrupted);
        if !self.style.one_off && !interrupted && self.tracker.running() == 0 {
            self.listen(out);
        }
    }
}

impl Renderer for Iperf3Text {
    fn render(&mut self, event: &Event, out: &mut Output) {
        match event {
            Event::Listening(banner) => self.listening(banner, out),
            _ => {
                if let Some(text) = words::notice(event) {
                    out.error_line(&text);
                }
            }
        }
        for step in self.tracker.observe(event) {
            self.print(step, out);
        }
    }

    fn finish(&mut self, out: &mut Output) {
        for step in self.tracker.finish() {
            self.print(step, out);
        }
    }
}

/// Writes lines behind a prefix.
struct Page<'a> {
    prefix: String,
    out: &'a mut Output,
}

impl Page<'_> {
    fn line(&mut self, text: &str) {
        self.out.line(&format!("{}{text}", self.prefix));
    }

    /// Who is connected, and what is asked for.
    fn control(&mut self, test: &Iperf3Record, style: &Iperf3Style) {
        let Some(control) = &test.control else {
            return;
        };
        let segment = control.segment_size.unwrap_or(0);
        if style.verbose {
            if let ControlPeer::ConnectingTo { .. } = control.peer {
                self.line(&format!("Control connection MSS {segment}"));
            }
            let date = Calendar::new(true).internet_date(control.at);
            self.line(&format!("Time: {date}"));
        }
        match &control.peer {
            ControlPeer::ConnectingTo { host, port } => {
                self.line(&format!("Connecting to host {host}, port {port}"));
                let request = control.request.as_ref();
                if request.is_some_and(|one| one.direction == TestDirection::Reverse) {
                    self.line(&format!("Reverse mode, remote host {host} is sending"));
                }
            }
            ControlPeer::Accepted(address) => {
                let host = address.ip().to_canonical();
                let port = address.port();
                self.line(&format!("Accepted connection from {host}, port {port}"));
            }
        }
        if !style.verbose {
            return;
        }
        self.line(&format!("      Cookie: {}", control.cookie));
        let (start, request) = (test.start.as_ref(), control.request);
        let transport = start.map(|start| start.transport);
        if transport.or(request.map(|one| one.transport)) == Some(TestTransport::Tcp) {
            let asked = start.map(|start| start.segment_size);
            let asked = asked.or(request.map(|one| one.segment_size)).flatten();
            self.line(&match asked {
                Some(bytes) => format!("      TCP MSS: {bytes}"),
                None => format!("      TCP MSS: {segment} (default)"),
            });
        }
        let rate = start.map(|start| start.target_rate);
        let rate = rate.or(request.map(|one| one.target_rate)).unwrap_or(0);
        if rate > 0 {
            self.line(&format!("      Target Bitrate: {rate}"));
        }
    }

    fn start(&mut self, test: &Iperf3Record, style: &Iperf3Style) {
        for (number, flow) in test.flows.iter().enumerate() {
            let Some(line) = &flow.connected else {
                continue;
            };
            self.line(&format!(
                "{} local {} port {} connected to {} port {}",
                Label::stream(Iperf3Record::socket(number), "").text(),
                line.local.ip().to_canonical(),
                line.local.port(),
                line.peer.ip().to_canonical(),
                line.peer.port()
            ));
        }
        if let Some(start) = &test.start
            && style.verbose
        {
            self.line(&starting(start));
        }
    }

    fn interval(
        &mut self,
        test: &Iperf3Record,
        interval: &Iperf3Interval,
        style: &Iperf3Style,
        first: bool,
    ) {
        let Some(start) = &test.start else {
            return;
        };
        let columns = columns(start, style);
        if first {
            let sends = test.flows.iter().any(|flow| flow.sends);
            let receives = test.flows.iter().any(|flow| !flow.sends);
            self.line(&columns.interval_title(sends, receives));
        } else if start.streams > 1 {
            self.line(SEPARATOR);
        }
        let omitted = interval.omitted();
        let span = interval.rows.first().map(|(_, row)| row.span);
        for lane in test.lanes() {
            let role = role(start, &lane);
            for (number, row) in &interval.rows {
                if lane.flows.contains(number) {
                    let label = Label::stream(Iperf3Record::socket(*number), role);
                    self.line(&columns.interval(&label, row, omitted));
                }
            }
            let rows: Vec<_> = interval.rows_of(&lane.flows).collect();
            if let Some(span) = span
                && lane.flows.len() > 1
            {
                let label = Label::sum(role);
                self.line(&columns.interval_sum(&label, span, &rows, omitted));
            }
        }
    }

    fn end(&mut self, test: &Iperf3Record, style: &Iperf3Style) {
        let Some(end) = &test.end else {
            return;
        };
        if let Some(start) = &test.start
            && words::reports_totals(end.failure.as_ref())
        {
            self.summary(test, start, end, style);
        }
        if let Some(output) = &end.peer_output {
            let (title, text) = match output {
                PeerOutput::Text(text) => ("Server output:", text),
                PeerOutput::Json(text) => ("Server JSON output:", text),
            };
            self.line("");
            self.line(title);
            self.out.line(&lines_of_peer(text));
            self.line("");
        }
        match &end.failure {
            Some(failure) => {
                for text in words::lines(test, failure) {
                    self.out.error_line(&format!("iperf3: {text}"));
                }
            }
            None if test.role() == Role::Client => {
                self.line("");
                self.line("iperf Done.");
            }
            None => {}
        }
    }

    fn summary(
        &mut self,
        test: &Iperf3Record,
        start: &TestStart,
        end: &TestEnd,
        style: &Iperf3Style,
    ) {
        let columns = columns(start, style);
        self.line(SEPARATOR);
        if style.verbose {
            self.line("Test Complete. Summary Results:");
        }
        let counted = (0..test.flows.len()).any(|flow| retransmits(test, flow).is_some());
        self.line(&columns.summary_title(counted));
        for lane in test.lanes() {
            let summary = Summary {
                test,
                start,
                columns,
                lane: &lane,
                verbose: style.verbose,
            };
            for flow in &lane.flows {
                self.flow_summary(&summary, *flow);
            }
            if lane.flows.len() > 1 {
                self.sum_summary(&summary);
            }
            if style.verbose {
                self.lane_notes(&summary, end);
            }
        }
    }

    fn flow_summary(&mut self, summary: &Summary<'_>, flow: usize) {
        let Summary { test, columns, .. } = *summary;
        let label = Label::stream(
            Iperf3Record::socket(flow),
            role(summary.start, summary.lane),
        );
        if summary.reports(true) {
            let amount = test.amount(test.sender(flow));
            let detail = match columns.transport {
                TestTransport::Udp => sent(test.sent(flow)),
                _ => retransmits(test, flow).map_or(Detail::None, Detail::Retransmits),
            };
            self.line(&columns.sender(&label, amount, detail));
            if let Some(file) = summary.start.file.as_ref().filter(|_| summary.lane.sends) {
                self.line(&format!(
                    "        Sent {} / {} ({}%) of {}",
                    figure::volume(amount.bytes),
                    figure::volume(file.size),
                    percent(amount.bytes, file.size) as u64,
                    file.name
                ));
            }
        } else if summary.verbose {
            let text = "(sender statistics not available)";
            self.line(&format!("{} {text}", label.text()));
        }
        if summary.reports(false) {
            let amount = test.amount(test.receiver(flow));
            let udp = columns.transport == TestTransport::Udp;
            let loss = udp.then(|| test.loss(flow).unwrap_or_default());
            self.line(&columns.receiver(&label, amount, loss));
            let late = loss.map_or(0, |loss| loss.out_of_order);
            if late > 0 && !summary.lane.sends {
                self.line(&format!(
                    "{} {:4.1}-{:4.1} sec  {late} datagrams received out-of-order",
                    Label::sum(role(summary.start, summary.lane)).text(),
                    0.0,
                    amount.seconds
                ));
            }
        } else if summary.verbose {
            let text = "(receiver statistics not available)";
            self.line(&format!("{} {text}", label.text()));
        }
    }

    fn sum_summary(&mut self, summary: &Summary<'_>) {
        let Summary { test, columns, .. } = *summary;
        let label = Label::sum(role(summary.start, summary.lane));
        let flows = || summary.lane.flows.iter().copied();
        let udp = columns.transport == TestTransport::Udp;
        if summary.reports(true) {
            let amounts = flows().map(|flow| test.amount(test.sender(flow)));
            let detail = if udp {
                sent(flows().map(|flow| test.sent(flow)).sum())
            } else {
                let counted: Option<u64> = flows().map(|flow| retransmits(test, flow)).sum();
                counted.map_or(Detail::None, Detail::Retransmits)
            };
            let amount = amounts.fold(Amount::default(), Amount::plus);
            self.line(&columns.sender(&label, amount, detail));
        }
        if summary.reports(false) {
            let amounts = flows().map(|flow| test.amount(test.receiver(flow)));
            let losses = flows().map(|flow| test.loss(flow).unwrap_or_default());
            let loss = udp.then(|| Loss::sum(losses));
            let amount = amounts.fold(Amount::default(), Amount::plus);
            self.line(&columns.receiver(&label, amount, loss));
        }
    }

    /// Processors and congestion control.
    fn lane_notes(&mut self, summary: &Summary<'_>, end: &TestEnd) {
        let both = summary.columns.both;
        if summary.start.role == Role::Client && !summary.lane.reverse {
            let peer = end.peer_cpu.unwrap_or_default();
            let senders = if both {
                vec![true, false]
            } else {
                vec![summary.lane.sends]
            };
            for sends in senders {
                self.line(&cpu(sends, end.cpu, peer));
            }
        }
        if summary.start.transport != TestTransport::Tcp {
            return;
        }
        if let Some(name) = end
            .sender_congestion
            .as_ref()
            .filter(|_| summary.reports(true))
        {
            self.line(&format!("snd_tcp_congestion {name}"));
        }
        if let Some(name) = end
            .receiver_congestion
            .as_ref()
            .filter(|_| summary.reports(false))
        {
            self.line(&format!("rcv_tcp_congestion {name}"));
        }
    }
}

/// What the summary of a direction is made of.
#[derive(Clone, Copy)]
struct Summary<'a> {
    test: &'a Iperf3Record,
    start: &'a TestStart,
    columns: Columns,
    lane: &'a Lane,
    verbose: bool,
}

impl Summary<'_> {
    /// Whether the rows of the sending, or of the receiving, end are reported: a server reports its
    /// own.
    fn reports(&self, sender: bool) -> bool {
        self.start.role == Role::Client || self.lane.sends == sender
    }
}

fn columns(start: &TestStart, style: &Iperf3Style) -> Columns {
    Columns {
        format: style.format,
        transport: start.transport,
        both: start.direction == TestDirection::Bidirectional,
    }
}

/// The role in tests of both directions.
fn role(start: &TestStart, lane: &Lane) -> &'static str {
    let both = start.direction == TestDirection::Bidirectional;
    match (both, start.role, lane.sends) {
        (false, _, _) => "",
        (true, Role::Client, true) => "[TX-C]",
        (true, Role::Client, false) => "[RX-C]",
        (true, Role::Server, true) => "[TX-S]",
        (true, Role::Server, false) => "[RX-S]",
    }
}

fn sent(packets: Option<u64>) -> Detail {
    Detail::Datagrams(Loss {
        packets: packets.unwrap_or(0),
        ..Loss::default()
    })
}

fn starting(start: &TestStart) -> String {
    let limit = match start.limit {
        TestLimit::Time(time) => format!("{} second test", time.as_secs()),
        TestLimit::Bytes(bytes) => format!("{bytes} bytes to send"),
        TestLimit::Blocks(blocks) => format!("{blocks} blocks to send"),
    };
    format!(
        "Starting Test: protocol: {}, {} streams, {} byte blocks, omitting {} seconds, {limit}, \
         tos {}",
        protocol(start.transport),
        start.streams,
        start.block_length,
        start.omit.as_secs(),
        start.tos
    )
}

/// What a server printed, as far as it cannot move the cursor here.
fn lines_of_peer(text: &str) -> String {
    let moves = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    text.trim_end_matches('\n').replace(moves, "?")
}

fn cpu(sends: bool, own: CpuUse, peer: CpuUse) -> String {
    let (local, remote) = if sends {
        ("sender", "receiver")
    } else {
        ("receiver", "sender")
    };
    let shares = |cpu: CpuUse| format!("{:.1}% ({:.1}%u/{:.1}%s)", cpu.total, cpu.user, cpu.system);
    format!(
        "CPU Utilization: local/{local} {}, remote/{remote} {}",
        shares(own),
        shares(peer)
    )
}
