//! Receive slots filled by `recvmmsg(2)`.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::os::fd::AsRawFd;
use std::ptr;

use socket2::Socket;
use tapeline_base::{Tos, WallTime};

use super::clock::wall_nanos;
use super::control::{ControlBuffer, RECEIVE_SPACE, messages};
use crate::address::unmapped;
use crate::udp::Datagram;

/// Parallel arrays, one element per slot, allocated once. The headers point into the other
/// arrays; these never grow, so that the pointers hold for the life of the value.
pub(crate) struct Slots {
    headers: Vec<libc::mmsghdr>,
    _vectors: Vec<libc::iovec>,
    addresses: Vec<libc::sockaddr_storage>,
    controls: Vec<ControlBuffer>,
    payload: Vec<u8>,
    slot_size: usize,
    filled: usize,
    received_at: i64,
    drops: u32,
}

// SAFETY: the raw pointers in the headers point into heap memory that this value owns alone;
// moving the value to another thread moves that ownership and no address.
unsafe impl Send for Slots {}

impl std::fmt::Debug for Slots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slots")
            .field("slots", &self.headers.len())
            .field("slot_size", &self.slot_size)
            .field("filled", &self.filled)
            .finish_non_exhaustive()
    }
}

impl Slots {
    pub(crate) fn new(slots: usize, slot_size: usize) -> Self {
        let mut payload = vec![0; slots * slot_size];
        let mut controls = vec![ControlBuffer([0; RECEIVE_SPACE]); slots];
        // SAFETY: all-zero is a valid address storage (no family).
        let mut addresses = vec![unsafe { zeroed::<libc::sockaddr_storage>() }; slots];
        let mut vectors: Vec<libc::iovec> = payload
            .chunks_exact_mut(slot_size)
            .map(|slot| libc::iovec {
                iov_base: slot.as_mut_ptr().cast(),
                iov_len: slot_size,
            })
            .collect();
        let headers = (0..slots)
            .map(|index| {
                // SAFETY: all-zero is a valid message header (no address, buffer or control).
                let mut header = unsafe { zeroed::<libc::mmsghdr>() };
                header.msg_hdr.msg_name = (&raw mut addresses[index]).cast();
                header.msg_hdr.msg_iov = &raw mut vectors[index];
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_control = controls[index].0.as_mut_ptr().cast();
                rearm(&mut header);
                header
            })
            .collect();
        Self {
            headers,
            _vectors: vectors,
            addresses,
            controls,
            payload,
            slot_size,
            filled: 0,
            received_at: 0,
            drops: 0,
        }
    }

    /// Empties the slots; only those that the kernel wrote to need new lengths.
    #[inline]
    pub(crate) fn clear(&mut self) {
        for header in &mut self.headers[..self.filled] {
            rearm(header);
        }
        self.filled = 0;
    }

    /// One `recvmmsg` call on cleared slots, of which it may fill `max` (at least 1).
    pub(crate) fn fill(
        &mut self,
        socket: &Socket,
        blocking: bool,
        max: usize,
    ) -> io::Result<usize> {
        let max = max.clamp(1, self.headers.len());
        let flags = if blocking {
            libc::MSG_WAITFORONE
        } else {
            libc::MSG_DONTWAIT
        };
        // SAFETY: every header describes memory that `self` owns and that nothing borrows while
        // `self` is borrowed mutably; the count is at most the number of headers.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                max as libc::c_uint,
                flags as _,
                ptr::null_mut(),
            )
        };
        self.filled = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        self.received_at = wall_nanos();
        self.note_drops();
        Ok(self.filled)
    }

    /// The newest datagram carries the newest count; the kernel leaves it out while it is 0.
    fn note_drops(&mut self) {
        let Some(last) = self.filled.checked_sub(1) else {
            return;
        };
        let newest = messages(self.control(last))
            .find(|message| (message.level, message.kind) == (libc::SOL_SOCKET, libc::SO_RXQ_OVFL))
            .and_then(|message| message.as_int());
        if let Some(drops) = newest {
            self.drops = drops as u32;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.filled
    }

    pub(crate) fn drops(&self) -> u32 {
        self.drops
    }

    /// The control bytes that the kernel wrote to a slot.
    #[inline]
    fn control(&self, index: usize) -> &[u8] {
        #[allow(
            clippy::unnecessary_cast,
            reason = "the width depends on the C library"
        )]
        let written = self.headers[index].msg_hdr.msg_controllen as usize;
        &self.controls[index].0[..written.min(RECEIVE_SPACE)]
    }

    /// A filled slot; `index` is below [`Slots::len`].
    #[inline]
    pub(crate) fn datagram(&self, index: usize) -> Datagram<'_> {
        let header = &self.headers[index];
        let length = (header.msg_len as usize).min(self.slot_size);
        let start = index * self.slot_size;
        let mut datagram = Datagram {
            payload: &self.payload[start..start + length],
            source: source(&self.addresses[index]),
            segment_size: None,
            arrival: WallTime::from_nanos(self.received_at),
            truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            tos: None,
            destination: None,
        };
        for message in messages(self.control(index)) {
            match (message.level, message.kind) {
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let size = message.as_int().and_then(|size| usize::try_from(size).ok());
                    datagram.segment_size = size.filter(|size| *size > 0 && *size < length);
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    if let Some(nanos) = message.as_nanos() {
                        datagram.arrival = WallTime::from_nanos(nanos);
                    }
                }
                (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    datagram.tos = message.as_byte().map(Tos);
                }
                (libc::IPPROTO_IP, libc::IP_PKTINFO) | (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    datagram.destination = message.as_destination();
                }
                _ => {}
            }
        }
        datagram
    }
}

/// Restores what a receive call overwrites in a header.
#[inline]
fn rearm(header: &mut libc::mmsghdr) {
    header.msg_len = 0;
    header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    header.msg_hdr.msg_controllen = RECEIVE_SPACE as _;
    header.msg_hdr.msg_flags = 0;
}

/// The sender's address; unspecified for a family that a UDP socket cannot have.
#[inline]
pub(crate) fn source(storage: &libc::sockaddr_storage) -> SocketAddr {
    let address: *const libc::sockaddr_storage = storage;
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says so, and the storage is large and aligned enough.
            let v4 = unsafe { &*address.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            SocketAddr::new(IpAddr::V4(ip), u16::from_be(v4.sin_port))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { &*address.cast::<libc::sockaddr_in6>() };
            unmapped(SocketAddr::V6(SocketAddrV6::new(
                v6.sin6_addr.s6_addr.into(),
                u16::from_be(v6.sin6_port),
                u32::from_be(v6.sin6_flowinfo),
                v6.sin6_scope_id,
            )))
        }
        _ => SocketAddr::from(([0, 0, 0, 0], 0)),
    }
}
