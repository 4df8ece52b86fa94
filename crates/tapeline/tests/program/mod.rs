//! The program as a process under test: its lines as they come, signals to it, and its end,
//! never waited for without limit.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Longest wait for anything that should come soon; a busy machine takes its time.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A process, killed at the latest when dropped.
pub(crate) struct Program {
    child: Child,
    lines: Option<Receiver<String>>,
    /// Lines of standard output that were taken.
    seen: Vec<String>,
    errors: Option<JoinHandle<String>>,
    closed: Receiver<()>,
}

/// How a process ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Exit status of a process that ended by itself.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The last line of standard output that speaks of a time span from the beginning.
    pub(crate) fn total(&self) -> &str {
        let total = |line: &&str| line.contains(" 0.00-");
        self.stdout
            .lines()
            .rfind(total)
            .unwrap_or_else(|| panic!("no total in {:?}", self.stdout))
    }
}

/// tapeline in an environment of its own.
pub(crate) fn command<S: AsRef<str>>(arguments: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapeline"));
    command.args(arguments.iter().map(AsRef::as_ref));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("IPERF_") {
            command.env_remove(name);
        }
    }
    command.env_remove("TCP_WINDOW_SIZE");
    // The habits of whoever runs the tests are none of theirs.
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command.env("TZ", "UTC");
    command
}

impl Program {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// tapeline with its own habits.
    pub(crate) fn native(arguments: &str) -> Self {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        Self::spawn(command(&words))
    }

    /// tapeline with the habits of iperf 2.2.1.
    pub(crate) fn iperf(arguments: &str) -> Self {
        Self::native(&format!("--as iperf {arguments}"))
    }

    /// Starts a command whose output goes to us.
    pub(crate) fn spawn(mut command: Command) -> Self {
        command.stdout(Stdio::piped());
        Self::spawn_writing(command)
    }

    /// Starts a command whose standard output goes where it was told.
    pub(crate) fn spawn_writing(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (open, closed) = mpsc::channel();
        let lines = child.stdout.take().map(|out| {
            let (line, lines) = mpsc::channel();
            let open = open.clone();
            std::thread::spawn(move || {
                for text in BufReader::new(out).lines().map_while(Result::ok) {
                    let _ = line.send(text);
                }
                drop(open);
            });
            lines
        });
        let mut err = child.stderr.take().expect("a pipe");
        let errors = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = err.read_to_end(&mut bytes);
            drop(open);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self {
            child,
            lines,
            seen: Vec::new(),
            errors: Some(errors),
            closed,
        }
    }

    /// Waits for a line of standard output that holds `part`.
    pub(crate) fn line(&mut self, part: &str) -> String {
        let until = Instant::now() + SOON;
        let lines = self.lines.as_ref().expect("output that goes to us");
        loop {
            match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(part) {
                        return line;
                    }
                }
                Err(error) => panic!("no line with {part:?} ({error}) after {:?}", self.seen),
            }
        }
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a running process");
    }

    /// Waits until the process has closed its output and ended.
    pub(crate) fn end(self) -> Ended {
        self.end_within(SOON)
    }

    /// As [`end`](Self::end); panics when that takes longer than `limit`.
    pub(crate) fn end_within(mut self, limit: Duration) -> Ended {
        if self.closed.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            let _ = self.child.kill();
            let lines = self.lines.iter().flat_map(Receiver::try_iter);
            self.seen.extend(lines);
            panic!("still running after {limit:?}: {:?}", self.seen);
        }
        let status = self.child.wait().expect("its end");
        let errors = self.errors.take().expect("asked for once").join();
        self.seen
            .extend(self.lines.iter().flat_map(Receiver::try_iter));
        let mut stdout = self.seen.join("\n");
        if !stdout.is_empty() {
            stdout.push('\n');
        }
        Ended {
            status,
            stdout,
            stderr: errors.expect("text"),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server of ours and its port.
pub(crate) struct Server {
    pub(crate) program: Program,
    pub(crate) port: u16,
}

impl Server {
    /// With iperf's habits, on a free port.
    pub(crate) fn iperf(arguments: &str) -> Self {
        Self::of(Program::iperf(&format!("-s -p 0 {arguments}")))
    }

    /// With tapeline's own habits, on a free port, TCP and UDP.
    pub(crate) fn native(arguments: &str) -> Self {
        Self::of(Program::native(&format!("-s -p 0 {arguments}")))
    }

    /// Reads the port from the banner.
    pub(crate) fn of(mut program: Program) -> Self {
        let line = program.line("istening on ");
        let words = line.split([' ', ',']);
        let port = words.skip_while(|word| *word != "port").nth(1);
        let port = port.and_then(|word| word.parse().ok());
        Self {
            port: port.unwrap_or_else(|| panic!("no port in {line:?}")),
            program,
        }
    }

    /// Runs a short test, to see that the server serves.
    pub(crate) fn serves(&self, arguments: &str) {
        let port = self.port;
        let client = Program::iperf(&format!("-c 127.0.0.1 -p {port} -n 100K {arguments}"));
        let ended = client.end();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        assert_eq!(ended.stderr, "");
    }

    /// Interrupts the server while it is idle.
    pub(crate) fn stop(self) -> Ended {
        self.program.signal(Signal::INT);
        self.program.end()
    }
}
