//! Connections of a TCP server whose first message is not complete: read as bytes come, few enough, and not for
//! ever.
//!
//! Descriptors are kept for the time when there are no others: with them connections that cannot be served are
//! rejected, where they would wait until somebody else has gone. One that was sent the reason stays open for a
//! moment: what its client has sent is not read, and a connection that is closed then is reset, which may
//! overtake the reason.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use std::{io, panic};

use tapeline_base::{FlowTag, MonoTime, Transport};
use tapeline_report::Connected;
use tapeline_sys::{Events, Interest, Poller, TcpConn, TcpListener, Wait, Waker};

use crate::iperf2::banner;
use crate::iperf2::first_message::{FirstMessageReader, Progress, Request};
use crate::plan::Limits;
use crate::policy::{Policy, Source};
use crate::run::context::Context;

pub(crate) const LISTENER: u64 = u64::MAX;
pub(crate) const WAKER: u64 = u64::MAX - 1;
pub(crate) const INTERRUPTION: u64 = u64::MAX - 2;
/// Connections before their tests; the oldest is dropped beyond. A client may open all of its
/// connections before it says on any of them what it wants.
const MAX_PENDING: usize = 16_384;

/// A connection before its test.
pub(crate) struct PendingConnection {
    pub(crate) conn: TcpConn,
    pub(crate) peer: SocketAddr,
    pub(crate) accepted: MonoTime,
    pub(crate) reader: FirstMessageReader,
}

/// What was read of a first message.
pub(crate) enum ReadOutcome {
    /// Not all of it yet.
    Part,
    Whole(Request),
    /// Somebody who looked in, or went away.
    Nothing,
    /// The sentence says why.
    Refused(String),
    WrongKey,
}

impl PendingConnection {
    /// Reads what is there of the first message; a fault in its code costs this connection alone.
    pub(crate) fn read(&mut self) -> ReadOutcome {
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| self.read_bytes()));
        outcome.unwrap_or_else(|_| ReadOutcome::Refused("internal fault".into()))
    }

    fn read_bytes(&mut self) -> ReadOutcome {
        let mut buffer = [0; 256];
        let mut progress = self.reader.progress();
        loop {
            match progress {
                Progress::Ready(request) => return ReadOutcome::Whole(request),
                Progress::Refused(reason) => return ReadOutcome::Refused(reason.to_owned()),
                Progress::WrongKey => return ReadOutcome::WrongKey,
                Progress::Need(count) => {
                    let room = &mut buffer[..count.min(256)];
                    match self.conn.recv_nonblocking(room) {
                        // A connection test, or somebody who looked in.
                        Ok(0) if self.reader.is_empty() => return ReadOutcome::Nothing,
                        Ok(0) => {
                            return ReadOutcome::Refused("closed within its first message".into());
                        }
                        Ok(read) => progress = self.reader.push(&room[..read]),
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            return ReadOutcome::Part;
                        }
                        Err(_) => return ReadOutcome::Nothing,
                    }
                }
            }
        }
    }

    /// Its connection line, when it becomes no flow.
    pub(crate) fn line(&self, tag: FlowTag, context: &Context) -> Option<Connected> {
        let local = self.conn.local_addr().ok()?;
        let mut line = banner::connected(tag, Transport::Tcp, local, self.peer);
        line.initial = banner::initial_tcp(&self.conn);
        line.at = Some(context.wall());
        Some(line)
    }
}

/// PendingConnection connections, and the listener that they come from.
pub(crate) struct PendingConnections {
    poller: Poller,
    /// By token, and so in the order of arrival.
    pending: BTreeMap<u64, PendingConnection>,
    /// Those of foreign sources.
    foreign: Foreign,
    next_token: u64,
    /// How long a first message may take; `None` for ever.
    timeout: Option<Duration>,
    accepting: bool,
}

impl PendingConnections {
    /// Waits for connections of `listener`, until `waker` or `interruption` says otherwise.
    ///
    /// # Errors
    /// The process is out of descriptors.
    pub(crate) fn open(
        listener: &TcpListener,
        waker: &Waker,
        interruption: &Waker,
        timeout: Option<Duration>,
    ) -> io::Result<Self> {
        let mut poller = Poller::new()?;
        poller.register(listener, LISTENER, Interest::READ)?;
        poller.register(waker, WAKER, Interest::READ)?;
        poller.register(interruption, INTERRUPTION, Interest::READ)?;
        Ok(Self {
            poller,
            pending: BTreeMap::new(),
            foreign: Foreign::default(),
            next_token: 0,
            timeout,
            accepting: true,
        })
    }

    /// Waits for the listener, the wakers and the connections.
    ///
    /// # Errors
    /// Those of the system's call.
    pub(crate) fn wait(&mut self, events: &mut Events, wait: Wait) -> io::Result<()> {
        self.poller.wait(events, wait).map(drop)
    }

    /// Whether the listener is outcome. While it is not, connections wait in the kernel's queue.
    pub(crate) fn set_accepting(&mut self, listener: &TcpListener, wanted: bool) {
        if wanted != self.accepting {
            let interest = if wanted {
                Interest::READ
            } else {
                Interest::NONE
            };
            let changed = self.poller.modify(listener, LISTENER, interest);
            self.accepting = changed.is_ok() && wanted;
        }
    }

    /// Takes another connection, and gives up an older one for it where there are too many.
    pub(crate) fn enter(&mut self, one: PendingConnection, policy: &Policy) {
        let token = self.next_token;
        self.next_token += 1;
        let registered = self.poller.register(&one.conn, token, Interest::READ);
        if registered.is_err() {
            return;
        }
        if self.pending.len() >= MAX_PENDING {
            self.take_oldest();
        }
        if !policy.trusts(one.peer.ip()) {
            let source = one.peer.ip().into();
            if let Some(other) = self.foreign.giving_way(source, &policy.limits()) {
                self.take(other);
            }
            self.foreign.add(source, token);
        }
        self.pending.insert(token, one);
    }

    pub(crate) fn get(&mut self, token: u64) -> Option<&mut PendingConnection> {
        self.pending.get_mut(&token)
    }

    /// Removes a connection from those that are read.
    pub(crate) fn take(&mut self, token: u64) -> Option<PendingConnection> {
        let one = self.pending.remove(&token)?;
        self.foreign.remove(one.peer.ip().into(), token);
        let _ = self.poller.deregister(&one.conn);
        Some(one)
    }

    /// Gives up the connection that has said nothing for the longest time.
    pub(crate) fn take_oldest(&mut self) -> Option<PendingConnection> {
        let (&token, _) = self.pending.first_key_value()?;
        self.take(token)
    }

    /// When a first message takes too long.
    pub(crate) fn slow_at(&self) -> Option<MonoTime> {
        let oldest = self.pending.values().next()?;
        Some(oldest.accepted + self.timeout?)
    }

    /// Gives up a connection whose first message takes too long.
    pub(crate) fn take_slow(&mut self, now: MonoTime) -> Option<PendingConnection> {
        self.slow_at().filter(|at| now >= *at)?;
        self.take_oldest()
    }
}

/// Tokens of connections that are not of trusted sources.
#[derive(Debug, Default)]
struct Foreign(BTreeSet<(Source, u64)>);

impl Foreign {
    fn add(&mut self, source: Source, token: u64) {
        self.0.insert((source, token));
    }

    fn remove(&mut self, source: Source, token: u64) {
        self.0.remove(&(source, token));
    }

    /// Which one is given up so that `source` may have another: the oldest of its own when it has
    /// too many, the oldest of all when they are too many together.
    fn giving_way(&self, source: Source, limits: &Limits) -> Option<u64> {
        let mut own = self.0.range((source, 0)..=(source, u64::MAX));
        let oldest = own.next().map(|(_, token)| *token);
        let of_source = own.count() + usize::from(oldest.is_some());
        if of_source >= limits.pending_of_source {
            oldest
        } else if self.0.len() >= limits.pending {
            self.0.iter().map(|(_, token)| *token).min()
        } else {
            None
        }
    }
}

/// Descriptors that are kept. One would do if nobody else took it in the moment between its close and
/// the accept.
const SPARE_DESCRIPTORS: usize = 4;
/// Connections that are rejected before a pause.
const SHED_AT_ONCE: usize = 16;
/// The pause, so that running out of descriptors costs no processor.
const PAUSE: Duration = Duration::from_millis(20);
/// How often it is logged.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The spare descriptors of one listener.
#[derive(Debug)]
pub(crate) struct SpareDescriptors {
    /// Only their descriptors are of use.
    wakers: Vec<Waker>,
    /// When running out was logged last.
    logged: Option<MonoTime>,
}

impl SpareDescriptors {
    pub(crate) fn new() -> Self {
        let mut spare_descriptors = Self {
            wakers: Vec::with_capacity(SPARE_DESCRIPTORS),
            logged: None,
        };
        spare_descriptors.fill();
        spare_descriptors
    }

    /// Takes what is missing, as far as it can be had. To be called before an accept takes it.
    pub(crate) fn fill(&mut self) {
        while self.wakers.len() < SPARE_DESCRIPTORS
            && let Ok(spare) = Waker::new()
        {
            self.wakers.push(spare);
        }
    }

    /// Whether another failure to accept is logged.
    pub(crate) fn logs(&mut self, now: MonoTime) -> bool {
        let due = self
            .logged
            .is_none_or(|logged| now.since(logged) >= LOG_INTERVAL);
        if due {
            self.logged = Some(now);
        }
        due
    }

    /// Closes connections that wait in the queue, and rests.
    pub(crate) fn shed(&mut self, listener: &TcpListener) {
        self.wakers.pop();
        for _ in 0..SHED_AT_ONCE {
            // Whatever it fails with, it is tried again after the rest.
            let Ok(Some(_)) = listener.accept() else {
                break;
            };
        }
        self.fill();
        std::thread::sleep(PAUSE);
    }
}

/// Time for a client to read the reason.
const LINGER_TIME: Duration = Duration::from_secs(3);
/// Connections that are kept; the oldest one gives way.
const MAX: usize = 256;

/// The connections, or what stands for them; closed by being dropped.
#[derive(Debug)]
pub(crate) struct LingeringConnections<C>(VecDeque<(MonoTime, C)>);

impl<C> LingeringConnections<C> {
    /// None.
    pub(crate) const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Keeps another one for a moment.
    pub(crate) fn keep(&mut self, conn: C, now: MonoTime) {
        if self.0.len() >= MAX {
            self.0.pop_front();
        }
        self.0.push_back((now + LINGER_TIME, conn));
    }

    /// When the next one is to be closed.
    pub(crate) fn due(&self) -> Option<MonoTime> {
        self.0.front().map(|(until, _)| *until)
    }

    /// Closes those whose time is over.
    pub(crate) fn close_old(&mut self, now: MonoTime) {
        while self.due().is_some_and(|until| now >= until) {
            self.0.pop_front();
        }
    }

    /// Closes the oldest one; whether there was one.
    pub(crate) fn give_up_oldest(&mut self) -> bool {
        self.0.pop_front().is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn a_source_with_too_many_gives_way_to_itself_and_otherwise_the_oldest_of_all() {
        let source = |last: u8| Source::from(IpAddr::from([192, 0, 2, last]));
        let limits = Limits {
            pending: 3,
            pending_of_source: 2,
            ..Limits::default()
        };
        let mut foreign = Foreign::default();
        for (last, token) in [(9, 0), (1, 1), (9, 2)] {
            assert_eq!(foreign.giving_way(source(7), &limits), None);
            foreign.add(source(last), token);
        }
        assert_eq!(foreign.giving_way(source(9), &limits), Some(0));
        assert_eq!(foreign.giving_way(source(1), &limits), Some(0));
        foreign.remove(source(9), 0);
        assert_eq!(foreign.giving_way(source(9), &limits), None);
        foreign.add(source(9), 3);
        assert_eq!(foreign.giving_way(source(9), &limits), Some(2));
        assert_eq!(foreign.giving_way(source(7), &limits), Some(1));
    }

    fn at(seconds: u64) -> MonoTime {
        MonoTime::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn running_out_is_logged_once_a_minute() {
        let mut spare_descriptors = SpareDescriptors::new();
        let logged: Vec<u64> = (100..300)
            .filter(|s| spare_descriptors.logs(at(*s)))
            .collect();
        assert_eq!(logged, [100, 160, 220, 280]);
    }

    #[test]
    fn few_are_kept_and_not_for_long() {
        let conn = Rc::new(());
        let open = || Rc::strong_count(&conn) - 1;
        let mut lingering = LingeringConnections::new();
        let mut now = MonoTime::ZERO;
        assert_eq!(lingering.due(), None);
        for _ in 0..MAX + 5 {
            lingering.keep(Rc::clone(&conn), now);
        }
        assert_eq!(open(), MAX);
        assert!(lingering.give_up_oldest());
        now += LINGER_TIME;
        lingering.keep(Rc::clone(&conn), now);
        lingering.close_old(now);
        assert_eq!((open(), lingering.due()), (1, Some(now + LINGER_TIME)));
        drop(lingering);
        assert_eq!(open(), 0);
    }
}
