//! Connections of refused tests whose clients were told why. They stay open for a moment: what a
//! client has sent is not read, and a connection that is closed then is reset, which may overtake
//! the reason.

use std::collections::VecDeque;
use std::time::Duration;

use tapeline_base::MonoTime;

/// Time for a client to hear the reason.
const KEPT: Duration = Duration::from_secs(3);
/// Connections that are kept; the oldest one gives way.
const MOST: usize = 256;

/// The connections, or what stands for them; closed by being dropped.
#[derive(Debug)]
pub(super) struct TurnedAway<C>(VecDeque<(MonoTime, C)>);

impl<C> TurnedAway<C> {
    /// None.
    pub(super) const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Keeps another one for a moment.
    pub(super) fn keep(&mut self, conn: C, now: MonoTime) {
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back((now + KEPT, conn));
    }

    /// When the next one is to be closed.
    pub(super) fn due(&self) -> Option<MonoTime> {
        self.0.front().map(|(until, _)| *until)
    }

    /// Closes those whose time is over.
    pub(super) fn close_old(&mut self, now: MonoTime) {
        while self.due().is_some_and(|until| now >= until) {
            self.0.pop_front();
        }
    }

    /// Closes the oldest one; whether there was one.
    pub(super) fn give_up_oldest(&mut self) -> bool {
        self.0.pop_front().is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    #[test]
    fn few_are_kept_and_not_for_long() {
        let conn = Rc::new(());
        let open = || Rc::strong_count(&conn) - 1;
        let mut turned = TurnedAway::new();
        let mut now = MonoTime::ZERO;
        assert_eq!(turned.due(), None);
        for _ in 0..MOST + 5 {
            turned.keep(Rc::clone(&conn), now);
        }
        assert_eq!(open(), MOST);
        assert!(turned.give_up_oldest());
        now += KEPT;
        turned.keep(Rc::clone(&conn), now);
        turned.close_old(now);
        assert_eq!((open(), turned.due()), (1, Some(now + KEPT)));
        drop(turned);
        assert_eq!(open(), 0);
    }
}
