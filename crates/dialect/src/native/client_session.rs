//! The thread that keeps a client's control connection, from the server's first answer to what it
//! has to say of the test.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Tos, WallTime};
use tapeline_report::{ClockEstimate, Event, NoOtherEnd, Notice, OtherProgress, Subject};
use tapeline_stats::ClockLine;
use tapeline_sys::{Events, Interest, Poller, SocketOptions, TcpConn, Wait, reason};
use tapeline_wire::native::{Granted, Program, Progress, Results};

use super::answer_watch::AnswerWatch;
use super::client::{Shared, TrafficEnd};
use super::client_control::{ClientControl, ClientStep};
use super::cut;
use super::far_side;
use super::one_way;
use super::own_flow::OwnFlow;
use super::own_results::{self, Detail};
use super::probe_flow::ProbeFlow;
use super::reading::Reading;
use crate::context::Context;

const WAKER: u64 = u64::MAX;
const CONTROL: u64 = u64::MAX - 1;
const PROBES: u64 = u64::MAX - 2;
/// Time for the control connection to be established.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Longest wait between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(100);
/// Largest read of the control connection.
const READ: usize = 16 << 10;

/// How far the control connection is.
enum Link {
    /// Nobody has answered.
    None,
    Open {
        conn: TcpConn,
        control: Box<ClientControl>,
        /// Written by the state machine, and not taken by the system.
        unsent: Vec<u8>,
    },
    /// There is none any more, and it was told why.
    Over,
}

/// The thread's part.
pub(super) struct Session {
    shared: Arc<Shared>,
    context: Arc<Context>,
    options: SocketOptions,
    poller: Poller,
    answers: AnswerWatch,
    link: Link,
    /// The flows' type of service, where round trips beside the traffic are wanted.
    probe_class: Option<Tos>,
    probes: Option<ProbeFlow>,
    clocks: ClockLine,
    /// The server, when it has welcomed this client.
    server: Option<Program>,
    /// What it lets the test have.
    granted: Granted,
    /// Its last counters.
    progress: Progress,
    results: Option<Box<Results>>,
    before: Reading,
    began: WallTime,
    ended: Option<WallTime>,
    /// The server was told that the test ends early.
    stopped: bool,
    /// It was told that the server refuses the test.
    refused: bool,
}

impl Session {
    /// Nothing when the process is out of descriptors.
    pub(super) fn new(
        shared: Arc<Shared>,
        context: Arc<Context>,
        options: SocketOptions,
        probe_class: Option<Tos>,
    ) -> Option<Self> {
        Some(Self {
            poller: Poller::new().ok()?,
            answers: AnswerWatch::default(),
            link: Link::None,
            probe_class,
            probes: None,
            clocks: ClockLine::new(),
            server: None,
            granted: Granted::default(),
            progress: Progress::default(),
            results: None,
            before: Reading::now(&context),
            began: context.wall(),
            ended: None,
            stopped: false,
            refused: false,
            shared,
            context,
            options,
        })
    }

    /// Returns whether the server has cut the test.
    pub(super) fn run(mut self) -> bool {
        let mut events = Events::with_capacity(16);
        let shared = Arc::clone(&self.shared);
        if self
            .poller
            .register(&shared.waker, WAKER, Interest::READ)
            .is_err()
        {
            return false;
        }
        loop {
            let new = std::mem::take(&mut self.shared.lock().watched);
            self.answers.take_over(&mut self.poller, new);
            self.follow_test();
            self.tell_refusal();
            self.drive();
            self.probe();
            if self.is_over() {
                break;
            }
            let wait = self.wait();
            if self.poller.wait(&mut events, wait).is_err() {
                break;
            }
            shared.waker.drain();
            for event in events.iter() {
                match event.token {
                    WAKER => {}
                    CONTROL => self.receive(),
                    PROBES => self.receive_replies(),
                    token => {
                        let heard = self.answers.look(&mut self.poller, token, event.error);
                        if let Some((id, answer)) = heard {
                            self.shared.answered(id, answer);
                        }
                    }
                }
            }
        }
        self.tell()
    }

    fn is_over(&self) -> bool {
        let ended = self.shared.lock().ended.is_some();
        match &self.link {
            Link::None | Link::Over => ended,
            Link::Open {
                control, unsent, ..
            } => control.is_over() && unsent.is_empty(),
        }
    }

    fn wait(&self) -> Wait {
        let now = self.context.now();
        let due = match &self.link {
            Link::Open { control, .. } => control.due(),
            Link::None | Link::Over => None,
        };
        let probe = self.probes.as_ref().and_then(|probes| probes.probing.due());
        let due = due.into_iter().chain(probe).min();
        Wait::AtMost(due.map_or(LOOK, |due| due.since(now).min(LOOK)))
    }

    /// Connects when the first answer is there; says what became of the test.
    fn follow_test(&mut self) {
        let (first, ended) = {
            let state = self.shared.lock();
            (state.recognised(), state.ended)
        };
        let now = self.context.now();
        if let (Link::None, Some(flow)) = (&self.link, first)
            && let Some(token) = flow.token
        {
            self.link = self.connect(&flow, token);
        }
        if ended.is_some() && self.ended.is_none() {
            self.ended = Some(self.context.wall());
        }
        let raised = self.context.stop().is_raised();
        if let Link::Open { control, .. } = &mut self.link {
            if raised && !self.stopped {
                self.stopped = true;
                control.stop("the client was interrupted");
            }
            if let Some(end) = ended
                && !control.is_finished()
            {
                // The totals of all flows are on their way to the reporter.
                self.context.reporter.flush();
                let flows = self.shared.lock().flows.clone();
                let around = Reading::now(&self.context).since(&self.before);
                let following = &self.shared.following;
                let own = own_results::results(&flows, following, &around, Detail::ForServer);
                control.finish(end == TrafficEnd::Interrupted, &own, now);
            }
        }
    }

    /// Tells that the server does not run the test, once.
    fn tell_refusal(&mut self) {
        let refused = self.shared.lock().refused;
        if let Some((peer, refusal)) = refused.filter(|_| !self.refused) {
            self.refused = true;
            let seconds = refusal.retry_seconds.map(|seconds| seconds.get().into());
            self.context.notice(Notice::TestRefused {
                peer,
                reason: refusal.reason.to_string(),
                retry_after: seconds.map(Duration::from_secs),
            });
        }
    }

    fn connect(&mut self, flow: &OwnFlow, token: NonZeroU32) -> Link {
        let mut local = flow.local;
        local.set_port(0);
        let limit = Some(CONNECT_LIMIT);
        let conn = match TcpConn::connect(flow.peer, Some(local), &self.options, limit) {
            Ok(connected) => connected.conn,
            Err(error) => return self.give_up(NoOtherEnd::Unreachable(error.reason())),
        };
        let _ = conn.set_nodelay(true);
        if let Err(error) = self.poller.register(&conn, CONTROL, Interest::READ) {
            return self.give_up(NoOtherEnd::Unreachable(reason(&error)));
        }
        let now = self.context.now();
        Link::Open {
            control: Box::new(ClientControl::new(
                self.shared.number,
                token,
                super::own_program(),
                now,
            )),
            conn,
            unsent: Vec::new(),
        }
    }

    fn give_up(&self, why: NoOtherEnd) -> Link {
        self.context.reporter.event(Event::NoOtherEnd(why));
        Link::Over
    }

    fn receive(&mut self) {
        let Link::Open { conn, control, .. } = &mut self.link else {
            return;
        };
        let mut buffer = [0; READ];
        match conn.recv_nonblocking(&mut buffer) {
            Ok(0) => control.closed("the server closed it"),
            Ok(count) => {
                let (now, wall) = (self.context.now(), self.context.wall());
                control.received(&buffer[..count], now, wall);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => control.closed(&reason(&error)),
        }
    }

    /// Opens the probe flow, to where the test's flows go. Without it the report lacks a part, no more.
    fn open_probes(&mut self, key: NonZeroU64) {
        let first = self.shared.lock().recognised();
        let now = self.context.now();
        let opened = first
            .zip(self.probe_class)
            .and_then(|(flow, class)| ProbeFlow::open(&flow, &self.options, key, class, now));
        self.probes = opened.filter(|probes| {
            let registered = self.poller.register(&probes.socket, PROBES, Interest::READ);
            registered.is_ok()
        });
    }

    fn receive_replies(&mut self) {
        if let Some(probes) = &mut self.probes {
            probes.receive(|round_trip| self.context.reporter.probed(round_trip));
        }
    }

    /// Sends the probe that is due.
    fn probe(&mut self) {
        let Some(probes) = &mut self.probes else {
            return;
        };
        let now = self.context.now();
        let so_far = self.shared.following.so_far();
        let ended = self.shared.lock().ended;
        if ended.is_some() {
            let began = so_far.since.unwrap_or(now);
            probes.probing.pause(now.since(began));
        }
        match &mut self.link {
            // Without the connection the server answers no probe.
            Link::None | Link::Over => probes.probing.end(),
            Link::Open { control, .. } => {
                if self.results.is_some() && ended != Some(TrafficEnd::Interrupted) {
                    probes.probing.compare(now);
                }
                probes.send(now, self.context.wall(), so_far.bytes);
                control.await_probes(probes.probing.is_comparing());
            }
        }
    }

    /// Does what is due and obeys the state machine.
    fn drive(&mut self) {
        let Link::Open {
            conn,
            control,
            unsent,
        } = &mut self.link
        else {
            return;
        };
        control.tick(self.context.now(), self.context.wall());
        unsent.extend(control.output());
        let sent = if unsent.is_empty() {
            Ok(0)
        } else {
            conn.send_nonblocking(unsent)
        };
        match sent {
            Ok(count) => {
                unsent.drain(..count);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => {
                unsent.clear();
                control.closed(&reason(&error));
            }
        }
        let mut failed = None;
        let mut probe_key = None;
        while let Some(step) = control.step() {
            match step {
                ClientStep::Found(program, key) => {
                    probe_key = key;
                    self.server = Some(program.clone());
                    let found = Event::OtherEndFound(far_side::shown(program));
                    self.context.reporter.event(found);
                }
                ClientStep::Granted(granted) => self.granted = granted,
                ClientStep::Progress(progress) => {
                    let told = so_far(&self.progress, &progress);
                    self.progress = progress;
                    self.context.reporter.event(Event::OtherProgress(told));
                }
                ClientStep::Exchange(exchange) => self.clocks.observe(&exchange),
                ClientStep::Results(results) => self.results = Some(results),
                ClientStep::Stop(why) => {
                    let words = format!("the server ended the test: {why}");
                    self.context.notice(Notice::Text(words));
                    self.shared.stop.raise();
                }
                ClientStep::Refused(why) => failed = Some(NoOtherEnd::Refused(why)),
                // With the results here, nothing is missing but some readings of the clock.
                ClientStep::Broken(_) if self.results.is_some() => {}
                ClientStep::Broken(why) => failed = Some(NoOtherEnd::Broken(why)),
            }
        }
        if let Some(why) = failed {
            self.link = self.give_up(why);
        }
        if let Some(key) = probe_key {
            self.open_probes(key);
        }
    }

    /// Tells that the server has cut the test, if it has.
    fn tell_cut(&self, flows: &[OwnFlow], failed: bool) -> bool {
        let totals = self.shared.following.totals();
        let cut = totals.iter().find_map(|total| {
            let Subject::Flow(tag) = total.subject else {
                return None;
            };
            let flow = flows
                .iter()
                .find(|flow| flow.tags().any(|own| own == tag))?;
            let sends = flow.sends == Some(tag);
            let same = |other: &&OwnFlow| other.sends.is_some() == sends;
            let streams = flows.iter().filter(same).count() as u64;
            let reason = cut::exceeded(self.granted, total, streams, failed)?;
            Some((flow.peer, reason))
        });
        let is_cut = cut.is_some();
        if let Some((peer, reason)) = cut {
            self.context.notice(Notice::TestCut { peer, reason });
        }
        is_cut
    }

    /// Tells what the other end said; returns whether it has cut the test.
    fn tell(mut self) -> bool {
        // It may have come with the last bytes.
        self.tell_refusal();
        // The totals come first, and some of this rests on them.
        self.context.reporter.flush();
        let flows = std::mem::take(&mut self.shared.lock().flows);
        let reporter = &self.context.reporter;
        let ended = self.shared.lock().ended;
        // A test without flows had no server, and one that failed has its reasons told.
        let complete = ended == Some(TrafficEnd::InOrder);
        let ran = !self.shared.following.totals().is_empty();
        if matches!(self.link, Link::None) && complete && ran {
            reporter.event(Event::NoOtherEnd(NoOtherEnd::NotRecognised));
        }
        let fit = self.clocks.fit();
        let clock = self.estimate();
        if let Some(clock) = clock {
            reporter.event(Event::Clocks(clock));
        }
        let probes = self.probes.as_ref();
        if let Some(latency) = probes.and_then(|probes| probes.probing.result(fit.as_ref())) {
            reporter.event(Event::LoadedLatency(Box::new(latency)));
        }
        let is_cut = self.tell_cut(&flows, ended == Some(TrafficEnd::Failed));
        let Some(results) = &self.results else {
            return is_cut;
        };
        let program = self.server.clone().map(far_side::shown);
        let other = far_side::other_end(results, &flows, program);
        let delays = fit.zip(clock).map_or_else(Vec::new, |(fit, clock)| {
            one_way::delays(&other, &self.shared.following.totals(), &fit, clock)
        });
        reporter.event(Event::OtherEnd(Box::new(other)));
        for delay in delays {
            reporter.event(Event::OneWayDelay(delay));
        }
        is_cut
    }

    fn estimate(&self) -> Option<ClockEstimate> {
        let fit = self.clocks.fit()?;
        let end = self.ended.unwrap_or(self.began);
        Some(far_side::estimate(&fit, self.began, end))
    }
}

/// The server's counters, with its processor use since the ones before.
fn so_far(before: &Progress, now: &Progress) -> OtherProgress {
    let elapsed = now.elapsed.saturating_sub(before.elapsed);
    let processor = now.processor.saturating_sub(before.processor);
    OtherProgress {
        elapsed: Duration::from_nanos(now.elapsed),
        bytes: now.bytes,
        datagrams: now.datagrams,
        flows: now.flows,
        cpu_percent: (elapsed > 0 && processor > 0)
            .then(|| processor as f64 / elapsed as f64 * 100.0),
    }
}
