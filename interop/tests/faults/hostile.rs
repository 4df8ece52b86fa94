//! A server that means no good, or no longer knows what it does: one way of acting towards all who
//! connect.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use crate::subject::noise;

/// How the server acts on a connection, whose number it is given (0 is the first one). A connection
/// that it returns is held open.
pub(crate) type Act = fn(usize, TcpStream) -> Option<TcpStream>;

/// States of iperf3's control connection.
const PARAM_EXCHANGE: u8 = 9;
const CREATE_STREAMS: u8 = 10;
const TEST_START: u8 = 1;
const TEST_RUNNING: u8 = 2;
const EXCHANGE_RESULTS: u8 = 13;
const ACCESS_DENIED: u8 = 0xff;
const SERVER_ERROR: u8 = 0xfe;
/// Bytes of its cookie.
const COOKIE: usize = 37;
/// Nonsense that is sent, bytes.
const GARBAGE: usize = 65_536;
/// Depth of JSON that nobody means.
const DEPTH: usize = 100_000;

/// A server, until it is dropped.
pub(crate) struct HostileServer {
    port: u16,
    over: Arc<AtomicBool>,
    door: Option<JoinHandle<()>>,
}

impl HostileServer {
    pub(crate) fn new(act: Act) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
        let port = listener.local_addr().expect("its address").port();
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let door = std::thread::spawn(move || {
            let held = Arc::new(Mutex::new(Vec::new()));
            for (number, stream) in listener.incoming().enumerate() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(stream), held) = (stream, Arc::clone(&held)) else {
                    continue;
                };
                std::thread::spawn(move || {
                    if let Some(stream) = act(number, stream) {
                        held.lock().expect("no panic").push(stream);
                    }
                });
            }
        });
        Self {
            port,
            over,
            door: Some(door),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the door.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
        if let Some(door) = self.door.take() {
            let _ = door.join();
        }
    }
}

pub(crate) fn closes(_: usize, _: TcpStream) -> Option<TcpStream> {
    None
}

pub(crate) fn resets(_: usize, stream: TcpStream) -> Option<TcpStream> {
    set_socket_linger(&stream, Some(Duration::ZERO)).expect("linger");
    None
}

pub(crate) fn is_silent(_: usize, stream: TcpStream) -> Option<TcpStream> {
    Some(stream)
}

/// Reads all there is and answers nothing.
pub(crate) fn swallows(_: usize, mut stream: TcpStream) -> Option<TcpStream> {
    let mut buffer = vec![0; GARBAGE];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
    None
}

pub(crate) fn talks_nonsense(number: usize, mut stream: TcpStream) -> Option<TcpStream> {
    let mut next = noise(number as u64 + 1);
    let nonsense: Vec<u8> = (0..GARBAGE).map(|_| next()).collect();
    // The client may have gone.
    let _ = stream.write_all(&nonsense);
    swallows(number, stream)
}

/// iperf3: another test runs.
pub(crate) fn is_busy(_: usize, mut stream: TcpStream) -> Option<TcpStream> {
    cookie(&mut stream)?;
    stream.write_all(&[ACCESS_DENIED]).ok()?;
    Some(stream)
}

/// iperf3: an error whose number nobody knows.
pub(crate) fn has_an_unknown_error(_: usize, mut stream: TcpStream) -> Option<TcpStream> {
    cookie(&mut stream)?;
    stream.write_all(&[SERVER_ERROR]).ok()?;
    stream.write_all(&i32::MIN.to_be_bytes()).ok()?;
    stream.write_all(&i32::MAX.to_be_bytes()).ok()?;
    Some(stream)
}

/// iperf3: a state that there is not.
pub(crate) fn has_an_unknown_state(_: usize, mut stream: TcpStream) -> Option<TcpStream> {
    cookie(&mut stream)?;
    stream.write_all(&[77]).ok()?;
    Some(stream)
}

/// iperf3: no step behind the parameters.
pub(crate) fn stops_after_parameters(_: usize, mut stream: TcpStream) -> Option<TcpStream> {
    cookie(&mut stream)?;
    stream.write_all(&[PARAM_EXCHANGE]).ok()?;
    message(&mut stream)?;
    Some(stream)
}

/// iperf3: results of 4 GiB.
pub(crate) fn announces_much(number: usize, stream: TcpStream) -> Option<TcpStream> {
    ends_with(number, stream, |stream| {
        stream.write_all(&u32::MAX.to_be_bytes())?;
        stream.write_all(&[b' '; 1000])
    })
}

/// iperf3: results that open more than they close.
pub(crate) fn nests_deeply(number: usize, stream: TcpStream) -> Option<TcpStream> {
    ends_with(number, stream, |stream| {
        let results = vec![b'['; DEPTH];
        stream.write_all(&(DEPTH as u32).to_be_bytes())?;
        stream.write_all(&results)
    })
}

/// iperf3: no results.
pub(crate) fn keeps_its_results(number: usize, stream: TcpStream) -> Option<TcpStream> {
    ends_with(number, stream, |_| Ok(()))
}

/// iperf3: a test in order up to the results.
fn ends_with(
    number: usize,
    mut stream: TcpStream,
    results: fn(&mut TcpStream) -> std::io::Result<()>,
) -> Option<TcpStream> {
    if number > 0 {
        return swallows(number, stream);
    }
    cookie(&mut stream)?;
    stream.write_all(&[PARAM_EXCHANGE]).ok()?;
    message(&mut stream)?;
    stream
        .write_all(&[CREATE_STREAMS, TEST_START, TEST_RUNNING])
        .ok()?;
    // The client's word that the test is over.
    stream.read_exact(&mut [0]).ok()?;
    stream.write_all(&[EXCHANGE_RESULTS]).ok()?;
    message(&mut stream)?;
    results(&mut stream).ok()?;
    Some(stream)
}

fn cookie(stream: &mut TcpStream) -> Option<()> {
    stream.read_exact(&mut [0; COOKIE]).ok()
}

/// Reads a message behind its length.
fn message(stream: &mut TcpStream) -> Option<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
    stream.read_exact(&mut vec![0; length.min(GARBAGE)]).ok()
}
