//! Tests that are run for a comparison or a gate: each is a process of this very program, with the
//! arguments that were given and no shell.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::ExitCode;
use tapeline_remote::{Class, CommandLine, NotStarted, StandardError, TestProcesses};
use tapeline_sys::{exit_now, reason};

use super::place::{Found, documents};
use super::say::{Fault, note};
use crate::run::signals::on_interrupt;

/// One test runs at a time.
const TEST: u64 = 1;

/// Tests one after the other. An interrupt ends the one that runs in order, and no more start.
#[derive(Debug)]
pub(crate) struct Measuring {
    program: PathBuf,
    processes: Arc<TestProcesses>,
}

impl Measuring {
    /// A second interrupt ends all at once, with `cut_off` as exit code.
    ///
    /// # Errors
    /// The system gives no thread, or does not say where this program is.
    pub(crate) fn begin(cut_off: ExitCode) -> Result<Self, Fault> {
        let program = std::env::current_exe().map_err(|error| no_process(&error))?;
        let processes = Arc::new(TestProcesses::default());
        let (first, second, timed) = (processes.clone(), processes.clone(), processes.clone());
        let end_at_once = move || {
            second.kill();
            exit_now(cut_off.code().into());
        };
        on_interrupt(move || first.close(), end_at_once).map_err(|error| no_process(&error))?;
        std::thread::Builder::new()
            .name("tests".into())
            .spawn(move || timed.keep_time())
            .map_err(|error| no_process(&error))?;
        Ok(Self { program, processes })
    }

    /// Runs a test; what it measured. Its warnings go to standard error.
    ///
    /// # Errors
    /// The test has no result: its line is wrong (which it has said), or there is no process.
    pub(crate) fn measure(&self, words: &[OsString]) -> Result<Vec<Found>, Fault> {
        let mut command = CommandLine::default();
        command.words.extend(["--as".into(), "tapeline".into()]);
        command.words.extend_from_slice(words);
        command.words.push("--json".into());
        let (class, errors) = (Class::Exclusive, StandardError::Shared);
        let started = self
            .processes
            .start(TEST, class, &self.program, &command, errors, None);
        let printed = match started {
            Ok(outputs) => outputs.read_whole(),
            Err(NotStarted::Closed) => return Ok(Vec::new()),
            Err(NotStarted::NoProcess(error)) => return Err(no_process(&error)),
            Err(NotStarted::Busy(why)) => return Err(Fault::Failure(why)),
        };
        let status = self.processes.wait(TEST);
        let printed = printed.map_err(|error| no_process(&error))?;
        match status.map_err(|error| no_process(&error))?.code() {
            // It ended before it had a result.
            _ if self.is_interrupted() && printed.is_empty() => Ok(Vec::new()),
            Some(code) if code == i32::from(ExitCode::Usage.code()) => {
                Err(Fault::Said(ExitCode::Usage))
            }
            None => Err(Fault::Failure("the test was killed".to_owned())),
            // A test that failed has a document, whose numbers do not count.
            Some(_) => documents(&shown(words), &printed),
        }
    }

    /// Lets time pass between two tests.
    pub(crate) fn pause(&self, time: Duration) {
        self.processes.pause(time);
    }

    /// No more tests start.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.processes.is_closed()
    }
}

fn no_process(error: &io::Error) -> Fault {
    Fault::Failure(format!("no test process: {}", reason(error)))
}

/// The words of a test as one text.
pub(crate) fn shown(words: &[OsString]) -> String {
    let words = words.iter().map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}

/// Says how far it is, to people who look on.
pub(crate) fn progress(text: &str) {
    if io::stderr().is_terminal() {
        note(text);
    }
}
