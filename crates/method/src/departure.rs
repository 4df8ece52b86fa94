//! Whether a server that served has gone.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Time for a server to refuse a connection, or to close the last ones that it accepted.
const REFUSAL: Duration = Duration::from_millis(500);
/// Connections that a server may close at once while it ends.
const LAST_CONNECTIONS: u32 = 3;

/// Whether a server's port refuses connections. One that waits for the first word of a client is
/// there; one that closes at once may be about to end.
pub(crate) fn refuses(server: SocketAddr) -> bool {
    for _ in 0..LAST_CONNECTIONS {
        match TcpStream::connect_timeout(&server, REFUSAL) {
            Err(error) => return error.kind() == ErrorKind::ConnectionRefused,
            Ok(connection) if is_kept(&connection) => return false,
            Ok(_) => {}
        }
    }
    false
}

/// Whether nothing comes of a connection for a while.
fn is_kept(mut connection: &TcpStream) -> bool {
    let timeout = connection.set_read_timeout(Some(REFUSAL));
    let read = timeout.and_then(|()| connection.read(&mut [0]));
    match read {
        Ok(length) => length > 0,
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn a_server_is_there_or_not() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = listener.local_addr().expect("its address");
        assert!(!refuses(server));
        drop(listener);
        assert!(refuses(server));
    }

    #[test]
    fn a_server_that_ends_closes_what_it_accepted() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = listener.local_addr().expect("its address");
        let ends = thread::spawn(move || {
            let last = listener.accept();
            drop(listener);
            drop(last);
        });
        assert!(refuses(server));
        ends.join().expect("an end");
    }
}
