//! What an iperf3 client or server is to do.

use std::path::PathBuf;
use std::time::Duration;

use tapeline_base::Family;
use tapeline_engine::{HeldWindow, Techniques};
use tapeline_report::Iperf3Output;
use tapeline_report::document::{PlannedLimit, PlannedTest, TestShape, Workload};
use tapeline_wire::iperf3::{Direction, Parameters, Protocol};

use crate::plan::client::CONNECT_TIMEOUT;
use crate::plan::socket::BindPlan;

/// A client's iperf3 test.
#[derive(Clone, Debug, PartialEq)]
pub struct Iperf3Client {
    /// Server's name or address, as typed.
    pub host: String,
    /// Server's port.
    pub port: u16,
    /// Address family.
    pub family: Family,
    /// Device to leave through (`--bind-dev`, `-c host%dev`).
    pub device: Option<String>,
    /// Own address of all connections.
    pub bind: Option<BindPlan>,
    /// `--cport`: own port of the first data connection; later ones count up.
    pub client_port: Option<u16>,
    /// What the server is sent; a `length` of `None` is found from the control connection.
    pub parameters: Parameters,
    /// `-i`; `None` reports at the end alone.
    pub interval: Option<Duration>,
    /// A window that this end's TCP senders keep by themselves.
    pub held_window: Option<HeldWindow>,
    /// Upper bound of the window that TCP receivers of this end offer, bytes.
    pub window_clamp: Option<u32>,
    /// `-F`: payload of a sender, target of a receiver.
    pub file: Option<PathBuf>,
    /// Time for the control connection and for each data connection.
    pub connect_timeout: Option<Duration>,
    /// How long a refused control connection is asked again. A server closes its port for a moment
    /// after each connection (3.9 to 3.22).
    pub refused_limit: Duration,
    /// Limits of waiting, and keepalive.
    pub timeouts: Iperf3Timeouts,
    /// `-A`: processor of this process.
    pub affinity: Option<u32>,
    /// Login.
    pub credentials: Option<Iperf3Credentials>,
    /// Optimisations that the run may use.
    pub techniques: Techniques,
    /// When the system gives less than `-w` asks for.
    pub short_buffers: ShortBuffers,
    /// The command for a server of iperf 2 in the same place, for errors.
    pub iperf2_command: String,
}

impl Iperf3Client {
    /// A plan for `-c host -p port --peer iperf3`, everything else at its default: one stream forward for
    /// ten seconds.
    #[must_use]
    pub fn new(host: &str, port: u16) -> Self {
        Self {
            host: host.to_owned(),
            port,
            family: Family::Any,
            device: None,
            bind: None,
            client_port: None,
            parameters: Parameters::default(),
            interval: None,
            held_window: None,
            window_clamp: None,
            file: None,
            connect_timeout: Some(CONNECT_TIMEOUT),
            refused_limit: Duration::ZERO,
            timeouts: Iperf3Timeouts::default(),
            affinity: None,
            credentials: None,
            techniques: Techniques::default(),
            short_buffers: ShortBuffers::Warn,
            iperf2_command: format!("tapeline -c {host} -p {port}"),
        }
    }

    /// The test as documents name it.
    #[must_use]
    pub fn planned_test(&self) -> PlannedTest {
        let parameters = &self.parameters;
        PlannedTest {
            host: self.host.clone(),
            transport: match parameters.protocol {
                Protocol::Tcp => "tcp",
                Protocol::Udp => "udp",
                Protocol::Sctp => "sctp",
            },
            direction: match parameters.direction {
                Direction::Forward => TestShape::Forward,
                Direction::Reverse => TestShape::Reverse,
                Direction::Bidirectional => TestShape::Bidirectional,
            },
            workload: Workload::Stream,
            limit: planned_limit(parameters),
            omit: Duration::from_secs(parameters.omit.into()),
            streams: parameters.parallel as usize,
            interval: self.interval,
        }
    }
}

fn planned_limit(parameters: &Parameters) -> PlannedLimit {
    match parameters {
        Parameters { bytes: 1.., .. } => PlannedLimit::Bytes(parameters.bytes),
        Parameters { blocks: 1.., .. } => {
            let length = parameters.length.unwrap_or(0);
            PlannedLimit::Bytes(parameters.blocks.saturating_mul(length.into()))
        }
        Parameters { time: 0, .. } => PlannedLimit::Never,
        Parameters { time, .. } => PlannedLimit::Time(Duration::from_secs((*time).into())),
    }
}

/// What follows when the system gives streams a smaller buffer than was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShortBuffers {
    /// A warning.
    #[default]
    Warn,
    /// The end of the test, as with 3.22.
    Fail,
}

/// How long an end waits for its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iperf3Timeouts {
    /// Time for a server's first word.
    pub answer: Duration,
    /// Time for each later word of a server.
    pub control: Duration,
    /// `--rcv-timeout`: a receiving end gives up after so long without data.
    pub receive: Duration,
    /// A sending end gives up when its peer takes nothing for so long.
    pub stalled: Duration,
    /// Time of a server's client for each message that depends on nothing but itself, and for its
    /// streams.
    pub message: Duration,
    /// `--snd-timeout` (TCP_USER_TIMEOUT).
    pub send: Option<Duration>,
    /// `--cntl-ka`: keepalive of the control connection.
    pub keepalive: Option<Keepalive>,
}

impl Default for Iperf3Timeouts {
    /// The reference's, which waits for an answer without end: 120 s for data.
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(10),
            control: Duration::from_secs(60),
            receive: Duration::from_secs(120),
            stalled: Duration::from_secs(120),
            message: Duration::from_secs(30),
            send: None,
            keepalive: None,
        }
    }
}

/// TCP keepalive; `None` leaves the system's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keepalive {
    /// Silence before the first probe (TCP_KEEPIDLE).
    pub idle: Option<Duration>,
    /// Time between probes (TCP_KEEPINTVL).
    pub interval: Option<Duration>,
    /// Probes without answer until the connection is over (TCP_KEEPCNT).
    pub count: Option<u32>,
}

/// A client's login.
#[derive(Clone, PartialEq, Eq)]
pub struct Iperf3Credentials {
    /// Name.
    pub user: String,
    /// Password.
    pub password: String,
    /// The server's public key (PEM, SubjectPublicKeyInfo).
    pub public_key: String,
    /// How the token is padded.
    pub padding: RsaPadding,
}

/// Nobody's password belongs into a log.
impl std::fmt::Debug for Iperf3Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iperf3Credentials")
            .field("user", &self.user)
            .field("padding", &self.padding)
            .finish_non_exhaustive()
    }
}

/// How a login is padded before it is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RsaPadding {
    /// OAEP with SHA-1: iperf3 3.17 and later.
    #[default]
    Oaep,
    /// PKCS#1 v1.5: up to 3.16.
    Pkcs1,
}

/// What a server allows iperf3 clients.
#[derive(Clone, Debug, PartialEq)]
pub struct Iperf3Server {
    /// `-i`.
    pub interval: Option<Duration>,
    /// `-1`: end after one test.
    pub one_off: bool,
    /// Tests at the same time.
    pub max_tests: MaxTests,
    /// `--server-bitrate-limit`: bits per second over all streams, averaged over this time.
    pub rate_limit: Option<(u64, Duration)>,
    /// `--server-max-duration`: longest time and omitted start together.
    pub longest: Option<Duration>,
    /// `--idle-timeout`: with `one_off` the server ends after so long without a client.
    pub idle_timeout: Option<Duration>,
    /// Limits of waiting, and keepalive.
    pub timeouts: Iperf3Timeouts,
    /// `-F`: target of a receiver, payload of a sender.
    pub file: Option<PathBuf>,
    /// Control connections that end before their streams are there are reported each, as tests that
    /// failed; else as refusals, of which a server logs so many within a second.
    pub reports_each: bool,
    /// When the system gives less than a client's `-w` asks for.
    pub short_buffers: ShortBuffers,
    /// What clients are shown that ask for the server's output.
    pub output: Iperf3Output,
    /// Who may test; `None` admits everybody.
    pub authentication: Option<Iperf3Authentication>,
}

impl Default for Iperf3Server {
    fn default() -> Self {
        Self {
            interval: Some(Duration::from_secs(1)),
            one_off: false,
            max_tests: MaxTests::AtOnce(64),
            rate_limit: None,
            longest: None,
            idle_timeout: None,
            timeouts: Iperf3Timeouts::default(),
            file: None,
            reports_each: true,
            short_buffers: ShortBuffers::default(),
            output: Iperf3Output::default(),
            authentication: None,
        }
    }
}

/// How many iperf3 tests a server runs at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxTests {
    /// Up to so many; further ones are answered that the server is busy.
    AtOnce(usize),
    /// One, as the reference (`--one-at-a-time`).
    One,
}

/// How a server checks logins.
#[derive(Clone, PartialEq, Eq)]
pub struct Iperf3Authentication {
    /// Private key (PEM).
    pub private_key: String,
    /// Lines `user,hash` of the file of users.
    pub users: String,
    /// Largest difference of clocks.
    pub skew: Duration,
}

/// The key stays unsaid.
impl std::fmt::Debug for Iperf3Authentication {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iperf3Authentication")
            .field("skew", &self.skew)
            .finish_non_exhaustive()
    }
}
