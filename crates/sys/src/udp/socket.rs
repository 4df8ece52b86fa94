//! A UDP socket.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use tapeline_base::{Placement, Tos};

use super::datagram::{Addressee, Marks, ReceiveFeatures, Returned};
use super::multicast::{self, MulticastGroup};
use crate::address;
use crate::error::{Operation, SocketError};
use crate::options::{self, Opened, OptionFailure, PathMtuMode, SocketOptions};
use crate::platform::{datagrams, options as system, returned, segments, stream};
use crate::poller::{self, Handle, Interest, Pollable, Wait};
use crate::socket_call::{as_uninit, at_least_a_microsecond, retry};

/// Most times that a call is made again because of what came back for other datagrams. Each
/// message of the network costs one call, so that this is a flood's share of a call.
const AGAIN: usize = 64;

/// The same for one datagram that may be too long: few messages come while it is sent.
const AGAIN_WHOLE: usize = 2;

/// A bound, possibly connected, datagram socket. Every method takes `&self`.
///
/// Interrupted calls are repeated; timeouts are [`io::ErrorKind::WouldBlock`]. An error that an
/// earlier datagram caused (`ConnectionRefused` from a connected peer) is returned by the next call.
#[derive(Debug)]
pub struct UdpSocket {
    socket: Socket,
    is_v6: bool,
    segmentation: AtomicBool,
    receives_refusals: AtomicBool,
}

impl UdpSocket {
    /// The largest datagram payload over IPv4, bytes.
    pub const MAX_PAYLOAD: usize = 65_507;

    /// Whether a [`UdpSocket::branch`] is sure to get its peer's datagrams, all of them, from then on, and
    /// the kernel's stamps tell the order of what both sockets have got until then.
    pub const BRANCHES_IN_ORDER: bool = cfg!(any(target_os = "linux", target_os = "android"));

    /// A socket bound to `local` (port 0: any).
    ///
    /// # Errors
    /// [`SocketError`] of `Open` or `Bind`.
    pub fn bind(local: SocketAddr, options: &SocketOptions) -> Result<Opened<Self>, SocketError> {
        let fail = |operation| move |error| SocketError::new(operation, local, error);
        let is_v6 = local.is_ipv6();
        let domain = Domain::for_address(local);
        let socket =
            Socket::new(domain, Type::DGRAM, Some(Protocol::UDP)).map_err(fail(Operation::Open))?;
        let refused = options.apply(&socket, is_v6);
        socket
            .bind(&SockAddr::from(local))
            .map_err(fail(Operation::Bind))?;
        let segmentation = AtomicBool::new(segments::is_available(&socket));
        Ok(Opened {
            socket: Self {
                socket,
                is_v6,
                segmentation,
                receives_refusals: AtomicBool::new(false),
            },
            refused,
        })
    }

    /// A bound socket that somebody else has opened.
    ///
    /// # Errors
    /// Those of `fcntl(2)`.
    pub(crate) fn inherited(socket: Socket) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        let is_v6 = address::is_v6(&socket);
        let segmentation = AtomicBool::new(segments::is_available(&socket));
        Ok(Self {
            socket,
            is_v6,
            segmentation,
            receives_refusals: AtomicBool::new(false),
        })
    }

    /// A socket that receives `group` on `port`, and nothing that is sent to other addresses
    /// (Windows: to other groups). Others may do the same: all get a copy.
    ///
    /// # Errors
    /// [`SocketError`] of `Open`, `Bind` or `Join`.
    pub fn member(
        group: &MulticastGroup,
        port: u16,
        options: &SocketOptions,
    ) -> Result<Opened<Self>, SocketError> {
        let options = SocketOptions {
            reuse_address: true,
            ..options.clone()
        };
        let opened = Self::bind(group.binding(port), &options)?;
        opened.socket.join(group)?;
        Ok(opened)
    }

    /// A socket connected to `peer`, from `local` where given.
    ///
    /// # Errors
    /// [`SocketError`] of `Open`, `Bind` or `Connect`.
    pub fn connected(
        peer: SocketAddr,
        local: Option<SocketAddr>,
        options: &SocketOptions,
    ) -> Result<Opened<Self>, SocketError> {
        let local = local.unwrap_or_else(|| address::wildcard_like(&peer));
        let opened = Self::bind(local, &options.for_peer(peer))?;
        if peer.ip().is_multicast() {
            // Without it the group's route decides.
            let _ = multicast::leave_from(&opened.socket.socket, local);
        }
        let mut opened = opened;
        let socket = &opened.socket.socket;
        let peer = options::labelled(socket, peer, options.flow_label, &mut opened.refused);
        opened.socket.connect(peer)?;
        Ok(opened)
    }

    /// Another socket on this one's port, connected to `peer`: it receives that peer's datagrams,
    /// this one the others'. `local` is the own address that the peer sends to.
    ///
    /// # Errors
    /// [`SocketError`] of `Open`, `Bind` or `Connect`.
    pub fn branch(&self, local: SocketAddr, peer: SocketAddr) -> Result<Self, SocketError> {
        // Branches share their port among themselves. This socket shares it for a moment only,
        // so nobody else can take part.
        let share = |socket: &Socket, shared| {
            let set = system::share_address(socket, shared);
            set.map_err(|error| SocketError::new(Operation::Bind, local, error))
        };
        share(&self.socket, true)?;
        let options = SocketOptions {
            reuse_address: true,
            // Not every system's own choice lets an IPv6 wildcard have IPv4 peers.
            only_v6: self.is_v6.then(|| self.socket.only_v6().unwrap_or(false)),
            ..SocketOptions::default()
        };
        let branch = Self::connected(peer, Some(local), &options);
        share(&self.socket, false)?;
        Ok(branch?.socket)
    }

    /// Sets what a bound socket can still be asked for; returns what the system refused.
    pub fn set(&self, options: &SocketOptions) -> Vec<OptionFailure> {
        options.apply(&self.socket, self.is_v6)
    }

    /// Fixes the peer: sends go to it, datagrams from others are not received.
    ///
    /// # Errors
    /// [`SocketError`] of `Connect`.
    pub fn connect(&self, peer: SocketAddr) -> Result<(), SocketError> {
        self.socket
            .connect(&self.system_address(peer))
            .map_err(|error| SocketError::new(Operation::Connect, peer, error))
    }

    /// Sends one datagram to the connected peer.
    ///
    /// # Errors
    /// `WouldBlock` after the send timeout, `ConnectionRefused` when the peer's port is
    /// closed, and others of `send(2)`.
    #[inline]
    pub fn send(&self, data: &[u8]) -> io::Result<usize> {
        retry(|| self.socket.send_with_flags(data, stream::SEND_FLAGS))
    }

    /// Sends one datagram to the connected peer if the send buffer has room.
    ///
    /// # Errors
    /// `WouldBlock` when it has not; others as [`UdpSocket::send`].
    #[inline]
    pub fn send_nonblocking(&self, data: &[u8]) -> io::Result<usize> {
        retry(|| stream::send_nonblocking(&self.socket, data))
    }

    /// Sends one datagram to `peer`.
    ///
    /// # Errors
    /// As [`UdpSocket::send`].
    #[inline]
    pub fn send_to(&self, data: &[u8], peer: SocketAddr) -> io::Result<usize> {
        let peer = self.system_address(peer);
        self.dispatch(data.len(), || {
            self.socket
                .send_to_with_flags(data, &peer, stream::SEND_FLAGS)
        })
    }

    /// Sends one datagram to `peer` with `marks` of its own; where the system cannot, with the
    /// socket's.
    ///
    /// # Errors
    /// As [`UdpSocket::send`]; `EINVAL` for a source that is no own address.
    pub fn send_marked_to(&self, data: &[u8], peer: SocketAddr, marks: Marks) -> io::Result<usize> {
        self.send_addressed(data, &self.addressee(peer, marks))
    }

    fn addressee(&self, peer: SocketAddr, marks: Marks) -> Addressee {
        Addressee {
            peer: self.system_address(peer),
            is_v4: address::unmapped(peer).is_ipv4(),
            on_v6: self.is_v6,
            marks,
        }
    }

    #[inline]
    fn send_addressed(&self, data: &[u8], to: &Addressee) -> io::Result<usize> {
        let plain = || {
            self.socket
                .send_to_with_flags(data, &to.peer, stream::SEND_FLAGS)
        };
        let length = data.len();
        if to.marks == Marks::default() {
            return self.dispatch(length, plain);
        }
        match self.dispatch(length, || segments::send_marked(&self.socket, data, to)) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.dispatch(length, plain)
            }
            other => other,
        }
    }

    /// Sends `data` as datagrams of `segment_size` bytes (the last may be shorter) to the
    /// connected peer or to `peer`: up to [`UdpSocket::segments_per_call`] of them with one
    /// system call where the system can segment (Linux: `UDP_SEGMENT`), else one by one.
    /// Returns the bytes sent: all of them, or those before a failure.
    ///
    /// A refusal of the segmenting call (`EINVAL`, `EIO`, `EMSGSIZE`, `EOPNOTSUPP`) is
    /// remembered for the socket's life, and the data goes out one by one.
    ///
    /// # Errors
    /// As [`UdpSocket::send`], when nothing was sent; `InvalidInput` for a segment size of 0.
    pub fn send_segments(
        &self,
        data: &[u8],
        segment_size: usize,
        peer: Option<SocketAddr>,
    ) -> io::Result<usize> {
        let to = peer.map(|peer| self.addressee(peer, Marks::default()));
        self.send_segments_addressed(data, segment_size, to.as_ref())
    }

    /// As [`UdpSocket::send_segments`] to `peer`, each datagram marked as by
    /// [`UdpSocket::send_marked_to`].
    ///
    /// # Errors
    /// As [`UdpSocket::send_segments`].
    pub fn send_marked_segments(
        &self,
        data: &[u8],
        segment_size: usize,
        peer: SocketAddr,
        marks: Marks,
    ) -> io::Result<usize> {
        let to = self.addressee(peer, marks);
        self.send_segments_addressed(data, segment_size, Some(&to))
    }

    fn send_segments_addressed(
        &self,
        data: &[u8],
        segment_size: usize,
        to: Option<&Addressee>,
    ) -> io::Result<usize> {
        if segment_size == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let group = segment_size.saturating_mul(Self::segments_per_call(segment_size));
        let mut sent = 0;
        for part in data.chunks(group) {
            match self.send_group(part, segment_size, to) {
                Ok(count) => sent += count,
                Err(error) if sent == 0 => return Err(error),
                Err(_) => break,
            }
            if !sent.is_multiple_of(group) {
                break;
            }
        }
        Ok(sent)
    }

    /// As many datagrams as one segmenting call takes.
    #[inline]
    fn send_group(
        &self,
        data: &[u8],
        segment_size: usize,
        to: Option<&Addressee>,
    ) -> io::Result<usize> {
        if data.len() > segment_size && self.supports_segmentation() {
            let send = || segments::send(&self.socket, data, segment_size, to);
            match self.dispatch(data.len(), send) {
                Err(error) if segments::is_refusal(&error) => {
                    self.segmentation.store(false, Ordering::Relaxed);
                }
                other => return other,
            }
        }
        self.send_one_by_one(data, segment_size, to)
    }

    fn send_one_by_one(
        &self,
        data: &[u8],
        segment_size: usize,
        to: Option<&Addressee>,
    ) -> io::Result<usize> {
        let mut sent = 0;
        for datagram in data.chunks(segment_size) {
            let result = match to {
                Some(to) => self.send_addressed(datagram, to),
                None => retry(|| self.socket.send_with_flags(datagram, stream::SEND_FLAGS)),
            };
            match result {
                Ok(count) => sent += count,
                Err(error) if sent == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(sent)
    }

    /// Whether [`UdpSocket::send_segments`] uses the system's segmentation.
    #[must_use]
    pub fn supports_segmentation(&self) -> bool {
        self.segmentation.load(Ordering::Relaxed)
    }

    /// Sends one by one from now on, e.g. because the caller was asked to.
    #[cfg(test)]
    pub(crate) fn disable_segmentation(&self) {
        self.segmentation.store(false, Ordering::Relaxed);
    }

    /// The most datagrams of `segment_size` bytes that one [`UdpSocket::send_segments`] call
    /// takes: min(64, 65507 / size), and at least 1.
    #[must_use]
    pub fn segments_per_call(segment_size: usize) -> usize {
        (Self::MAX_PAYLOAD / segment_size.max(1)).clamp(1, 64)
    }

    /// Receives one datagram, waiting at most the receive timeout. A longer datagram is cut.
    ///
    /// # Errors
    /// `WouldBlock` after the receive timeout; `ConnectionRefused` when an earlier datagram
    /// met a closed port; others of `recv(2)`.
    #[inline]
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let buffer = as_uninit(buffer);
        retry(|| datagrams::recv(&self.socket, buffer))
    }

    /// Receives one datagram if one has arrived.
    ///
    /// # Errors
    /// `WouldBlock` when none has; others as [`UdpSocket::recv`].
    #[inline]
    pub fn recv_nonblocking(&self, buffer: &mut [u8]) -> io::Result<usize> {
        retry(|| stream::recv_nonblocking(&self.socket, as_uninit(buffer)))
    }

    /// As [`UdpSocket::recv`], with the sender.
    ///
    /// # Errors
    /// As [`UdpSocket::recv`].
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let buffer = as_uninit(buffer);
        let (count, source) = retry(|| datagrams::recv_from(&self.socket, buffer))?;
        Ok((count, address::to_ip(&source)?))
    }

    /// Waits until the socket is ready; `false` when the time passed.
    ///
    /// # Errors
    /// Those of `poll(2)`.
    pub fn wait_ready(&self, interest: Interest, wait: Wait) -> io::Result<bool> {
        poller::wait_one(self.handle(), interest, wait)
    }

    /// Makes every call return at once instead of waiting (for use with a poller).
    ///
    /// # Errors
    /// Those of `fcntl(2)`.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.set_nonblocking(nonblocking)
    }

    /// Longest wait of a receive; `None` waits without end. At least one microsecond.
    ///
    /// # Errors
    /// Those of `setsockopt(2)`.
    pub fn set_receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket
            .set_read_timeout(at_least_a_microsecond(timeout))
    }

    /// Longest wait of a send; `None` waits without end. At least one microsecond.
    ///
    /// # Errors
    /// Those of `setsockopt(2)`.
    pub fn set_send_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket
            .set_write_timeout(at_least_a_microsecond(timeout))
    }

    /// Asks for `wanted` and returns what the system granted.
    pub fn request(&self, wanted: ReceiveFeatures) -> ReceiveFeatures {
        datagrams::request(&self.socket, self.is_v6, wanted)
    }

    /// Asks for the type-of-service byte of received datagrams, whatever else was asked for.
    /// Returns whether the system reports it.
    pub fn watch_tos(&self) -> bool {
        datagrams::watch_tos(&self.socket, self.is_v6)
    }

    /// Makes the receive buffer as large as this user may and returns its size in bytes, as the
    /// system counts it. Never makes it smaller.
    ///
    /// # Errors
    /// Those of `getsockopt(2)`.
    pub fn maximise_receive_buffer(&self) -> io::Result<u64> {
        datagrams::maximise_receive_buffer(&self.socket)?;
        self.receive_buffer()
    }

    /// Makes the send buffer at least so large, as far as this user may, and returns its size in
    /// bytes, as the system counts it: so much may wait in the queues of this host. Never makes it
    /// smaller.
    ///
    /// # Errors
    /// Those of `getsockopt(2)`.
    pub fn enlarge_send_buffer(&self, bytes: usize) -> io::Result<u64> {
        datagrams::enlarge_send_buffer(&self.socket, bytes)?;
        self.send_buffer()
    }

    /// Datagrams that this socket dropped since it was opened because its receive buffer was full,
    /// up to now (Linux: `SO_MEMINFO`). A coalesced group that is dropped counts once.
    #[must_use]
    pub fn dropped(&self) -> Option<u64> {
        datagrams::dropped(&self.socket)
    }

    /// Size of the send buffer in bytes, as the system counts it.
    ///
    /// # Errors
    /// Those of `getsockopt(2)`.
    pub fn send_buffer(&self) -> io::Result<u64> {
        self.socket.send_buffer_size().map(|bytes| bytes as u64)
    }

    /// Size of the receive buffer in bytes, as the system counts it.
    ///
    /// # Errors
    /// Those of `getsockopt(2)`.
    pub fn receive_buffer(&self) -> io::Result<u64> {
        self.socket.recv_buffer_size().map(|bytes| bytes as u64)
    }

    /// Where the system took in its last packet.
    #[must_use]
    pub fn arrivals(&self) -> Placement {
        system::arrivals(&self.socket)
    }

    /// Sets the type-of-service byte of sent packets.
    ///
    /// # Errors
    /// Those of `setsockopt(2)`.
    pub fn set_tos(&self, tos: Tos) -> io::Result<()> {
        options::set_tos(&self.socket, self.is_v6, tos)
    }

    /// The type-of-service byte of sent packets.
    ///
    /// # Errors
    /// Those of `getsockopt(2)`.
    pub fn tos(&self) -> io::Result<Tos> {
        let is_v4_traffic = !self.is_v6 || self.peer_addr().is_ok_and(|peer| peer.is_ipv4());
        options::tos(&self.socket, is_v4_traffic)
    }

    /// Sets the unicast time to live or hop limit.
    ///
    /// # Errors
    /// Those of `setsockopt(2)`.
    pub fn set_ttl(&self, hops: u8) -> io::Result<()> {
        options::set_ttl(&self.socket, self.is_v6, hops)
    }

    /// Sets the multicast time to live or hop limit.
    ///
    /// # Errors
    /// Those of `setsockopt(2)`.
    pub fn set_multicast_ttl(&self, hops: u8) -> io::Result<()> {
        if self.is_v6 {
            self.socket.set_multicast_hops_v6(u32::from(hops))
        } else {
            self.socket.set_multicast_ttl_v4(u32::from(hops))
        }
    }

    /// Decides whether the socket's packets may be fragmented, and whether what the system has
    /// learnt about the path bounds their length.
    ///
    /// # Errors
    /// `Unsupported` where the system cannot forbid fragmentation; others of `setsockopt(2)`.
    pub fn set_path_mtu_mode(&self, mode: PathMtuMode) -> io::Result<()> {
        system::set_path_mtu_mode(&self.socket, self.is_v6, mode)
    }

    /// Bytes of an IP packet that the system believes the path to the connected peer carries
    /// (Linux: `IP_MTU`, `IPV6_MTU`): the route's MTU, or what ICMP has taught.
    #[must_use]
    pub fn path_mtu(&self) -> Option<u32> {
        let is_v4_traffic = !self.is_v6 || self.peer_addr().is_ok_and(|peer| peer.is_ipv4());
        system::path_mtu(&self.socket, is_v4_traffic)
    }

    /// The most bytes of an IP packet, up to 65535, that the interface which leads to the connected peer sends,
    /// whatever is known about the path; sets [`PathMtuMode::Probe`]. `None` when the system does
    /// not report it.
    ///
    /// Nothing is sent. Linux: the interface refuses a datagram of [`UdpSocket::MAX_PAYLOAD`] bytes,
    /// which would be held back, and names the reason in the error queue. Where one takes it
    /// (loopback), and elsewhere: the interface that owns the own address.
    #[must_use]
    pub fn outgoing_mtu(&self) -> Option<u32> {
        let local = self.local_addr().ok()?;
        let longest = u32::from(u16::MAX);
        let of_address = || address::interface_mtu(&local).map(|mtu| mtu.min(longest));
        if self.set_path_mtu_mode(PathMtuMode::Probe).is_err() || !self.receive_refusals() {
            return of_address();
        }
        while self.next_returned().is_some() {}
        if returned::is_taken(&self.socket, &[0; Self::MAX_PAYLOAD]).ok()? {
            return of_address();
        }
        let found = std::iter::from_fn(|| self.next_returned());
        let own = found.take(AGAIN).find_map(|returned| match returned {
            Returned::TooLong {
                mtu,
                found_by: None,
            } => Some(mtu),
            _ => None,
        });
        own.filter(|mtu| *mtu > 0).or_else(of_address)
    }

    /// Has this host cut IPv6 packets that may be fragmented into pieces of at most `bytes`, at least
    /// 1280 (Linux: `IPV6_MTU`). Returns whether it will; IPv4 is cut by routers, too.
    pub fn set_fragment_size(&self, bytes: u32) -> bool {
        self.is_v6 && system::set_fragment_size(&self.socket, bytes).is_ok()
    }

    /// Sends one datagram to the connected peer, whatever came back for earlier ones. Returns
    /// whether it was short enough for this host's interface (in [`PathMtuMode::Classical`]: for
    /// what the system knows about the path); `false` is this host's own answer, not the path's.
    ///
    /// # Errors
    /// Others of `send(2)`.
    pub fn send_whole(&self, data: &[u8]) -> io::Result<bool> {
        // What an earlier datagram brought back is reported once, by the next call.
        for _ in 0..AGAIN_WHOLE {
            match self.send(data) {
                Ok(_) => return Ok(true),
                Err(error) if system::is_too_long(&error) => {}
                Err(error) if returned::may_be_anothers(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
            }
        }
        match self.send(data) {
            Ok(_) => Ok(true),
            Err(error) if system::is_too_long(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Receives what is sent to `group`.
    ///
    /// # Errors
    /// [`SocketError`] of `Join`.
    pub fn join(&self, group: &MulticastGroup) -> Result<(), SocketError> {
        let address = SocketAddr::new(group.address, 0);
        group
            .join(&self.socket)
            .map_err(|error| SocketError::new(Operation::Join, address, error))
    }

    /// The own address; IPv4 inside IPv6 is shown as IPv4.
    ///
    /// # Errors
    /// Those of `getsockname(2)`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        address::to_ip(&self.socket.local_addr()?)
    }

    /// The connected peer's address; IPv4 inside IPv6 is shown as IPv4.
    ///
    /// # Errors
    /// Those of `getpeername(2)`, e.g. `NotConnected`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        address::to_ip(&self.socket.peer_addr()?)
    }

    /// Takes the error that an earlier datagram left on the socket, e.g. `ConnectionRefused`.
    ///
    /// # Errors
    /// Those of `getsockopt(2)`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket.take_error()
    }

    pub(crate) fn inner(&self) -> &Socket {
        &self.socket
    }

    /// Asks the system to keep what comes back for datagrams that are sent with an address
    /// (Linux: `IP_RECVERR`, `IPV6_RECVERR`); returns whether it does. A poller reports it as
    /// data. Whoever asks must fetch it by [`UdpSocket::next_returned`].
    pub fn receive_refusals(&self) -> bool {
        let enabled = returned::ask(&self.socket, self.is_v6);
        self.receives_refusals.store(enabled, Ordering::Relaxed);
        enabled
    }

    /// Takes the oldest message of the network that has not been fetched; never waits.
    #[must_use]
    pub fn next_returned(&self) -> Option<Returned> {
        if !self.receives_refused() {
            return None;
        }
        returned::next(&self.socket)
    }

    #[inline]
    fn receives_refused(&self) -> bool {
        self.receives_refusals.load(Ordering::Relaxed)
    }

    /// Sends `length` bytes by `call`.
    #[inline]
    fn dispatch(
        &self,
        length: usize,
        mut call: impl FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        match retry(&mut call) {
            Err(error) if self.receives_refused() => self.dispatch_again(error, length, &mut call),
            other => other,
        }
    }

    /// A system that keeps what comes back reports it by the next call, too, whoever that sends to.
    #[cold]
    fn dispatch_again(
        &self,
        mut error: io::Error,
        length: usize,
        call: &mut dyn FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        for _ in 0..AGAIN {
            if returned::is_drop(&error) {
                // Sockets that do not ask count what a full queue of the host drops as sent.
                return Ok(length);
            }
            if !returned::may_be_anothers(&error) {
                break;
            }
            match retry(&mut *call) {
                Err(next) => error = next,
                sent => return sent,
            }
        }
        Err(error)
    }

    /// Whether a receive that failed for the `failures`th time in a row is to be made again.
    pub(crate) fn receives_again(&self, error: &io::Error, failures: usize) -> bool {
        self.receives_refused() && failures < AGAIN && returned::may_be_anothers(error)
    }

    fn system_address(&self, peer: SocketAddr) -> SockAddr {
        SockAddr::from(address::for_socket(self.is_v6, peer))
    }
}

impl Pollable for UdpSocket {
    fn handle(&self) -> Handle<'_> {
        Handle::of(&self.socket)
    }
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod returned_tests;
#[cfg(test)]
mod tests;
