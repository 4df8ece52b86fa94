//! What arrives on a network device, below the transport protocols.

use std::io;

use tapeline_base::WallTime;

use crate::platform::device_tap as system;
use crate::poller::{Handle, Pollable};

/// What stands in front of a packet's IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkHeader {
    /// An Ethernet header.
    Ethernet,
    /// Nothing: the device carries IP itself (TUN).
    None,
}

/// One frame, or several datagrams of one flow that the kernel carries as one.
#[derive(Clone, Copy, Debug)]
pub struct DeviceFrame<'a> {
    /// The bytes, from the link header on.
    pub bytes: &'a [u8],
    /// How they begin.
    pub link: LinkHeader,
    /// Payload of each datagram, bytes (the last may be shorter), where the frame stands for
    /// several.
    pub segment_size: Option<usize>,
    /// The checksum in the packet can be checked: it was neither checked by the device nor
    /// left to be computed by one.
    pub checksum_counts: bool,
    /// It was longer than the buffer.
    pub truncated: bool,
    /// When the kernel received it.
    pub arrival: WallTime,
}

/// Receives copies of the UDP packets that arrive on a device (Linux: `AF_PACKET`, usually
/// with `CAP_NET_RAW`). What the host itself sends is left out. Owned by one thread.
#[derive(Debug)]
pub struct DeviceTap {
    tap: system::Tap,
}

impl DeviceTap {
    /// On `device`, for packets to `port`.
    ///
    /// # Errors
    /// `PermissionDenied` without the privilege, `ENODEV` for an unknown device, `Unsupported`
    /// where the system has no such sockets.
    pub fn open(device: &str, port: u16) -> io::Result<Self> {
        system::Tap::open(device, port).map(|tap| Self { tap })
    }

    /// The next frame, if one has arrived.
    ///
    /// # Errors
    /// Those of `recvmsg(2)`, e.g. `ENETDOWN` when the device goes away.
    pub fn receive(&mut self) -> io::Result<Option<DeviceFrame<'_>>> {
        self.tap.receive()
    }
}

impl Pollable for DeviceTap {
    fn handle(&self) -> Handle<'_> {
        self.tap.handle()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::loopback::udp_pair;
    use crate::poller::{Interest, Wait, wait_one};

    #[test]
    fn frames_to_the_port_are_seen_once() {
        let (sender, receiver) = udp_pair();
        let (_, other) = udp_pair();
        let port = receiver.local_addr().unwrap().port();
        let mut tap = match DeviceTap::open("lo", port) {
            Ok(tap) => tap,
            Err(error) => {
                // Unprivileged users may not look.
                assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
                return;
            }
        };
        sender.send_to(b"other", other.local_addr().unwrap()).ok();
        sender.send(b"the payload").unwrap();
        assert!(wait_one(tap.handle(), Interest::READ, Wait::Forever).unwrap());
        let frame = tap.receive().unwrap().expect("a frame");
        assert_eq!(frame.link, LinkHeader::Ethernet);
        assert!(!frame.truncated);
        assert_eq!(frame.bytes.len(), 14 + 20 + 8 + 11);
        assert!(frame.bytes.ends_with(b"the payload"));
        assert!(tap.receive().unwrap().is_none(), "once, and nothing else");
    }

    #[test]
    fn a_device_that_is_not_there_is_named_by_the_system() {
        let error = DeviceTap::open("no-such-if", 1).unwrap_err();
        assert!(matches!(
            error.raw_os_error(),
            Some(libc::ENODEV | libc::EPERM)
        ));
    }
}
