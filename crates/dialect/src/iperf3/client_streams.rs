//! Opening the data connections of an iperf3 client.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::Family;
use tapeline_report::{Notice, TestFailure};
use tapeline_sys::{
    Interest, OptionFailure, SocketOption, SocketOptions, TcpConn, UdpSocket, Wait, reason,
};
use tapeline_wire::iperf3::{CONNECT, Direction, ErrorCode, Protocol, is_connect_reply, limits};

use super::agreed::{control_failure, failure, socket_options};
use super::client_control::ClientStep;
use super::plan::Iperf3Client;
use super::streams::Link;
use crate::iperf2::{add_zone, look_up};

use super::client::Run;

/// Time for a data connection.
pub(super) const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// Time for the answer to a UDP stream's connect message.
const REPLY_LIMIT: Duration = Duration::from_secs(30);
const CANNOT_CREATE_STREAM: ErrorCode = ErrorCode(200);
const CANNOT_CONNECT_STREAM: ErrorCode = ErrorCode(203);

impl Run<'_> {
    pub(super) fn open_streams(&mut self) -> Result<(), TestFailure> {
        let parameters = self.plan.parameters.clone();
        for index in 0..parameters.connections() {
            let sends = match parameters.direction {
                Direction::Forward => true,
                Direction::Reverse => false,
                Direction::Bidirectional => index < parameters.parallel,
            };
            let port = self.plan.client_port.map(|port| {
                let step = u16::try_from(index).unwrap_or(u16::MAX);
                port.saturating_add(step)
            });
            let local = own_address(self.plan, self.peer, port)
                .map_err(|why| failure(CANNOT_CREATE_STREAM, Some(&why)))?;
            let link = match parameters.protocol {
                Protocol::Udp => Link::Udp(self.open_udp(local)?),
                Protocol::Tcp | Protocol::Sctp => Link::Tcp(self.open_tcp(local)?),
            };
            let [local, peer] = link.addresses();
            let ends = (local.unwrap_or(self.peer), peer.unwrap_or(self.peer));
            let line = self.set.add(self.context, sends, link, ends);
            self.context.reporter.event(line);
        }
        Ok(())
    }

    fn options(&self) -> SocketOptions {
        SocketOptions {
            device: self.plan.device.clone(),
            // The ports of `--cport` are those of the test before, too.
            reuse_address: self.plan.client_port.is_some(),
            ..socket_options(&self.plan.parameters, self.plan.patience.send)
        }
    }

    fn open_tcp(&self, local: Option<SocketAddr>) -> Result<Arc<TcpConn>, TestFailure> {
        let cancel = self.context.interruption.waker();
        let options = self.options();
        let connected =
            TcpConn::connect_or_cancel(self.peer, local, &options, Some(CONNECT_LIMIT), cancel)
                .map_err(|error| failure(CANNOT_CONNECT_STREAM, Some(&error.reason())))?;
        let refused = &connected.refused;
        if let Some(why) = lacking(refused, SocketOption::Congestion) {
            return Err(failure(ErrorCode(134), Some(&why)));
        }
        if let Some(why) = lacking_device(refused) {
            return Err(failure(CANNOT_CREATE_STREAM, Some(&why)));
        }
        let labelled = self.peer.is_ipv6() && lacking(refused, SocketOption::FlowLabel).is_none();
        if self.plan.parameters.flow_label.is_some() && !labelled {
            return Err(failure(ErrorCode(127), None));
        }
        let conn = connected.conn;
        conn.send_all(self.cookie.bytes())
            .map_err(|error| failure(ErrorCode(105), Some(&reason(&error))))?;
        Ok(Arc::new(conn))
    }

    /// Opens a socket and has the server connect its own to it. The message is not repeated: a
    /// second one would be taken for data by servers that had the first.
    fn open_udp(&mut self, local: Option<SocketAddr>) -> Result<Arc<UdpSocket>, TestFailure> {
        let options = self.options();
        let opened = UdpSocket::connected(self.peer, local, &options)
            .map_err(|error| failure(CANNOT_CONNECT_STREAM, Some(&error.reason())))?;
        if let Some(why) = lacking_device(&opened.refused) {
            return Err(failure(CANNOT_CREATE_STREAM, Some(&why)));
        }
        let socket = opened.socket;
        let unreadable = |why: String| failure(ErrorCode::STREAM_READ, Some(&why));
        socket
            .send(&CONNECT)
            .map_err(|error| failure(ErrorCode(205), Some(&reason(&error))))?;
        let due = self.context.now() + REPLY_LIMIT;
        let mut buffer = vec![0; limits::MAX_UDP_LENGTH as usize];
        loop {
            let now = self.context.now();
            if now >= due {
                return Err(unreadable("Connection timed out".into()));
            }
            if self.context.interruption.is_raised() {
                return Err(self.interrupted());
            }
            let wait = Wait::AtMost(due.since(now).min(Duration::from_millis(20)));
            match socket.wait_ready(Interest::READ, wait) {
                Ok(true) => match socket.recv_nonblocking(&mut buffer) {
                    Ok(length) if is_connect_reply(&buffer[..length]) => break,
                    // Data that has overtaken the answer proves the server's socket as well.
                    Ok(length) if length == self.length as usize => break,
                    Ok(_) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(unreadable(reason(&error))),
                },
                Ok(false) if self.is_started()? => break,
                Ok(false) => {}
                Err(error) => return Err(unreadable(reason(&error))),
            }
        }
        Ok(Arc::new(socket))
    }

    /// Whether the server has all streams: only its answer was lost then. One that gives up while
    /// streams are being opened says so on the control connection.
    fn is_started(&mut self) -> Result<bool, TestFailure> {
        self.hear()?;
        // A farewell goes out before the failure that it belongs to.
        while let Some(ClientStep::Send(_)) = self.control.peek() {
            if let Some(farewell) = self.control.next() {
                self.obey(farewell)?;
            }
        }
        match self.control.peek().cloned() {
            Some(ClientStep::Failed(reason)) => Err(control_failure(reason)),
            step => Ok(matches!(step, Some(ClientStep::Start))),
        }
    }
}

/// Why the system refused an option, if it did.
fn lacking(refused: &[OptionFailure], option: SocketOption) -> Option<String> {
    let failure = refused.iter().find(|failure| failure.option == option);
    failure.map(OptionFailure::reason)
}

/// Why a connection cannot be held to its device, if it cannot.
pub(super) fn lacking_device(refused: &[OptionFailure]) -> Option<String> {
    lacking(refused, SocketOption::Device)
}

/// Own address of a connection to `peer`, where one was asked for.
pub(super) fn own_address(
    plan: &Iperf3Client,
    peer: SocketAddr,
    port: Option<u16>,
) -> Result<Option<SocketAddr>, String> {
    let family = if peer.is_ipv6() {
        Family::V6
    } else {
        Family::V4
    };
    let Some(bind) = &plan.bind else {
        let any = port.map(|port| match family {
            Family::V6 => SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
            Family::V4 | Family::Any => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        });
        return Ok(any);
    };
    let mut address =
        look_up(&bind.host, port.unwrap_or(0), family).map_err(|notice| words(&notice))?;
    let device = bind.device.as_deref().or(plan.device.as_deref());
    add_zone(&mut address, device).map_err(|notice| words(&notice))?;
    Ok(Some(address))
}

/// The reason in a notice about an address.
pub(super) fn words(notice: &Notice) -> String {
    match notice {
        Notice::Unresolvable { host, reason } => format!("{host}: {reason}"),
        Notice::DeviceFailed { device, reason } => format!("{device}: {reason}"),
        _ => "address unusable".into(),
    }
}
