//! Connections of a TCP server whose first message is not complete: read as bytes come, few
//! enough, and not for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime};
use tapeline_report::Connected;
use tapeline_sys::{Events, Interest, Poller, TcpConn, TcpListener, Wait, Waker};

use super::banner;
use super::opening::{Opening, Progress, Request};
use crate::context::Context;
use crate::plan::Limits;
use crate::policy::{Policy, Source};

pub(super) const LISTENER: u64 = u64::MAX;
pub(super) const WAKER: u64 = u64::MAX - 1;
pub(super) const INTERRUPTION: u64 = u64::MAX - 2;
/// Connections before their tests; the oldest is dropped beyond. A client may open all of its
/// connections before it says on any of them what it wants.
const MOST_PENDING: usize = 16_384;

/// A connection before its test.
pub(super) struct Pending {
    pub(super) conn: TcpConn,
    pub(super) peer: SocketAddr,
    pub(super) accepted: MonoTime,
    pub(super) opening: Opening,
}

/// What was read of a first message.
pub(super) enum Heard {
    /// Not all of it yet.
    Part,
    Whole(Request),
    /// Somebody who looked in, or went away.
    Nothing,
    /// The sentence says why.
    Refused(String),
    WrongKey,
}

impl Pending {
    /// Reads what is there of the first message; a fault in its code costs this connection alone.
    pub(super) fn hear(&mut self) -> Heard {
        let heard = panic::catch_unwind(AssertUnwindSafe(|| self.read()));
        heard.unwrap_or_else(|_| Heard::Refused("internal fault".into()))
    }

    fn read(&mut self) -> Heard {
        let mut buffer = [0; 256];
        let mut progress = self.opening.progress();
        loop {
            match progress {
                Progress::Ready(request) => return Heard::Whole(request),
                Progress::Refused(reason) => return Heard::Refused(reason.to_owned()),
                Progress::WrongKey => return Heard::WrongKey,
                Progress::Need(count) => {
                    let room = &mut buffer[..count.min(256)];
                    match self.conn.recv_nonblocking(room) {
                        // A connection test, or somebody who looked in.
                        Ok(0) if self.opening.is_empty() => return Heard::Nothing,
                        Ok(0) => return Heard::Refused("closed within its first message".into()),
                        Ok(read) => progress = self.opening.push(&room[..read]),
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            return Heard::Part;
                        }
                        Err(_) => return Heard::Nothing,
                    }
                }
            }
        }
    }

    /// Its connection line, when it becomes no flow.
    pub(super) fn line(&self, tag: FlowTag, context: &Context) -> Option<Connected> {
        let local = self.conn.local_addr().ok()?;
        let mut line = banner::connected(tag, local, self.peer);
        line.initial = banner::initial_tcp(&self.conn);
        line.at = Some(context.wall());
        Some(line)
    }
}

/// Pending connections, and the listener that they come from.
pub(super) struct Doorway {
    poller: Poller,
    /// By token, and so in the order of arrival.
    pending: BTreeMap<u64, Pending>,
    /// Those of foreign sources.
    foreign: Foreign,
    next_token: u64,
    /// How long a first message may take; `None` for ever.
    patience: Option<Duration>,
    accepting: bool,
}

impl Doorway {
    /// Waits for connections of `listener`, until `waker` or `interruption` says otherwise.
    ///
    /// # Errors
    /// The process is out of descriptors.
    pub(super) fn open(
        listener: &TcpListener,
        waker: &Waker,
        interruption: &Waker,
        patience: Option<Duration>,
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
            patience,
            accepting: true,
        })
    }

    /// Waits for the listener, the wakers and the connections.
    ///
    /// # Errors
    /// Those of the system's call.
    pub(super) fn wait(&mut self, events: &mut Events, wait: Wait) -> io::Result<()> {
        self.poller.wait(events, wait).map(drop)
    }

    /// Whether the listener is heard. While it is not, connections wait in the kernel's queue.
    pub(super) fn set_accepting(&mut self, listener: &TcpListener, wanted: bool) {
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
    pub(super) fn enter(&mut self, one: Pending, policy: &Policy) {
        let token = self.next_token;
        self.next_token += 1;
        let registered = self.poller.register(&one.conn, token, Interest::READ);
        if registered.is_err() {
            return;
        }
        if self.pending.len() >= MOST_PENDING {
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

    pub(super) fn get(&mut self, token: u64) -> Option<&mut Pending> {
        self.pending.get_mut(&token)
    }

    /// Removes a connection from those that are read.
    pub(super) fn take(&mut self, token: u64) -> Option<Pending> {
        let one = self.pending.remove(&token)?;
        self.foreign.remove(one.peer.ip().into(), token);
        let _ = self.poller.deregister(&one.conn);
        Some(one)
    }

    /// Gives up the connection that has said nothing for the longest time.
    pub(super) fn take_oldest(&mut self) -> Option<Pending> {
        let (&token, _) = self.pending.first_key_value()?;
        self.take(token)
    }

    /// When a first message takes too long.
    pub(super) fn slow_at(&self) -> Option<MonoTime> {
        let oldest = self.pending.values().next()?;
        Some(oldest.accepted + self.patience?)
    }

    /// Gives up a connection whose first message takes too long.
    pub(super) fn take_slow(&mut self, now: MonoTime) -> Option<Pending> {
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

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

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
}
