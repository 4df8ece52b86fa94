//! The tests that were ordered from the page: their order, their states, their events.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use tapeline_base::MutexExt;
use tapeline_remote::{Body, Class, Order, ServedTests, unix_time};

use crate::event_log::EventLog;
use crate::executor::Executor;
use crate::mesh_process::{MeshNews, MeshProcess};
use crate::ordered_test::{Lines, State, Test, TestOrder};
use crate::program::{Form, Job, MeshRequest, PlanAnswer, Program};
use crate::refusal::Refusal;

/// Tests that wait at most.
const MAX_QUEUED: usize = 16;
/// Tests that are remembered.
const MAX_TESTS: usize = 50;
/// Bytes of their lines together.
const MAX_BYTES: usize = 64 << 20;
/// How many run at a time is decided here.
const CLASS: Class = Class::Background;

/// The tests of the page.
pub(crate) struct TestQueue {
    program: Arc<dyn Program>,
    /// Clients' tests that run at a time.
    most: usize,
    pub(crate) events: EventLog,
    state: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// In the order in which they came.
    tests: VecDeque<Test>,
    last: u64,
    executor: Option<Executor>,
    mesh: Option<MeshProcess>,
    is_closed: bool,
}

impl Known {
    fn find(&mut self, number: u64) -> Option<&mut Test> {
        self.tests.iter_mut().find(|test| test.test == number)
    }

    /// A test that somebody asks for.
    fn asked(&mut self, number: u64) -> Result<&mut Test, Refusal> {
        let missing = || Refusal::Missing(format!("there is no test {number}"));
        self.find(number).ok_or_else(missing)
    }

    fn running(&self, job: Job) -> usize {
        self.tests.iter().filter(|test| test.runs(job)).count()
    }

    /// The test that may start now, of `most` clients at a time. A mesh runs beside no client's test, and what
    /// was queued behind it does not overtake it.
    fn next(&self, most: usize) -> Option<u64> {
        let (clients, meshes) = (self.running(Job::Client), self.running(Job::Mesh));
        let mut queued = self.tests.iter().filter(|test| test.state == State::Queued);
        let first = queued.clone().find(|test| test.job != Job::Server);
        let first = first.filter(|test| match test.job {
            Job::Mesh => clients + meshes == 0,
            Job::Client | Job::Server => meshes == 0 && clients < most,
        });
        let server = queued.find(|test| test.job == Job::Server);
        server.or(first).map(|test| test.test)
    }

    /// Forgets the oldest that have ended, and lines of those that take much room.
    fn tidy(&mut self) {
        let mut excess = self.tests.len().saturating_sub(MAX_TESTS);
        self.tests.retain(|test| {
            let goes = excess > 0 && test.state == State::Ended;
            excess -= usize::from(goes);
            !goes
        });
        let mut bytes: usize = self.tests.iter().map(Test::bytes).sum();
        for test in &mut self.tests {
            if bytes > MAX_BYTES && test.state == State::Ended {
                bytes -= test.bytes();
                test.lines.clear();
                test.document = Vec::new();
            }
        }
    }
}

impl TestQueue {
    pub(crate) fn new(program: Arc<dyn Program>, most: usize) -> Self {
        Self {
            program,
            most,
            events: EventLog::new(),
            state: Mutex::default(),
        }
    }

    /// Queues a test that `who` wants; its number.
    pub(crate) fn start(
        self: &Arc<Self>,
        plan: PlanAnswer,
        line: String,
        who: &str,
    ) -> Result<u64, Refusal> {
        let options = plan.options.unwrap_or_default();
        let order = match plan.job {
            Job::Server => TestOrder::Server(options),
            Job::Client | Job::Mesh => TestOrder::Client(options),
        };
        self.queue(order, line, who)
    }

    /// Queues tests among many hosts that `who` wants; their number.
    pub(crate) fn start_mesh(
        self: &Arc<Self>,
        request: MeshRequest,
        who: &str,
    ) -> Result<u64, Refusal> {
        let command = self.program.mesh(&request)?;
        let line = command.line.clone();
        let order = TestOrder::Mesh(request, command);
        self.queue(order, line, who)
    }

    fn queue(self: &Arc<Self>, order: TestOrder, line: String, who: &str) -> Result<u64, Refusal> {
        let job = order.job();
        let mut known = self.known();
        if known.is_closed {
            return Err(Refusal::Busy("the page is being closed".to_owned()));
        }
        // Of these there is one at a time.
        let second = match job {
            Job::Client => None,
            Job::Server => Some("a server runs already: stop it first"),
            Job::Mesh => Some("a mesh runs already: stop it first"),
        };
        let is_active = |test: &Test| test.job == job && test.state != State::Ended;
        if let Some(why) = second
            && known.tests.iter().any(is_active)
        {
            return Err(Refusal::Busy(why.to_owned()));
        }
        let queued = known
            .tests
            .iter()
            .filter(|test| test.state == State::Queued);
        if queued.count() >= MAX_QUEUED {
            return Err(Refusal::Busy(format!("{MAX_QUEUED} tests wait already")));
        }
        known.last += 1;
        let number = known.last;
        let said = format!("test {number} of {who}: {line}");
        let test = Test {
            test: number,
            job,
            line,
            options: order.shown(),
            state: State::Queued,
            at: unix_time(),
            listening: None,
            code: None,
            run: None,
            error: None,
            unsaved: None,
            has_document: false,
            order: Some(order),
            lines: Lines::default(),
            document: Vec::new(),
        };
        known.tests.push_back(test);
        known.tidy();
        self.tell(&mut known, number);
        self.advance(&mut known);
        drop(known);
        // Standard error may have a slow reader.
        self.program.log(&said);
        Ok(number)
    }

    /// Asks a test to end.
    pub(crate) fn stop(self: &Arc<Self>, number: u64) -> Result<(), Refusal> {
        let mut known = self.known();
        let test = known.asked(number)?;
        let (state, job) = (test.state, test.job);
        match state {
            State::Ended => {}
            State::Queued => {
                self.end(
                    &mut known,
                    number,
                    None,
                    Some("stopped before it began".to_owned()),
                );
            }
            State::Running if job == Job::Mesh => {
                if let Some(mesh) = &known.mesh {
                    mesh.stop();
                }
            }
            State::Running => {
                let gone = known
                    .executor
                    .as_mut()
                    .map(|executor| executor.stop(number));
                if !matches!(gone, Some(Ok(()))) {
                    return Err(Refusal::Failed("the test's process has gone".to_owned()));
                }
            }
        }
        Ok(())
    }

    /// All that are known.
    pub(crate) fn list(&self) -> Value {
        json!({ "tests": self.known().tests })
    }

    /// The lines of a test.
    pub(crate) fn lines(&self, number: u64) -> Result<String, Refusal> {
        Ok(self.known().asked(number)?.lines.json())
    }

    /// The result of a test: as it is in the history, or from its lines.
    pub(crate) fn export(&self, number: u64, form: Form) -> Result<String, Refusal> {
        let (run, stream) = {
            let mut known = self.known();
            let test = known.asked(number)?;
            if test.state != State::Ended && test.job != Job::Server {
                return Err(Refusal::Missing(format!("test {number} has not ended")));
            }
            if test.job == Job::Mesh {
                let document = test.document.clone();
                drop(known);
                return match &document[..] {
                    [] => Err(Refusal::Missing(format!("test {number} has no result"))),
                    document => self.program.export_mesh(document, form),
                };
            }
            let is_whole = !test.lines.is_empty() && !test.lines.are_thinned();
            let run = test.run.clone().filter(|_| !is_whole);
            (run, test.lines.stream())
        };
        match run {
            Some(run) => self.program.run(&run, form),
            None => self.program.export(&stream, form),
        }
    }

    /// Ends all tests, and waits for it.
    pub(crate) fn close(&self) {
        let (executor, mesh) = {
            let mut known = self.known();
            known.is_closed = true;
            (known.executor.take(), known.mesh.take())
        };
        if let Some(executor) = executor {
            executor.end();
        }
        if let Some(mesh) = mesh {
            mesh.end();
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.state.lock_unpoisoned()
    }

    /// Tells everybody how a test is.
    fn tell(&self, known: &mut Known, number: u64) {
        if let Some(test) = known.find(number) {
            self.events.push(&json!(test));
        }
    }

    /// Orders what may run.
    fn advance(self: &Arc<Self>, known: &mut Known) {
        while let Some(number) = known.next(self.most) {
            let Some(test) = known.find(number) else {
                return;
            };
            test.state = State::Running;
            test.at = unix_time();
            let class = CLASS;
            let ordered = match test.order.take() {
                Some(TestOrder::Client(options)) => {
                    let live = true;
                    let order = Order::Run {
                        options,
                        live,
                        class,
                    };
                    self.order(known, number, order)
                }
                Some(TestOrder::Server(options)) => {
                    let order = Order::Serve {
                        options,
                        tests: ServedTests::Any,
                        allow: Vec::new(),
                        seconds: 0.0,
                        class,
                    };
                    self.order(known, number, order)
                }
                Some(TestOrder::Mesh(request, command)) => {
                    let tests = Arc::downgrade(self);
                    let each = move |news| {
                        if let Some(tests) = tests.upgrade() {
                            tests.hear_mesh(number, news);
                        }
                    };
                    self.tell(known, number);
                    let started = MeshProcess::start(&request, command, each);
                    let started = started.map(|mesh| known.mesh = Some(mesh));
                    started.map_err(|error| format!("no process for the mesh starts: {error}"))
                }
                None => Ok(()),
            };
            if let Err(why) = ordered {
                self.end(known, number, None, Some(why));
            }
        }
    }

    fn order(self: &Arc<Self>, known: &mut Known, number: u64, order: Order) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("no process for tests starts: {error}");
        if known.executor.is_none() {
            let command = self.program.executor().map_err(failed)?;
            let tests = Arc::downgrade(self);
            let executor = Executor::start(command, move |reply| {
                if let Some(tests) = tests.upgrade() {
                    tests.hear(reply);
                }
            });
            known.executor = Some(executor.map_err(failed)?);
        }
        self.tell(known, number);
        match known.executor.as_mut() {
            Some(executor) => executor
                .order(number, order)
                .map_err(|gone| gone.to_string()),
            None => Ok(()),
        }
    }

    fn end(
        self: &Arc<Self>,
        known: &mut Known,
        number: u64,
        code: Option<i32>,
        error: Option<String>,
    ) {
        if let Some(test) = known.find(number) {
            test.state = State::Ended;
            test.code = code;
            test.error = error;
            test.order = None;
            self.tell(known, number);
        }
    }

    /// What the executor says of a test; `None` when it has gone.
    fn hear(self: &Arc<Self>, reply: Option<(u64, Body)>) {
        let mut known = self.known();
        let Some((number, body)) = reply else {
            known.executor = None;
            let running = known
                .tests
                .iter()
                .filter(|test| test.state == State::Running && test.job != Job::Mesh);
            let running: Vec<u64> = running.map(|test| test.test).collect();
            for number in running {
                let why = "the process for tests has gone".to_owned();
                self.end(&mut known, number, None, Some(why));
            }
            if !known.is_closed {
                self.advance(&mut known);
            }
            return;
        };
        let Some(test) = known.find(number) else {
            return;
        };
        match body {
            Body::Listening { listening } => {
                test.listening = Some(listening);
                self.events
                    .push(&json!({ "test": number, "listening": listening }));
            }
            Body::Event { event } => self.take_event(test, &event),
            Body::End { end, code } => {
                test.has_document = !end.is_null();
                self.end(&mut known, number, code, None);
                self.advance(&mut known);
            }
            Body::Error { error } => {
                self.end(&mut known, number, None, Some(error.text));
                self.advance(&mut known);
            }
            Body::Hello { .. } | Body::Stopped { .. } | Body::Clock { .. } => {}
        }
    }

    /// What the process of a mesh says.
    fn hear_mesh(self: &Arc<Self>, number: u64, news: MeshNews) {
        let mut known = self.known();
        let Some(test) = known.find(number) else {
            return;
        };
        match news {
            MeshNews::Event(event) => self.take_event(test, &event),
            MeshNews::End { code, document } => {
                let error = document.map(|document| test.document = document).err();
                test.has_document = error.is_none();
                known.mesh = None;
                self.end(&mut known, number, code, error);
                if !known.is_closed {
                    self.advance(&mut known);
                }
            }
        }
    }

    fn take_event(&self, test: &mut Test, event: &Value) {
        match event["event"].as_str() {
            Some("saved") => {
                let data = &event["data"];
                let name = [&data["series"], &data["runs"][0]];
                let name = name.into_iter().find_map(Value::as_str);
                test.run = name.map(str::to_owned);
                self.events.push(&json!({ "history": true }));
            }
            Some("unsaved") => {
                test.unsaved = event["data"]["why"].as_str().map(str::to_owned);
            }
            _ => {
                test.lines.push(event);
                let number = test.test;
                self.events.push(&json!({ "test": number, "event": event }));
            }
        }
    }
}
