//! Sockets that listen, opened as a plan says, and the banners that tell of them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use tapeline_base::Transport;
use tapeline_report::{Notice, ServerBanner};
use tapeline_sys::{
    DeviceTap, MulticastGroup, Opened, Operation, OptionFailure, ReceiveFeatures, SocketError,
    SocketOptions, TcpListener, UdpSocket, reason,
};

use super::banner::{self, SocketFacts};
use super::client::{SharedContext, device_index};
use super::groups::TestGroups;
use crate::plan::{Personality, ServerPlan};

/// A listening socket that is to be opened.
pub(super) struct ListenRequest<'a> {
    pub(super) plan: &'a Arc<ServerPlan>,
    /// Which tests that begin on it belong together.
    pub(super) groups: &'a Arc<TestGroups>,
    /// Own address, with the zone where it needs one; any when absent. Its port is not looked at.
    pub(super) own: Option<SocketAddr>,
    pub(super) ipv6: bool,
    pub(super) port: u16,
    /// It belongs to the client of a dual test.
    pub(super) of_client: bool,
}

impl ListenRequest<'_> {
    pub(super) fn address(&self) -> SocketAddr {
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

    pub(super) fn failed(&self, transport: Transport, error: &SocketError) -> Notice {
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

    /// Tells what the system made of the options and of the window that was asked for.
    fn tell(
        &self,
        refused: &[OptionFailure],
        options: &SocketOptions,
        buffer: u64,
        context: &SharedContext,
    ) -> Result<(), Notice> {
        let ServerPlan {
            personality,
            socket,
            ..
        } = &**self.plan;
        banner::tell_refusals(refused, options, *personality, context)?;
        banner::tell_clamped(socket.window, buffer, *personality, context);
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
pub(super) fn open_tcp(
    request: &ListenRequest<'_>,
    given: Option<TcpListener>,
    context: &SharedContext,
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
    request.tell(&opened.refused, &options, buffer, context)?;
    let facts = SocketFacts {
        buffer,
        mss: listener.mss(),
        congestion: listener.congestion(),
    };
    let banner = request.banner(Transport::Tcp, listener.local_addr(), facts);
    Ok((listener, banner))
}

/// Opens a UDP socket for many flows, unless one is `given`, and its banner.
pub(super) fn open_udp(
    request: &ListenRequest<'_>,
    given: Option<UdpSocket>,
    context: &SharedContext,
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
    request.tell(&opened.refused, &options, shown, context)?;
    let wildcard = request.address().ip().is_unspecified();
    socket.request(ReceiveFeatures {
        destination: wildcard,
        ..context.techniques.receive_features()
    });
    if request.plan.tap_device.is_none() {
        context.enlarge_buffer(&socket, request.plan.socket.window);
    }
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

/// Opens the device that datagrams are to be read from, if any. The socket answers.
pub(super) fn open_tap(
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
