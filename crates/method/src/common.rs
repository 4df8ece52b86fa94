//! What all methods are asked for alike.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{BitRate, Family, Pace, Tos, Transport};
use tapeline_dialect::{
    Arrangement, BindPlan, CONNECT_TIMEOUT, ClientPlan, ClientWorkload, Iperf3Client,
    Iperf3Timeouts, Limit, PermitKey, Personality, SocketPlan, Techniques,
};
use tapeline_report::method::Direction;
use tapeline_report::{hint, sentence_of};
use tapeline_sys::{interface_index, needs_zone};
use tapeline_wire::iperf3::{self as wire, Parameters};

use crate::error::RunError;

/// Length of a test that nothing else decides.
const TIME: Duration = Duration::from_secs(10);
/// Rows of a test: what observers see.
const INTERVAL: Duration = Duration::from_millis(100);
/// Time for an iperf3 server to open its port again after a connection.
const REFUSED_LIMIT: Duration = Duration::from_secs(1);
/// Time for each word of an iperf3 server, and without data.
const IPERF3_SILENCE: Duration = Duration::from_secs(10);

/// Which program the other end is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeerKind {
    /// tapeline or iperf 2, which the first test tells.
    #[default]
    Auto,
    /// An iperf3 server.
    Iperf3,
}

/// Directions that are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DirectionChoice {
    /// To the server.
    Up,
    /// From the server.
    Down,
    /// One after the other, up first.
    #[default]
    Both,
}

impl DirectionChoice {
    /// The directions, in their order.
    #[must_use]
    pub const fn directions(self) -> &'static [Direction] {
        match self {
            Self::Up => &[Direction::Up],
            Self::Down => &[Direction::Down],
            Self::Both => &Direction::BOTH,
        }
    }

    /// Whether a direction is among them.
    #[must_use]
    pub fn includes(self, direction: Direction) -> bool {
        self.directions().contains(&direction)
    }
}

/// What all methods are asked for alike: the other end, and how tests run.
#[derive(Clone, Debug, PartialEq)]
pub struct Common {
    /// Server's name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Address family.
    pub family: Family,
    /// Device to leave through (`HOST%dev`).
    pub device: Option<String>,
    /// `-B`: own address.
    pub bind: Option<BindPlan>,
    /// `-S`, `--dscp`.
    pub tos: Option<Tos>,
    /// `-Z`: congestion control; `None` leaves the system's.
    pub congestion: Option<String>,
    /// `-M`: largest segment, bytes.
    pub mss: Option<u32>,
    /// `-P`: flows; `None` leaves the choice to the method.
    pub parallel: Option<usize>,
    /// `-w`: window, bytes.
    pub window: Option<u64>,
    /// `-b`: the highest rate.
    pub rate: Option<BitRate>,
    /// `-l`: payload of a datagram or a write, bytes.
    pub length: Option<u32>,
    /// `-t`: length of each single measurement; `None` leaves the choice to the method.
    pub time: Option<Duration>,
    /// What the other end is.
    pub peer: PeerKind,
    /// A server that is tapeline is recognised; without it is a plain iperf 2 peer.
    pub control: bool,
    /// `--permit-key`.
    pub permit_key: Option<PermitKey>,
    /// `--direction`, `-R`.
    pub direction: DirectionChoice,
    /// `--full-duplex`: both directions at once where the method says so.
    pub full_duplex: bool,
    /// `--budget`: the most payload that the method may move, both directions together.
    pub budget: Option<u64>,
    /// Optimisations that tests may use.
    pub techniques: Techniques,
}

impl Common {
    /// Towards a host, with everything else at its default.
    #[must_use]
    pub fn new(host: &str, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            family: Family::Any,
            device: None,
            bind: None,
            tos: None,
            congestion: None,
            mss: None,
            parallel: None,
            window: None,
            rate: None,
            length: None,
            time: None,
            peer: PeerKind::Auto,
            control: true,
            permit_key: None,
            direction: DirectionChoice::Both,
            full_duplex: false,
            budget: None,
            techniques: Techniques::default(),
        }
    }

    /// The server's address: IPv4 first unless IPv6 was asked for, as for tests.
    ///
    /// # Errors
    /// `unknown-host` with the resolver's reason.
    pub fn address(&self) -> Result<SocketAddr, RunError> {
        look_up(&self.host, self.port, self.family, self.device.as_deref())
    }

    /// The own address of `-B`, of the family of the server's.
    ///
    /// # Errors
    /// As [`address`](Self::address).
    pub fn local(&self, server: SocketAddr) -> Result<Option<SocketAddr>, RunError> {
        let family = if server.is_ipv6() {
            Family::V6
        } else {
            Family::V4
        };
        let bind = self.bind.as_ref();
        let found = bind.map(|bind| look_up(&bind.host, 0, family, self.device.as_deref()));
        found.transpose()
    }

    /// `-t`, or what the method takes.
    #[must_use]
    pub fn time_or(&self, default: Duration) -> Duration {
        self.time.unwrap_or(default)
    }

    /// The socket options of tests. `-w` is a method's own: some hold a window instead of setting
    /// a buffer.
    fn socket(&self) -> SocketPlan {
        SocketPlan {
            segment_size: self.mss,
            tos: self.tos,
            congestion: self.congestion.clone(),
            ..SocketPlan::default()
        }
    }

    /// An ordinary test of one flow in a direction, with rows ten times a second; the procedure
    /// adjusts it.
    #[must_use]
    pub fn client_plan(&self, transport: Transport, direction: Direction) -> ClientPlan {
        let arrangement = match direction {
            Direction::Up => Arrangement::Forward,
            Direction::Down => Arrangement::Reverse,
        };
        ClientPlan {
            device: self.device.clone(),
            family: self.family,
            bind: self.bind.clone(),
            workload: ClientWorkload::Stream(arrangement),
            limit: Limit::Time(self.time_or(TIME)),
            pace: self
                .rate
                .filter(|_| transport == Transport::Udp)
                .map(Pace::Bits),
            length: self.length.filter(|_| transport == Transport::Udp),
            interval: Some(INTERVAL),
            socket: self.socket(),
            enhanced: true,
            permit_key: self.permit_key.clone(),
            control: self.control,
            probe: self.control,
            techniques: self.techniques,
            ..ClientPlan::new(Personality::Native, &self.host, self.port, transport)
        }
    }

    /// The same towards an iperf3 server, whose tests last whole seconds.
    #[must_use]
    pub fn iperf3_plan(&self, transport: Transport, direction: Direction) -> Iperf3Client {
        let udp = transport == Transport::Udp;
        let time = self.time_or(TIME).as_secs_f64().ceil().max(1.0);
        Iperf3Client {
            family: self.family,
            device: self.device.clone(),
            bind: self.bind.as_ref().map(|bind| BindPlan::address(&bind.host)),
            client_port: self.bind.as_ref().and_then(|bind| bind.port),
            parameters: Parameters {
                protocol: if udp {
                    wire::Protocol::Udp
                } else {
                    wire::Protocol::Tcp
                },
                direction: match direction {
                    Direction::Up => wire::Direction::Forward,
                    Direction::Down => wire::Direction::Reverse,
                },
                time: time as u32,
                segment_size: self.mss,
                length: self.length.filter(|_| udp),
                rate: match (udp, self.rate) {
                    (false, _) => 0,
                    (true, rate) => rate.unwrap_or(ClientPlan::UDP_RATE).0,
                },
                tos: self.tos.map_or(0, |tos| tos.0),
                congestion: self.congestion.clone(),
                ..Parameters::default()
            },
            interval: Some(INTERVAL),
            refused_limit: REFUSED_LIMIT,
            timeouts: Iperf3Timeouts {
                answer: CONNECT_TIMEOUT,
                control: IPERF3_SILENCE,
                receive: IPERF3_SILENCE,
                stalled: IPERF3_SILENCE,
                ..Iperf3Timeouts::default()
            },
            techniques: self.techniques,
            ..Iperf3Client::new(&self.host, self.port)
        }
    }
}

fn look_up(
    host: &str,
    port: u16,
    family: Family,
    device: Option<&str>,
) -> Result<SocketAddr, RunError> {
    let found = tapeline_dialect::look_up(host, port, family);
    let mut address = found.map_err(|notice| RunError::Failed {
        id: "unknown-host",
        text: sentence_of(&notice),
        hint: hint(&notice),
    })?;
    if let (SocketAddr::V6(v6), Some(device)) = (&mut address, device)
        && v6.scope_id() == 0
        && needs_zone((*v6.ip()).into())
    {
        let index = interface_index(device)
            .ok_or_else(|| RunError::failed("device-failed", format!("no device {device}")))?;
        v6.set_scope_id(index);
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_follow_what_is_common() {
        let common = Common {
            rate: Some(BitRate(5_000_000)),
            length: Some(200),
            congestion: Some("reno".into()),
            time: Some(Duration::from_millis(2500)),
            ..Common::new("192.0.2.1", 5001)
        };
        let up = common.client_plan(Transport::Tcp, Direction::Up);
        // The rate and the length are of datagrams.
        assert_eq!((up.pace, up.length), (None, None));
        assert_eq!(up.socket.congestion.as_deref(), Some("reno"));
        assert_eq!(up.limit, Limit::Time(Duration::from_millis(2500)));
        assert!(up.control && up.probe);
        let down = common.client_plan(Transport::Udp, Direction::Down);
        assert_eq!(down.workload, ClientWorkload::Stream(Arrangement::Reverse));
        assert_eq!(down.pace, Some(Pace::Bits(BitRate(5_000_000))));
        assert_eq!(down.length, Some(200));
        let iperf3 = common
            .iperf3_plan(Transport::Udp, Direction::Down)
            .parameters;
        assert_eq!((iperf3.time, iperf3.rate), (3, 5_000_000));
        assert_eq!(iperf3.direction, wire::Direction::Reverse);
    }

    #[test]
    fn addresses_are_of_the_family() {
        let common = Common::new("192.0.2.1", 7);
        assert_eq!(common.address(), Ok(([192, 0, 2, 1], 7).into()));
        let server = common.address().expect("an address");
        assert_eq!(common.local(server), Ok(None));
        let bound = Common {
            bind: Some(BindPlan::address("127.0.0.1")),
            ..common
        };
        assert_eq!(bound.local(server), Ok(Some(([127, 0, 0, 1], 0).into())));
        let nowhere = Common::new("no host", 7).address();
        assert!(matches!(
            nowhere,
            Err(RunError::Failed {
                id: "unknown-host",
                ..
            })
        ));
    }

    #[test]
    fn both_directions_begin_with_up() {
        assert_eq!(DirectionChoice::Both.directions(), Direction::BOTH);
        assert!(!DirectionChoice::Down.includes(Direction::Up));
    }
}
