//! Port numbers for servers.

use std::net::{Ipv6Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

/// First port handed out; the range stays below the ephemeral ports (32768 on Linux).
const FIRST: u16 = 10_000;
/// Number of ports in the range.
const COUNT: u16 = 20_000;

static OFFSET: AtomicU16 = AtomicU16::new(0);

/// A port that is free for TCP and UDP over both address families in the caller's network.
///
/// Each call returns another port; processes start at different places of the range.
#[must_use]
pub fn free_port() -> u16 {
    let start = (std::process::id() % u32::from(COUNT)) as u16;
    for _ in 0..COUNT {
        let step = OFFSET.fetch_add(1, Ordering::Relaxed) % COUNT;
        // A stride keeps processes with neighbouring ids out of each other's way.
        let offset = (u32::from(start) * 7 + u32::from(step)) % u32::from(COUNT);
        let port = FIRST + offset as u16;
        let free = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).is_ok()
            && UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port)).is_ok();
        if free {
            return port;
        }
    }
    panic!("no free port between {FIRST} and {}", FIRST + COUNT);
}
