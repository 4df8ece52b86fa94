//! Sockets that listen, opened as a plan says, the banners that announce them, and whose connections and datagrams
//! they take.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tapeline_base::Transport;
use tapeline_report::{Notice, ServerBanner};
use tapeline_sys::{
    DeviceTap, MulticastGroup, Opened, Operation, OptionFailure, ReceiveFeatures, SocketError,
    SocketOptions, TcpListener, UdpSocket, reason,
};

use crate::iperf2::banner;
use crate::iperf2::banner::SocketFacts;
use crate::iperf2::test_groups::TestGroups;
use crate::native::client::TestFlows;
use crate::plan::{Personality, ServerPlan};
use crate::policy::Policy;
use crate::run::address::device_index;
use crate::run::context::Context;
use crate::sampler::GroupKey;

/// A listening socket that is to be opened.
pub(crate) struct ListenRequest<'a> {
    pub(crate) plan: &'a Arc<ServerPlan>,
    /// Which tests that begin on it belong together.
    pub(crate) groups: &'a Arc<TestGroups>,
    /// Own address, with the zone where it needs one; any when absent. Its port is not looked at.
    pub(crate) own: Option<SocketAddr>,
    pub(crate) ipv6: bool,
    pub(crate) port: u16,
    /// It belongs to the client of a dual test.
    pub(crate) of_client: bool,
}

impl ListenRequest<'_> {
    pub(crate) fn address(&self) -> SocketAddr {
        let any = if self.ipv6 {
            IpAddr::V6(Ipv6Addr::UNSPECIFIED)
        } else {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED)
        };
        let mut address = self.own.unwrap_or(SocketAddr::new(any, 0));
        address.set_port(self.port);
        address
    }

    /// The group that is to be joined, if any.
    fn group(&self) -> Result<Option<MulticastGroup>, Notice> {
        let Some(address) = self.own.map(|own| own.ip()).filter(IpAddr::is_multicast) else {
            return Ok(None);
        };
        let bind = self.plan.bind.as_ref();
        let interface = match bind.and_then(|bind| bind.device.as_deref()) {
            None => 0,
            Some(device) => device_index(device)?,
        };
        Ok(Some(MulticastGroup {
            address,
            source: bind.and_then(|bind| bind.group_source),
            interface,
        }))
    }

    pub(crate) fn failed(&self, transport: Transport, error: &SocketError) -> Notice {
        let reason = match error.operation {
            Operation::Bind | Operation::Listen => error.reason(),
            _ => error.to_string(),
        };
        Notice::ListenFailed {
            transport,
            address: self.address(),
            reason,
        }
    }

    /// Reports what the system made of the options and of the window that was asked for.
    fn log(
        &self,
        refused: &[OptionFailure],
        options: &SocketOptions,
        buffer: u64,
        context: &Arc<Context>,
    ) -> Result<(), Notice> {
        let ServerPlan {
            personality,
            socket,
            ..
        } = &**self.plan;
        banner::log_refusals(refused, options, *personality, context)?;
        banner::log_clamped(socket.window, buffer, *personality, context);
        Ok(())
    }

    /// The banner of an opened socket.
    fn banner(
        &self,
        transport: Transport,
        local: io::Result<SocketAddr>,
        facts: SocketFacts,
    ) -> ServerBanner {
        let local = local.unwrap_or(self.address());
        let ports = (local.port(), local.port());
        banner::server_banner(self.plan, transport, local, ports, facts, self.of_client)
    }
}

/// What can still be asked of a socket that is bound already.
fn late(options: &SocketOptions) -> SocketOptions {
    SocketOptions {
        reuse_address: false,
        only_v6: None,
        ..options.clone()
    }
}

/// Opens a TCP listener, unless one is `given`, and its banner.
pub(crate) fn open_tcp(
    request: &ListenRequest<'_>,
    given: Option<TcpListener>,
    context: &Arc<Context>,
) -> Result<(TcpListener, ServerBanner), Notice> {
    let options = banner::server_options(request.plan, request.ipv6);
    let opened = match given {
        Some(socket) => Opened {
            refused: socket.set(&late(&options)),
            socket,
        },
        None => TcpListener::bind(request.address(), &options, TcpListener::MAX_BACKLOG)
            .map_err(|error| request.failed(Transport::Tcp, &error))?,
    };
    let listener = opened.socket;
    let buffer = listener.receive_buffer().unwrap_or(0);
    request.log(&opened.refused, &options, buffer, context)?;
    let facts = SocketFacts {
        buffer,
        mss: listener.mss(),
        congestion: listener.congestion(),
    };
    let banner = request.banner(Transport::Tcp, listener.local_addr(), facts);
    Ok((listener, banner))
}

/// Opens a UDP socket for many flows, unless one is `given`, and its banner.
pub(crate) fn open_udp(
    request: &ListenRequest<'_>,
    given: Option<UdpSocket>,
    context: &Arc<Context>,
) -> Result<(UdpSocket, ServerBanner), Notice> {
    let mut options = banner::server_options(request.plan, request.ipv6);
    // Two servers on one UDP port would steal each other's datagrams, silently.
    options.reuse_address = false;
    let opened = match (given, request.group()?) {
        (Some(socket), _) => Ok(Opened {
            refused: socket.set(&late(&options)),
            socket,
        }),
        (None, None) => UdpSocket::bind(request.address(), &options),
        (None, Some(group)) => {
            // The group is joined on the device; nothing else can arrive.
            options.device = None;
            UdpSocket::member(&group, request.port, &options)
        }
    }
    .map_err(|error| request.failed(Transport::Udp, &error))?;
    let socket = opened.socket;
    let shown = socket.receive_buffer().unwrap_or(0);
    request.log(&opened.refused, &options, shown, context)?;
    let wildcard = request.address().ip().is_unspecified();
    prepare_receiving(&socket, wildcard, request.plan, context);
    let buffer = match request.plan.personality {
        Personality::Iperf2 if request.plan.socket.window.is_none() => shown,
        _ => socket.receive_buffer().unwrap_or(shown),
    };
    let facts = SocketFacts {
        buffer,
        mss: None,
        congestion: None,
    };
    let banner = request.banner(Transport::Udp, socket.local_addr(), facts);
    Ok((socket, banner))
}

/// Makes `branch`, a socket on the port of a server's socket, like that one: `wildcard` if that one is for all own
/// addresses.
pub(crate) fn set_up_branch(
    branch: &UdpSocket,
    wildcard: bool,
    plan: &ServerPlan,
    context: &Context,
) {
    let ipv6 = branch.local_addr().is_ok_and(|own| own.is_ipv6());
    // What is refused was refused to the socket, too, which has been logged.
    let _ = branch.set(&late(&banner::server_options(plan, ipv6)));
    prepare_receiving(branch, wildcard, plan, context);
}

/// Asks for what the flows of a socket are measured by, and for room for them: `wildcard` if it is for all own
/// addresses. With a device that datagrams are read from, the socket receives none.
fn prepare_receiving(socket: &UdpSocket, wildcard: bool, plan: &ServerPlan, context: &Context) {
    socket.request(ReceiveFeatures {
        destination: wildcard,
        ..context.techniques.receive_features()
    });
    if plan.tap_device.is_none() {
        context.enlarge_buffer(socket, plan.socket.window);
    }
}

/// Opens the device that datagrams are to be read from, if any. The socket answers.
pub(crate) fn open_tap(
    plan: &ServerPlan,
    address: SocketAddr,
) -> Result<Option<DeviceTap>, Notice> {
    let Some(device) = &plan.tap_device else {
        return Ok(None);
    };
    DeviceTap::open(device, address.port())
        .map(Some)
        .map_err(|error| Notice::ListenFailed {
            transport: Transport::Udp,
            address,
            reason: format!(
                "no packet socket on {device} (--tap-dev): {}",
                reason(&error)
            ),
        })
}

/// Who may connect and what for.
#[derive(Clone, Debug)]
pub(crate) enum PeerFilter {
    /// Anybody, or one address; connections begin with a first message.
    Server {
        /// Only from this address.
        only_from: Option<IpAddr>,
    },
    /// The connections that a dual test's server opens: no first message.
    ConnectBack {
        /// The server.
        from: IpAddr,
        /// Longest time of each flow; `None` without.
        limit: Option<Duration>,
        /// Sum group of the client's test.
        group: GroupKey,
        /// The test, when its server may be tapeline.
        test: Arc<OnceLock<TestFlows>>,
    },
}

impl PeerFilter {
    /// Whether `peer` is taken, where `policy` says which addresses are served.
    pub(crate) fn admits(&self, peer: IpAddr, policy: &Policy) -> bool {
        match self {
            Self::Server { only_from } => {
                only_from.is_none_or(|only| only == peer) && policy.serves(peer)
            }
            Self::ConnectBack { from, .. } => *from == peer,
        }
    }
}
