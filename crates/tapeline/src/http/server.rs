//! Connections: who may have one, and for how long.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use tapeline_base::MutexExt;

use super::request::Request;
use super::response::{Response, Status};

/// Bytes of a request's head.
const MAX_HEAD_BYTES: usize = 8192;
/// Connections at a time, in all and of one address.
const MAX_CONNECTIONS: usize = 256;
const MAX_CONNECTIONS_OF_SOURCE: usize = 128;
/// Time for the head of a request to come, and for an answer to go.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a connection that could not be accepted: the process is out of something.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers a request; called in a thread of its own.
pub(crate) type Handler = Arc<dyn Fn(&Request) -> Response + Send + Sync>;

/// Listens at `ADDRESS:PORT` (`:PORT` is every address) and answers as long as the process lives,
/// in a thread of its own. Returns the address.
///
/// # Errors
/// The address cannot be had, or there is no thread.
pub(crate) fn serve(address: &str, handler: Handler) -> io::Result<SocketAddr> {
    let listener = bind(address)?;
    let local = listener.local_addr()?;
    let taken = Arc::<Taken>::default();
    thread::Builder::new()
        .name("http".into())
        .spawn(move || accept(&listener, &handler, &taken))?;
    Ok(local)
}

fn bind(address: &str) -> io::Result<TcpListener> {
    match address.strip_prefix(':') {
        // Systems without IPv6 have the other.
        Some(port) => TcpListener::bind(format!("[::]:{port}"))
            .or_else(|_| TcpListener::bind(format!("0.0.0.0:{port}"))),
        None => TcpListener::bind(&address.to_socket_addrs()?.collect::<Vec<_>>()[..]),
    }
}

/// Connections that are open, by their sources.
#[derive(Debug, Default)]
struct Taken(Mutex<HashMap<IpAddr, usize>>);

/// A connection's place, until it is dropped.
struct Place {
    taken: Arc<Taken>,
    source: IpAddr,
}

impl Taken {
    fn take(self: &Arc<Self>, source: IpAddr) -> Option<Place> {
        let source = source.to_canonical();
        let mut taken = self.lock();
        let all: usize = taken.values().sum();
        let own = taken.get(&source).copied().unwrap_or(0);
        if all >= MAX_CONNECTIONS || own >= MAX_CONNECTIONS_OF_SOURCE {
            return None;
        }
        taken.insert(source, own + 1);
        Some(Place {
            taken: Arc::clone(self),
            source,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock_unpoisoned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        if let Some(own) = taken.get_mut(&self.source) {
            *own -= 1;
        }
        taken.retain(|_, own| *own > 0);
    }
}

fn accept(listener: &TcpListener, handler: &Handler, taken: &Arc<Taken>) {
    loop {
        let Ok((connection, peer)) = listener.accept() else {
            thread::sleep(PAUSE);
            continue;
        };
        let Some(place) = taken.take(peer.ip()) else {
            // Its buffer is empty: the answer fits, and nobody waits for its reader.
            let _ = connection.set_nonblocking(true);
            let _ = (&connection).write_all(&Response::from(Status::Busy).bytes(false));
            continue;
        };
        let handler = Arc::clone(handler);
        // Without a thread the connection is closed.
        let _ = thread::Builder::new().name("http".into()).spawn(move || {
            let _place = place;
            let _ = answer(&connection, &handler);
        });
    }
}

/// Reads a request and answers it.
fn answer(connection: &TcpStream, handler: &Handler) -> io::Result<()> {
    let (response, head_only) = match head(connection, CONNECTION_TIMEOUT) {
        Ok(head) => match Request::read(&head) {
            Ok(request) => (handler(&request), request.head_only),
            Err(status) => (status.into(), false),
        },
        Err(Some(status)) => (status.into(), false),
        Err(None) => return Ok(()),
    };
    send(connection, &response.bytes(head_only))?;
    connection.shutdown(Shutdown::Write)
}

/// Sends everything within [`CONNECTION_TIMEOUT`].
fn send(mut connection: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + CONNECTION_TIMEOUT;
    while !bytes.is_empty() {
        connection.set_write_timeout(Some(left(deadline)?))?;
        match connection.write(bytes) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The time that is left, which is some.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// The bytes up to the empty line.
///
/// # Errors
/// What is to be said to a peer that sends something else; nothing when it went away.
fn head(mut connection: &TcpStream, timeout: Duration) -> Result<Vec<u8>, Option<Status>> {
    let deadline = Instant::now() + timeout;
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let left = left(deadline).map_err(|_| Some(Status::TimedOut))?;
        connection.set_read_timeout(Some(left)).map_err(|_| None)?;
        let read = match connection.read(&mut piece) {
            Ok(0) => return Err(None),
            Ok(read) => read,
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => continue,
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    return Err(Some(Status::TimedOut));
                }
                _ => return Err(None),
            },
        };
        bytes.extend_from_slice(&piece[..read]);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            bytes.truncate(end);
            return Ok(bytes);
        }
        if bytes.len() > MAX_HEAD_BYTES {
            return Err(Some(Status::TooLong));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> SocketAddr {
        let handler = |request: &Request| Response::ok("text/plain", request.path.clone());
        serve("127.0.0.1:0", Arc::new(handler)).expect("a server")
    }

    fn ask(server: SocketAddr, request: &[u8]) -> String {
        let mut connection = TcpStream::connect(server).expect("a connection");
        connection.write_all(request).expect("sent");
        let mut answer = String::new();
        // A server that has not read all of a request may reset the connection behind its answer.
        let _ = connection.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn a_request_is_answered_in_pieces_too() {
        let server = server();
        let whole = ask(server, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(whole.starts_with("HTTP/1.1 200 OK\r\n"), "{whole}");
        assert!(whole.ends_with("\r\n\r\n/metrics"), "{whole}");
        let mut connection = TcpStream::connect(server).expect("a connection");
        for byte in b"GET /x HTTP/1.1\r\n\r\n" {
            connection.write_all(&[*byte]).expect("sent");
        }
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("an answer");
        assert!(answer.ends_with("\r\n\r\n/x"), "{answer}");
    }

    #[test]
    fn nonsense_and_endless_heads_are_refused() {
        let server = server();
        assert!(ask(server, b"hello\r\n\r\n").starts_with("HTTP/1.1 400 "));
        assert!(ask(server, b"PUT / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        let long = vec![b'a'; MAX_HEAD_BYTES + 1];
        assert!(ask(server, &long).starts_with("HTTP/1.1 431 "));
    }

    #[test]
    fn who_says_nothing_is_sent_away() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let silent = TcpStream::connect(address).expect("a connection");
        let (connection, _) = listener.accept().expect("it");
        let timeout = Duration::from_millis(20);
        assert_eq!(head(&connection, timeout), Err(Some(Status::TimedOut)));
        drop(silent);
        assert_eq!(head(&connection, CONNECTION_TIMEOUT), Err(None));
    }

    #[test]
    fn places_are_bounded_by_source_and_in_all_and_come_back() {
        let taken = Arc::<Taken>::default();
        let source = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut places: Vec<Place> = (0..MAX_CONNECTIONS_OF_SOURCE)
            .map(|_| taken.take(source(1)).expect("a place"))
            .collect();
        assert!(taken.take(source(1)).is_none(), "too many of one");
        places.extend(
            (MAX_CONNECTIONS_OF_SOURCE..MAX_CONNECTIONS)
                .map(|_| taken.take(source(2)).expect("a place")),
        );
        assert!(taken.take(source(3)).is_none(), "too many");
        places.pop();
        assert!(taken.take(source(3)).is_some());
        drop(places);
        assert!(taken.lock().is_empty());
    }
}
