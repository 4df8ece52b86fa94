//! The datagrams of a method between a server and a client: a socket that knows its peer, and the key.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, Tos, WallTime};
use tapeline_sys::{ReceiveBatch, ReceiveFeatures, SystemClock, UdpSocket, Wait};
use tapeline_wire::native::{MethodDatagram, MethodKind, Status};

use crate::native::clock_sync::nanos;

/// Datagrams, or groups of them, that are fetched at once.
const SLOTS: usize = 32;
/// Silence after which a client that is to be sent to shows that it is still there: a server gives up
/// after a second, of which on a path with loss some signs must arrive.
const PRESENCE: Duration = Duration::from_millis(60);
/// Failures in a row after which a socket is given up, and the pause after each.
const MAX_FAILURES: u32 = 1000;
const FAILURE_PAUSE: Duration = Duration::from_millis(1);

/// A datagram of the peer with the right key.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Its first bytes.
    pub head: MethodDatagram,
    /// All of its payload, the first bytes included.
    pub payload: &'a [u8],
    /// When it arrived: the system's stamp where it has one.
    pub arrival: WallTime,
}

impl Received<'_> {
    /// What a status says.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        let behind = self.payload.get(MethodDatagram::LENGTH..)?;
        (self.head.kind == MethodKind::Status).then(|| Status::parse(behind))?
    }
}

/// The datagrams of an order.
#[derive(Debug)]
pub struct MethodFlow {
    socket: Arc<UdpSocket>,
    key: NonZeroU64,
    peer: SocketAddr,
    local: SocketAddr,
    batch: ReceiveBatch,
    buffer: Vec<u8>,
    /// Opens that were sent; the number of the next one.
    opens: u32,
    /// When the next one is due, at a client that is to be sent to.
    presence: Option<MonoTime>,
    /// Opens that are to be answered, at a server.
    unanswered: Vec<MethodDatagram>,
    sent: Sent,
    /// Receives that failed in a row.
    failures: u32,
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Datagrams.
    pub datagrams: u64,
    /// Their payload, bytes.
    pub bytes: u64,
}

impl MethodFlow {
    /// On a socket that is connected to the peer.
    ///
    /// # Errors
    /// Those of `getsockname(2)` and `getpeername(2)`.
    pub(crate) fn new(socket: UdpSocket, key: NonZeroU64) -> io::Result<Self> {
        // Where the system does not stamp arrivals, the time of reading stands in.
        socket.request(ReceiveFeatures {
            timestamps: true,
            ..ReceiveFeatures::default()
        });
        Ok(Self {
            peer: tapeline_sys::unmapped(socket.peer_addr()?),
            local: tapeline_sys::unmapped(socket.local_addr()?),
            socket: Arc::new(socket),
            key,
            batch: ReceiveBatch::coalescing(SLOTS).without_rest(),
            buffer: Vec::new(),
            opens: 0,
            presence: None,
            unanswered: Vec::new(),
            sent: Sent::default(),
            failures: 0,
        })
    }

    /// The socket, for its options and for what comes back for datagrams.
    #[must_use]
    pub fn socket(&self) -> &Arc<UdpSocket> {
        &self.socket
    }

    /// What every datagram carries.
    #[must_use]
    pub fn key(&self) -> NonZeroU64 {
        self.key
    }

    /// The other end.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// This end.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Bytes of IP and UDP headers in front of each payload.
    #[must_use]
    pub fn headers(&self) -> u16 {
        if self.peer.is_ipv4() { 28 } else { 48 }
    }

    /// What was sent by [`send`](Self::send) and [`answer`](Self::answer).
    #[must_use]
    pub fn sent(&self) -> Sent {
        self.sent
    }

    /// What the socket has dropped so far, where the system says.
    #[must_use]
    pub fn dropped(&self) -> Option<u64> {
        self.socket.dropped()
    }

    /// Receives a load: joined datagrams, counted drops, and as much room as the system gives.
    pub fn expect_load(&self) {
        self.socket.request(ReceiveFeatures::MEASURE);
        let _ = self.socket.maximise_receive_buffer();
    }

    /// Type of service of what is sent.
    ///
    /// # Errors
    /// Those of `setsockopt(2)`.
    pub fn set_tos(&self, tos: Tos) -> io::Result<()> {
        self.socket.set_tos(tos)
    }

    /// The bytes of a datagram of this kind with so much payload, at least the shortest, sent now.
    pub fn fill(&mut self, kind: MethodKind, number: u32, flags: u8, payload: usize) -> &[u8] {
        let length = payload.clamp(kind.shortest(), UdpSocket::MAX_PAYLOAD);
        // It never has anything but zeros behind what is written here.
        self.buffer.resize(length, 0);
        let head = MethodDatagram {
            kind,
            flags,
            number,
            key: self.key,
            sent: nanos(SystemClock.wall()),
        };
        self.buffer[..MethodDatagram::LENGTH].copy_from_slice(&head.encode());
        &self.buffer
    }

    /// Sends a datagram with so much payload.
    ///
    /// # Errors
    /// Those of `send(2)`: `WouldBlock` where there is no room.
    pub fn send(
        &mut self,
        kind: MethodKind,
        number: u32,
        flags: u8,
        payload: usize,
    ) -> io::Result<()> {
        self.fill(kind, number, flags, payload);
        let count = self.socket.send_nonblocking(&self.buffer)?;
        self.note_sent(count);
        Ok(())
    }

    /// Sends a status.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_status(&mut self, number: u32, status: &Status) -> io::Result<()> {
        self.fill(MethodKind::Status, number, 0, 0);
        self.buffer[MethodDatagram::LENGTH..].copy_from_slice(&status.encode());
        let sent = self.socket.send_nonblocking(&self.buffer);
        self.buffer[MethodDatagram::LENGTH..].fill(0);
        self.note_sent(sent?);
        Ok(())
    }

    /// Answers a probe or an open; nothing else has an answer.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn answer(&mut self, head: &MethodDatagram) -> io::Result<()> {
        if let Some(answer) = head.answer() {
            let count = self.socket.send_nonblocking(&answer.encode())?;
            self.note_sent(count);
        }
        Ok(())
    }

    fn note_sent(&mut self, count: usize) {
        self.sent.datagrams += 1;
        self.sent.bytes += count as u64;
        // Whatever is sent shows it, too.
        if self.presence.is_some() {
            self.keep_present(SystemClock.now());
        }
    }

    /// Shows the key, or that this client is still there.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) fn show_key(&mut self) -> io::Result<()> {
        self.opens = self.opens.wrapping_add(1);
        self.send(MethodKind::Open, self.opens, 0, 0)
    }

    /// From now on the key is shown again and again by [`receive`](Self::receive) and
    /// [`stay_present`](Self::stay_present): the server sends to nobody who is silent.
    pub(crate) fn keep_present(&mut self, now: MonoTime) {
        self.presence = Some(now + PRESENCE);
    }

    /// From now on a load that does not pass through here shows it.
    pub(crate) fn leave_presence_to_load(&mut self) {
        self.presence = None;
    }

    /// Shows that this client is still there, where that is due.
    pub fn stay_present(&mut self) {
        let now = SystemClock.now();
        if self.presence.is_some_and(|due| now >= due) {
            self.presence = Some(now + PRESENCE);
            // One that does not leave is followed by others.
            let _ = self.show_key();
        }
    }

    /// Answers every probe of the peer that has arrived, or does within `wait`; returns the lengths of their
    /// payloads.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn answer_probes(&mut self, wait: Duration) -> io::Result<Vec<usize>> {
        let mut heads = Vec::new();
        self.receive(wait, |datagram| {
            if datagram.head.kind == MethodKind::Probe {
                heads.push((datagram.head, datagram.payload.len()));
            }
        })?;
        for (head, _) in &heads {
            // One that does not leave is asked for again.
            let _ = self.answer(head);
        }
        Ok(heads.into_iter().map(|(_, length)| length).collect())
    }

    /// Answers opens, and hands every datagram of the peer that has arrived, or does within `wait`, to
    /// `take`; returns how many there were. Those without the right key do not count, and what the network says of earlier datagrams
    /// is not an error.
    ///
    /// # Errors
    /// Those of `recvmsg(2)`.
    pub fn receive(
        &mut self,
        wait: Duration,
        mut take: impl FnMut(Received<'_>),
    ) -> io::Result<usize> {
        self.stay_present();
        let wait = match self.presence {
            Some(due) => wait.min(due.since(SystemClock.now())),
            None => wait,
        };
        match self.batch.receive(&self.socket, Wait::AtMost(wait)) {
            Ok(_) => self.failures = 0,
            // What the network says of a datagram is told once: others may still pass.
            Err(error) => {
                self.failures += 1;
                if self.failures > MAX_FAILURES {
                    return Err(error);
                }
                std::thread::sleep(FAILURE_PAUSE);
                return Ok(0);
            }
        }
        let mut count = 0;
        for datagram in self.batch.datagrams() {
            for payload in datagram.segments() {
                let head = MethodDatagram::parse(payload);
                if let Some(head) = head.filter(|head| head.key == self.key) {
                    count += 1;
                    if head.kind == MethodKind::Open {
                        self.unanswered.push(head);
                    }
                    take(Received {
                        head,
                        payload,
                        arrival: datagram.arrival,
                    });
                }
            }
        }
        // The client repeats them until it is answered.
        for head in std::mem::take(&mut self.unanswered) {
            let _ = self.answer(&head);
        }
        Ok(count)
    }
}
