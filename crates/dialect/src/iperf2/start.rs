//! When traffic begins that was ordered for a time of day (`--txstart-time`) or held back
//! until all streams were there. Pure.

use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};
use tapeline_wire::iperf2::{TestMode, Timestamp};

use crate::plan::{ClientPlan, StartTime};

/// Longest time for which a server waits on a client's word. Clients allow an hour; the rest
/// is for the difference of the clocks (2.2.1: 3601 s).
pub(super) const MOST_AHEAD: Duration = Duration::from_secs(3601);
/// A start so short a time ago is the one that was ordered.
const JUST_NOW: Duration = Duration::from_secs(1);
/// Waits below this are not told to the server (2.2.1: 100 us).
const SHORT_WAIT: Duration = Duration::from_micros(100);

/// A reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    pub(crate) mono: MonoTime,
    pub(crate) wall: WallTime,
}

impl Now {
    /// The time of day that `at` will be.
    fn wall_at(self, at: MonoTime) -> WallTime {
        self.wall + at.since(self.mono)
    }
}

/// When a flow starts, and the time of day to tell, where that is worth telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) at: MonoTime,
    pub(super) announced: Option<WallTime>,
}

impl Start {
    /// A start that nobody scheduled.
    pub(super) fn at_once(now: Now) -> Self {
        Self {
            at: now.mono,
            announced: None,
        }
    }
}

impl ClientPlan {
    /// When flows that are ready now start.
    pub(super) fn flow_start(&self, now: Now) -> Start {
        let at = self.first_send(now.mono, now.wall);
        let announced = match self.start {
            StartTime::Now => None,
            StartTime::At(time) => Some(time),
            StartTime::After(_) => Some(now.wall_at(at)),
        };
        Start { at, announced }
    }

    /// When the header may leave, where servers act on it at once: 2.2.1 as the sender waits
    /// for no start time.
    pub(super) fn held_start(&self, now: Now) -> Option<Start> {
        let acts = matches!(
            self.mode(),
            TestMode::Reverse | TestMode::FullDuplex | TestMode::Dual
        );
        (acts && self.start != StartTime::Now).then(|| self.flow_start(now))
    }
}

/// The start that a client's header orders, if it orders one that a server obeys.
pub(super) fn ordered_start(epoch_start: bool, time: Option<Timestamp>, now: Now) -> Start {
    let Some(time) = time.filter(|_| epoch_start) else {
        return Start::at_once(now);
    };
    let time = WallTime::from_wire(time.seconds, time.micros);
    let ahead = time.nanos_since(now.wall);
    let distance = Duration::from_nanos(ahead.unsigned_abs());
    if distance > MOST_AHEAD {
        return Start::at_once(now);
    }
    let at = match ahead {
        0.. => now.mono + distance,
        _ if distance <= JUST_NOW => now.mono - distance,
        _ => now.mono,
    };
    Start {
        at,
        announced: (ahead > 0).then_some(time),
    }
}

/// Time for which a client that sent its first datagram holds the others back: until its start
/// time, where that is still to come. 2.2.1 does so with `--txstart-time`.
pub(super) fn held_back(time: Option<Timestamp>, now: WallTime) -> Duration {
    let ahead = time.map_or(0, |time| WallTime::from(time).nanos_since(now));
    let ahead = Duration::from_nanos(u64::try_from(ahead).unwrap_or(0));
    if ahead > MOST_AHEAD {
        Duration::ZERO
    } else {
        ahead
    }
}

/// When a test began whose first message came at `heard` on a connection accepted at
/// `accepted`. The client may have held it back for its other streams, and says how long.
pub(super) fn barrier_start(
    accepted: MonoTime,
    heard: MonoTime,
    barrier_micros: Option<u32>,
) -> MonoTime {
    match barrier_micros {
        Some(micros) => heard.min(accepted + Duration::from_micros(u64::from(micros))),
        None => heard,
    }
}

/// What a client says of a stream that has waited so long for the others.
pub(super) fn barrier_micros(waited: Duration) -> Option<u32> {
    (waited >= SHORT_WAIT).then(|| u32::try_from(waited.as_micros()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::client_plan;

    const SECOND: Duration = Duration::from_secs(1);

    fn now() -> Now {
        Now {
            mono: MonoTime::from_nanos(100_000_000_000),
            wall: WallTime::from_wire(5000, 250_000),
        }
    }

    fn ordered(epoch_start: bool, seconds: u32, micros: u32) -> Start {
        ordered_start(epoch_start, Some(Timestamp { seconds, micros }), now())
    }

    #[test]
    fn a_server_waits_for_the_hour_but_not_for_longer() {
        let hour = ordered(true, 8600, 250_000);
        assert_eq!(hour.at, now().mono + 3600 * SECOND);
        assert_eq!(hour.announced, Some(WallTime::from_wire(8600, 250_000)));
        assert_eq!(ordered(true, 8603, 0), Start::at_once(now()));
        assert_eq!(ordered(true, u32::MAX, u32::MAX), Start::at_once(now()));
        assert_eq!(ordered(true, 0, 0), Start::at_once(now()));
        assert_eq!(ordered(false, 5001, 0), Start::at_once(now()));
        assert_eq!(ordered_start(true, None, now()), Start::at_once(now()));
    }

    #[test]
    fn a_start_just_past_is_kept_and_an_older_one_is_not() {
        let start = ordered(true, 5000, 0);
        assert_eq!(start.at, now().mono - SECOND / 4);
        assert_eq!(start.announced, None);
        assert_eq!(ordered(true, 4990, 0), Start::at_once(now()));
    }

    #[test]
    fn datagrams_are_waited_for_until_their_start() {
        let held = |seconds| held_back(Some(Timestamp { seconds, micros: 0 }), now().wall);
        assert_eq!(held(5030), 30 * SECOND - SECOND / 4);
        assert_eq!(held(5000), Duration::ZERO);
        assert_eq!(held(9000), Duration::ZERO, "more than anybody may ask for");
        assert_eq!(held_back(None, now().wall), Duration::ZERO);
    }

    #[test]
    fn a_client_announces_what_it_waits_for() {
        let mut plan = client_plan();
        assert_eq!(plan.flow_start(now()), Start::at_once(now()));
        plan.start = StartTime::After(SECOND / 2);
        let start = plan.flow_start(now());
        assert_eq!(start.at, now().mono + SECOND / 2);
        assert_eq!(start.announced, Some(WallTime::from_wire(5000, 750_000)));
        let past = WallTime::from_wire(4000, 0);
        plan.start = StartTime::At(past);
        let start = plan.flow_start(now());
        assert_eq!((start.at, start.announced), (now().mono, Some(past)));
    }

    #[test]
    fn a_barrier_moves_the_start_to_the_accept_and_never_past_the_message() {
        let accepted = now().mono;
        let heard = accepted + SECOND;
        assert_eq!(barrier_start(accepted, heard, None), heard);
        let waited = barrier_micros(SECOND / 4);
        assert_eq!(waited, Some(250_000));
        assert_eq!(
            barrier_start(accepted, heard, waited),
            accepted + SECOND / 4
        );
        assert_eq!(barrier_start(accepted, heard, Some(u32::MAX)), heard);
        assert_eq!(barrier_micros(Duration::from_micros(99)), None);
    }
}
