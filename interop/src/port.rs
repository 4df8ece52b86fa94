//! Ports of servers: free ones, and those that can be called.

use std::io;
use std::net::{Ipv6Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use crate::network::Transport;
use crate::process::Running;

/// First port handed out; the range stays below the ephemeral ports (32768 on Linux).
const FIRST: u16 = 10_000;
/// Number of ports in the range.
const COUNT: u16 = 20_000;
/// Time that a server may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause between two looks at the kernel's socket tables.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

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

/// Waits until a process listens on a port of its own network.
///
/// # Errors
/// It ends before, or takes too long; the error holds what it said.
pub fn await_listening(process: &Running, transport: Transport, port: u16) -> io::Result<()> {
    let end = Instant::now() + START_TIMEOUT;
    while !listens(process.id(), transport, port) {
        if !process.is_alive() || Instant::now() >= end {
            let message = format!(
                "{} does not listen\n--- stdout\n{}--- stderr\n{}",
                process.shown(),
                process.stdout(),
                process.stderr()
            );
            return Err(io::Error::other(message));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Looks for the port in the socket tables of the process's network.
fn listens(pid: u32, transport: Transport, port: u16) -> bool {
    // `TCP_LISTEN` of the kernel's tcp_states.h; an unconnected UDP socket shows `TCP_CLOSE`.
    let (tables, state) = match transport {
        Transport::Tcp => (["tcp", "tcp6"], "0A"),
        Transport::Udp => (["udp", "udp6"], "07"),
    };
    let port = format!(":{port:04X}");
    tables.iter().any(|table| {
        let path = format!("/proc/{pid}/net/{table}");
        let table = std::fs::read_to_string(path).unwrap_or_default();
        table.lines().any(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let local = fields.next().unwrap_or_default();
            local.ends_with(&port) && fields.nth(1) == Some(state)
        })
    })
}
