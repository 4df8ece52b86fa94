//! Knowing when a server can be called.

use std::io;
use std::time::{Duration, Instant};

use crate::{Running, Transport};

/// Time that a server may take until it listens.
const START: Duration = Duration::from_secs(10);
/// Pause between two looks at the kernel's socket tables.
const POLL: Duration = Duration::from_millis(2);

/// Waits until a process listens on a port of its own network.
///
/// # Errors
/// It ends before, or takes too long; the error holds what it said.
pub fn await_listening(process: &Running, transport: Transport, port: u16) -> io::Result<()> {
    let end = Instant::now() + START;
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
        std::thread::sleep(POLL);
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
