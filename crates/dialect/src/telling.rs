//! What may come in floods, such as refusals: told one by one while it is little, then as a count.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_report::{Event, Notice};

use crate::context::Context;

/// Visits that are told within a second.
const MOST_VISITS: u64 = 256;
const SPAN: Duration = Duration::from_secs(1);

/// Tells of things of one kind.
pub(crate) struct Telling {
    context: Arc<Context>,
    /// What is summed up.
    kind: &'static str,
    ration: Ration,
}

impl Telling {
    /// Of peers that are refused, so many of them within a second.
    pub(crate) fn of_refusals(context: &Arc<Context>, most: u64) -> Self {
        Self {
            context: Arc::clone(context),
            kind: "refusals",
            ration: Ration::of(most),
        }
    }

    /// Of connections that end without a word.
    pub(crate) fn of_visits(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            kind: "connections without data",
            ration: Ration::of(MOST_VISITS),
        }
    }

    /// Tells of another one, or counts it only.
    pub(crate) fn tell(&mut self, event: impl FnOnce() -> Option<Event>) {
        if self.ration.add(self.context.now())
            && let Some(event) = event()
        {
            self.context.reporter.event(event);
        }
    }

    /// Tells of a refused peer.
    pub(crate) fn refused(&mut self, peer: SocketAddr, reason: impl Into<String>) {
        self.tell(|| {
            Some(Event::Notice(Notice::PeerRefused {
                peer,
                reason: reason.into(),
            }))
        });
    }

    /// Tells of a fault of ours that has cost this peer its session.
    pub(crate) fn faulted(&mut self, peer: SocketAddr) {
        self.tell(|| Some(Event::Notice(Notice::InternalFault { peer })));
    }

    /// When [`sum_up`](Self::sum_up) has something to tell.
    pub(crate) fn due(&self) -> Option<MonoTime> {
        self.ration.due()
    }

    /// Tells how many were not told, once their second is over.
    pub(crate) fn sum_up(&mut self) {
        let untold = self.ration.untold(self.context.now());
        self.tell_count(untold);
    }

    /// Tells how many were not told so far: no further ones come.
    pub(crate) fn finish(&mut self) {
        let untold = self.ration.rest();
        self.tell_count(untold);
    }

    fn tell_count(&self, untold: Option<u64>) {
        if let Some(untold) = untold {
            let kind = self.kind;
            let count = untold;
            self.context.notice(Notice::Untold { count, kind });
        }
    }
}

/// What may be told in the running second.
#[derive(Debug)]
struct Ration {
    most: u64,
    since: MonoTime,
    count: u64,
}

impl Ration {
    fn of(most: u64) -> Self {
        Self {
            most,
            since: MonoTime::ZERO,
            count: 0,
        }
    }

    /// Another one; returns whether it is to be told.
    fn add(&mut self, now: MonoTime) -> bool {
        if self.count <= self.most && now.since(self.since) >= SPAN {
            (self.since, self.count) = (now, 0);
        }
        self.count += 1;
        self.count <= self.most
    }

    /// When those that were not told are to be summed up.
    fn due(&self) -> Option<MonoTime> {
        (self.count > self.most).then(|| self.since + SPAN)
    }

    /// Those that were not told, once their second is over.
    fn untold(&mut self, now: MonoTime) -> Option<u64> {
        if now.since(self.since) < SPAN {
            return None;
        }
        self.rest()
    }

    /// Those that were not told so far.
    fn rest(&mut self) -> Option<u64> {
        let untold = std::mem::take(&mut self.count).checked_sub(self.most);
        untold.filter(|untold| *untold > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 256;

    #[test]
    fn a_flood_is_told_in_part_and_then_summed_up() {
        let at = |millis: u64| MonoTime::from_nanos(millis * 1_000_000);
        let mut ration = Ration::of(MOST);
        assert!((0..MOST).all(|n| ration.add(at(5000 + n))));
        assert_eq!(ration.due(), None);
        assert!(!ration.add(at(5300)) && !ration.add(at(5400)));
        assert_eq!(ration.due(), Some(at(6000)));
        assert_eq!(ration.untold(at(5999)), None);
        assert_eq!(ration.untold(at(6000)), Some(2));
        assert_eq!((ration.due(), ration.rest()), (None, None));
        assert!(ration.add(at(6001)));
        assert_eq!(ration.untold(at(9000)), None, "all were told");
        let rare = |n| ration.add(at(10_000 + n * 1100));
        assert!((0..2 * MOST).all(rare), "each in a second of its own");
    }
}
