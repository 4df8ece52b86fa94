//! A process of a fleet that may be killed, paused, cut off and started again.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use super::wall_clock::WallClock;
use crate::{Invocation, Program, Running, SwitchedHost};

/// Longer than any test takes.
const SERVING: Duration = Duration::from_secs(12 * 3600);

/// A role of a fleet on its host: the process that runs, and what former ones said.
#[derive(Debug)]
pub struct Node {
    // Dropped before the host it is on.
    process: Option<Running>,
    host: SwitchedHost,
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    clock: Option<WallClock>,
    past: String,
}

impl Node {
    pub(crate) fn new(
        host: SwitchedHost,
        name: &str,
        program: PathBuf,
        arguments: &str,
        folder: PathBuf,
    ) -> Self {
        Self {
            process: None,
            host,
            name: name.to_owned(),
            program,
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
            folder,
            clock: None,
            past: String::new(),
        }
    }

    /// Its name: that of its host, or of its role.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its host.
    #[must_use]
    pub fn host(&self) -> &SwitchedHost {
        &self.host
    }

    /// Gives its process more arguments from its next start on, split at blanks.
    pub fn give(&mut self, arguments: &str) {
        let more = arguments.split_whitespace().map(str::to_owned);
        self.arguments.extend(more);
    }

    /// Gives its processes a wall clock of their own from the next start on. A program that does not
    /// ask the C library for the time, such as nats-server, does not see it.
    ///
    /// # Errors
    /// There is no libfaketime, or its file cannot be written.
    pub fn give_clock(&mut self) -> io::Result<()> {
        self.clock = Some(WallClock::new(&self.folder)?);
        Ok(())
    }

    /// Sets its wall clock so many seconds ahead of the machine's.
    ///
    /// # Panics
    /// It has none of its own, or that cannot be set.
    pub fn set_clock(&self, ahead: i64) {
        let clock = self.clock.as_ref().expect("a clock of its own");
        clock.set(ahead).expect("a clock that can be set");
    }

    /// Starts its process, unless it runs.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(&mut self) -> io::Result<()> {
        if self.is_running() {
            return Ok(());
        }
        self.kill();
        let process = self
            .invocation()
            .args(self.arguments.iter().map(String::as_str))
            .deadline(SERVING)
            .spawn()?;
        self.process = Some(process);
        Ok(())
    }

    /// A run of its program on its host, with a home of its own.
    #[must_use]
    pub fn invocation(&self) -> Invocation {
        let home = self.folder.display().to_string();
        let invocation = Invocation::for_executable(&self.name, &self.program)
            .within(self.host.namespace())
            .in_folder(&self.folder)
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", &home)
            .env("TAPELINE_SAVE", "0");
        let clock = self.clock.iter().flat_map(WallClock::environment);
        clock.fold(invocation, |invocation, (name, value)| {
            invocation.env(name, &value)
        })
    }

    /// A run of tapeline on its host.
    #[must_use]
    pub fn tapeline(&self, line: &str) -> Invocation {
        let home = self.folder.display().to_string();
        Invocation::new(Program::Tapeline)
            .line(line)
            .within(self.host.namespace())
            .in_folder(&self.folder)
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", &home)
    }

    /// Whether its process has not ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.process.as_ref().is_some_and(Running::is_alive)
    }

    /// Kills its process, if there is one; what it started ends by itself.
    pub fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            match process.kill() {
                Ok(finished) => self.past += &finished.stderr,
                Err(error) => self.past += &format!("{}: {error}\n", self.name),
            }
        }
    }

    /// Sends a signal to its process.
    pub fn signal(&self, signal: Signal) {
        if let Some(process) = &self.process {
            process.signal(signal);
        }
    }

    /// What all its processes have said.
    #[must_use]
    pub fn log(&self) -> String {
        let now = self.process.as_ref().map(Running::stderr);
        format!("{}{}", self.past, now.unwrap_or_default())
    }

    /// Waits until what its process of now has said is `enough`.
    ///
    /// # Panics
    /// That does not come in time, or the process has ended.
    #[track_caller]
    pub fn await_log(&self, time: Duration, what: &str, enough: impl Fn(&str) -> bool) {
        let process = self.process.as_ref();
        let came = process.is_some_and(|process| process.wait_for_error(time, enough));
        assert!(
            came,
            "{}: not {what} in {time:?}:\n{}",
            self.name,
            self.log()
        );
    }
}
