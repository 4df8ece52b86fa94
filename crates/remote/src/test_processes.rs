//! The tests that run, and their end.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::order::Class;
use crate::places::admit;
use crate::running::{CommandLine, Outputs, Running, StandardError};

/// Tests, each a process that ends with its input. Whoever starts them has one thread in
/// [`keep_time`](Self::keep_time).
#[derive(Debug, Default)]
pub struct TestProcesses {
    tests: Mutex<Tests>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Tests {
    /// By the numbers of the orders.
    all: BTreeMap<u64, (Class, Running)>,
    /// No more come.
    is_closed: bool,
}

/// Why a test does not start.
#[derive(Debug)]
pub enum NotStarted {
    /// Other tests run, in words.
    Busy(String),
    /// No more tests start.
    Closed,
    /// The system starts no process.
    NoProcess(io::Error),
}

impl TestProcesses {
    /// Starts a test that lasts `time` at most.
    ///
    /// # Errors
    /// There is no place for it, or no process.
    pub fn start(
        &self,
        id: u64,
        class: Class,
        program: &Path,
        command: &CommandLine,
        errors: StandardError,
        time: Option<Duration>,
    ) -> Result<Outputs, NotStarted> {
        let mut tests = self.tests();
        if tests.is_closed {
            return Err(NotStarted::Closed);
        }
        if tests.all.contains_key(&id) {
            return Err(NotStarted::Busy(format!("order {id} runs already")));
        }
        let running = tests.all.values().map(|(class, _)| *class);
        admit(class, running).map_err(NotStarted::Busy)?;
        let (running, outputs) =
            Running::start(program, command, errors, time).map_err(NotStarted::NoProcess)?;
        tests.all.insert(id, (class, running));
        drop(tests);
        self.changed.notify_all();
        Ok(outputs)
    }

    /// Asks a test to end in order; false if it does not run.
    pub fn stop(&self, id: u64) -> bool {
        let mut tests = self.tests();
        let found = tests.all.get_mut(&id).map(|(_, running)| running.stop());
        drop(tests);
        self.changed.notify_all();
        found.is_some()
    }

    /// Waits for the process of a test whose outputs have ended.
    ///
    /// # Errors
    /// Those of `waitpid(2)`, and a test that does not run.
    pub fn wait(&self, id: u64) -> io::Result<ExitStatus> {
        let running = self.tests().all.remove(&id);
        let lost = || io::Error::from(io::ErrorKind::NotFound);
        let status = running.ok_or_else(lost).and_then(|(_, one)| one.wait());
        self.changed.notify_all();
        status
    }

    /// Asks all to end in order; no more start.
    pub fn close(&self) {
        self.end_all(Running::stop);
    }

    /// Ends all at once; no more start.
    pub fn kill(&self) {
        self.end_all(Running::kill);
    }

    fn end_all(&self, end: impl Fn(&mut Running)) {
        let mut tests = self.tests();
        tests.is_closed = true;
        tests.all.values_mut().for_each(|(_, running)| end(running));
        drop(tests);
        self.changed.notify_all();
    }

    /// No more tests start.
    pub fn is_closed(&self) -> bool {
        self.tests().is_closed
    }

    /// Lets time pass, unless no more tests start.
    pub fn pause(&self, time: Duration) {
        let waited = self
            .changed
            .wait_timeout_while(self.tests(), time, |tests| !tests.is_closed);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Ends what has had its time, until no more tests start and none runs.
    pub fn keep_time(&self) {
        let mut tests = self.tests();
        loop {
            let now = Instant::now();
            let running = tests.all.values_mut();
            let next = running.filter_map(|(_, one)| one.advance(now)).min();
            if tests.is_closed && tests.all.is_empty() {
                return;
            }
            tests = match next {
                Some(until) => {
                    let time = until.saturating_duration_since(now);
                    let waited = self.changed.wait_timeout(tests, time);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    let waited = self.changed.wait(tests);
                    waited.unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }

    fn tests(&self) -> MutexGuard<'_, Tests> {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
