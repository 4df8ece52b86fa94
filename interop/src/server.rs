//! Servers that listen before anybody calls them.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::{
    CountedStream, Family, Finished, Invocation, Namespace, Program, Running, Transcript,
    Transport, await_listening, counted_streams,
};

/// Pause between two looks at a server's documents.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// How a server is to be started.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerSpec {
    /// The program.
    pub program: Program,
    /// What it listens for.
    pub transport: Transport,
    /// Address family of its socket.
    pub family: Family,
    /// Further options, for example `-f b`.
    pub options: Vec<String>,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
}

impl ServerSpec {
    /// A server that prints exact byte counts.
    #[must_use]
    pub fn new(program: Program, transport: Transport, family: Family) -> Self {
        Self {
            program,
            transport,
            family,
            options: exact_bytes(program)
                .iter()
                .map(|word| (*word).to_owned())
                .collect(),
            environment: Vec::new(),
        }
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds the options of a line, split at blanks.
    #[must_use]
    pub fn options(mut self, line: &str) -> Self {
        self.options
            .extend(line.split_whitespace().map(str::to_owned));
        self
    }

    /// Starts the server and waits until it listens on a free port.
    ///
    /// # Errors
    /// The server does not start or ends before it listens.
    pub fn start(&self) -> io::Result<Server> {
        self.start_in(None, crate::free_port())
    }

    /// Starts the server in a namespace.
    ///
    /// # Errors
    /// As [`ServerSpec::start`].
    pub fn start_within(&self, namespace: &Namespace) -> io::Result<Server> {
        self.start_in(Some(namespace), crate::free_port())
    }

    /// The same on a port that another transport may have already.
    ///
    /// # Errors
    /// As [`ServerSpec::start`].
    pub fn start_within_on(&self, namespace: &Namespace, port: u16) -> io::Result<Server> {
        self.start_in(Some(namespace), port)
    }

    fn start_in(&self, namespace: Option<&Namespace>, port: u16) -> io::Result<Server> {
        let mut invocation = Invocation::new(self.program)
            .args(["-s", "-p", &port.to_string()])
            .args(self.transport.options().iter().copied())
            .args(self.family.options().iter().copied())
            .args(self.options.iter().cloned());
        let documents = self.documents(port);
        if let Some(Documents(path)) = &documents {
            invocation = invocation.args([format!("--json={}", path.display())]);
        }
        for (name, value) in &self.environment {
            invocation = invocation.env(name, value);
        }
        if let Some(namespace) = namespace {
            invocation = invocation.within(namespace);
        }
        let server = Server {
            process: invocation.spawn()?,
            spec: self.clone(),
            port,
            seen: 0,
            documents,
        };
        await_listening(&server.process, self.transport, port)?;
        Ok(server)
    }
}

impl ServerSpec {
    /// Where the documents of a native server go: its log rounds numbers. None where the test
    /// chooses its forms itself.
    fn documents(&self, port: u16) -> Option<Documents> {
        let chosen = |word: &String| word.starts_with("--json") || word == "--csv";
        let own = self.program == Program::Tapeline && !self.options.iter().any(chosen);
        let name = format!("tapeline-server-{}-{port}.json", std::process::id());
        own.then(|| Documents(std::env::temp_dir().join(name)))
    }
}

/// Options for exact byte counts; iperf3 has none.
const fn exact_bytes(program: Program) -> &'static [&'static str] {
    match program {
        Program::Iperf3V22 | Program::Iperf3V18 | Program::Iperf3V12 | Program::Iperf3V9 => &[],
        _ => &["-f", "b"],
    }
}

/// A server that listens; killed when dropped.
#[derive(Debug)]
pub struct Server {
    process: Running,
    spec: ServerSpec,
    port: u16,
    /// Length of the output that earlier tests have read.
    seen: usize,
    /// Where a native server writes its documents.
    documents: Option<Documents>,
}

/// A file that goes with its server.
#[derive(Debug)]
struct Documents(PathBuf);

impl Drop for Documents {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Server {
    /// Its port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// How it was started.
    #[must_use]
    pub const fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// Its process.
    pub const fn process(&mut self) -> &mut Running {
        &mut self.process
    }

    /// Whether it still runs.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.process.is_alive()
    }

    /// A client of `program` for this server at `address`, with exact byte counts.
    #[must_use]
    pub fn client_to(&self, program: Program, address: impl fmt::Display) -> Invocation {
        Invocation::new(program)
            .args(["-c", &address.to_string(), "-p", &self.port.to_string()])
            .args(exact_bytes(program).iter().copied())
            .args(self.spec.transport.options().iter().copied())
            .args(self.spec.family.options().iter().copied())
    }

    /// A client of `program` for this server over loopback.
    #[must_use]
    pub fn client(&self, program: Program) -> Invocation {
        self.client_to(program, self.spec.family.loopback())
    }

    /// Begins a test: what the server prints from here on belongs to it.
    pub fn begin(&mut self) {
        self.seen = self.process.stdout().len();
    }

    /// What the server has printed since [`Server::begin`].
    #[must_use]
    pub fn output(&self) -> String {
        self.process
            .stdout()
            .get(self.seen..)
            .unwrap_or_default()
            .to_owned()
    }

    /// Waits until the server's part of the test satisfies `enough`, at most `timeout`, and
    /// returns it in either case.
    pub fn await_output(
        &self,
        timeout: Duration,
        enough: impl Fn(&Transcript) -> bool,
    ) -> Transcript {
        self.process.wait_for(timeout, |all| {
            enough(&Transcript::parse(all.get(self.seen..).unwrap_or_default()))
        });
        Transcript::parse(&self.output())
    }

    /// Waits until the documents of a native server have so many streams, at most `timeout`, and
    /// returns them in either case.
    pub fn await_streams(&self, timeout: Duration, count: usize) -> Vec<CountedStream> {
        let end = Instant::now() + timeout;
        loop {
            let streams = counted_streams(&self.documents());
            if streams.len() >= count || Instant::now() >= end {
                return streams;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// The documents that a native server has written, one a line.
    #[must_use]
    pub fn documents(&self) -> String {
        let file = self.documents.as_ref();
        let text = file.map(|Documents(path)| std::fs::read_to_string(path));
        text.and_then(Result::ok).unwrap_or_default()
    }

    /// Ends the server at once.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn kill(self) -> io::Result<Finished> {
        self.process.kill()
    }

    /// Interrupts the server and waits for its end.
    ///
    /// # Errors
    /// It does not end.
    pub fn interrupt(self) -> io::Result<Finished> {
        self.process.interrupt();
        self.process.wait()
    }
}
