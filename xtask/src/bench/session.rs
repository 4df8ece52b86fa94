//! One run of a contender: a server that listens, a client to its end, what both consumed.

use std::time::{Duration, Instant};

use interop::{Finished, Running, Transport, Usage, await_listening, free_port};

use super::contender::{Contender, Dialect, Tool};
use super::path::Path;
use super::row::Congestion;
use crate::shell::Result;

/// Time that a client may take beyond that of its traffic, before it is killed.
const GRACE: Duration = Duration::from_secs(40);
/// Time for a server's last report once the client has ended.
const LAST_REPORT: Duration = Duration::from_secs(15);

/// Where and how a run takes place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) path: Path<'a>,
    pub(crate) congestion: Option<Congestion>,
    /// Length of a run.
    pub(crate) seconds: f64,
    /// The processor that both ends are bound to.
    pub(crate) processor: Option<u32>,
}

impl Site<'_> {
    /// Seconds that a tool is given: some take whole ones only.
    pub(crate) fn seconds_of(&self, tool: Tool) -> f64 {
        match tool.dialect() {
            Dialect::Iperf2 => self.seconds,
            _ => self.seconds.ceil(),
        }
    }
}

/// A server that listens; killed when dropped.
pub(crate) struct Session<'a> {
    site: &'a Site<'a>,
    contender: &'a Contender,
    server: Running,
    cpu_before: Duration,
    pub(crate) port: u16,
}

/// What came out of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) client: Finished,
    /// The server's standard output.
    pub(crate) server_output: String,
    pub(crate) server: Usage,
    /// Processor time of the server during the run.
    pub(crate) server_cpu: Duration,
    /// From the client's start until everything was reported.
    pub(crate) wall: Duration,
}

impl Outcome {
    /// Processor time of both ends.
    pub(crate) fn cpu(&self) -> f64 {
        (self.client.usage.cpu + self.server_cpu).as_secs_f64()
    }

    /// What both ends printed, for messages.
    pub(crate) fn shown(&self) -> String {
        let tail = |text: &str| {
            let from = text.char_indices().rev().nth(400).map_or(0, |(at, _)| at);
            text[from..].to_owned()
        };
        let (client, server) = (tail(&self.client.to_string()), tail(&self.server_output));
        format!("{client}--- server\n{server}")
    }
}

/// The beginning of a message, which may hold all that a program printed.
fn brief(message: &str) -> String {
    let lines: Vec<&str> = message.lines().take(6).collect();
    lines.join("\n")
}

impl<'a> Session<'a> {
    /// Starts the server with the words that `words` gives for its port, and waits until it
    /// listens.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn start(
        site: &'a Site<'a>,
        contender: &'a Contender,
        transport: Transport,
        words: impl FnOnce(u16) -> String,
    ) -> Result<Self> {
        let port = free_port();
        let invocation = contender.server().invocation(site.processor);
        let invocation = invocation.line(&words(port));
        let failed = |error: std::io::Error| error.to_string();
        let mut server = site.path.at_server(invocation).spawn().map_err(failed)?;
        await_listening(&server, transport, port).map_err(failed)?;
        let cpu_before = server.usage().cpu;
        Ok(Self {
            site,
            contender,
            server,
            cpu_before,
            port,
        })
    }

    /// Processor time that the server uses in a time, once it has settled.
    pub(crate) fn idle(mut self, settling: Duration, time: Duration) -> Duration {
        std::thread::sleep(settling);
        let before = self.server.usage().cpu;
        std::thread::sleep(time);
        self.server.usage().cpu.saturating_sub(before)
    }

    /// Runs the client with these words, and waits until the server's output satisfies `complete`.
    ///
    /// # Errors
    /// The client cannot be started, does not end in time, or ends with a failure.
    pub(crate) fn run(mut self, words: &str, complete: impl Fn(&str) -> bool) -> Result<Outcome> {
        let invocation = self.contender.client().invocation(self.site.processor);
        let invocation = invocation
            .line(words)
            .deadline(Duration::from_secs_f64(self.site.seconds) + GRACE);
        let begin = Instant::now();
        let client = self.site.path.at_client(invocation).run();
        let client = client.map_err(|error| brief(&error.to_string()))?;
        let complete = self.server.wait_for(LAST_REPORT, complete);
        let wall = begin.elapsed();
        let usage = self.server.usage();
        let outcome = Outcome {
            client,
            server_output: self.server.stdout(),
            server_cpu: usage.cpu.saturating_sub(self.cpu_before),
            server: usage,
            wall,
        };
        if outcome.client.code() != Some(0) {
            return Err(format!("the client failed\n{}", outcome.shown()));
        }
        if !complete {
            return Err(format!("no last report of the server\n{}", outcome.shown()));
        }
        Ok(outcome)
    }
}
