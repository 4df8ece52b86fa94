//! When traffic begins that was ordered for a time of day (`--txstart-time`), held back until all streams
//! were there, or stamped by its client's clock (trip-times). Pure.

use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};
use tapeline_wire::iperf2::{DatagramStamp, TestMode, Timestamp, limits};

use super::test_header::test_mode;
use super::udp_reader::Announced;
use crate::plan::{ClientPlan, StartTime};
use crate::run::context::Now;

/// Longest time for which a server waits on a client's word. Clients allow an hour; the rest
/// is for the difference of the clocks (2.2.1: 3601 s).
pub(crate) const MAX_AHEAD: Duration = Duration::from_secs(3601);
/// A start so short a time ago is the one that was ordered.
const JUST_NOW: Duration = Duration::from_secs(1);
/// Waits below this are not sent to the server (2.2.1: 100 us).
const SHORT_WAIT: Duration = Duration::from_micros(100);

/// When a flow starts, and the time of day to send, where that is worth sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) at: MonoTime,
    pub(crate) announced: Option<WallTime>,
}

impl Start {
    /// A start that nobody scheduled.
    pub(crate) fn at_once(now: Now) -> Self {
        Self {
            at: now.mono,
            announced: None,
        }
    }
}

/// When flows that are ready now start.
pub(crate) fn flow_start(plan: &ClientPlan, now: Now) -> Start {
    let at = plan.first_send(now.mono, now.wall);
    let announced = match plan.start {
        StartTime::Now | StartTime::Moment(_) => None,
        StartTime::At(time) => Some(time),
        StartTime::After(_) => Some(now.wall_at(at)),
    };
    Start { at, announced }
}

/// When the header may leave, where servers act on it at once: 2.2.1 as the sender waits
/// for no start time.
pub(crate) fn held_start(plan: &ClientPlan, now: Now) -> Option<Start> {
    let acts = matches!(
        test_mode(plan),
        TestMode::Reverse | TestMode::FullDuplex | TestMode::Dual
    );
    (acts && plan.start != StartTime::Now).then(|| flow_start(plan, now))
}

/// The start that a client's header orders, if it orders one that a server obeys.
pub(crate) fn ordered_start(epoch_start: bool, time: Option<Timestamp>, now: Now) -> Start {
    let Some(time) = time.filter(|_| epoch_start) else {
        return Start::at_once(now);
    };
    let time = WallTime::from_wire(time.seconds, time.micros);
    let ahead = time.nanos_since(now.wall);
    let distance = Duration::from_nanos(ahead.unsigned_abs());
    if distance > MAX_AHEAD {
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
pub(crate) fn held_back(time: Option<Timestamp>, now: WallTime) -> Duration {
    let ahead = time.map_or(0, |time| WallTime::from(time).nanos_since(now));
    let ahead = Duration::from_nanos(u64::try_from(ahead).unwrap_or(0));
    if ahead > MAX_AHEAD {
        Duration::ZERO
    } else {
        ahead
    }
}

/// When a test began whose first message came at `received` on a connection accepted at
/// `accepted`. The client may have held it back for its other streams, and says how long.
pub(crate) fn barrier_start(
    accepted: MonoTime,
    received: MonoTime,
    barrier_micros: Option<u32>,
) -> MonoTime {
    match barrier_micros {
        Some(micros) => received.min(accepted + Duration::from_micros(u64::from(micros))),
        None => received,
    }
}

/// What a client says of a stream that has waited so long for the others.
pub(crate) fn barrier_micros(waited: Duration) -> Option<u32> {
    (waited >= SHORT_WAIT).then(|| u32::try_from(waited.as_micros()).unwrap_or(u32::MAX))
}

/// Largest age of a flow that its rows begin with; more is a server that came late, or an
/// absolute start.
const OLDEST: Duration = Duration::from_secs(10);

/// What a client's start time says of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockCheck {
    /// The client does not claim that the clocks agree.
    NotAsked,
    /// They agree; the flow is so old.
    Agrees(Duration),
    /// They differ by this much: delays would mean nothing.
    Disagrees(Duration),
}

/// Looks at the first datagram of a flow, at `now`.
pub(crate) fn agreed_start(announced: Announced, datagram: &[u8], now: WallTime) -> ClockCheck {
    let start = match announced {
        Announced::Header(header) if header.trip_times => {
            if header.epoch_start {
                // The start may lie in the future, and is looked at elsewhere.
                return ClockCheck::Agrees(Duration::ZERO);
            }
            header.start_time.unwrap_or_default()
        }
        Announced::Short(_) => {
            let stamp = DatagramStamp::read_16(datagram, false).unwrap_or_default();
            Timestamp {
                seconds: stamp.seconds,
                micros: stamp.micros,
            }
        }
        Announced::Header(_) | Announced::Nothing => return ClockCheck::NotAsked,
    };
    let age = now.nanos_since(WallTime::from(start));
    let gap = Duration::from_nanos(age.unsigned_abs());
    if gap > Duration::from_secs(u64::from(limits::MAX_TRIP_TIMES_GAP_SECONDS)) {
        ClockCheck::Disagrees(gap)
    } else if age < 0 || gap > OLDEST {
        ClockCheck::Agrees(Duration::ZERO)
    } else {
        ClockCheck::Agrees(gap)
    }
}

#[cfg(test)]
mod tests {
    use tapeline_wire::iperf2::{ShortTripTimes, UdpClientHeader};

    use super::*;
    use crate::plan::client::tests::client_plan;

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
        assert_eq!(flow_start(&plan, now()), Start::at_once(now()));
        plan.start = StartTime::After(SECOND / 2);
        let start = flow_start(&plan, now());
        assert_eq!(start.at, now().mono + SECOND / 2);
        assert_eq!(start.announced, Some(WallTime::from_wire(5000, 750_000)));
        let past = WallTime::from_wire(4000, 0);
        plan.start = StartTime::At(past);
        let start = flow_start(&plan, now());
        assert_eq!((start.at, start.announced), (now().mono, Some(past)));
    }

    #[test]
    fn a_barrier_moves_the_start_to_the_accept_and_never_past_the_message() {
        let accepted = now().mono;
        let received = accepted + SECOND;
        assert_eq!(barrier_start(accepted, received, None), received);
        let waited = barrier_micros(SECOND / 4);
        assert_eq!(waited, Some(250_000));
        assert_eq!(
            barrier_start(accepted, received, waited),
            accepted + SECOND / 4
        );
        assert_eq!(barrier_start(accepted, received, Some(u32::MAX)), received);
        assert_eq!(barrier_micros(Duration::from_micros(99)), None);
    }

    fn at(second: u32) -> Announced {
        Announced::Header(UdpClientHeader {
            trip_times: true,
            start_time: Some(Timestamp {
                seconds: second,
                micros: 0,
            }),
            ..UdpClientHeader::default()
        })
    }

    #[test]
    fn the_clocks_must_be_within_ten_minutes() {
        let now = WallTime::from_wire(10_000, 500_000);
        let check = |announced| agreed_start(announced, &[], now);
        assert_eq!(
            check(at(10_000)),
            ClockCheck::Agrees(Duration::from_millis(500))
        );
        assert_eq!(check(at(10_300)), ClockCheck::Agrees(Duration::ZERO));
        assert_eq!(check(at(9_400)), ClockCheck::Agrees(Duration::ZERO));
        for far in [9_000, 10_700, 0] {
            assert!(matches!(check(at(far)), ClockCheck::Disagrees(_)), "{far}");
        }
        let plain = Announced::Header(UdpClientHeader::default());
        assert_eq!(check(plain), ClockCheck::NotAsked);
        assert_eq!(check(Announced::Nothing), ClockCheck::NotAsked);
    }

    #[test]
    fn small_datagrams_carry_their_own_time() {
        let mut datagram = [0; 92];
        DatagramStamp {
            id: 1,
            seconds: 10_000,
            micros: 0,
        }
        .write_16(&mut datagram);
        let short = Announced::Short(ShortTripTimes::default());
        let now = WallTime::from_wire(10_002, 0);
        let age = Duration::from_secs(2);
        assert_eq!(agreed_start(short, &datagram, now), ClockCheck::Agrees(age));
    }
}
