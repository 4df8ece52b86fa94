//! A TCP connection: made within a time, or until somebody does not want to wait any more, and used.

use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, TcpKeepalive, Type};
use tapeline_base::{Placement, Tos};

use super::info::TcpInfo;
use crate::address;
use crate::error::{Operation, SocketError};
use crate::options::{self, OptionFailure, SocketOptions};
use crate::platform::{options as system, stream, tcp, tcp_info};
use crate::poller::{self, Handle, Interest, Pollable, Wait};
use crate::socket_call::{as_uninit, at_least_a_microsecond, retry};
use crate::waker::Waker;

/// A connected stream. Every method takes `&self`: one thread may send while another
/// receives and a third shuts the connection down, which wakes both.
///
/// Calls that were interrupted by a signal are repeated. Timeouts are reported as
/// [`io::ErrorKind::WouldBlock`] on every platform.
#[derive(Debug)]
pub struct TcpConn {
    socket: Socket,
    is_v6: bool,
}

/// The outcome of [`TcpConn::connect`].
#[derive(Debug)]
pub struct Connected {
    /// The connection.
    pub conn: TcpConn,
    /// From the call of `connect` to the completed handshake.
    pub connect_time: Duration,
    /// Options that the system refused.
    pub refused: Vec<OptionFailure>,
}

impl TcpConn {
    /// Connects to `peer`, from `local` where given, within `timeout` (`None`: the system's own,
    /// minutes long).
    ///
    /// # Errors
    /// [`SocketError`] of `Open`, `Bind` or `Connect`; a passed timeout is
    /// [`io::ErrorKind::TimedOut`].
    pub fn connect(
        peer: SocketAddr,
        local: Option<SocketAddr>,
        options: &SocketOptions,
        timeout: Option<Duration>,
    ) -> Result<Connected, SocketError> {
        Self::establish(peer, local, options, timeout, None)
    }

    /// As [`TcpConn::connect`], but gives up as soon as `cancel` is woken.
    ///
    /// # Errors
    /// As `connect`; a cancelled attempt is [`io::ErrorKind::Interrupted`].
    pub fn connect_or_cancel(
        peer: SocketAddr,
        local: Option<SocketAddr>,
        options: &SocketOptions,
        timeout: Option<Duration>,
        cancel: &Waker,
    ) -> Result<Connected, SocketError> {
        Self::establish(peer, local, options, timeout, Some(cancel))
    }

    fn establish(
        peer: SocketAddr,
        local: Option<SocketAddr>,
        options: &SocketOptions,
        timeout: Option<Duration>,
        cancel: Option<&Waker>,
    ) -> Result<Connected, SocketError> {
        // A socket of the local address's family reaches IPv4 peers as mapped addresses.
        let is_v6 = peer.is_ipv6() || local.is_some_and(|address| address.is_ipv6());
        let domain = if is_v6 { Domain::IPV6 } else { Domain::IPV4 };
        let open = |error| SocketError::new(Operation::Open, peer, error);
        let protocol = options.protocol.number().map_err(open)?;
        let socket = Socket::new(domain, Type::STREAM, Some(protocol)).map_err(open)?;
        let mut refused = options.for_peer(peer).apply(&socket, is_v6);
        if let Some(local) = local {
            let address = SockAddr::from(address::for_socket(is_v6, local));
            socket
                .bind(&address)
                .map_err(|error| SocketError::new(Operation::Bind, local, error))?;
        }
        let fail = |error| SocketError::new(Operation::Connect, peer, error);
        socket.set_nonblocking(true).map_err(fail)?;
        let started = Instant::now();
        let address = address::for_socket(is_v6, peer);
        let address = options::labelled(&socket, address, options.flow_label, &mut refused);
        let address = SockAddr::from(address);
        match socket.connect(&address) {
            Ok(()) => {}
            Err(error) if stream::connect_is_pending(&error) => {
                await_connection(&socket, timeout, cancel).map_err(fail)?;
            }
            Err(error) => return Err(fail(error)),
        }
        let connect_time = started.elapsed();
        socket.set_nonblocking(false).map_err(fail)?;
        let conn = Self { socket, is_v6 };
        Ok(Connected {
            conn,
            connect_time,
            refused,
        })
    }

    /// Wraps an accepted socket, made blocking.
    pub(crate) fn from_accepted(socket: Socket) -> io::Result<Self> {
        if tcp::ACCEPTED_INHERITS_NONBLOCKING {
            socket.set_nonblocking(false)?;
        }
        let is_v6 = address::is_v6(&socket);
        Ok(Self { socket, is_v6 })
    }

    /// Sends what fits, at least one byte, waiting for room at most the send timeout.
    ///
    /// # Errors
    /// `WouldBlock` after the send timeout; `BrokenPipe`, `ConnectionReset` and others of `send(2)`.
    #[inline]
    pub fn send(&self, data: &[u8]) -> io::Result<usize> {
        retry(|| self.socket.send_with_flags(data, stream::SEND_FLAGS))
    }

    /// Sends all of `data`.
    ///
    /// # Errors
    /// As [`TcpConn::send`]; what was sent before the error is not reported.
    pub fn send_all(&self, mut data: &[u8]) -> io::Result<()> {
        while !data.is_empty() {
            let sent = self.send(data)?;
            if sent == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            data = data.get(sent..).unwrap_or_default();
        }
        Ok(())
    }

    /// Sends what fits at once.
    ///
    /// # Errors
    /// `WouldBlock` when nothing fits; others as [`TcpConn::send`].
    #[inline]
    pub fn send_nonblocking(&self, data: &[u8]) -> io::Result<usize> {
        retry(|| stream::send_nonblocking(&self.socket, data))
    }

    /// Sends what fits of `chunk` repeated to `length` bytes, from `offset` of that on, in
    /// one call. The kernel copies from the same small memory again and again, which stays
    /// in the nearest cache however long the block is.
    ///
    /// # Errors
    /// As [`TcpConn::send`].
    pub fn send_repeated(&self, chunk: &[u8], offset: usize, length: usize) -> io::Result<usize> {
        if let Some(piece) = only_piece(chunk, offset, length) {
            return self.send(piece);
        }
        let mut slices = [IoSlice::new(&[]); REPETITIONS];
        let count = repeat(chunk, offset, length, &mut slices);
        retry(|| {
            self.socket
                .send_vectored_with_flags(&slices[..count], stream::SEND_FLAGS)
        })
    }

    /// As [`TcpConn::send_repeated`], without waiting.
    ///
    /// # Errors
    /// As [`TcpConn::send_nonblocking`].
    pub fn send_repeated_nonblocking(
        &self,
        chunk: &[u8],
        offset: usize,
        length: usize,
    ) -> io::Result<usize> {
        if let Some(piece) = only_piece(chunk, offset, length) {
            return self.send_nonblocking(piece);
        }
        let mut slices = [IoSlice::new(&[]); REPETITIONS];
        let count = repeat(chunk, offset, length, &mut slices);
        retry(|| stream::send_vectored_nonblocking(&self.socket, &slices[..count]))
    }

    /// Receives at least one byte, waiting at most the receive timeout; 0 at the peer's end.
    ///
    /// # Errors
    /// `WouldBlock` after the receive timeout; `ConnectionReset` and others of `recv(2)`.
    #[inline]
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let buffer = as_uninit(buffer);
        retry(|| self.socket.recv_with_flags(buffer, 0))
    }

    /// Receives exactly `buffer.len()` bytes.
    ///
    /// # Errors
    /// `UnexpectedEof` when the peer ends before; others as [`TcpConn::recv`].
    pub fn recv_exact(&self, buffer: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.recv(&mut buffer[filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
        }
        Ok(())
    }

    /// Receives what has arrived; 0 at the peer's end.
    ///
    /// # Errors
    /// `WouldBlock` when nothing has arrived; others as [`TcpConn::recv`].
    #[inline]
    pub fn recv_nonblocking(&self, buffer: &mut [u8]) -> io::Result<usize> {
        retry(|| stream::recv_nonblocking(&self.socket, as_uninit(buffer)))
    }

    /// Receives up to `max` bytes and drops them, without copying them out of the kernel
    /// where that is possible (Linux: `MSG_TRUNC`); 0 at the peer's end.
    ///
    /// # Errors
    /// As [`TcpConn::recv`].
    #[inline]
    pub fn recv_discard(&self, max: usize) -> io::Result<usize> {
        retry(|| tcp::recv_discard(&self.socket, max, false))
    }

    /// As [`TcpConn::recv_discard`], without waiting.
    ///
    /// # Errors
    /// `WouldBlock` when nothing has arrived; others as [`TcpConn::recv`].
    #[inline]
    pub fn recv_discard_nonblocking(&self, max: usize) -> io::Result<usize> {
        retry(|| tcp::recv_discard(&self.socket, max, true))
    }

    /// Receives without taking: the same bytes come again.
    ///
    /// # Errors
    /// As [`TcpConn::recv`].
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let buffer = as_uninit(buffer);
        retry(|| self.socket.peek(buffer))
    }

    /// Waits until the connection is ready; `false` when the time passed.
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

    /// Longest wait of [`TcpConn::send`]; `None` waits without end. At least one microsecond.
    ///
    /// # Errors
    /// Those of `setsockopt(2)`.
    pub fn set_send_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket
            .set_write_timeout(at_least_a_microsecond(timeout))
    }

    /// Longest wait of [`TcpConn::recv`]; `None` waits without end. At least one microsecond.
    ///
    /// # Errors
    /// Those of `setsockopt(2)`.
    pub fn set_receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket
            .set_read_timeout(at_least_a_microsecond(timeout))
    }

    /// Ends the own direction: the peer reads the end after all data. Wakes a blocked sender.
    ///
    /// # Errors
    /// Those of `shutdown(2)`, e.g. `NotConnected`.
    pub fn shutdown_write(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }

    /// Ends both directions. Wakes blocked senders and receivers.
    ///
    /// # Errors
    /// Those of `shutdown(2)`, e.g. `NotConnected`.
    pub fn shutdown_both(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Both)
    }

    /// Makes the close abort the connection (RST) instead of ending it in order.
    ///
    /// # Errors
    /// Those of `setsockopt(2)`.
    pub fn set_linger_zero(&self) -> io::Result<()> {
        self.socket.set_linger(Some(Duration::ZERO))
    }

    /// Sends small segments at once (`true`) or gathers them (`false`).
    ///
    /// # Errors
    /// Those of `setsockopt(2)`.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.socket.set_tcp_nodelay(nodelay)
    }

    /// Acknowledges at once until the kernel falls back by itself.
    ///
    /// # Errors
    /// `Unsupported` where the platform lacks it.
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        system::set_quickack(&self.socket, quickack)
    }

    /// Lets the system ask an idle peer whether it is still there, first after `idle`, then
    /// every `idle` again. A peer that never answers becomes an error of the next call, on most
    /// systems [`io::ErrorKind::TimedOut`].
    ///
    /// # Errors
    /// Those of `setsockopt(2)`.
    pub fn set_keepalive(&self, idle: Duration) -> io::Result<()> {
        let keepalive = TcpKeepalive::new().with_time(idle).with_interval(idle);
        self.socket.set_tcp_keepalive(&keepalive)
    }

    /// The same with times and number of questions of one's own; `None` leaves the system's.
    ///
    /// # Errors
    /// Those of `setsockopt(2)`.
    pub fn set_keepalive_probes(
        &self,
        idle: Option<Duration>,
        interval: Option<Duration>,
        count: Option<u32>,
    ) -> io::Result<()> {
        let mut keepalive = TcpKeepalive::new();
        if let Some(idle) = idle {
            keepalive = keepalive.with_time(idle);
        }
        if let Some(interval) = interval {
            keepalive = keepalive.with_interval(interval);
        }
        #[cfg(not(target_os = "openbsd"))]
        if let Some(count) = count {
            keepalive = keepalive.with_retries(count);
        }
        self.socket.set_keepalive(true)?;
        self.socket.set_tcp_keepalive(&keepalive)
    }

    /// Sets what a connected socket can still be asked for; returns what the system refused.
    pub fn set(&self, options: &SocketOptions) -> Vec<OptionFailure> {
        options.apply(&self.socket, self.is_v6)
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

    /// Changes the congestion control algorithm.
    ///
    /// # Errors
    /// `NotFound` for an unknown algorithm; `Unsupported` where the platform has one only.
    pub fn set_congestion(&self, name: &str) -> io::Result<()> {
        system::set_congestion(&self.socket, name)
    }

    /// The congestion control algorithm in force.
    #[must_use]
    pub fn congestion(&self) -> Option<String> {
        system::congestion(&self.socket)
    }

    /// Where the system took in its last packet.
    #[must_use]
    pub fn arrivals(&self) -> Placement {
        system::arrivals(&self.socket)
    }

    /// Maximum segment size in bytes.
    #[must_use]
    pub fn mss(&self) -> Option<u32> {
        system::mss(&self.socket)
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

    /// Reports writable only below `bytes` unsent bytes.
    ///
    /// # Errors
    /// `Unsupported` where the platform lacks it.
    pub fn set_notsent_lowat(&self, bytes: u32) -> io::Result<()> {
        system::set_notsent_lowat(&self.socket, bytes)
    }

    /// Whether the system has what [`limit_unsent`](Self::limit_unsent) needs.
    pub const LIMITS_UNSENT: bool = system::NOTSENT_LOWAT;

    /// Lets no more data wait unsent than the connection delivers in `time` at its newest rate, and two
    /// segments at least. Before a rate is known it does nothing.
    ///
    /// # Errors
    /// `Unsupported` where the platform lacks it.
    pub fn limit_unsent(&self, time: Duration) -> io::Result<()> {
        let info = self.tcp_info().ok_or(io::ErrorKind::Unsupported)?;
        let rate = info.delivery_rate.ok_or(io::ErrorKind::Unsupported)?;
        if rate == 0 {
            return Ok(());
        }
        let bytes = rate as f64 * time.as_secs_f64();
        let segments = info.snd_mss.unwrap_or(0).saturating_mul(2);
        self.set_notsent_lowat((bytes as u32).max(segments))
    }

    /// Wakes a receiver only when so many bytes have arrived (or the connection ends).
    ///
    /// # Errors
    /// `Unsupported` where the platform lacks it.
    pub fn set_receive_lowat(&self, bytes: u32) -> io::Result<()> {
        system::set_receive_lowat(&self.socket, bytes)
    }

    /// Offers the peer no larger window than `bytes` (`TCP_WINDOW_CLAMP`). The kernel forgets it when it
    /// estimates anew how much of the receive buffer is payload (`tcp_measure_rcv_mss`), so whoever
    /// wants it to last sets it again.
    ///
    /// # Errors
    /// `Unsupported` where the platform lacks it.
    pub fn set_window_clamp(&self, bytes: u32) -> io::Result<()> {
        system::set_window_clamp(&self.socket, bytes)
    }

    /// Limits the sending rate to `bytes_per_second`; `u64::MAX` removes the limit.
    ///
    /// # Errors
    /// `Unsupported` where the platform lacks it.
    pub fn set_pacing_rate(&self, bytes_per_second: u64) -> io::Result<()> {
        system::set_pacing_rate(&self.socket, bytes_per_second)
    }

    /// The connection's state as the kernel sees it.
    #[must_use]
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        tcp_info::read(&self.socket)
    }

    /// Bytes that wait in the send buffer, unacknowledged ones included (Linux: `SIOCOUTQ`; Apple:
    /// `SO_NWRITE`; FreeBSD, NetBSD: `FIONWRITE`).
    #[must_use]
    pub fn unacknowledged_bytes(&self) -> Option<u64> {
        tcp::unacknowledged_bytes(&self.socket)
    }

    /// The own address; IPv4 inside IPv6 is shown as IPv4.
    ///
    /// # Errors
    /// Those of `getsockname(2)`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        address::to_ip(&self.socket.local_addr()?)
    }

    /// The peer's address; IPv4 inside IPv6 is shown as IPv4.
    ///
    /// # Errors
    /// Those of `getpeername(2)`, e.g. `NotConnected`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        address::to_ip(&self.socket.peer_addr()?)
    }

    /// Takes the error that an asynchronous event left on the socket.
    ///
    /// # Errors
    /// Those of `getsockopt(2)`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket.take_error()
    }

    pub(crate) fn inner(&self) -> &Socket {
        &self.socket
    }
}

impl Pollable for TcpConn {
    fn handle(&self) -> Handle<'_> {
        Handle::of(&self.socket)
    }
}

impl io::Read for &TcpConn {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.recv(buffer)
    }
}

impl io::Write for &TcpConn {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.send(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits for the handshake of a non-blocking `connect`.
fn await_connection(
    socket: &Socket,
    timeout: Option<Duration>,
    cancel: Option<&Waker>,
) -> io::Result<()> {
    let wait = timeout.map_or(Wait::Forever, Wait::AtMost);
    let (connected, cancelled) = match cancel {
        None => (
            poller::wait_one(Handle::of(socket), Interest::WRITE, wait)?,
            false,
        ),
        Some(waker) => poller::wait_two(
            (Handle::of(socket), Interest::WRITE),
            (waker.handle(), Interest::READ),
            wait,
        )?,
    };
    if connected {
        return socket.take_error()?.map_or(Ok(()), Err);
    }
    if cancelled {
        return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
    }
    Err(stream::timed_out())
}

/// Most repetitions of a chunk in one call (the kernel takes 1024).
const REPETITIONS: usize = 64;

/// The bytes from `offset` to `length` where they lie within one chunk: a plain call costs less
/// than one with a list of pieces.
#[inline]
fn only_piece(chunk: &[u8], offset: usize, length: usize) -> Option<&[u8]> {
    let first = offset.checked_rem(chunk.len())?;
    chunk.get(first..first + length.saturating_sub(offset))
}

/// Points `slices` at `chunk` repeated, from `offset` to `length`; returns how many are used.
fn repeat<'a>(
    chunk: &'a [u8],
    offset: usize,
    length: usize,
    slices: &mut [IoSlice<'a>; REPETITIONS],
) -> usize {
    let mut left = length.saturating_sub(offset);
    let mut from = if chunk.is_empty() {
        0
    } else {
        offset % chunk.len()
    };
    let mut count = 0;
    while left > 0 && count < REPETITIONS && from < chunk.len() {
        let piece = (chunk.len() - from).min(left);
        slices[count] = IoSlice::new(&chunk[from..from + piece]);
        count += 1;
        left -= piece;
        from = 0;
    }
    count
}

#[cfg(test)]
mod tests;
