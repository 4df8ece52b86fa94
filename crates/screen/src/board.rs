//! What is shown: the events so far, in short.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use tapeline_base::{FormatLetter, Role, WallTime};
use tapeline_report::document::{PlannedLimit, PlannedTest, RunInfo, TestShape, Workload};
use tapeline_report::{
    Amount, ClientAnswer, Event, Exclude, Measure, MethodEvent, NativeText, Output, Phase,
    Renderer, Repetition, Row, ServerText, Style, Subject, Terminal, percent,
};

use crate::history::{History, MAX_STEPS, STEP};
use crate::streams::Streams;

/// Lines of text that are kept.
const MAX_LINES: usize = 64;
/// Steps that the curves of a test without a planned end show at first.
const LEAST_WINDOW: usize = 32;
/// Steps that those of a server show.
const SERVER_WINDOW: usize = 256;

/// How far a client's test is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Connecting,
    Running,
    Ended,
}

/// What a method does.
#[derive(Clone, Debug)]
struct MethodView {
    /// `mtu to 192.0.2.7`.
    title: String,
    /// The running phase.
    phase: String,
    planned: Option<Duration>,
    /// All phases have ended.
    over: bool,
}

/// What a view shows of a process's tests.
pub struct Board {
    role: Role,
    planned: Option<PlannedTest>,
    method: Option<MethodView>,
    style: Style,
    clock: fn() -> WallTime,
    /// Number of this run and of the last one.
    run: Option<(u32, u32)>,
    began: Option<WallTime>,
    latest: Option<WallTime>,
    streams: Streams,
    answer: ClientAnswer,
    pub(crate) sent: History,
    pub(crate) received: History,
    /// Round trips of senders and requests, one-way delays of receivers, or round trips of probes; seconds.
    pub(crate) delay: History,
    latest_delay: Option<f64>,
    delay_is_one_way: bool,
    /// Mean round trip of the probes of the running interval, seconds.
    probes: Option<f64>,
    /// Says what is to be read: warnings, a client's result block, a server's log.
    text: Box<dyn Renderer + Send>,
    lines: VecDeque<String>,
    missed: u64,
    paused: bool,
}

impl fmt::Debug for Board {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Board")
            .field("role", &self.role)
            .field("streams", &self.streams)
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}

impl Board {
    /// Nothing has happened yet. A server's log has the time by `clock` in front of each line.
    #[must_use]
    pub fn new(run_info: RunInfo, clock: fn() -> WallTime) -> Self {
        let (role, planned, style) = (run_info.role, run_info.planned, run_info.style);
        let amount = match role {
            Role::Client => Amount::Quiet,
            Role::Server => Amount::Usual,
        };
        Self {
            role,
            text: text(role, planned.as_ref(), style, clock, amount),
            planned,
            method: None,
            style,
            clock,
            run: None,
            began: None,
            latest: None,
            streams: Streams::default(),
            answer: ClientAnswer::default(),
            sent: History::default(),
            received: History::default(),
            delay: History::default(),
            latest_delay: None,
            delay_is_one_way: false,
            probes: None,
            lines: VecDeque::new(),
            missed: 0,
            paused: false,
        }
    }

    /// The same of a method: `mtu to 192.0.2.7`.
    #[must_use]
    pub fn of_method(title: &str, run_info: RunInfo, clock: fn() -> WallTime) -> Self {
        Self {
            method: Some(MethodView {
                title: title.to_owned(),
                phase: "begins".to_owned(),
                planned: None,
                over: false,
            }),
            ..Self::new(run_info, clock)
        }
    }

    /// Takes an event.
    pub fn observe(&mut self, event: &Event) {
        if self.method.is_some() {
            self.observe_method(event);
            return;
        }
        match event {
            Event::Row(row) => self.row(row),
            Event::Processor(_) => self.probes = None,
            Event::Probes(probes) => self.probes = Some(probes.round_trips.mean),
            Event::Repetition(Repetition::Begins { run, most, .. }) => self.begin(*run, *most),
            // What came of it, the log says.
            Event::TestOver(_) | Event::Idle if self.role == Role::Server => {
                self.streams.forget_ended();
            }
            _ => {}
        }
        self.answer.observe(event);
        let mut out = Output::default();
        self.text.render(event, &mut out);
        self.keep(&out);
    }

    /// Of the tests of a method the curves and streams are shown; what they say is the method's to say.
    fn observe_method(&mut self, event: &Event) {
        match event {
            Event::Method(MethodEvent::Phase { title, planned, at }) => {
                self.clear();
                if let Some(method) = &mut self.method {
                    method.phase.clone_from(title);
                    method.planned = Some(*planned);
                }
                self.began = Some(*at);
                self.latest = Some(*at);
            }
            Event::Method(MethodEvent::Sample {
                curve,
                from_server,
                value,
                at,
            }) => self.sample(curve, *from_server, *value, *at),
            Event::Method(MethodEvent::Line(line)) => self.keep_line(line.clone()),
            Event::Connecting(_) => self.streams.forget_ended(),
            Event::Row(row) => self.row(row),
            Event::Processor(_) => self.probes = None,
            Event::Probes(probes) => self.probes = Some(probes.round_trips.mean),
            _ => {}
        }
    }

    /// A number of a phase: a rate, or else a delay.
    fn sample(&mut self, curve: &str, from_server: bool, value: f64, at: WallTime) {
        let since = self.latest.map_or(0, |latest| at.nanos_since(latest));
        let span = Duration::from_nanos(u64::try_from(since).unwrap_or(0)).max(STEP);
        self.latest = Some(self.latest.map_or(at, |latest| latest.max(at)));
        if curve.ends_with("Mbit/s") {
            let history = match from_server {
                true => &mut self.received,
                false => &mut self.sent,
            };
            history.amount(at, span, value * 1e6 * span.as_secs_f64());
        } else if curve.ends_with("ms") {
            self.latest_delay = Some(value / 1e3);
            self.delay_is_one_way = false;
            self.delay.level(at, span, value / 1e3);
        }
    }

    /// Nothing follows: what is to be said at the end is said.
    pub fn finish(&mut self) {
        if let Some(method) = &mut self.method {
            method.over = true;
            return;
        }
        let mut out = Output::default();
        self.text.finish(&mut out);
        self.keep(&out);
    }

    /// Rows that never came here, because the terminal was too slow.
    pub fn missed(&mut self, rows: u64) {
        self.missed += rows;
    }

    /// The picture stands still, or goes on.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    fn begin(&mut self, run: u32, most: u32) {
        if self.run.is_none() {
            // A line for each run, and the answer of all.
            let (planned, clock) = (self.planned.as_ref(), self.clock);
            self.text = text(self.role, planned, self.style, clock, Amount::Usual);
        }
        self.run = Some((run, most));
        self.clear();
        self.answer = ClientAnswer::default();
    }

    /// Forgets what the curves and streams show.
    fn clear(&mut self) {
        self.began = None;
        self.latest = None;
        self.streams.clear();
        for history in [&mut self.sent, &mut self.received, &mut self.delay] {
            history.clear();
        }
        self.latest_delay = None;
    }

    fn keep(&mut self, out: &Output) {
        let lines = out.stderr.lines().chain(out.stdout.lines());
        let lines = lines.filter(|line| !line.is_empty()).map(str::to_owned);
        self.lines.extend(lines);
        self.trim();
    }

    fn keep_line(&mut self, line: String) {
        self.lines.push_back(line);
        self.trim();
    }

    fn trim(&mut self) {
        let over = self.lines.len().saturating_sub(MAX_LINES);
        self.lines.drain(..over);
    }

    fn row(&mut self, row: &Row) {
        let Subject::Flow(_) = row.subject else {
            return;
        };
        self.streams.observe(row);
        let length = row.span.length();
        let start = WallTime::from_nanos(row.ended.as_nanos() - row.span.end.as_nanos() as i64);
        self.began = Some(self.began.map_or(start, |began| began.min(start)));
        self.latest = Some(
            self.latest
                .map_or(row.ended, |latest| latest.max(row.ended)),
        );
        if row.phase == Phase::Total {
            return;
        }
        let history = match row.measure {
            Measure::TcpReceive(_) | Measure::UdpReceive(_) => &mut self.received,
            _ => &mut self.sent,
        };
        // Requests are counted, not weighed.
        if !matches!(row.measure, Measure::RequestResponse(_)) {
            history.amount(row.ended, length, row.bytes as f64 * 8.0);
        }
        let (delay, one_way) = match &row.measure {
            Measure::TcpSend(send) => {
                let micros = send.state.and_then(|state| state.rtt_micros);
                (micros.map(|micros| f64::from(micros) * 1e-6), false)
            }
            Measure::RequestResponse(exchange) => {
                let trips = &exchange.round_trips;
                ((trips.count > 0).then_some(trips.mean), false)
            }
            Measure::UdpReceive(receive) if row.trip_times => {
                let transit = &receive.transit;
                ((transit.count > 0).then_some(transit.mean), true)
            }
            _ => (self.probes, false),
        };
        if let Some(delay) = delay {
            self.delay_is_one_way = one_way;
            // Of streams beside each other, all.
            self.latest_delay = self.streams.round_trip().or(Some(delay));
            self.delay.level(row.ended, length, delay);
        }
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }

    pub(crate) fn is_method(&self) -> bool {
        self.method.is_some()
    }

    pub(crate) fn format(&self) -> FormatLetter {
        self.style.format
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// `TCP to 192.0.2.7, 2 streams`; of a server, what it is.
    pub(crate) fn title(&self) -> String {
        if let Some(method) = &self.method {
            return format!("{}, {}", method.title, method.phase);
        }
        let Some(planned) = &self.planned else {
            return "server".to_owned();
        };
        let transport = planned.transport.to_uppercase();
        let host = match self.style.hide_addresses {
            true => "(hidden)",
            false => &planned.host,
        };
        let mut title = match (planned.workload, planned.direction) {
            (Workload::RequestResponse, _) => format!("{transport} requests to {host}"),
            (Workload::ConnectOnly, _) => format!("{transport} to {host}, connect only"),
            (_, TestShape::Forward) => format!("{transport} to {host}"),
            (_, TestShape::Reverse) => format!("{transport} from {host}"),
            (_, TestShape::Bidirectional) => format!("{transport} to and from {host}"),
        };
        let plural = if planned.streams == 1 { "" } else { "s" };
        title.push_str(&format!(", {} stream{plural}", planned.streams));
        if let Some((run, most)) = self.run {
            title.push_str(&format!(", run {run}/{most}"));
        }
        title
    }

    pub(crate) fn stage(&self) -> Stage {
        if let Some(method) = &self.method {
            return match method.over {
                true => Stage::Ended,
                false => Stage::Running,
            };
        }
        match (self.streams.len(), self.streams.running()) {
            (0, _) => Stage::Connecting,
            (_, 0) => Stage::Ended,
            _ => Stage::Running,
        }
    }

    pub(crate) fn streams(&self) -> &Streams {
        &self.streams
    }

    pub(crate) fn answer(&self) -> &ClientAnswer {
        &self.answer
    }

    /// The latest time that is known.
    pub(crate) fn now(&self) -> WallTime {
        self.latest.unwrap_or_default()
    }

    /// Since the first stream's start.
    pub(crate) fn elapsed(&self) -> Duration {
        let nanos = self.latest.zip(self.began);
        let nanos = nanos.map_or(0, |(latest, began)| latest.nanos_since(began));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
    }

    /// How long a client's test, or the running phase of a method, is to last.
    pub(crate) fn planned(&self) -> Option<Duration> {
        if let Some(method) = &self.method {
            return method.planned;
        }
        let planned = self.planned.as_ref()?;
        match planned.limit {
            PlannedLimit::Time(span) => Some(span + planned.omit).filter(|span| !span.is_zero()),
            PlannedLimit::Bytes(_) | PlannedLimit::Never => None,
        }
    }

    /// Steps of time that the curves show: the whole test where its end is planned, else what there
    /// is of it; of a server, the latest.
    pub(crate) fn window(&self) -> usize {
        if self.role == Role::Server {
            return SERVER_WINDOW;
        }
        let steps = |span: Duration| (span.as_nanos() / STEP.as_nanos()) as usize;
        let window = match self.planned() {
            Some(span) => steps(span).max(1),
            None => steps(self.elapsed()).next_power_of_two().max(LEAST_WINDOW),
        };
        window.min(MAX_STEPS)
    }

    /// The latest delay, seconds, and whether it is one of one way.
    pub(crate) fn latest_delay(&self) -> Option<(f64, bool)> {
        Some((self.latest_delay?, self.delay_is_one_way))
    }

    /// `0.195 % (83 of 42517)`, of all receivers of datagrams.
    pub(crate) fn loss(&self) -> Option<String> {
        let (lost, all) = self.streams.total()?.counts.lost?;
        let share = percent(lost as f64 / all.max(1) as f64);
        Some(format!("{share} ({lost} of {all} datagrams)"))
    }

    /// What is to be read below the streams, the latest last.
    pub(crate) fn lines(&self) -> impl DoubleEndedIterator<Item = String> {
        let missed = (self.missed > 0).then(|| {
            let rows = self.missed;
            format!("warning: {rows} rows were not shown: the terminal was too slow")
        });
        missed.into_iter().chain(self.lines.iter().cloned())
    }
}

/// What puts a process's tests into words.
fn text(
    role: Role,
    planned: Option<&PlannedTest>,
    style: Style,
    clock: fn() -> WallTime,
    amount: Amount,
) -> Box<dyn Renderer + Send> {
    let terminal = Terminal {
        colour: false,
        width: 80,
        unicode: true,
    };
    let style = Style {
        enhanced: false,
        interval: false,
        amount,
        ..style
    };
    // The streams have the intervals.
    let data = role == Role::Server || amount == Amount::Quiet;
    let settings = role == Role::Client;
    let exclude = Exclude {
        data,
        sums: data,
        settings,
        connection: settings,
        server_report: false,
    };
    let style = Style { exclude, ..style };
    if role == Role::Server {
        return Box::new(ServerText::new(style, terminal).timed(clock));
    }
    let text = NativeText::new(style, terminal);
    Box::new(match planned {
        Some(planned) => text.requested(planned.requested()),
        None => text,
    })
}
