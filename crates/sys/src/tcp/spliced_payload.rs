//! Payload that leaves without being copied.

use std::io;

use super::connection::TcpConn;
use crate::platform::spliced_payload as system;

/// A block of payload whose pages the kernel sends again and again without copying them
/// (Linux: `vmsplice` once, then `tee` and `splice`). Owned by one sender.
#[derive(Debug)]
pub struct SplicedPayload(system::Payload);

impl SplicedPayload {
    /// Longest block that leaves in one trip, bytes: as much as a pipe holds for everybody.
    pub const LONGEST: usize = 1 << 20;

    /// `chunk` repeated to `length` bytes, or to [`LONGEST`](Self::LONGEST) where that is less.
    ///
    /// # Errors
    /// `Unsupported` where the system cannot do it; those of `pipe(2)`, `F_SETPIPE_SZ` (users
    /// may have so many large pipes only), `mmap(2)` and `vmsplice(2)`.
    pub fn new(chunk: &[u8], length: usize) -> io::Result<Self> {
        if chunk.is_empty() || length == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        system::Payload::new(chunk, length.min(Self::LONGEST)).map(Self)
    }

    /// Sends up to `max` bytes on `conn`, waiting for room at most the send timeout. What a
    /// call did not send leaves with the next ones, before the block begins again.
    ///
    /// # Errors
    /// As [`TcpConn::send`]; `InvalidInput` or `Unsupported` where sockets cannot take pages.
    #[inline]
    pub fn send(&mut self, conn: &TcpConn, max: usize) -> io::Result<usize> {
        self.0.send(conn.inner(), max)
    }
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::loopback::tcp_pair;

    fn chunk(length: usize) -> Vec<u8> {
        (0..length).map(|byte| (byte % 251) as u8).collect()
    }

    fn receive(conn: &TcpConn, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        conn.recv_exact(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn blocks_arrive_whole_and_begin_again() {
        let (client, server) = tcp_pair();
        for (length, repeated) in [(1, 1), (100, 100), (5000, 12_345), (32_768, 100_000)] {
            let chunk = chunk(length);
            let mut payload = SplicedPayload::new(&chunk, repeated).unwrap();
            let block: Vec<u8> = chunk.iter().copied().cycle().take(repeated).collect();
            for _ in 0..3 {
                let mut sent = 0;
                while sent < repeated {
                    sent += payload.send(&client, repeated - sent).unwrap();
                }
                assert_eq!(receive(&server, repeated), block, "{length} {repeated}");
            }
            // A shorter one at the end.
            let last = repeated.div_ceil(3);
            assert_eq!(payload.send(&client, last).unwrap(), last);
            assert_eq!(receive(&server, last), block[..last]);
        }
    }

    #[test]
    fn what_did_not_fit_comes_next() {
        let (client, server) = tcp_pair();
        client
            .set_send_timeout(Some(Duration::from_millis(5)))
            .unwrap();
        let chunk = chunk(32_768);
        let mut payload = SplicedPayload::new(&chunk, SplicedPayload::LONGEST).unwrap();
        let mut sent = 0;
        let error = loop {
            let left = SplicedPayload::LONGEST - sent % SplicedPayload::LONGEST;
            match payload.send(&client, left) {
                Ok(more) => sent += more,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        let expected = |length| chunk.iter().copied().cycle().take(length);
        assert!(receive(&server, sent).into_iter().eq(expected(sent)));
        let rest = SplicedPayload::LONGEST - sent % SplicedPayload::LONGEST;
        let more = payload.send(&client, rest).unwrap();
        let all: Vec<u8> = expected(sent + more).skip(sent).collect();
        assert_eq!(receive(&server, more), all);
    }

    #[test]
    fn pages_under_way_outlive_the_payload() {
        let (client, server) = tcp_pair();
        let chunk = chunk(32_768);
        let mut payload = SplicedPayload::new(&chunk, chunk.len()).unwrap();
        assert_eq!(payload.send(&client, chunk.len()).unwrap(), chunk.len());
        drop(payload);
        let reused = vec![0xff_u8; chunk.len()];
        assert_eq!(receive(&server, chunk.len()), chunk);
        drop(reused);
    }

    #[test]
    fn a_closed_peer_is_an_error() {
        let (client, server) = tcp_pair();
        drop(server);
        let mut payload = SplicedPayload::new(&chunk(4096), 4096).unwrap();
        let error = loop {
            if let Err(error) = payload.send(&client, 4096) {
                break error;
            }
        };
        let kinds = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
        assert!(kinds.contains(&error.kind()), "{error}");
    }
}
