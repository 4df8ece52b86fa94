//! Child processes that end on time.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, waitid,
};

use crate::{Namespace, Program};

/// Time that a process may take when nothing else is said.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(20);
/// Pause between two looks at a process's memory: rare enough not to disturb a benchmark.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A command line that is about to run.
#[derive(Debug)]
pub struct Invocation {
    name: String,
    executable: std::ffi::OsString,
    arguments: Vec<String>,
    namespace: Option<String>,
    environment: Vec<(String, String)>,
    deadline: Duration,
    input: Vec<u8>,
    folder: Option<PathBuf>,
}

impl Invocation {
    /// A run of `program`.
    #[must_use]
    pub fn new(program: Program) -> Self {
        Self::for_executable(program.label(), program.path())
    }

    /// A run of any executable; `name` stands for it in messages.
    pub fn for_executable(name: &str, executable: impl AsRef<std::ffi::OsStr>) -> Self {
        Self {
            name: name.to_owned(),
            executable: executable.as_ref().to_owned(),
            arguments: Vec::new(),
            namespace: None,
            environment: vec![("TZ".to_owned(), "UTC".to_owned())],
            deadline: DEFAULT_DEADLINE,
            input: Vec::new(),
            folder: None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds the arguments of a line, split at blanks.
    #[must_use]
    pub fn line(self, arguments: &str) -> Self {
        self.args(arguments.split_whitespace())
    }

    /// Runs in a network namespace.
    #[must_use]
    pub fn within(mut self, namespace: &Namespace) -> Self {
        self.namespace = Some(namespace.name().to_owned());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Feeds `bytes` to the standard input, which is empty otherwise.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Runs in a folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Sets the time after which the process is killed and the run counts as an error.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Starts the process.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn spawn(self) -> io::Result<Running> {
        let shown = self.to_string();
        let mut command = match &self.namespace {
            Some(namespace) => {
                // `ip netns exec` would hide the control groups below a file system of its own.
                let mut command = Command::new("nsenter");
                command
                    .arg(format!("--net=/run/netns/{namespace}"))
                    .arg(&self.executable);
                command
            }
            None => Command::new(&self.executable),
        };
        command
            .args(&self.arguments)
            .envs(self.environment)
            .stdin(if self.input.is_empty() {
                Stdio::null()
            } else {
                Stdio::piped()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(folder) = self.folder {
            command.current_dir(folder);
        }
        let mut child = command
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("{shown}: {error}")))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input closes the pipe, which is its own affair.
            let _ = stdin.write_all(&self.input);
        }
        let output = Arc::new(Output::default());
        let readers = [
            child
                .stdout
                .take()
                .map(|pipe| collect(pipe, &output, Stream::Out)),
            child
                .stderr
                .take()
                .map(|pipe| collect(pipe, &output, Stream::Error)),
        ];
        Ok(Running {
            shown,
            child,
            output,
            readers: readers.into_iter().flatten().collect(),
            started: Instant::now(),
            deadline: self.deadline,
            peak_memory: 0,
        })
    }

    /// Starts the process and waits for its end.
    ///
    /// # Errors
    /// The program cannot be started or does not end before its deadline.
    pub fn run(self) -> io::Result<Finished> {
        self.spawn()?.wait()
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        for argument in &self.arguments {
            write!(f, " {argument}")?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Error,
}

/// What a process has printed so far.
#[derive(Debug, Default)]
struct Output {
    printed: Mutex<Printed>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Printed {
    out: Vec<u8>,
    error: Vec<u8>,
    closed: u8,
}

impl Output {
    fn lock(&self) -> std::sync::MutexGuard<'_, Printed> {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn collect(
    mut pipe: impl Read + Send + 'static,
    output: &Arc<Output>,
    stream: Stream,
) -> JoinHandle<()> {
    let output = Arc::clone(output);
    std::thread::spawn(move || {
        let mut chunk = [0; 8192];
        loop {
            let read = pipe.read(&mut chunk).unwrap_or(0);
            let mut printed = output.lock();
            match (read, stream) {
                (0, _) => printed.closed += 1,
                (_, Stream::Out) => printed.out.extend_from_slice(&chunk[..read]),
                (_, Stream::Error) => printed.error.extend_from_slice(&chunk[..read]),
            }
            drop(printed);
            output.changed.notify_all();
            if read == 0 {
                break;
            }
        }
    })
}

/// A process that runs; killed when dropped.
#[derive(Debug)]
pub struct Running {
    shown: String,
    child: Child,
    output: Arc<Output>,
    readers: Vec<JoinHandle<()>>,
    started: Instant,
    deadline: Duration,
    peak_memory: u64,
}

impl Running {
    /// Process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The command line, for messages.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().out).into_owned()
    }

    /// The standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().error).into_owned()
    }

    /// Waits until the standard output satisfies `enough`, at most `timeout`; true when it does.
    pub fn wait_for(&self, timeout: Duration, enough: impl Fn(&str) -> bool) -> bool {
        self.wait_until(timeout, |printed| {
            enough(&String::from_utf8_lossy(&printed.out))
        })
    }

    /// The same for the standard error.
    pub fn wait_for_error(&self, timeout: Duration, enough: impl Fn(&str) -> bool) -> bool {
        self.wait_until(timeout, |printed| {
            enough(&String::from_utf8_lossy(&printed.error))
        })
    }

    fn wait_until(&self, timeout: Duration, enough: impl Fn(&Printed) -> bool) -> bool {
        let end = Instant::now() + timeout;
        let mut printed = self.output.lock();
        loop {
            if enough(&printed) {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || printed.closed == 2 {
                return false;
            }
            printed = self
                .output
                .changed
                .wait_timeout(printed, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // The process may have ended by itself in the meantime.
            let _ = kill_process(pid, signal);
        }
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Whether the process has not ended yet.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.ended_unreaped().is_ok_and(|ended| !ended)
    }

    /// Looks whether the process has ended but leaves it to be reaped, so that its accounting in
    /// `/proc` can still be read.
    fn ended_unreaped(&self) -> io::Result<bool> {
        let pid = i32::try_from(self.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(pid), options)?.is_some())
    }

    /// Waits for the end, at most `timeout`, and leaves the process to be reaped.
    fn ends_within(&self, timeout: Duration) -> io::Result<bool> {
        let pid = i32::try_from(self.id()).ok().and_then(Pid::from_raw);
        let descriptor = pidfd_open(pid.ok_or(io::ErrorKind::InvalidData)?, PidfdFlags::empty())?;
        let timeout = Timespec::try_from(timeout).map_err(|_| io::ErrorKind::InvalidInput)?;
        poll(
            &mut [PollFd::new(&descriptor, PollFlags::IN)],
            Some(&timeout),
        )?;
        self.ended_unreaped()
    }

    fn note_peak_memory(&mut self) {
        if let Some(peak) = peak_memory(self.id()) {
            self.peak_memory = self.peak_memory.max(peak);
        }
    }

    /// What the process has consumed so far.
    pub fn usage(&mut self) -> Usage {
        self.note_peak_memory();
        Usage {
            cpu: tapeline_sys::cpu_time_of(self.id()).unwrap_or_default(),
            peak_memory: self.peak_memory,
        }
    }

    /// Waits for the end of the process.
    ///
    /// # Errors
    /// The deadline passes; the process is killed then and the error holds what it had printed.
    pub fn wait(mut self) -> io::Result<Finished> {
        let end = self.started + self.deadline;
        while !self.ends_within(POLL_INTERVAL.min(end.saturating_duration_since(Instant::now())))? {
            if Instant::now() >= end {
                let message = format!(
                    "{} did not end within {:?}\n--- stdout\n{}--- stderr\n{}",
                    self.shown,
                    self.deadline,
                    self.stdout(),
                    self.stderr()
                );
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            self.note_peak_memory();
        }
        self.finish()
    }

    /// Kills the process and returns what it had printed.
    ///
    /// # Errors
    /// The operating system refuses to kill or reap it.
    pub fn kill(mut self) -> io::Result<Finished> {
        self.note_peak_memory();
        self.child.kill()?;
        while !self.ends_within(POLL_INTERVAL)? {}
        self.finish()
    }

    fn finish(&mut self) -> io::Result<Finished> {
        let elapsed = self.started.elapsed();
        let usage = self.usage();
        let status = self.child.wait()?;
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        Ok(Finished {
            shown: self.shown.clone(),
            status,
            stdout: self.stdout(),
            stderr: self.stderr(),
            elapsed,
            usage,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a process consumed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// User and system time of all its threads.
    pub cpu: Duration,
    /// Highest resident memory seen, in bytes (`VmHWM`, which unlike `ru_maxrss` does not inherit
    /// the footprint of the parent).
    pub peak_memory: u64,
}

/// `VmHWM` of a process that has not ended, bytes.
#[must_use]
pub fn peak_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// A process that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The command line, for messages.
    pub shown: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// From its start to its end.
    pub elapsed: Duration,
    /// What it consumed.
    pub usage: Usage,
}

impl Finished {
    /// Exit code, or nothing when a signal ended the process.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "$ {}   ({}, {:?})",
            self.shown, self.status, self.elapsed
        )?;
        f.write_str(&self.stdout)?;
        if !self.stderr.is_empty() {
            writeln!(f, "--- stderr")?;
            f.write_str(&self.stderr)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Invocation {
        Invocation::for_executable("sh", "sh").args(["-c", script])
    }

    #[test]
    fn a_run_returns_output_status_and_usage() {
        let script =
            "echo out; echo err >&2; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3";
        let finished = shell(script).run().expect("the shell runs");
        assert_eq!(finished.code(), Some(3));
        assert_eq!(finished.stdout, "out\n");
        assert_eq!(finished.stderr, "err\n");
        assert!(finished.usage.cpu > Duration::ZERO);
        assert!(finished.usage.peak_memory > 100_000);
    }

    #[test]
    fn a_deadline_ends_a_process_and_reports_what_it_said() {
        let error = shell("echo waiting; exec sleep 1000")
            .deadline(Duration::from_millis(300))
            .run()
            .expect_err("it cannot end by itself");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("waiting"), "{error}");
    }

    #[test]
    fn output_can_be_awaited_and_signals_arrive() {
        let script = "trap 'echo stopped; exit 0' INT; echo ready; while :; do sleep 0.01; done";
        let running = shell(script).spawn().expect("the shell runs");
        assert!(running.wait_for(Duration::from_secs(10), |out| out.contains("ready")));
        assert!(running.is_alive());
        running.interrupt();
        let finished = running.wait().expect("it ends");
        assert_eq!(
            (finished.code(), finished.stdout.as_str()),
            (Some(0), "ready\nstopped\n")
        );
    }

    #[test]
    fn waiting_for_output_ends_with_the_process() {
        let running = shell("echo nothing").spawn().expect("the shell runs");
        assert!(!running.wait_for(Duration::from_secs(60), |out| out.contains("something")));
    }
}
