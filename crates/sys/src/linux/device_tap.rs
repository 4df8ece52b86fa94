//! `packet(7)`.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::AsRawFd;

use libc::c_int;
use socket2::{Domain, Protocol, Socket, Type};
use tapeline_base::WallTime;

use super::clock::wall_nanos;
use super::control::{ControlBuffer, RECEIVE_SPACE, messages};
use super::sockopt::{self, Plain};
use crate::device_tap::{DeviceFrame, LinkHeader};
use crate::platform::resolver;
use crate::poller::Handle;

/// `linux/if_packet.h`: each frame is preceded by what the device knows of it.
const PACKET_VNET_HDR: c_int = 15;
const SOL_PACKET: c_int = 263;
/// A frame that this host sends.
const PACKET_OUTGOING: u8 = 4;

/// `struct virtio_net_hdr` (`linux/virtio_net.h`): flags, kind of segmentation, header length,
/// segment size, checksum start and offset.
const DEVICE_WORDS: usize = 10;
/// The checksum is left to be computed, or was found right by the device.
const NEEDS_CHECKSUM: u8 = 1;
const CHECKED: u8 = 2;

/// The longest frame, coalesced ones included.
const LONGEST: usize = DEVICE_WORDS + 18 + 65_536;

#[derive(Debug)]
pub(crate) struct Tap {
    socket: Socket,
    buffer: Vec<u8>,
    control: Box<ControlSpace>,
}

struct ControlSpace(ControlBuffer);

impl std::fmt::Debug for ControlSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ControlSpace")
    }
}

impl Tap {
    pub(crate) fn open(device: &str, port: u16) -> io::Result<Self> {
        // No protocol: nothing arrives before the filter is there.
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))?;
        let index =
            resolver::index_of(device).ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))?;
        sockopt::set::<c_int>(&socket, SOL_PACKET, PACKET_VNET_HDR, 1)?;
        let _ = sockopt::set::<c_int>(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
        let _ = super::datagrams::maximise_receive_buffer(&socket);
        filter(&socket, port)?;
        // SAFETY: all-zero is a valid address of no family.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as c_int;
        // SAFETY: pointer and length describe `address`, which outlives the call.
        let bound = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if bound != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            socket,
            buffer: vec![0; LONGEST],
            control: Box::new(ControlSpace(ControlBuffer([0; RECEIVE_SPACE]))),
        })
    }

    pub(crate) fn handle(&self) -> Handle<'_> {
        Handle::of(&self.socket)
    }

    pub(crate) fn receive(&mut self) -> io::Result<Option<DeviceFrame<'_>>> {
        let (length, truncated, arrival, link) = loop {
            let (length, message, address) = match self.call() {
                Ok(received) => received,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(None),
                    io::ErrorKind::Interrupted => continue,
                    _ => return Err(error),
                },
            };
            let link = match address.sll_hatype {
                libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => LinkHeader::Ethernet,
                libc::ARPHRD_NONE => LinkHeader::None,
                _ => continue,
            };
            if address.sll_pkttype == PACKET_OUTGOING || length < DEVICE_WORDS {
                continue;
            }
            #[allow(
                clippy::unnecessary_cast,
                reason = "the width depends on the C library"
            )]
            let written = (message.msg_controllen as usize).min(RECEIVE_SPACE);
            let stamp = messages(&self.control.0.0[..written])
                .find(|one| (one.level, one.kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS))
                .and_then(|one| one.as_nanos());
            let arrival = WallTime::from_nanos(stamp.unwrap_or_else(wall_nanos));
            let truncated = message.msg_flags & libc::MSG_TRUNC != 0;
            break (length, truncated, arrival, link);
        };
        let (facts, bytes) = self.buffer[..length.min(LONGEST)].split_at(DEVICE_WORDS);
        let segmented = facts[1] != 0;
        let segment = usize::from(u16::from_ne_bytes([facts[4], facts[5]]));
        Ok(Some(DeviceFrame {
            bytes,
            link,
            segment_size: Some(segment).filter(|size| segmented && *size > 0),
            checksum_counts: facts[0] & (NEEDS_CHECKSUM | CHECKED) == 0,
            truncated,
            arrival,
        }))
    }

    /// One `recvmsg` call.
    fn call(&mut self) -> io::Result<(usize, libc::msghdr, libc::sockaddr_ll)> {
        // SAFETY: all-zero is a valid address and a valid message header.
        let (mut address, mut message) =
            unsafe { (zeroed::<libc::sockaddr_ll>(), zeroed::<libc::msghdr>()) };
        let mut vector = libc::iovec {
            iov_base: self.buffer.as_mut_ptr().cast(),
            iov_len: self.buffer.len(),
        };
        message.msg_name = (&raw mut address).cast();
        message.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        message.msg_control = self.control.0.0.as_mut_ptr().cast();
        message.msg_controllen = RECEIVE_SPACE as _;
        // SAFETY: the header describes memory that lives until the call returns.
        let count = unsafe {
            libc::recvmsg(
                self.socket.as_raw_fd(),
                &raw mut message,
                libc::MSG_DONTWAIT,
            )
        };
        match usize::try_from(count) {
            Ok(count) => Ok((count, message, address)),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}

// SAFETY: a length and a pointer; the kernel reads the instructions behind it during the call.
unsafe impl Plain for libc::sock_fprog {}

/// Offset of the IP header in a classic filter, whatever stands before it.
const IP: u32 = libc::SKF_NET_OFF as u32;

/// Lets UDP packets to `port` through, over IPv4 (first fragments too) and IPv6 without
/// extension headers.
fn filter(socket: &Socket, port: u16) -> io::Result<()> {
    use libc::{
        BPF_ABS, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K,
        BPF_LD, BPF_LDX, BPF_MSH, BPF_RET,
    };
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let port = u32::from(port);
    let udp = libc::IPPROTO_UDP as u32;
    let mut program = [
        step(BPF_LD | BPF_B | BPF_ABS, 0, 0, IP),
        step(BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xf0),
        step(BPF_JMP | BPF_JEQ | BPF_K, 0, 7, 0x40),
        step(BPF_LD | BPF_B | BPF_ABS, 0, 0, IP.wrapping_add(9)),
        step(BPF_JMP | BPF_JEQ | BPF_K, 0, 11, udp),
        step(BPF_LD | BPF_H | BPF_ABS, 0, 0, IP.wrapping_add(6)),
        step(BPF_JMP | BPF_JSET | BPF_K, 9, 0, 0x1fff),
        step(BPF_LDX | BPF_B | BPF_MSH, 0, 0, IP),
        step(BPF_LD | BPF_H | BPF_IND, 0, 0, IP.wrapping_add(2)),
        step(BPF_JMP | BPF_JEQ | BPF_K, 5, 6, port),
        step(BPF_JMP | BPF_JEQ | BPF_K, 0, 5, 0x60),
        step(BPF_LD | BPF_B | BPF_ABS, 0, 0, IP.wrapping_add(6)),
        step(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, udp),
        step(BPF_LD | BPF_H | BPF_ABS, 0, 0, IP.wrapping_add(42)),
        step(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, port),
        step(BPF_RET | BPF_K, 0, 0, u32::MAX),
        step(BPF_RET | BPF_K, 0, 0, 0),
    ];
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    sockopt::set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program)
}
