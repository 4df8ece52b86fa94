//! Which controller is active: a key that is renewed by compare-and-set, without a common clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tapeline_base::MonoTime;

use crate::job::Epoch;
use crate::store::{Expected, Read, Revision, Written};

/// The holder renews the lease this often.
const RENEWS: Duration = Duration::from_secs(5);
/// A holder stops this long after it sent its last renewal, by its own clock.
pub const STOPS: Duration = Duration::from_secs(10);
/// A stand-by takes a lease whose revision has not changed for so long, by its own clock.
pub const TAKES: Duration = Duration::from_secs(15);
/// A stand-by reads the lease this often.
pub const STAND_BY: Duration = Duration::from_secs(2);
/// Pause after an answer that says nothing.
const AGAIN: Duration = Duration::from_millis(500);

/// The value of the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRecord {
    /// Another name for each process of a controller.
    pub who: String,
}

/// What the lease needs of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseCall {
    Read,
    Write(Expected),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Take,
    Renew,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Somebody else has it, or nothing is known.
    Watching {
        /// The revision (none: there is no lease), and since when.
        seen: Option<(Option<Revision>, MonoTime)>,
    },
    /// It is held.
    Holding {
        epoch: Epoch,
        revision: Revision,
        /// When the last renewal that succeeded was sent.
        renewed: MonoTime,
        /// When the first renewal was sent of which that is not known.
        doubt: Option<MonoTime>,
    },
}

/// The lease as one controller sees it.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    who: String,
    state: State,
    /// The call under way, and when it was sent.
    call: Option<(Kind, MonoTime)>,
    next: MonoTime,
}

impl Lease {
    pub(crate) fn new(who: String) -> Self {
        Self {
            who,
            state: State::Watching { seen: None },
            call: None,
            next: MonoTime::ZERO,
        }
    }

    pub(crate) fn record(&self) -> LeaseRecord {
        LeaseRecord {
            who: self.who.clone(),
        }
    }

    /// The epoch, while the lease is held for sure.
    pub(crate) fn epoch(&self, now: MonoTime) -> Option<Epoch> {
        match self.state {
            State::Holding { epoch, renewed, .. } if now.since(renewed) < STOPS => Some(epoch),
            _ => None,
        }
    }

    /// An agent knows a greater epoch: somebody else has the lease.
    pub(crate) fn superseded(&mut self, now: MonoTime) {
        self.state = State::Watching { seen: None };
        self.next = now;
    }

    pub(crate) fn wake_at(&self) -> MonoTime {
        let call = if self.call.is_none() {
            self.next
        } else {
            MonoTime::FAR
        };
        match self.state {
            State::Holding { renewed, .. } => call.min(renewed + STOPS),
            State::Watching { .. } => call,
        }
    }

    /// The call that is due.
    pub(crate) fn due(&mut self, now: MonoTime) -> Option<LeaseCall> {
        if matches!(self.state, State::Holding { .. }) && self.epoch(now).is_none() {
            self.state = State::Watching { seen: None };
            self.next = now;
        }
        if self.call.is_some() || now < self.next {
            return None;
        }
        let (kind, call) = match self.state {
            State::Holding { doubt: Some(_), .. } => (Kind::Read, LeaseCall::Read),
            State::Holding { revision, .. } => {
                (Kind::Renew, LeaseCall::Write(Expected::At(revision)))
            }
            State::Watching {
                seen: Some((None, _)),
            } => (Kind::Take, LeaseCall::Write(Expected::Absent)),
            State::Watching {
                seen: Some((Some(revision), since)),
            } if now.since(since) >= TAKES => {
                (Kind::Take, LeaseCall::Write(Expected::At(revision)))
            }
            State::Watching { .. } => (Kind::Read, LeaseCall::Read),
        };
        self.call = Some((kind, now));
        Some(call)
    }

    /// What came of a write.
    pub(crate) fn written(&mut self, outcome: Written, now: MonoTime) {
        let Some((kind, sent)) = self.call.take() else {
            return;
        };
        self.next = now;
        match (kind, &mut self.state, outcome) {
            (Kind::Take, _, Written::At(revision)) if now.since(sent) < STOPS => {
                self.state = State::Holding {
                    epoch: Epoch(revision.0),
                    revision,
                    renewed: sent,
                    doubt: None,
                };
                self.next = sent + RENEWS;
            }
            (Kind::Take, state, _) => *state = State::Watching { seen: None },
            (
                Kind::Renew,
                State::Holding {
                    revision, renewed, ..
                },
                Written::At(new),
            ) => {
                (*revision, *renewed) = (new, sent);
                self.next = sent + RENEWS;
            }
            (Kind::Renew, State::Holding { doubt, .. }, _) => *doubt = Some(doubt.unwrap_or(sent)),
            _ => {}
        }
    }

    /// What came of a read.
    pub(crate) fn read(&mut self, outcome: &Read<LeaseRecord>, now: MonoTime) {
        if self.call.take().is_none() {
            return;
        }
        let (found, is_ours) = match outcome {
            Read::There(entry) => (Some(entry.revision), entry.value.who == self.who),
            Read::Absent => (None, false),
            Read::Unknown => {
                self.next = now + AGAIN;
                return;
            }
        };
        match &mut self.state {
            State::Holding {
                revision,
                renewed,
                doubt,
                ..
            } if is_ours => {
                self.next = now + AGAIN;
                let sent = doubt.take();
                if let Some(found) = found
                    && found > *revision
                {
                    // A renewal whose answer was lost.
                    *revision = found;
                    *renewed = sent.unwrap_or(*renewed).max(*renewed);
                    self.next = *renewed + RENEWS;
                }
            }
            State::Watching {
                seen: Some((before, _)),
            } if *before == found => {
                self.next = now + STAND_BY;
            }
            State::Holding { .. } | State::Watching { .. } => {
                self.state = State::Watching {
                    seen: Some((found, now)),
                };
                self.next = if found.is_some() { now + STAND_BY } else { now };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Entry;

    fn at(seconds: u64) -> MonoTime {
        MonoTime::ZERO + Duration::from_secs(seconds)
    }

    fn there(revision: u64, who: &str) -> Read<LeaseRecord> {
        Read::There(Entry {
            revision: Revision(revision),
            value: LeaseRecord {
                who: who.to_owned(),
            },
        })
    }

    /// A lease that is held since second 0, by revision 7.
    fn held() -> Lease {
        let mut lease = Lease::new("a".to_owned());
        assert_eq!(lease.due(at(0)), Some(LeaseCall::Read));
        lease.read(&Read::Absent, at(0));
        assert_eq!(lease.due(at(0)), Some(LeaseCall::Write(Expected::Absent)));
        lease.written(Written::At(Revision(7)), at(1));
        assert_eq!(lease.epoch(at(1)), Some(Epoch(7)));
        lease
    }

    #[test]
    fn a_holder_renews_and_keeps_its_epoch() {
        let mut lease = held();
        assert_eq!(lease.due(at(4)), None);
        assert_eq!(
            lease.due(at(5)),
            Some(LeaseCall::Write(Expected::At(Revision(7))))
        );
        lease.written(Written::At(Revision(9)), at(6));
        assert_eq!(
            lease.due(at(10)),
            Some(LeaseCall::Write(Expected::At(Revision(9))))
        );
        assert_eq!(lease.epoch(at(14)), Some(Epoch(7)));
        assert_eq!(lease.epoch(at(15)), None, "ten seconds after it was sent");
    }

    #[test]
    fn a_stand_by_takes_what_has_not_changed_for_fifteen_seconds() {
        let mut lease = Lease::new("b".to_owned());
        lease.due(at(0));
        lease.read(&there(7, "a"), at(0));
        let mut now = at(0);
        while now < at(30) {
            now = lease.wake_at();
            match lease.due(now) {
                Some(LeaseCall::Read) if now < at(10) => lease.read(&there(7, "a"), now),
                Some(LeaseCall::Read) => lease.read(&there(8, "a"), now),
                Some(LeaseCall::Write(expected)) => {
                    assert_eq!(expected, Expected::At(Revision(8)));
                    break;
                }
                None => {}
            }
        }
        assert_eq!(now, at(26), "read first at second 10, then each 2 s");
        lease.written(Written::Conflict, now);
        assert_eq!(lease.epoch(now), None);
    }

    #[test]
    fn a_renewal_whose_answer_was_lost_counts_once_it_is_read() {
        let mut lease = held();
        lease.due(at(5));
        lease.written(Written::Unknown, at(9));
        assert_eq!(lease.due(at(9)), Some(LeaseCall::Read));
        lease.read(&there(8, "a"), at(9));
        assert_eq!(lease.epoch(at(14)), Some(Epoch(7)));
        assert_eq!(lease.epoch(at(15)), None);
    }

    #[test]
    fn a_holder_that_reads_another_name_stops() {
        let mut lease = held();
        lease.due(at(5));
        lease.written(Written::Conflict, at(6));
        lease.due(at(6));
        lease.read(&there(8, "b"), at(6));
        assert_eq!(lease.epoch(at(6)), None);
    }

    #[test]
    fn a_paused_holder_stops_before_anything_else() {
        let mut lease = held();
        assert_eq!(lease.epoch(at(40)), None);
        assert_eq!(lease.due(at(40)), Some(LeaseCall::Read));
        lease.read(&there(7, "a"), at(40));
        assert_eq!(
            lease.epoch(at(40)),
            None,
            "its own old lease is like another's"
        );
    }
}
