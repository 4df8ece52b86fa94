//! Short faults: what passers-by do to a port.

use std::io::Write;
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::time::Duration;

use interop::{Invocation, Program};

/// A fault against the server on a port of loopback.
type Harm = fn(u16);

pub(crate) const ALL: [Harm; 7] = [
    looks_in,
    falls_silent,
    talks_nonsense,
    floods_with_beginnings,
    floods_with_nonsense,
    is_killed_over_tcp,
    is_killed_over_udp,
];

/// Connections or datagrams at once.
const MANY: usize = 50;

fn connections(port: u16) -> Vec<TcpStream> {
    let connect = |_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok();
    (0..MANY).filter_map(connect).collect()
}

fn looks_in(port: u16) {
    drop(connections(port));
}

fn falls_silent(port: u16) {
    let held = connections(port);
    std::thread::sleep(Duration::from_secs(1));
    drop(held);
}

fn talks_nonsense(port: u16) {
    for (number, mut stream) in connections(port).into_iter().enumerate() {
        let byte = number.to_le_bytes()[0].wrapping_mul(31);
        // The server may have closed it.
        let _ = stream.write_all(&vec![byte; 1 + number * 7]);
    }
}

/// A first datagram of iperf 2 from many ports.
fn floods_with_beginnings(port: u16) {
    send(port, &{
        let mut datagram = [0; 64];
        datagram[4..12].copy_from_slice(&[0x65, 0, 0, 0, 0, 0, 0, 1]);
        datagram
    });
}

fn floods_with_nonsense(port: u16) {
    send(port, &[0xa5; 40]);
}

fn send(port: u16, datagram: &[u8]) {
    for _ in 0..MANY {
        if let Ok(socket) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)) {
            let _ = socket.send_to(datagram, (Ipv4Addr::LOCALHOST, port));
        }
    }
}

fn is_killed_over_tcp(port: u16) {
    kill(port, "-b 20m --full-duplex");
}

fn is_killed_over_udp(port: u16) {
    kill(port, "-u -b 5m");
}

fn kill(port: u16, line: &str) {
    let client = Invocation::new(Program::TapelineAsIperf)
        .args(["-c", "127.0.0.1", "-t", "10", "-p", &port.to_string()])
        .line(line)
        .spawn();
    if let Ok(client) = client {
        std::thread::sleep(Duration::from_millis(500));
        let _ = client.kill();
    }
}
