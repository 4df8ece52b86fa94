//! The server that is done harm to, and the honest clients that it must serve all the same.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use interop::{
    Family, Invocation, NamespacePair, Program, Running, Transport, Vitals, await_listening,
    free_port, skip,
};

use crate::clock::CLOCK_STEP;

/// Time for an honest client. The promise is 2 s on a machine that has time, but the bound is
/// shorter than what a server waits for silent peers.
const PROMPT: Duration = Duration::from_secs(9);
/// Time for what must happen at once, on a machine that is busy.
pub(crate) const SOON: Duration = Duration::from_secs(8);
/// Time for what a deadline of 10 s ends.
pub(crate) const AFTER_DEADLINE: Duration = Duration::from_secs(30);
/// Pause between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Looks without a change after which a server counts as idle.
const IDLE_LOOKS: usize = 10;
/// Memory that a server may keep after a fault, bytes.
const KEPT_MEMORY: u64 = 16 << 20;
/// Memory that a fault may cost for a while, bytes.
const LENT_MEMORY: u64 = 64 << 20;

/// What an honest client asks for: a name and options.
pub(crate) type Honest = (Program, &'static str);

/// One of each family and transport.
pub(crate) const ALL: &[Honest] = &[
    (Program::TapelineAsIperf, "-n 100K"),
    (Program::TapelineAsIperf, "-u -n 14700 -b 2m"),
    (Program::TapelineAsIperf3, "-n 100K"),
];

/// A server under attack.
pub(crate) struct Subject {
    process: Running,
    port: u16,
    honest: &'static [Honest],
    baseline: Vitals,
    /// Between it and its clients; without one all are on loopback.
    cable: Option<NamespacePair>,
    /// Ports of honest clients. The server may still answer them when their tests are over.
    honest_ports: Mutex<BTreeSet<u16>>,
}

impl Subject {
    /// A server as it is by default.
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// A server to which loopback is as foreign as the internet.
    pub(crate) fn public() -> Self {
        Self::with("--trust none")
    }

    /// A server with further options.
    pub(crate) fn with(options: &str) -> Self {
        Self::serving(options, ALL)
    }

    /// A server that serves these clients only.
    pub(crate) fn serving(options: &str, honest: &'static [Honest]) -> Self {
        let invocation = Invocation::new(Program::Tapeline).line("-s -p");
        Self::started(honest, None, |port| {
            invocation.args([port.to_string()]).line(options)
        })
    }

    /// A server whose clock jumps: by so many seconds, and so many seconds after its start.
    pub(crate) fn whose_clock_is_set(step: &str) -> Self {
        let invocation = Invocation::new(Program::TapelineWithHooks).env(CLOCK_STEP, step);
        Self::started(ALL, None, |port| {
            invocation.line("-s -p").args([port.to_string()])
        })
    }

    /// A server in a namespace, its clients in another; none where there can be no namespaces.
    pub(crate) fn over_a_cable(name: &str) -> Option<Self> {
        let pair = match NamespacePair::new() {
            Ok(pair) => pair,
            Err(reason) => {
                skip(name, &format!("network namespaces: {reason}"));
                return None;
            }
        };
        let invocation = Invocation::new(Program::Tapeline).within(&pair.server);
        Some(Self::started(ALL, Some(pair), |port| {
            invocation.line("-s -p").args([port.to_string()])
        }))
    }

    pub(crate) fn cable(&self) -> Option<&NamespacePair> {
        self.cable.as_ref()
    }

    /// A server that a shell's words start.
    pub(crate) fn by_shell(script: &str) -> Self {
        let binary = Program::Tapeline.path().display();
        Self::started(ALL, None, |port| {
            let words = script
                .replace("TAPELINE", &binary.to_string())
                .replace("PORT", &port.to_string());
            Invocation::for_executable("bash", "bash").args(["-c", &words])
        })
    }

    fn started(
        honest: &'static [Honest],
        cable: Option<NamespacePair>,
        start: impl FnOnce(u16) -> Invocation,
    ) -> Self {
        let port = free_port();
        let process = start(port)
            .deadline(Duration::from_secs(300))
            .spawn()
            .expect("a server");
        await_listening(&process, Transport::Tcp, port).expect("it listens");
        let vitals = Vitals::read(process.id()).expect("it runs");
        let mut subject = Self {
            process,
            port,
            honest,
            baseline: vitals,
            cable,
            honest_ports: Mutex::default(),
        };
        // The first tests leave what every later one finds: buffers, names, pages of code.
        subject.serves();
        subject.baseline = subject.idle();
        subject
    }

    /// The same, when a test of many streams has called the shared workers, which stay.
    pub(crate) fn with_workers(mut self) -> Self {
        let run = self
            .client((Program::TapelineAsIperf, "-P 70 -n 7000"))
            .run();
        let run = run.unwrap_or_else(|error| panic!("not served: {error}"));
        assert_eq!(run.code(), Some(0), "{run}--- server\n{}", self.said());
        self.baseline = self.idle();
        self
    }

    /// What the server costs when it has come to rest.
    fn idle(&self) -> Vitals {
        let mut last = self.vitals();
        let mut looks = 0;
        let end = Instant::now() + SOON;
        while looks < IDLE_LOOKS && Instant::now() < end {
            std::thread::sleep(POLL_INTERVAL);
            let now = self.vitals();
            let still = (now.descriptors, now.threads) == (last.descriptors, last.threads);
            looks = if still { looks + 1 } else { 0 };
            last = now;
        }
        last
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    pub(crate) fn process(&self) -> &Running {
        &self.process
    }

    /// The process, for its end.
    pub(crate) fn into_process(self) -> Running {
        self.process
    }

    pub(crate) fn baseline(&self) -> Vitals {
        self.baseline
    }

    pub(crate) fn vitals(&self) -> Vitals {
        Vitals::read(self.process.id()).unwrap_or_else(|| panic!("it died\n{}", self.said()))
    }

    /// What the server has printed.
    pub(crate) fn said(&self) -> String {
        format!("{}{}", self.process.stdout(), self.process.stderr())
    }

    /// A connection whose reads end.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address())
            .unwrap_or_else(|error| panic!("{error}\n{}", self.said()));
        stream
            .set_read_timeout(Some(AFTER_DEADLINE))
            .expect("a timeout");
        stream.set_write_timeout(Some(SOON)).expect("a timeout");
        stream
    }

    /// A socket that sends to the server, and whose reads end soon. No honest client had its port.
    pub(crate) fn datagrams(&self) -> UdpSocket {
        let honest = self.honest_ports.lock().expect("no panic");
        let socket = loop {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
            if !honest.contains(&socket.local_addr().expect("an address").port()) {
                break socket;
            }
        };
        socket.connect(self.address()).expect("its peer");
        socket.set_read_timeout(Some(SOON)).expect("a timeout");
        socket
    }

    /// A client's command line.
    pub(crate) fn client(&self, (program, options): Honest) -> Invocation {
        let client = Invocation::new(program);
        let (client, host) = match &self.cable {
            None => (client, Ipv4Addr::LOCALHOST.into()),
            Some(cable) => (
                client.within(&cable.client),
                cable.server_address(Family::V4),
            ),
        };
        client
            .args(["-c", &host.to_string(), "-p", &self.port.to_string()])
            .line(options)
    }

    /// Honest clients are served, at once.
    pub(crate) fn serves(&self) {
        self.honest.iter().for_each(|honest| self.serve(*honest));
    }

    /// The first of the honest clients is.
    pub(crate) fn serves_one(&self) {
        self.serve(self.honest[0]);
    }

    fn serve(&self, honest: Honest) {
        let run = self.client(honest).deadline(PROMPT).run();
        let run = run.unwrap_or_else(|error| panic!("not served: {error}\n{}", self.said()));
        assert_eq!(run.code(), Some(0), "{run}--- server\n{}", self.said());
        let said = run.stdout;
        let after_port = said.split(" port ").skip(1);
        let ports =
            after_port.filter_map(|rest| rest.split_whitespace().next()?.parse::<u16>().ok());
        self.honest_ports.lock().expect("no panic").extend(ports);
    }

    /// The fault is over: the server has what it had before, within `timeout`, and serves.
    pub(crate) fn recovers(&self, timeout: Duration) {
        let before = self.baseline;
        self.lets_go(timeout);
        assert!(
            self.vitals().peak_memory <= before.peak_memory + LENT_MEMORY,
            "memory: {before:?} {:?}",
            self.vitals()
        );
        self.serves();
        assert!(self.process.is_alive(), "{}", self.said());
        assert!(!self.said().contains("panicked"), "{}", self.said());
        assert!(!self.said().contains("internal fault"), "{}", self.said());
    }

    /// Waits until the server has what it had before.
    pub(crate) fn lets_go(&self, timeout: Duration) {
        let before = self.baseline;
        let what = "it keeps descriptors, threads or memory";
        self.comes_to(timeout, what, |now| {
            now.descriptors <= before.descriptors
                && now.threads <= before.threads
                && now.memory <= before.memory + KEPT_MEMORY
        });
    }

    /// Waits until the server's state is as wanted.
    pub(crate) fn comes_to(
        &self,
        timeout: Duration,
        complaint: &str,
        wanted: impl Fn(Vitals) -> bool,
    ) {
        let end = Instant::now() + timeout;
        loop {
            let now = self.vitals();
            if wanted(now) {
                return;
            }
            assert!(
                Instant::now() < end,
                "{complaint} after {timeout:?}: {:?} {now:?}\n{}",
                self.baseline,
                last_lines(&self.said())
            );
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// The end of a text that may be long.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}

/// Whether the server has closed a connection, or does within the connection's read timeout.
/// What it sends before is read.
pub(crate) fn is_closed(mut stream: &TcpStream) -> bool {
    let mut buffer = [0; 65_536];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                return !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
            }
        }
    }
}

/// Whether the server closes all of these connections within `timeout` together.
pub(crate) fn are_closed<'a>(
    streams: impl IntoIterator<Item = &'a TcpStream>,
    timeout: Duration,
) -> bool {
    let end = Instant::now() + timeout;
    streams.into_iter().all(|stream| {
        let left = end.saturating_duration_since(Instant::now());
        let left = left.max(POLL_INTERVAL);
        stream.set_read_timeout(Some(left)).expect("a timeout");
        is_closed(stream)
    })
}

/// Bytes that mean nothing; the same on every run.
pub(crate) fn noise(seed: u64) -> impl FnMut() -> u8 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    }
}

/// A message with each of its 32-bit words at each extreme.
pub(crate) fn extremes(message: &[u8], words: usize) -> impl Iterator<Item = Vec<u8>> + '_ {
    const VALUES: [u32; 5] = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    let places =
        (0..words.min(message.len() / 4)).flat_map(|word| VALUES.map(|value| (word, value)));
    places.map(|(word, value)| {
        let mut message = message.to_vec();
        message[word * 4..word * 4 + 4].copy_from_slice(&value.to_be_bytes());
        message
    })
}
