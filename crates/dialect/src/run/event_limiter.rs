//! What may come in floods, such as refusals: reported one by one while it is little, then as a count.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_report::{Event, Notice};

use super::context::Context;

/// Visits that are reported within a second.
const MAX_VISITS: u64 = 256;
const SPAN: Duration = Duration::from_secs(1);

/// Reports events of one kind.
pub(crate) struct EventLimiter {
    context: Arc<Context>,
    /// What is summed up.
    kind: &'static str,
    rate: RateLimit,
}

impl EventLimiter {
    /// Of peers that are refused, so many of them within a second.
    pub(crate) fn of_refusals(context: &Arc<Context>, max: u64) -> Self {
        Self {
            context: Arc::clone(context),
            kind: "refusals",
            rate: RateLimit::new(max),
        }
    }

    /// Of connections that end without a word.
    pub(crate) fn of_visits(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            kind: "connections without data",
            rate: RateLimit::new(MAX_VISITS),
        }
    }

    /// Reports another one, or counts it only.
    pub(crate) fn report(&mut self, event: impl FnOnce() -> Option<Event>) {
        if self.rate.add(self.context.now())
            && let Some(event) = event()
        {
            self.context.reporter.event(event);
        }
    }

    /// Reports a refused peer.
    pub(crate) fn refused(&mut self, peer: SocketAddr, reason: impl Into<String>) {
        self.report(|| {
            Some(Event::Notice(Notice::PeerRefused {
                peer,
                reason: reason.into(),
            }))
        });
    }

    /// Reports a fault of ours that has cost this peer its session.
    pub(crate) fn faulted(&mut self, peer: SocketAddr) {
        self.report(|| Some(Event::Notice(Notice::InternalFault { peer })));
    }

    /// When [`sum_up`](Self::sum_up) has something to report.
    pub(crate) fn due(&self) -> Option<MonoTime> {
        self.rate.due()
    }

    /// Reports how many were suppressed, once their second is over.
    pub(crate) fn sum_up(&mut self) {
        let suppressed = self.rate.suppressed(self.context.now());
        self.log_count(suppressed);
    }

    /// Reports how many were suppressed so far: no further ones come.
    pub(crate) fn finish(&mut self) {
        let suppressed = self.rate.rest();
        self.log_count(suppressed);
    }

    fn log_count(&self, suppressed: Option<u64>) {
        if let Some(suppressed) = suppressed {
            let kind = self.kind;
            let count = suppressed;
            self.context.notice(Notice::Suppressed { count, kind });
        }
    }
}

/// What may be reported in the running second.
#[derive(Debug)]
struct RateLimit {
    max: u64,
    since: MonoTime,
    count: u64,
}

impl RateLimit {
    fn new(max: u64) -> Self {
        Self {
            max,
            since: MonoTime::ZERO,
            count: 0,
        }
    }

    /// Another one; returns whether it is to be reported.
    fn add(&mut self, now: MonoTime) -> bool {
        if self.count <= self.max && now.since(self.since) >= SPAN {
            (self.since, self.count) = (now, 0);
        }
        self.count += 1;
        self.count <= self.max
    }

    /// When those that were suppressed are to be summed up.
    fn due(&self) -> Option<MonoTime> {
        (self.count > self.max).then(|| self.since + SPAN)
    }

    /// Those that were suppressed, once their second is over.
    fn suppressed(&mut self, now: MonoTime) -> Option<u64> {
        if now.since(self.since) < SPAN {
            return None;
        }
        self.rest()
    }

    /// Those that were suppressed so far.
    fn rest(&mut self) -> Option<u64> {
        let suppressed = std::mem::take(&mut self.count).checked_sub(self.max);
        suppressed.filter(|suppressed| *suppressed > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u64 = 256;

    #[test]
    fn a_flood_is_reported_in_part_and_then_summed_up() {
        let at = |millis: u64| MonoTime::from_nanos(millis * 1_000_000);
        let mut rate = RateLimit::new(MAX);
        assert!((0..MAX).all(|n| rate.add(at(5000 + n))));
        assert_eq!(rate.due(), None);
        assert!(!rate.add(at(5300)) && !rate.add(at(5400)));
        assert_eq!(rate.due(), Some(at(6000)));
        assert_eq!(rate.suppressed(at(5999)), None);
        assert_eq!(rate.suppressed(at(6000)), Some(2));
        assert_eq!((rate.due(), rate.rest()), (None, None));
        assert!(rate.add(at(6001)));
        assert_eq!(rate.suppressed(at(9000)), None, "all were told");
        let rare = |n| rate.add(at(10_000 + n * 1100));
        assert!((0..2 * MAX).all(rare), "each in a second of its own");
    }
}
