//! This host, as its agent uses it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tapeline_remote::{Body, ExecutorProcess, Order, OrderLine, Reply, Transport};
use tapeline_sys::FileLock;

use crate::agent::{Kept, Spooled};
use crate::bus::{AgentHost, TestEvent, TestEvents};
use crate::host::document::{bytes, fitted};
use crate::host::spool_folder::SpoolFolder;
use crate::job::{AttemptKey, ResultKey};
use crate::message::{How, ResultMessage};

/// The lock file in the folder of the spool.
const LOCK: &str = "lock";
/// The number of a test's order, and of the order to stop it.
const TEST: u64 = 1;
const STOP: u64 = 2;
/// Time for the process of a test to go once its test is over.
const CLOSING: Duration = Duration::from_secs(2);

/// This host: tests are processes of its tapeline, one executor each.
#[derive(Debug)]
pub struct LocalHost {
    /// Where tapeline is.
    program: PathBuf,
    lock_path: PathBuf,
    /// Of an exclusive test. Its processes inherit it, so the host stays taken until the last of them has gone,
    /// whatever becomes of the agent.
    lock: Option<FileLock>,
    spool: SpoolFolder,
    tests: BTreeMap<AttemptKey, ExecutorProcess>,
}

/// A host and what it held when it was opened.
#[derive(Debug)]
pub struct Opened {
    /// The host.
    pub host: LocalHost,
    /// What its agent kept.
    pub kept: Kept,
    /// The results of its spool, from the oldest on.
    pub spooled: Vec<Spooled>,
}

impl LocalHost {
    /// With the folder of its spool, and its own program.
    ///
    /// # Errors
    /// The folder cannot be had.
    pub fn open(folder: &Path, program: &Path) -> io::Result<Opened> {
        let (spool, kept, spooled) = SpoolFolder::open(folder)?;
        let host = Self {
            program: program.to_owned(),
            lock_path: folder.join(LOCK),
            lock: None,
            spool,
            tests: BTreeMap::new(),
        };
        Ok(Opened {
            host,
            kept,
            spooled,
        })
    }

    fn process(
        &self,
        of: &AttemptKey,
        order: Order,
        events: &TestEvents,
    ) -> io::Result<ExecutorProcess> {
        let command = Transport::Local(self.program.clone()).command();
        let mut command = command.map_err(|error| io::Error::other(error.to_string()))?;
        command.stderr(Stdio::null());
        let mut following = Following {
            of: of.clone(),
            events: events.clone(),
            has_ended: false,
        };
        let start = || {
            ExecutorProcess::start(command, move |reply| {
                following.take(reply.ok().map(|Reply { body, .. }| body));
            })
        };
        let process = match &self.lock {
            Some(lock) => lock.inherited(start)?,
            None => start()?,
        };
        // If it has gone, its replies end, and that is its end.
        let _ = process.orders().send(&OrderLine { id: TEST, order });
        Ok(process)
    }
}

impl AgentHost for LocalHost {
    fn lock(&mut self) -> bool {
        // An own one that a test still has belongs to another opening of the file, and refuses this one.
        self.lock = None;
        self.lock = FileLock::take(&self.lock_path).ok().flatten();
        self.lock.is_some()
    }

    fn unlock(&mut self) {
        self.lock = None;
    }

    fn start(&mut self, of: &AttemptKey, order: Order, events: &TestEvents) {
        match self.process(of, order, events) {
            Ok(process) => {
                self.tests.insert(of.clone(), process);
            }
            Err(error) => events.happened(TestEvent::Ended {
                of: of.clone(),
                how: How::Failed(format!("no process for the test: {error}")),
                document: None,
                bytes: 0,
            }),
        }
    }

    fn stop(&mut self, of: &AttemptKey) {
        if let Some(process) = self.tests.get(of) {
            let order = Order::Stop { which: TEST };
            // If it has gone, its test has ended.
            let _ = process.orders().send(&OrderLine { id: STOP, order });
        }
    }

    fn ended(&mut self, of: &AttemptKey) {
        if let Some(process) = self.tests.remove(of) {
            process.end(CLOSING);
        }
    }

    fn keep(&mut self, kept: &Kept) {
        // On a full disk the old one stays: its epoch is smaller, which a test's slot makes up for.
        let _ = self.spool.keep(kept);
    }

    fn spool(&mut self, result: &ResultMessage) -> Option<u64> {
        self.spool.add(result).ok()
    }

    fn unspool(&mut self, key: &ResultKey) {
        // What stays is published again, and is stored already.
        let _ = self.spool.remove(key);
    }

    fn spooled(&mut self, key: &ResultKey) -> Option<ResultMessage> {
        self.spool.read(key)
    }
}

/// What an executor replies about its test.
struct Following {
    of: AttemptKey,
    events: TestEvents,
    has_ended: bool,
}

impl Following {
    /// Takes a reply; none: no more come.
    fn take(&mut self, body: Option<Body>) {
        if self.has_ended {
            return;
        }
        let of = self.of.clone();
        let event = match body {
            Some(Body::Listening { listening }) => TestEvent::Listening(of, listening),
            Some(Body::Event { event }) => TestEvent::Live(of, event.to_string()),
            Some(Body::End { end, code }) => self.ended(how(&end, code), Some(end)),
            Some(Body::Error { error }) if error.id == "usage" => {
                self.ended(How::Refused(error.text), None)
            }
            // An order to stop may come too late.
            Some(Body::Error { error }) if error.id == "not-running" => return,
            Some(Body::Error { error }) => self.ended(How::Failed(error.text), None),
            Some(Body::Hello { .. } | Body::Stopped { .. } | Body::Clock { .. }) => return,
            None => {
                let text = "the process of the test has gone".to_owned();
                self.ended(How::Failed(text), None)
            }
        };
        self.events.happened(event);
    }

    fn ended(&mut self, how: How, document: Option<Value>) -> TestEvent {
        self.has_ended = true;
        TestEvent::Ended {
            of: self.of.clone(),
            how,
            bytes: document.as_ref().map_or(0, bytes),
            document: document.map(fitted),
        }
    }
}

/// How a test ended that left a document.
fn how(document: &Value, code: Option<i32>) -> How {
    let test = &document["test"];
    let is_whole = test["complete"] == true && test["interrupted"] != true;
    if is_whole {
        return How::Measured;
    }
    let mut warnings = document["warnings"].as_array().into_iter().flatten();
    let fault = warnings.find(|warning| warning["severity"] == "error");
    let text = fault.and_then(|fault| fault["text"].as_str());
    How::Failed(match (text, code) {
        (Some(text), _) => text.to_owned(),
        (None, Some(code)) => format!("the test did not come to its end (code {code})"),
        (None, None) => "the test was killed".to_owned(),
    })
}
