//! A test that runs: a process of the program itself.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::order::MAX_LINE;

/// Environment variable of a test: it ends, as if interrupted, when its standard input does.
pub const END_WITH_INPUT: &str = "TAPELINE_END_WITH_INPUT";
/// Time for a test to come to its end once that was asked of it.
const ENDING: Duration = Duration::from_secs(5);
/// Of what a test says on standard error, so much is kept, bytes.
const SAID: u64 = 4096;

/// What a process of this program is started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The words behind the program's name, which everybody on the host can read.
    pub words: Vec<OsString>,
    /// Environment variables, for what nobody else may read.
    pub variables: Vec<(&'static str, OsString)>,
    /// Where it runs, if not where this process does.
    pub folder: Option<PathBuf>,
}

/// Where a test's standard error goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardError {
    /// To whoever reads its outputs.
    Kept,
    /// Where that of this process goes.
    Shared,
}

/// A test that runs.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// Whoever holds it keeps the test running.
    input: Option<ChildStdin>,
    /// When it is asked to end, or killed if it was asked.
    until: Option<Instant>,
}

/// What a test prints.
#[derive(Debug)]
pub struct Outputs {
    lines: BufReader<ChildStdout>,
    errors: Option<ChildStderr>,
}

impl Running {
    /// Starts a test that lasts `time` at most.
    ///
    /// # Errors
    /// The system starts no process.
    pub(crate) fn start(
        program: &Path,
        command: &CommandLine,
        errors: StandardError,
        time: Option<Duration>,
    ) -> io::Result<(Self, Outputs)> {
        let mut process = Command::new(program);
        set_apart(&mut process);
        if let Some(folder) = &command.folder {
            process.current_dir(folder);
        }
        let mut child = process
            .args(&command.words)
            .envs(command.variables.iter().map(|(name, value)| (name, value)))
            .env(END_WITH_INPUT, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(match errors {
                StandardError::Kept => Stdio::piped(),
                StandardError::Shared => Stdio::inherit(),
            })
            .spawn()?;
        let lost = || io::Error::other("a process without standard streams");
        let lines = BufReader::new(child.stdout.take().ok_or_else(lost)?);
        let errors = child.stderr.take();
        let running = Self {
            input: child.stdin.take(),
            child,
            until: time.map(|time| Instant::now() + time),
        };
        Ok((running, Outputs { lines, errors }))
    }

    /// Asks it to end.
    pub(crate) fn stop(&mut self) {
        if self.input.take().is_some() {
            self.until = Some(Instant::now() + ENDING);
        }
    }

    /// Does what is due by now, and says when the next thing will be.
    pub(crate) fn advance(&mut self, now: Instant) -> Option<Instant> {
        if self.until.is_some_and(|until| until <= now) {
            match self.input {
                Some(_) => self.stop(),
                None => self.kill(),
            }
        }
        self.until
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        // A process that is gone needs no end.
        let _ = self.child.kill();
        self.until = None;
    }

    /// Waits for the process, whose outputs have ended.
    ///
    /// # Errors
    /// Those of `waitpid(2)`.
    pub(crate) fn wait(mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

/// Keeps the terminal's Ctrl-C from a process: it ends when whoever started it wants that.
#[cfg(unix)]
pub(crate) fn set_apart(process: &mut Command) {
    use std::os::unix::process::CommandExt;
    process.process_group(0);
}

/// Keeps the terminal's Ctrl-C from a process: it ends when whoever started it wants that.
#[cfg(windows)]
pub(crate) fn set_apart(process: &mut Command) {
    use std::os::windows::process::CommandExt;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    process.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

impl Outputs {
    /// All of standard output.
    ///
    /// # Errors
    /// Those of `read(2)`.
    pub fn read_whole(mut self) -> io::Result<Vec<u8>> {
        let mut whole = Vec::new();
        std::thread::scope(|scope| {
            let errors = self.errors.take();
            scope.spawn(|| errors.map(first_bytes));
            self.lines.read_to_end(&mut whole)
        })?;
        Ok(whole)
    }

    /// Calls `each` with each line of the stream, and returns what was said on standard error.
    pub fn read(self, mut each: impl FnMut(&[u8])) -> String {
        let Self { mut lines, errors } = self;
        std::thread::scope(|scope| {
            let said = scope.spawn(|| errors.map(first_bytes).unwrap_or_default());
            let mut line = Vec::new();
            loop {
                line.clear();
                let room = MAX_LINE as u64;
                match (&mut lines).take(room).read_until(b'\n', &mut line) {
                    Ok(1..) => each(&line),
                    Ok(0) | Err(_) => break,
                }
            }
            said.join().unwrap_or_default()
        })
    }
}

/// The first bytes that come; the rest is read and dropped, so that nobody waits for room.
fn first_bytes(mut errors: ChildStderr) -> String {
    let mut said = Vec::new();
    let _ = (&mut errors).take(SAID).read_to_end(&mut said);
    let _ = io::copy(&mut errors, &mut io::sink());
    String::from_utf8_lossy(&said).trim().to_owned()
}
