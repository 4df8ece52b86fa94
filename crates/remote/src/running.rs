//! A test that runs: a process of the program itself.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::order::{Class, MAX_LINE};

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
}

/// A test that runs.
pub(crate) struct Running {
    pub(crate) class: Class,
    child: Child,
    /// Whoever holds it keeps the test running.
    input: Option<ChildStdin>,
    /// When it is asked to end, or killed if it was asked.
    until: Option<Instant>,
}

/// What a test prints.
pub(crate) struct Outputs {
    lines: BufReader<ChildStdout>,
    errors: ChildStderr,
}

impl Running {
    /// Starts a test that lasts `time` at most.
    ///
    /// # Errors
    /// The system starts no process.
    pub(crate) fn start(
        program: &Path,
        command: &CommandLine,
        class: Class,
        time: Option<Duration>,
    ) -> io::Result<(Self, Outputs)> {
        let mut child = Command::new(program)
            .args(&command.words)
            .arg("--json-stream")
            .envs(command.variables.iter().map(|(name, value)| (name, value)))
            .env(END_WITH_INPUT, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let lost = || io::Error::other("a process without standard streams");
        let lines = BufReader::new(child.stdout.take().ok_or_else(lost)?);
        let errors = child.stderr.take().ok_or_else(lost)?;
        let running = Self {
            class,
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
                None => {
                    // A process that is gone needs no end.
                    let _ = self.child.kill();
                    self.until = None;
                }
            }
        }
        self.until
    }

    /// Waits for the process, whose outputs have ended.
    ///
    /// # Errors
    /// Those of `waitpid(2)`.
    pub(crate) fn wait(mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

impl Outputs {
    /// Calls `each` with each line of the stream, and returns what was said on standard error.
    pub(crate) fn read(self, mut each: impl FnMut(&[u8])) -> String {
        let Self { mut lines, errors } = self;
        std::thread::scope(|scope| {
            let said = scope.spawn(|| first_bytes(errors));
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
