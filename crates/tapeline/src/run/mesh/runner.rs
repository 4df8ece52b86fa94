//! Starts tests as hosts become free, and takes what comes of them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tapeline_base::{Transport, with_port};
use tapeline_mesh::{Ended, Forecast, HostId, MeshPlan, Mode, Pair, Schedule, TestId};
use tapeline_remote::{Body, Class, GivenOption, Hello, Order, Reply, ServedTests, unix_time};
use tapeline_report::matrix::{Cell, HostState, MeshHost, Outcome};

use super::addresses::{sources, target};
use super::clocks::Clocks;
use super::event_stream::EventStream;
use super::progress::Progress;
use super::results::Results;
use super::running_test::{RunningTest, Side};
use super::sessions::{Happening, Member, Sessions};
use super::test_line::TestLine;
use crate::run::history::note;

/// Between two looks at the time.
const LOOK: Duration = Duration::from_millis(500);
/// Time for a stopped test to end, before nothing more is expected of it.
const ENDING: Duration = Duration::from_secs(10);

/// Time for clients to be ready for a common start, seconds.
const READYING: f64 = 2.0;

/// What a mesh needs to run.
#[derive(Debug)]
pub(crate) struct Runner<'a> {
    plan: &'a MeshPlan,
    line: &'a TestLine,
    forecast: Forecast,
    schedule: Schedule,
    results: Results<'a>,
    members: BTreeMap<HostId, Member>,
    /// What hosts said of themselves, and why some take part no longer.
    hellos: BTreeMap<HostId, Hello>,
    away: BTreeMap<HostId, HostState>,
    clocks: Clocks,
    running: Vec<RunningTest>,
    began: Instant,
    progress: Progress,
}

impl<'a> Runner<'a> {
    /// Of a plan whose tests are in the schedule; what the results have is not tested again.
    pub(crate) fn new(
        plan: &'a MeshPlan,
        line: &'a TestLine,
        forecast: Forecast,
        mut schedule: Schedule,
        results: Results<'a>,
        stream: EventStream,
    ) -> Self {
        let known = schedule.tests().filter(|(_, pair)| results.has(*pair));
        let known: Vec<TestId> = known.map(|(test, _)| test).collect();
        known.iter().for_each(|test| schedule.skip(*test));
        Self {
            plan,
            line,
            forecast,
            schedule,
            results,
            members: BTreeMap::new(),
            hellos: BTreeMap::new(),
            away: BTreeMap::new(),
            clocks: Clocks::default(),
            running: Vec::new(),
            began: Instant::now(),
            progress: Progress::new(stream),
        }
    }

    /// Waits for all hosts, then tests until nothing is left; false if the user wanted the end first.
    ///
    /// # Errors
    /// The journal cannot be written, in words.
    pub(crate) fn run(&mut self, sessions: &mut Sessions) -> Result<bool, String> {
        let goes_on = self.gather(sessions) && self.compare_clocks()? && self.test(sessions)?;
        self.progress.erase();
        Ok(goes_on)
    }

    fn gather(&mut self, sessions: &mut Sessions) -> bool {
        let hosts = self.plan.hosts.len();
        while self.members.len() + self.away.len() < hosts || !self.clocks.are_known() {
            self.progress
                .draw(&format!("reached {} of {hosts} hosts", self.members.len()));
            match sessions.next(LOOK) {
                Some(Happening::Begun(host, Ok(member))) => {
                    self.hellos.insert(host, member.hello.clone());
                    if self.plan.mode == Mode::AllAtOnce {
                        self.clocks.ask(host, &member.orders);
                    }
                    self.members.insert(host, member);
                }
                Some(Happening::Begun(host, Err(why))) => self.lose(host, &why),
                Some(Happening::Lost(host, why)) => self.lose(host, &why),
                Some(Happening::Interrupted) => return false,
                Some(Happening::Replied(host, reply)) => {
                    if self.clocks.take(host, &reply)
                        && let Some(member) = self.members.get(&host)
                    {
                        self.clocks.ask(host, &member.orders);
                    }
                }
                Some(Happening::Closed) | None => {}
            }
        }
        self.began = Instant::now();
        true
    }

    /// Whether the clocks are known well enough for a common start.
    fn compare_clocks(&self) -> Result<bool, String> {
        match self.clocks.worst() {
            None => Ok(true),
            Some((host, error)) => Err(format!(
                "--all-at-once: the clock of {} is known to {:.0} ms only; at most 50 ms will do",
                self.name(host),
                error * 1e3
            )),
        }
    }

    fn test(&mut self, sessions: &mut Sessions) -> Result<bool, String> {
        loop {
            for test in self.schedule.next(self.began.elapsed()) {
                self.start(test)?;
            }
            // What could not start has ended, and makes room for others.
            if self.running.is_empty() && self.schedule.waiting() > 0 {
                continue;
            }
            if self.schedule.is_over() {
                return Ok(true);
            }
            let left = self.schedule.waiting() + self.running.len();
            let pairs = self.running.iter().map(|running| running.pair);
            self.progress
                .draw_tests(self.plan, &self.forecast, left, pairs);
            match sessions.next(LOOK) {
                Some(Happening::Replied(host, reply)) => self.take(host, reply),
                Some(Happening::Lost(host, why)) => self.lose(host, &why),
                Some(Happening::Interrupted) => return Ok(false),
                Some(Happening::Begun(..) | Happening::Closed) | None => {}
            }
            self.stop_what_takes_too_long();
            self.finish()?;
        }
    }

    /// Orders the server of a test; its client follows when that listens.
    fn start(&mut self, test: TestId) -> Result<(), String> {
        let pair = self.schedule.pair(test);
        let mut running = RunningTest {
            test,
            pair,
            address: String::new(),
            port: None,
            server: Side::Over,
            client: Side::Over,
            until: Instant::now() + self.line.longest(),
            is_stopped: false,
            is_abandoned: false,
            cells: None,
        };
        match self.serve(pair) {
            Ok((address, order)) => {
                running.address = address;
                running.server = Side::Ordered(order);
                running.client = Side::Waits;
            }
            Err(text) => running.cells = Some(self.cells(pair, test, &Outcome::Failed { text })),
        }
        self.running.push(running);
        self.finish()
    }

    fn serve(&self, pair: Pair) -> Result<(String, u64), String> {
        let member = |host| {
            let gone = || format!("{} takes part no longer", self.name(host));
            self.members.get(&host).ok_or_else(gone)
        };
        let (sender, receiver) = (member(pair.from)?, member(pair.to)?);
        let [from, to] = [pair.from, pair.to].map(|host| self.plan.host(host));
        let address = target(to, &receiver.hello, &sender.hello).ok_or_else(|| {
            format!(
                "{} has no address that {} could reach: address = \"...\" names one",
                to.name, from.name
            )
        })?;
        let order = receiver.orders.order(Order::Serve {
            options: Vec::new(),
            tests: ServedTests::One,
            allow: sources(from, &sender.hello, &address),
            seconds: self.line.longest().as_secs_f64(),
            class: self.class(),
        });
        let order = order.map_err(|gone| format!("{}: {gone}", to.name))?;
        Ok((address, order))
    }

    /// Takes a reply to an order about a test.
    fn take(&mut self, host: HostId, reply: Reply) {
        let Some(order) = reply.id else {
            return;
        };
        let about = |running: &RunningTest| running.is_about(host, order);
        let Some(place) = self.running.iter().position(about) else {
            return;
        };
        let mut running = self.running.swap_remove(place);
        let (pair, test) = (running.pair, running.test);
        let is_client = host == pair.from && running.client == Side::Ordered(order);
        match reply.body {
            Body::Listening { listening } if !is_client && !running.is_stopped => {
                let port = match self.line.transport {
                    Transport::Tcp => listening.tcp,
                    Transport::Udp => listening.udp,
                };
                running.port = port;
                if port.is_none() {
                    let text = format!("{} has no port for the test", self.name(host));
                    self.conclude(&mut running, Outcome::Failed { text });
                    running.client = Side::Over;
                    self.stop(&running);
                }
            }
            Body::End { end, .. } if is_client => {
                if running.cells.is_none() {
                    let attempts = self.schedule.attempts(test);
                    running.cells = Some(self.results.of_report(pair, attempts, end));
                }
                running.end(host);
                self.stop(&running);
            }
            Body::Error { error } => {
                let text = match is_client {
                    true => error.text,
                    false => format!("{} cannot serve: {}", self.name(host), error.text),
                };
                let outcome = match error.id.as_str() {
                    "busy" => Outcome::Refused { text },
                    _ => Outcome::Failed { text },
                };
                // A server that saw no test says so after its client has said why.
                if is_client || running.client == Side::Waits {
                    self.conclude(&mut running, outcome);
                }
                running.end(host);
                self.stop(&running);
            }
            Body::End { .. } => running.end(host),
            Body::Listening { .. }
            | Body::Hello { .. }
            | Body::Event { .. }
            | Body::Stopped { .. }
            | Body::Clock { .. } => {}
        }
        self.running.push(running);
        self.start_clients();
    }

    /// Starts the clients whose servers listen; those that start together wait for all servers.
    fn start_clients(&mut self) {
        let waits = |running: &RunningTest| running.client == Side::Waits;
        let is_together = self.plan.mode == Mode::AllAtOnce;
        let lacks_port = |running: &RunningTest| waits(running) && running.port.is_none();
        if is_together && self.running.iter().any(lacks_port) {
            return;
        }
        let start = is_together.then(|| unix_time() + READYING);
        let mut all = std::mem::take(&mut self.running);
        for running in all.iter_mut().filter(|running| waits(running)) {
            let Some(port) = running.port else {
                continue;
            };
            match self.order_client(running, port, start) {
                Some(order) => running.client = Side::Ordered(order),
                None => {
                    let text = format!("{} could not begin", self.name(running.pair.from));
                    self.conclude(running, Outcome::Failed { text });
                    running.client = Side::Over;
                    self.stop(running);
                }
            }
        }
        self.running = all;
    }

    fn order_client(&self, running: &RunningTest, port: u16, start: Option<f64>) -> Option<u64> {
        let from = running.pair.from;
        let server = with_port(&running.address, port);
        let mut options = vec![GivenOption::new("client", &server)];
        options.extend_from_slice(&self.line.options);
        if self.plan.mode == Mode::FullDuplex {
            options.push(GivenOption {
                name: "full-duplex".to_owned(),
                value: None,
            });
        }
        if let Some(start) = start {
            let there = format!("{:.3}", self.clocks.there(from, start));
            options.push(GivenOption::new("txstart-time", &there));
        }
        let order = self.members.get(&from)?.orders.order(Order::Run {
            options,
            live: false,
            class: self.class(),
        });
        order.ok()
    }

    fn class(&self) -> Class {
        match self.plan.mode {
            Mode::AllAtOnce => Class::Background,
            Mode::InTurn | Mode::FullDuplex => Class::Exclusive,
        }
    }

    /// What came of a test, unless that is known already.
    fn conclude(&self, running: &mut RunningTest, outcome: Outcome) {
        if running.cells.is_none() {
            running.cells = Some(self.cells(running.pair, running.test, &outcome));
        }
    }

    /// The cells of a test without a report.
    fn cells(&self, pair: Pair, test: TestId, outcome: &Outcome) -> Vec<Cell> {
        let attempts = self.schedule.attempts(test);
        let cell = |(from, to)| {
            Cell::unmeasured(self.name(from), self.name(to), attempts, outcome.clone())
        };
        self.results.ways(pair).into_iter().map(cell).collect()
    }

    /// Asks for the end of what runs of a test; a host that has gone is not asked.
    fn stop(&self, running: &RunningTest) {
        for (host, which) in running.orders() {
            if let Some(member) = self.members.get(&host) {
                let _ = member.orders.order(Order::Stop { which });
            }
        }
    }

    fn stop_what_takes_too_long(&mut self) {
        let now = Instant::now();
        let mut all = std::mem::take(&mut self.running);
        for running in all.iter_mut().filter(|running| running.until <= now) {
            if running.is_stopped {
                running.end(running.pair.from);
                running.end(running.pair.to);
                continue;
            }
            let seconds = self.line.longest().as_secs_f64();
            let text = format!("took longer than {seconds} s, and was stopped");
            self.conclude(running, Outcome::Failed { text });
            running.is_stopped = true;
            running.until = now + ENDING;
            if running.client == Side::Waits {
                running.client = Side::Over;
            }
            self.stop(running);
        }
        self.running = all;
    }

    /// Enters what has ended.
    fn finish(&mut self) -> Result<(), String> {
        let (over, running): (Vec<_>, Vec<_>) = std::mem::take(&mut self.running)
            .into_iter()
            .partition(RunningTest::is_over);
        self.running = running;
        for test in over {
            let text = "it ended without a result".to_owned();
            let cells = test
                .cells
                .unwrap_or_else(|| self.cells(test.pair, test.test, &Outcome::Failed { text }));
            let is_measured = cells.iter().all(|cell| cell.measured().is_some());
            self.results.enter(test.pair, cells)?;
            let how = match (is_measured, test.is_abandoned) {
                (true, _) => Ended::Measured,
                (false, false) => Ended::Failed,
                (false, true) => Ended::Abandoned,
            };
            let now = self.began.elapsed();
            for host in self.schedule.ended(test.test, how, now) {
                self.drop_host(host);
            }
        }
        Ok(())
    }

    /// A host has failed too often.
    fn drop_host(&mut self, host: HostId) {
        if self.away.contains_key(&host) {
            return;
        }
        let text = "failed three tests in a row".to_owned();
        self.say(&format!(
            "{} {text}: its other tests are skipped",
            self.name(host)
        ));
        let text = format!("{} {text}", self.name(host));
        let outcome = Outcome::Skipped { text: text.clone() };
        self.give_up(host, &outcome);
        self.away.insert(host, HostState::Dropped { text });
    }

    /// A host was not reached, or its session is over.
    fn lose(&mut self, host: HostId, why: &str) {
        self.members.remove(&host);
        self.clocks.forget(host);
        self.say(&format!("{}: {why}", self.name(host)));
        let text = why.to_owned();
        let outcome = Outcome::Unreachable { text: text.clone() };
        let mut all = std::mem::take(&mut self.running);
        for running in all.iter_mut().filter(|running| running.pair.has(host)) {
            self.conclude(running, outcome.clone());
            running.is_abandoned = true;
            running.end(host);
            if running.client == Side::Waits {
                running.client = Side::Over;
            }
            self.stop(running);
        }
        self.running = all;
        self.give_up(host, &outcome);
        self.away.insert(host, HostState::Unreachable { text });
    }

    /// The tests of a host that have not begun do not take place.
    fn give_up(&mut self, host: HostId, outcome: &Outcome) {
        for test in self.schedule.give_up(host) {
            self.results.note(self.schedule.pair(test), 0, outcome);
        }
    }

    fn say(&mut self, text: &str) {
        self.progress.erase();
        note(text);
    }

    fn name(&self, host: HostId) -> &'a str {
        &self.plan.host(host).name
    }

    /// The hosts and cells; what has none was stopped or not begun.
    pub(crate) fn into_results(mut self) -> Measured<'a> {
        for running in &self.running {
            let attempts = self.schedule.attempts(running.test);
            self.results.note(running.pair, attempts, &Outcome::Stopped);
        }
        let tests: Vec<Pair> = self.schedule.tests().map(|(_, pair)| pair).collect();
        let text = "interrupted".to_owned();
        let skipped = Outcome::Skipped { text };
        for pair in &tests {
            self.results.note(*pair, 0, &skipped);
        }
        let hosts = self.plan.hosts.iter().enumerate().map(|(place, host)| {
            let hello = self.hellos.get(&HostId(place));
            let own = hello.and_then(|hello| hello.addresses.first().cloned());
            MeshHost {
                name: host.name.clone(),
                address: host.address.clone().or(own),
                groups: host.groups.clone(),
                version: hello.map(|hello| hello.version.clone()),
                system: hello.map(|hello| hello.system.clone()),
                state: match self.away.get(&HostId(place)) {
                    Some(state) => state.clone(),
                    None => HostState::Reached,
                },
            }
        });
        Measured {
            hosts: hosts.collect(),
            tests,
            results: self.results,
        }
    }
}

/// What a mesh came to.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) hosts: Vec<MeshHost>,
    pub(crate) tests: Vec<Pair>,
    pub(crate) results: Results<'a>,
}
