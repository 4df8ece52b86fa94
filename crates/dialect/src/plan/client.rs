//! A client's test.

use std::num::NonZeroU32;
use std::time::Duration;

use tapeline_base::{BitRate, Bytes, Family, FlowTag, MonoTime, Pace, Transport, WallTime};
use tapeline_engine::{Precision, Techniques};
use tapeline_report::document::{PlannedLimit, PlannedTest, TestShape, Workload};
use tapeline_wire::iperf2::{PermitKey, limits};

use super::latency::{LatencyPlan, RequestResponsePlan, WorkingLoad};
use super::shape::{Payload, Shape, StartTime};
use super::socket::{AddressSteps, AffinityPlan, BindPlan, SocketPlan};

/// Bulk write length where nothing else decides: fewer, larger trips through the kernel.
pub(crate) const BULK_WRITE: u32 = 1 << 20;

/// Time for a connection to be established, and for a server's first word, unless the user says otherwise.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Which program's habits apply where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Personality {
    /// tapeline's own.
    Native,
    /// iperf 2.2.1's.
    Iperf2,
}

/// How the two directions of a client's test are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Client sends.
    Forward,
    /// Server sends on the client's connection (`-R`).
    Reverse,
    /// Both send on one socket (`--full-duplex`).
    FullDuplex,
    /// The server connects back and sends at the same time (`-d`).
    Dual {
        /// Port that the client listens on.
        listen_port: u16,
    },
    /// The server connects back and sends afterwards (`-r`).
    Tradeoff {
        /// Port that the client listens on.
        listen_port: u16,
    },
}

impl Arrangement {
    /// What a client's flow sends, and what it receives.
    pub(crate) fn tags(self, tag: FlowTag) -> (Option<FlowTag>, Option<FlowTag>) {
        let reversed = FlowTag {
            reversed: true,
            ..tag
        };
        match self {
            Self::Forward | Self::Dual { .. } | Self::Tradeoff { .. } => (Some(tag), None),
            Self::Reverse => (None, Some(reversed)),
            Self::FullDuplex => (Some(tag), Some(reversed)),
        }
    }
}

/// When a sender stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this time.
    Time(Duration),
    /// After this many bytes per flow.
    Bytes(Bytes),
    /// When interrupted.
    Never,
}

/// How refused connections are tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPlan {
    /// Total time.
    pub total: Duration,
    /// Time between attempts, at least 10 ms.
    pub every: Duration,
}

/// How the flows of a test become more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowGrowth {
    /// How many start at the beginning, at least 1.
    pub initial: usize,
    /// How many are added each time, until all flows run; at least 1.
    pub added: usize,
    /// Time between two additions.
    pub every: Duration,
    /// No sender lets more data wait unsent than it delivers in this time.
    pub unsent: Duration,
}

/// What a client does with its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientWorkload {
    /// Bulk data in the arrangement given.
    Stream(Arrangement),
    /// Request and response over TCP.
    RequestResponse(RequestResponsePlan),
    /// `--connect-only`: connections without data.
    ConnectOnly {
        /// How many; `None` connects until the limit, or for ever.
        count: Option<u64>,
        /// Whether each connection is reported, or only what all of them came to.
        report_each: bool,
    },
}

/// A client's test.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientPlan {
    /// Whose habits.
    pub personality: Personality,
    /// Server's name or address.
    pub host: String,
    /// Device to leave through (`-c host%dev`).
    pub device: Option<String>,
    /// Address family.
    pub family: Family,
    /// First and last server port; flow k goes to the k-th.
    pub ports: (u16, u16),
    /// Transport.
    pub transport: Transport,
    /// Own address.
    pub bind: Option<BindPlan>,
    /// What the flows do.
    pub workload: ClientWorkload,
    /// When the sender stops.
    pub limit: Limit,
    /// `-l`, bytes; `None` leaves the choice to the engine.
    pub length: Option<u32>,
    /// `-b` per flow; `None` is unlimited for TCP, and for UDP 1 Mbit/s, or 1 Mibit/s under the name
    /// iperf.
    pub pace: Option<Pace>,
    /// Parallel flows, at least 1.
    pub parallel: usize,
    /// `-i`.
    pub interval: Option<Duration>,
    /// Socket options.
    pub socket: SocketPlan,
    /// Wait for all connects before writing.
    pub connect_sync: bool,
    /// The flows of a TCP test do not start together.
    pub growth: Option<FlowGrowth>,
    /// Time for each attempt to connect, and for a server's first word.
    pub connect_timeout: Duration,
    /// `--connect-retry-time/-timer`.
    pub retry: Option<RetryPlan>,
    /// `--ignore-shutdown`: do not wait for the server's close.
    pub ignore_shutdown: bool,
    /// Final datagram exchange (false with `--no-udp-fin`).
    pub udp_fin: bool,
    /// `-X`: ask for the server's version before traffic.
    pub peer_detect: bool,
    /// `-C`: send no test header.
    pub compatibility: bool,
    /// `-e`: values that only enhanced output shows are gathered.
    pub enhanced: bool,
    /// Sizes and times of sends.
    pub shape: Shape,
    /// `--set-rand-seed`: random sizes and rates repeat with it; `None` draws one.
    pub seed: Option<u64>,
    /// `--pacing`: how a UDP sender waits for the time of a datagram.
    pub precision: Precision,
    /// What is sent.
    pub payload: Payload,
    /// When sending begins.
    pub start: StartTime,
    /// What is measured in addition to the amount.
    pub latency: LatencyPlan,
    /// Addresses and ports that count up with the flows.
    pub steps: AddressSteps,
    /// TCP flows next to the test.
    pub working_load: Option<WorkingLoad>,
    /// `--permit-key`.
    pub permit_key: Option<PermitKey>,
    /// `--sync-transfer-id`: the server shows this client's flow numbers.
    pub sync_transfer_id: bool,
    /// `--l2checks`: ask the server for checks of the link layer.
    pub l2_checks: bool,
    /// `--udp-l4s`: congestion-controlled datagrams with ECT(1).
    pub l4s: bool,
    /// `-z`: traffic threads run before all others.
    pub realtime: bool,
    /// `-U`, which has a meaning at servers only: the banner under the name iperf says so.
    pub single_udp: bool,
    /// A server that is tapeline too is recognised, and asked what it saw (`docs/dev/protocol.md`).
    pub control: bool,
    /// Round trips are measured next to the traffic, where the server is recognised.
    pub probe: bool,
    /// The number in the marks of the test; `None` draws one. By it the server's senders are sampled.
    pub test_number: Option<NonZeroU32>,
    /// Optimisations that the run may use.
    pub techniques: Techniques,
    /// `--affinity`.
    pub affinity: AffinityPlan,
}

impl ClientPlan {
    /// Rate of a UDP flow under the name tapeline without `-b`.
    pub const UDP_RATE: BitRate = BitRate(1_000_000);

    /// A plan for `-c host -p port`, everything else at its default: one flow forward for
    /// ten seconds.
    #[must_use]
    pub fn new(personality: Personality, host: &str, port: u16, transport: Transport) -> Self {
        Self {
            personality,
            host: host.into(),
            device: None,
            family: Family::Any,
            ports: (port, port),
            transport,
            bind: None,
            workload: ClientWorkload::Stream(Arrangement::Forward),
            limit: Limit::Time(Duration::from_secs(10)),
            length: None,
            pace: None,
            parallel: 1,
            interval: None,
            socket: SocketPlan::default(),
            connect_sync: true,
            growth: None,
            connect_timeout: CONNECT_TIMEOUT,
            retry: None,
            ignore_shutdown: false,
            udp_fin: true,
            peer_detect: false,
            compatibility: false,
            enhanced: false,
            shape: Shape::default(),
            seed: None,
            precision: Precision::Precise,
            payload: Payload::default(),
            start: StartTime::default(),
            latency: LatencyPlan::default(),
            steps: AddressSteps::default(),
            working_load: None,
            permit_key: None,
            sync_transfer_id: false,
            l2_checks: false,
            l4s: false,
            realtime: false,
            single_udp: false,
            control: false,
            probe: false,
            test_number: None,
            techniques: Techniques::default(),
            affinity: AffinityPlan::default(),
        }
    }

    /// The test as documents name it.
    #[must_use]
    pub fn planned_test(&self) -> PlannedTest {
        let (direction, workload) = match self.workload {
            ClientWorkload::Stream(arrangement) => (
                match arrangement {
                    Arrangement::Forward => TestShape::Forward,
                    Arrangement::Reverse => TestShape::Reverse,
                    Arrangement::FullDuplex
                    | Arrangement::Dual { .. }
                    | Arrangement::Tradeoff { .. } => TestShape::Bidirectional,
                },
                Workload::Stream,
            ),
            ClientWorkload::RequestResponse(_) => {
                (TestShape::Bidirectional, Workload::RequestResponse)
            }
            ClientWorkload::ConnectOnly { .. } => (TestShape::Forward, Workload::ConnectOnly),
        };
        PlannedTest {
            host: self.host.clone(),
            transport: match self.transport {
                Transport::Tcp => "tcp",
                Transport::Udp => "udp",
            },
            direction,
            workload,
            limit: match self.limit {
                Limit::Time(time) => PlannedLimit::Time(time),
                Limit::Bytes(bytes) => PlannedLimit::Bytes(bytes.0),
                Limit::Never => PlannedLimit::Never,
            },
            omit: Duration::ZERO,
            streams: self.parallel,
            interval: self.interval,
        }
    }

    /// How the directions are arranged; everything but streams is forward.
    pub(crate) fn arrangement(&self) -> Arrangement {
        match self.workload {
            ClientWorkload::Stream(arrangement) => arrangement,
            ClientWorkload::RequestResponse(_) | ClientWorkload::ConnectOnly { .. } => {
                Arrangement::Forward
            }
        }
    }

    /// Length of a TCP write, bytes. Where the count of writes is shown or the rate
    /// depends on it, iperf 2's own default.
    ///
    /// At a low rate a block is at most a tenth of a second of it, so that the rate is kept
    /// within an interval and not only over a test.
    pub(crate) fn tcp_write_length(&self) -> u32 {
        if let (None, Some(Pace::Bits(BitRate(rate))), Personality::Native) =
            (self.length, self.pace, self.personality)
            && rate > 0
        {
            let tenth = u32::try_from(rate / 80).unwrap_or(u32::MAX);
            return tenth.clamp(128, limits::DEFAULT_TCP_LENGTH);
        }
        let shaped = self.shape != Shape::Steady || self.payload != Payload::Digits;
        let measured = self.latency.trip_times || self.latency.write_times;
        let counted = self.enhanced && self.personality == Personality::Iperf2;
        let plain = !(self.pace.is_some() || shaped || measured || counted);
        self.length
            .unwrap_or(if plain {
                BULK_WRITE
            } else {
                limits::DEFAULT_TCP_LENGTH
            })
            .clamp(1, limits::MAX_TCP_LENGTH)
    }

    /// Length of a TCP read, bytes.
    pub(crate) fn tcp_read_length(&self) -> u32 {
        self.length
            .unwrap_or(limits::DEFAULT_TCP_LENGTH)
            .clamp(1, limits::MAX_TCP_LENGTH)
    }

    /// Payload of a datagram, bytes.
    pub(crate) fn udp_length(&self, ipv6: bool) -> u32 {
        self.length
            .unwrap_or(if ipv6 {
                limits::DEFAULT_UDP_LENGTH_IPV6
            } else {
                limits::DEFAULT_UDP_LENGTH
            })
            .clamp(limits::MIN_UDP_LENGTH as u32, limits::MAX_UDP_LENGTH)
    }

    /// Target of a steady UDP sender: `--ipg`, `-b`, or the default of the name.
    pub(crate) fn udp_pace(&self) -> Pace {
        self.pace.unwrap_or(Pace::Bits(match self.personality {
            Personality::Native => Self::UDP_RATE,
            Personality::Iperf2 => BitRate(limits::DEFAULT_UDP_RATE),
        }))
    }

    /// When the first byte of payload is due, for flows that are ready at `now`; not before that.
    pub(crate) fn first_send(&self, now: MonoTime, wall: WallTime) -> MonoTime {
        match self.start {
            StartTime::Now => now,
            StartTime::After(delay) => now + delay,
            StartTime::Moment(moment) => moment.max(now),
            StartTime::At(time) => {
                let ahead = u64::try_from(time.nanos_since(wall)).unwrap_or(0);
                now + Duration::from_nanos(ahead)
            }
        }
    }

    /// How long the client's own sender runs; `None` without a time limit.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        match self.limit {
            Limit::Time(time) => Some(time),
            Limit::Bytes(_) | Limit::Never => None,
        }
    }

    /// Bytes after which a flow ends; `None` without.
    pub(crate) fn byte_limit(&self) -> Option<u64> {
        match self.limit {
            Limit::Bytes(Bytes(bytes)) => Some(bytes),
            Limit::Time(_) | Limit::Never => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plan for `-c 127.0.0.1`.
    pub(crate) fn client_plan() -> ClientPlan {
        ClientPlan::new(Personality::Iperf2, "127.0.0.1", 5001, Transport::Tcp)
    }
}
