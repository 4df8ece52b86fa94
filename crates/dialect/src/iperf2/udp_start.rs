//! When a UDP flow with trip-times began, by its client's clock: pure.

use std::time::Duration;

use tapeline_base::WallTime;
use tapeline_wire::iperf2::{DatagramStamp, Timestamp, limits};

use super::udp_flow::Announced;

/// Largest age of a flow that its rows begin with; more is a server that came late, or an
/// absolute start.
const OLDEST: Duration = Duration::from_secs(10);

/// What a client's start time says of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClockCheck {
    /// The client does not claim that the clocks agree.
    NotAsked,
    /// They agree; the flow is so old.
    Agrees(Duration),
    /// They differ by this much: delays would mean nothing.
    Disagrees(Duration),
}

/// Looks at the first datagram of a flow, at `now`.
pub(super) fn agreed_start(announced: Announced, datagram: &[u8], now: WallTime) -> ClockCheck {
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
    fn small_datagrams_tell_their_own_time() {
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
