//! Socket options that a caller may ask for, applied in one fixed order.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{Protocol, Socket, Type};
use tapeline_base::Tos;

use crate::error::reason;
use crate::platform::options as system;

/// What to set on a socket before it is bound, connected or made to listen.
/// `None` and `false` leave the system's default untouched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Send buffer, bytes (Linux doubles it and counts overhead in it).
    pub send_buffer: Option<u64>,
    /// Receive buffer, bytes (as above).
    pub receive_buffer: Option<u64>,
    /// TCP congestion control algorithm.
    pub congestion: Option<String>,
    /// Allow binding to an address in a closing state.
    pub reuse_address: bool,
    /// Allow several sockets on the same address.
    pub reuse_port: bool,
    /// IPv4 time to live or IPv6 hop limit of unicast packets.
    pub ttl: Option<u8>,
    /// Type-of-service byte or traffic class.
    pub tos: Option<Tos>,
    /// TCP maximum segment size, bytes.
    pub mss: Option<u32>,
    /// Send small TCP segments at once.
    pub nodelay: bool,
    /// TCP: report writable only below so many unsent bytes.
    pub notsent_lowat: Option<u32>,
    /// TCP: upper bound of the receive window, bytes.
    pub window_clamp: Option<u32>,
    /// TCP: delay of each sent packet, microseconds.
    pub tx_delay_us: Option<u32>,
    /// Upper bound of the sending rate, bytes per second. TCP is paced by the kernel
    /// itself; UDP only under an `fq` queueing discipline.
    pub pacing_rate: Option<u64>,
    /// Send only to hosts on directly attached networks.
    pub dont_route: bool,
    /// Send and receive through this interface only.
    pub device: Option<String>,
    /// IPv6 sockets: refuse (`true`) or also take (`false`) IPv4.
    pub only_v6: Option<bool>,
    /// Allow sending to broadcast addresses.
    pub broadcast: bool,
    /// IPv4 and IPv6: forbid (`true`) or allow (`false`) fragmentation on the way.
    pub dont_fragment: Option<bool>,
    /// Whether packets may be fragmented, and what bounds their length; goes before
    /// `dont_fragment`.
    pub path_mtu_mode: Option<PathMtuMode>,
    /// Flow label of sent IPv6 packets, 20 bits (RFC 6437); only where a socket connects.
    pub flow_label: Option<u32>,
    /// TCP: a connection is over when sent data stays unacknowledged for so long (RFC 5482).
    pub user_timeout: Option<Duration>,
    /// What carries a stream; only where a socket connects or listens.
    pub protocol: StreamProtocol,
}

/// What carries a stream of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StreamProtocol {
    /// TCP.
    #[default]
    Tcp,
    /// TCP over several paths (RFC 8684) where the peer can, else plain TCP.
    Multipath,
    /// SCTP (RFC 9260), a socket for each association.
    Sctp,
}

impl StreamProtocol {
    /// IPPROTO_SCTP, the same number on all systems.
    const SCTP: i32 = 132;

    /// # Errors
    /// `Unsupported` where the system has no such protocol; the system's own error comes with
    /// the socket.
    pub(crate) fn number(self) -> io::Result<Protocol> {
        match self {
            Self::Tcp => Ok(Protocol::TCP),
            Self::Multipath => system::MULTIPATH.ok_or_else(|| io::ErrorKind::Unsupported.into()),
            Self::Sctp => Ok(Protocol::from(Self::SCTP)),
        }
    }
}

/// What the packets of a socket say about fragmentation, and whose knowledge of the path bounds
/// their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMtuMode {
    /// Never fragmented; only the outgoing interface bounds the length, not what the system
    /// believes about the path (Linux, Windows: `IP_PMTUDISC_PROBE`; elsewhere don't fragment).
    Probe,
    /// Never fragmented; what the system learnt about the path by ICMP bounds the length
    /// (`IP_PMTUDISC_DO`): path MTU discovery of RFC 1191 and 8201.
    Classical,
    /// Fragmented where needed: by this host, and over IPv4 on the way.
    Fragment,
}

/// The name of one option, as in [`SocketOptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each is described at the field of the same name"
)]
pub enum SocketOption {
    SendBuffer,
    ReceiveBuffer,
    Congestion,
    ReuseAddress,
    ReusePort,
    Ttl,
    Tos,
    Mss,
    Nodelay,
    NotsentLowat,
    WindowClamp,
    TxDelay,
    PacingRate,
    DontRoute,
    Device,
    OnlyV6,
    Broadcast,
    DontFragment,
    FlowLabel,
    UserTimeout,
}

impl fmt::Display for SocketOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SendBuffer => "send buffer",
            Self::ReceiveBuffer => "receive buffer",
            Self::Congestion => "congestion control",
            Self::ReuseAddress => "address reuse",
            Self::ReusePort => "port reuse",
            Self::Ttl => "time to live",
            Self::Tos => "type of service",
            Self::Mss => "maximum segment size",
            Self::Nodelay => "no delay",
            Self::NotsentLowat => "unsent low-water mark",
            Self::WindowClamp => "receive window clamp",
            Self::TxDelay => "transmit delay",
            Self::PacingRate => "pacing rate",
            Self::DontRoute => "no routing",
            Self::Device => "device",
            Self::OnlyV6 => "IPv6 only",
            Self::Broadcast => "broadcast",
            Self::DontFragment => "no fragmentation",
            Self::FlowLabel => "flow label",
            Self::UserTimeout => "user timeout",
        })
    }
}

/// An option that the system refused. The socket is usable without it; the caller decides
/// whether to warn or to give up.
#[derive(Debug)]
pub struct OptionFailure {
    /// Which option.
    pub option: SocketOption,
    /// Why.
    pub error: io::Error,
}

/// A socket, and the options that the system refused on it.
#[derive(Debug)]
pub struct Opened<T> {
    /// The usable socket.
    pub socket: T,
    /// What it lacks.
    pub refused: Vec<OptionFailure>,
}

impl OptionFailure {
    /// The bare system text, e.g. `No such file or directory`.
    #[must_use]
    pub fn reason(&self) -> String {
        reason(&self.error)
    }
}

impl fmt::Display for OptionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.option, self.reason())
    }
}

impl SocketOptions {
    /// The options for a socket that is connected to `peer`. A zone in the peer's address
    /// names the interface already, and needs no privilege.
    pub(crate) fn for_peer(&self, peer: SocketAddr) -> Cow<'_, Self> {
        match peer {
            SocketAddr::V6(v6) if v6.scope_id() != 0 && self.device.is_some() => Cow::Owned(Self {
                device: None,
                ..self.clone()
            }),
            _ => Cow::Borrowed(self),
        }
    }

    /// Sets every wanted option on `socket` (of the family that `is_v6` says), in the order
    /// in which iperf 2.2.1 sets its own; returns those that the system refused.
    pub(crate) fn apply(&self, socket: &Socket, is_v6: bool) -> Vec<OptionFailure> {
        use SocketOption as Opt;
        let is_stream = socket.r#type().is_ok_and(|kind| kind == Type::STREAM);
        let is_tcp = is_stream && self.protocol != StreamProtocol::Sctp;
        let mut refused = Vec::new();
        let mut note = |option, result: io::Result<()>| {
            if let Err(error) = result {
                refused.push(OptionFailure { option, error });
            }
        };
        if let (Some(only), true) = (self.only_v6, is_v6) {
            note(Opt::OnlyV6, socket.set_only_v6(only));
        }
        if let Some(bytes) = self.send_buffer {
            note(
                Opt::SendBuffer,
                socket.set_send_buffer_size(buffer_size(bytes)),
            );
        }
        if let Some(bytes) = self.receive_buffer {
            note(
                Opt::ReceiveBuffer,
                socket.set_recv_buffer_size(buffer_size(bytes)),
            );
        }
        if self.reuse_address {
            note(Opt::ReuseAddress, system::set_reuse_address(socket));
        }
        if self.reuse_port {
            note(Opt::ReusePort, system::set_reuse_port(socket));
        }
        if let Some(hops) = self.ttl {
            note(Opt::Ttl, set_ttl(socket, is_v6, hops));
        }
        if let Some(tos) = self.tos {
            note(Opt::Tos, set_tos(socket, is_v6, tos));
        }
        if let Some(rate) = self.pacing_rate {
            note(Opt::PacingRate, system::set_pacing_rate(socket, rate));
        }
        if self.dont_route {
            note(Opt::DontRoute, system::set_dont_route(socket));
        }
        if let Some(device) = &self.device {
            note(Opt::Device, system::bind_device(socket, is_v6, device));
        }
        if self.broadcast {
            note(Opt::Broadcast, socket.set_broadcast(true));
        }
        if let Some(mode) = self.path_mtu_mode {
            note(
                Opt::DontFragment,
                system::set_path_mtu_mode(socket, is_v6, mode),
            );
        } else if let Some(forbid) = self.dont_fragment {
            note(
                Opt::DontFragment,
                system::set_dont_fragment(socket, is_v6, forbid),
            );
        }
        if is_tcp {
            self.apply_tcp(socket, &mut note);
        } else if is_stream && self.nodelay {
            note(Opt::Nodelay, system::set_sctp_nodelay(socket));
        }
        refused
    }

    fn apply_tcp(&self, socket: &Socket, note: &mut impl FnMut(SocketOption, io::Result<()>)) {
        use SocketOption as Opt;
        if let Some(name) = &self.congestion {
            note(Opt::Congestion, system::set_congestion(socket, name));
        }
        if let Some(mss) = self.mss {
            note(Opt::Mss, system::set_mss(socket, mss));
        }
        if self.nodelay {
            note(Opt::Nodelay, socket.set_tcp_nodelay(true));
        }
        if let Some(bytes) = self.notsent_lowat {
            note(Opt::NotsentLowat, system::set_notsent_lowat(socket, bytes));
        }
        if let Some(bytes) = self.window_clamp {
            note(Opt::WindowClamp, system::begin_window_clamp(socket, bytes));
        }
        if let Some(limit) = self.user_timeout {
            note(Opt::UserTimeout, system::set_user_timeout(socket, limit));
        }
        if let Some(micros) = self.tx_delay_us {
            note(Opt::TxDelay, system::set_tx_delay(socket, micros));
        }
    }
}

/// What a socket that is connected to `peer` sends to, so that its packets carry `label`.
pub(crate) fn labelled(
    socket: &Socket,
    peer: SocketAddr,
    label: Option<u32>,
    refused: &mut Vec<OptionFailure>,
) -> SocketAddr {
    match (peer, label) {
        (SocketAddr::V6(mut v6), Some(label)) if v6.ip().to_ipv4_mapped().is_none() => {
            match system::lease_flow_label(socket, *v6.ip(), label) {
                Ok(()) => v6.set_flowinfo(label.to_be()),
                Err(error) => refused.push(OptionFailure {
                    option: SocketOption::FlowLabel,
                    error,
                }),
            }
            v6.into()
        }
        _ => peer,
    }
}

/// The system takes buffer sizes as a positive C `int`.
fn buffer_size(bytes: u64) -> usize {
    bytes.min(i32::MAX as u64) as usize
}

/// Sets the type-of-service byte; a dual-stack socket needs it for both families.
pub(crate) fn set_tos(socket: &Socket, is_v6: bool, tos: Tos) -> io::Result<()> {
    if is_v6 {
        // Only dual-stack sockets of some systems take the IPv4 option.
        let _ = socket.set_tos_v4(u32::from(tos.0));
        system::set_tclass_v6(socket, u32::from(tos.0))
    } else {
        socket.set_tos_v4(u32::from(tos.0))
    }
}

/// Reads the type-of-service byte back. `is_v4_traffic`: the packets are IPv4.
pub(crate) fn tos(socket: &Socket, is_v4_traffic: bool) -> io::Result<Tos> {
    let value = if is_v4_traffic {
        socket.tos_v4()?
    } else {
        system::tclass_v6(socket)?
    };
    Ok(Tos((value & 0xff) as u8))
}

/// Sets the unicast time to live or hop limit; for both families on a dual-stack socket.
pub(crate) fn set_ttl(socket: &Socket, is_v6: bool, hops: u8) -> io::Result<()> {
    if is_v6 {
        let _ = socket.set_ttl_v4(u32::from(hops));
        socket.set_unicast_hops_v6(u32::from(hops))
    } else {
        socket.set_ttl_v4(u32::from(hops))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::Domain;

    #[test]
    fn a_refused_option_is_reported_and_the_others_still_hold() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let options = SocketOptions {
            congestion: Some("no-such-algorithm".into()),
            nodelay: true,
            tos: Some(Tos(0xb8)),
            ttl: Some(7),
            ..SocketOptions::default()
        };
        let refused = options.apply(&socket, false);
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert_eq!(refused[0].option, SocketOption::Congestion);
        assert!(refused[0].to_string().starts_with("congestion control: "));
        assert!(socket.tcp_nodelay().unwrap());
        assert_eq!(socket.ttl_v4().unwrap(), 7);
        assert_eq!(tos(&socket, true).unwrap(), Tos(0xb8));
    }

    #[test]
    fn tcp_options_are_not_tried_on_udp() {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        let options = SocketOptions {
            congestion: Some("cubic".into()),
            mss: Some(1000),
            nodelay: true,
            receive_buffer: Some(70_000),
            ..SocketOptions::default()
        };
        assert!(options.apply(&socket, false).is_empty());
        assert!(socket.recv_buffer_size().unwrap() >= 70_000);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_options_read_back_as_they_were_asked_for() {
        use crate::platform::sockopt::get;
        use libc::{IPPROTO_TCP, SOL_SOCKET, c_int};

        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let options = SocketOptions {
            dont_route: true,
            window_clamp: Some(40_000),
            tx_delay_us: Some(1500),
            notsent_lowat: Some(16_384),
            pacing_rate: Some(1_250_000),
            device: Some("lo".into()),
            ..SocketOptions::default()
        };
        let refused = options.apply(&socket, false);
        let read = |level, name| get::<c_int>(&socket, level, name).unwrap().0;
        assert_eq!(read(SOL_SOCKET, libc::SO_DONTROUTE), 1);
        assert_eq!(read(IPPROTO_TCP, libc::TCP_WINDOW_CLAMP), 40_000);
        assert_eq!(read(IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT), 16_384);
        let pacing = get::<u64>(&socket, SOL_SOCKET, libc::SO_MAX_PACING_RATE);
        assert_eq!(pacing.unwrap().0, 1_250_000);
        assert_eq!(socket.device().unwrap().as_deref(), Some(&b"lo"[..]));
        // Old kernels have no transmit delay.
        if refused.is_empty() {
            assert_eq!(read(IPPROTO_TCP, 37), 1500);
        } else {
            assert_eq!(refused.len(), 1, "{refused:?}");
            assert_eq!(refused[0].option, SocketOption::TxDelay);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_flow_label_reads_back_from_a_connected_socket() {
        use crate::platform::sockopt::get;
        let (Ok(listener), socket) = (
            std::net::TcpListener::bind("[::1]:0"),
            Socket::new(Domain::IPV6, Type::STREAM, None).unwrap(),
        ) else {
            // A system without IPv6.
            return;
        };
        let mut refused = Vec::new();
        let peer = listener.local_addr().unwrap();
        let peer = labelled(&socket, peer, Some(0x1_2345), &mut refused);
        assert!(refused.is_empty(), "{refused:?}");
        socket.connect(&peer.into()).unwrap();
        // IPV6_FLOWLABEL_MGR: `flr_label` is the fifth word.
        let label = get::<[u32; 8]>(&socket, libc::IPPROTO_IPV6, 32).unwrap().0[4];
        assert_eq!(u32::from_be(label), 0x1_2345);
        let v4 = "127.0.0.1:5201".parse().unwrap();
        assert_eq!(labelled(&socket, v4, Some(1), &mut refused), v4);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_user_timeout_reads_back_in_milliseconds() {
        use crate::platform::sockopt::get;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let options = SocketOptions {
            user_timeout: Some(Duration::from_millis(1500)),
            ..SocketOptions::default()
        };
        assert!(options.apply(&socket, false).is_empty());
        let read = get::<u32>(&socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT);
        assert_eq!(read.unwrap().0, 1500);
    }

    #[test]
    fn a_zone_makes_the_device_option_superfluous() {
        let options = SocketOptions {
            device: Some("eth0".into()),
            ..SocketOptions::default()
        };
        let device = |peer: &str| options.for_peer(peer.parse().unwrap()).device.clone();
        assert_eq!(device("[fe80::1%2]:5001"), None);
        assert_eq!(device("[2001:db8::1]:5001"), Some("eth0".into()));
        assert_eq!(device("192.0.2.1:5001"), Some("eth0".into()));
    }

    #[test]
    fn an_oversized_buffer_request_is_clamped_not_wrapped() {
        assert_eq!(buffer_size(u64::MAX), i32::MAX as usize);
        assert_eq!(buffer_size(4096), 4096);
    }
}
