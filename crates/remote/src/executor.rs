//! Carries out orders.

use std::fmt;
use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::order::{Class, GivenOption, MAX_LINE, Order, OrderLine, PROTOCOL_VERSION, ServedTests};
use crate::reply::{Body, Hello, Listening, Reply, unix_time};
use crate::running::{CommandLine, Outputs, StandardError};
use crate::test_processes::{NotStarted, TestProcesses};

/// What a list of options is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job<'a> {
    /// A client's test.
    Client,
    /// A server on a free port, for these networks.
    Server {
        /// Nobody else may use it.
        allow: &'a [String],
    },
    /// A server as its options say.
    AnyServer,
}

/// The program in which orders are carried out.
pub trait Host: Sync {
    /// The command line of a process that does the job.
    ///
    /// # Errors
    /// An option that is not known, that nobody elsewhere may give, or whose value does not fit; in words.
    fn command(&self, job: Job<'_>, options: &[GivenOption]) -> Result<CommandLine, String>;

    /// Who is there.
    fn hello(&self) -> Hello;
}

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The input has ended.
    InputOver,
    /// A line that is none, in words; it was told.
    BrokenLine(String),
    /// Nobody reads the replies.
    OutputGone,
}

/// Carries out orders until the input ends, and returns when all that they started has ended.
pub fn execute(
    mut input: impl BufRead,
    output: impl Write + Send,
    program: &Path,
    host: &impl Host,
) -> SessionEnd {
    let executor = Executor {
        program,
        host,
        output: Mutex::new(Output {
            to: output,
            is_gone: false,
        }),
        tests: TestProcesses::default(),
        timing: Once::new(),
    };
    std::thread::scope(|scope| {
        let end = executor.follow(&mut input, scope);
        executor.tests.close();
        end
    })
}

struct Output<W> {
    to: W,
    /// Its reader has gone.
    is_gone: bool,
}

struct Executor<'a, W, H> {
    program: &'a Path,
    host: &'a H,
    output: Mutex<Output<W>>,
    tests: TestProcesses,
    /// With the first test there is a thread that keeps time.
    timing: Once,
}

/// A process that an order wants.
#[derive(Clone, Copy, Debug)]
struct Wanted<'a> {
    /// The number of the order.
    id: u64,
    job: Job<'a>,
    options: &'a [GivenOption],
    class: Class,
    /// It lasts so long at most.
    time: Option<Duration>,
    /// Its events are passed on, not its end alone.
    live: bool,
}

impl<W: Write + Send, H: Host> Executor<'_, W, H> {
    /// Reads orders.
    fn follow<'scope, 'env>(
        &'env self,
        input: &mut impl BufRead,
        scope: &'scope std::thread::Scope<'scope, 'env>,
    ) -> SessionEnd {
        let mut line = Vec::new();
        loop {
            line.clear();
            let room = MAX_LINE as u64 + 1;
            match input.take(room).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return SessionEnd::InputOver,
                Ok(_) if line.len() > MAX_LINE => {
                    return self.break_off(format!("a line of more than {MAX_LINE} bytes"));
                }
                Ok(_) if line.trim_ascii().is_empty() => continue,
                Ok(_) => {}
            }
            let arrived = unix_time();
            let value = match serde_json::from_slice::<Value>(&line) {
                Ok(value) => value,
                Err(error) => return self.break_off(format!("a line that is no JSON: {error}")),
            };
            let Some(id) = value["id"].as_u64() else {
                return self.break_off("an order without a number".to_owned());
            };
            match serde_json::from_value::<OrderLine>(value) {
                Ok(line) => self.obey(line, arrived, scope),
                Err(error) => self.reply(&Reply::error(
                    Some(id),
                    "unknown-order",
                    format!("no order that is known: {error}"),
                )),
            }
            if self.output().is_gone {
                return SessionEnd::OutputGone;
            }
        }
    }

    fn break_off(&self, why: String) -> SessionEnd {
        self.reply(&Reply::error(None, "unknown-order", why.clone()));
        SessionEnd::BrokenLine(why)
    }

    fn obey<'scope, 'env>(
        &'env self,
        line: OrderLine,
        arrived: f64,
        scope: &'scope std::thread::Scope<'scope, 'env>,
    ) {
        let id = line.id;
        let said = |body| {
            self.reply(&Reply { id: Some(id), body });
        };
        match line.order {
            Order::Hello { v } if v == PROTOCOL_VERSION => said(Body::Hello {
                hello: self.host.hello(),
            }),
            Order::Hello { v } => self.reply(&Reply::error(
                Some(id),
                "version",
                format!("this end speaks version {PROTOCOL_VERSION}, not {v}"),
            )),
            Order::Clock { .. } => said(Body::Clock {
                t2: arrived,
                t3: unix_time(),
            }),
            Order::Stop { which } => {
                if self.tests.stop(which) {
                    said(Body::Stopped { stopped: true });
                } else {
                    let text = format!("nothing runs that order {which} started");
                    self.reply(&Reply::error(Some(id), "not-running", text));
                }
            }
            Order::Run {
                options,
                live,
                class,
            } => {
                let wanted = Wanted {
                    id,
                    job: Job::Client,
                    options: &options,
                    class,
                    time: None,
                    live,
                };
                self.start(wanted, scope);
            }
            Order::Serve {
                options,
                tests: ServedTests::Any,
                class,
                ..
            } => {
                let wanted = Wanted {
                    id,
                    job: Job::AnyServer,
                    options: &options,
                    class,
                    time: None,
                    live: true,
                };
                self.start(wanted, scope);
            }
            Order::Serve {
                options,
                tests: ServedTests::One,
                allow,
                seconds,
                class,
            } => {
                let time = Duration::try_from_secs_f64(seconds).ok();
                let Some(time) = time.filter(|_| !allow.is_empty()) else {
                    let text = "serve needs networks to allow, and a time";
                    return self.reply(&Reply::error(Some(id), "usage", text));
                };
                let wanted = Wanted {
                    id,
                    job: Job::Server { allow: &allow },
                    options: &options,
                    class,
                    time: Some(time),
                    live: true,
                };
                self.start(wanted, scope);
            }
        }
    }

    /// Starts a process and passes on what it says; what stands in its way is told.
    fn start<'scope, 'env>(
        &'env self,
        wanted: Wanted<'_>,
        scope: &'scope std::thread::Scope<'scope, 'env>,
    ) {
        let Wanted {
            id,
            job,
            class,
            live,
            ..
        } = wanted;
        let refuse = |name: &str, why: String| {
            self.reply(&Reply::error(Some(id), name, why));
        };
        let mut command = match self.host.command(job, wanted.options) {
            Ok(command) => command,
            Err(why) => return refuse("usage", why),
        };
        command.words.push("--json-stream".into());
        let errors = StandardError::Kept;
        let started = self
            .tests
            .start(id, class, self.program, &command, errors, wanted.time);
        match started {
            Ok(outputs) => {
                self.timing.call_once(|| {
                    scope.spawn(|| self.tests.keep_time());
                });
                let serves = match job {
                    Job::Client => None,
                    Job::Server { .. } => Some(ServedTests::One),
                    Job::AnyServer => Some(ServedTests::Any),
                };
                scope.spawn(move || self.report(id, outputs, live, serves));
            }
            Err(NotStarted::Busy(why)) => refuse("busy", why),
            Err(NotStarted::Closed) => refuse("busy", "the session ends".to_owned()),
            Err(NotStarted::NoProcess(error)) => {
                refuse("test-failed", format!("no process starts: {error}"));
            }
        }
    }

    /// Passes on what a test or a server prints, and its end. A server of one test ends with it.
    fn report(&self, id: u64, outputs: Outputs, live: bool, serves: Option<ServedTests>) {
        let serves_any = serves == Some(ServedTests::Any);
        let (mut document, mut fault) = (None, String::new());
        let said = outputs.read(|line| {
            let Ok(mut event) = serde_json::from_slice::<Value>(line) else {
                return;
            };
            if let Some(text) = fault_of(&event) {
                text.clone_into(&mut fault);
            }
            match event["event"].as_str() {
                Some("end" | "series") if !serves_any => {
                    if live {
                        let body = Body::Event {
                            event: event.clone(),
                        };
                        self.reply(&Reply { id: Some(id), body });
                    }
                    document = Some(event["data"].take());
                    if serves.is_some() {
                        self.tests.stop(id);
                    }
                }
                Some("listening") => {
                    // Its tests have documents; it has none.
                    document = serves_any.then_some(Value::Null);
                    let listening = listening(&event["data"]);
                    let body = Body::Listening { listening };
                    self.reply(&Reply { id: Some(id), body });
                }
                _ if live => {
                    let body = Body::Event { event };
                    self.reply(&Reply { id: Some(id), body });
                }
                _ => {}
            }
        });
        let status = self.tests.wait(id);
        let code = status.ok().and_then(|status| status.code());
        self.reply(&match document {
            Some(end) => Reply {
                id: Some(id),
                body: Body::End { end, code },
            },
            None => Reply::error(
                Some(id),
                "test-failed",
                without_document(&[&said, &fault], code, serves),
            ),
        });
    }

    fn output(&self) -> MutexGuard<'_, Output<W>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reply(&self, reply: &Reply) {
        let Ok(mut line) = serde_json::to_vec(reply) else {
            return;
        };
        line.push(b'\n');
        let mut output = self.output();
        let written = output.to.write_all(&line).and_then(|()| output.to.flush());
        output.is_gone |= written.is_err();
    }
}

impl<W, H> fmt::Debug for Executor<'_, W, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").finish_non_exhaustive()
    }
}

/// What an event says went wrong.
fn fault_of(event: &Value) -> Option<&str> {
    let is_fault = event["event"] == "warning" && event["data"]["severity"] == "error";
    event["data"]["text"].as_str().filter(|_| is_fault)
}

/// Why a test left no document; `said` is what it said, on standard error first.
fn without_document(said: &[&str], code: Option<i32>, serves: Option<ServedTests>) -> String {
    let first = said.iter().find_map(|text| text.lines().next());
    let first = first.unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    match code {
        _ if !first.is_empty() => first.to_owned(),
        Some(0) if serves.is_some() => "no test came".to_owned(),
        Some(code) => format!("the test ended with code {code} and no result"),
        None => "the test did not end in time and was killed".to_owned(),
    }
}

/// The ports of a server: `[{"transport": "tcp", "port": 41877}, ...]`.
fn listening(sockets: &Value) -> Listening {
    let port = |transport: &str| {
        let mut sockets = sockets.as_array()?.iter();
        let socket = sockets.find(|socket| socket["transport"] == transport)?;
        u16::try_from(socket["port"].as_u64()?).ok()
    };
    Listening {
        tcp: port("tcp"),
        udp: port("udp"),
    }
}
