//! What must hold for any datagrams on the socket of a probe flow. The fuzz target and the replay of its
//! corpus share it.

use std::num::NonZeroU64;
use std::time::Duration;

use tapeline_base::{MonoTime, Tos, WallTime};
use tapeline_wire::native::{ProbeReply, ProbeRequest};

use super::input::Events;
use crate::native::probing::Probing;

const KEY: NonZeroU64 = NonZeroU64::new(7).unwrap();
const START: MonoTime = MonoTime::from_nanos(1_000_000_000_000);
/// Longer than anything is waited for.
const FOR_EVER: Duration = Duration::from_secs(3600);
/// Probes take at most one byte in so many of the traffic's.
const SHARE: u64 = 1000;
/// Probes of the quiet path, at most.
const MAX_QUIET: u32 = 24;

fn wall(now: MonoTime) -> WallTime {
    WallTime::from_nanos(1_800_000_000_000_000_000 + now.as_nanos() as i64)
}

/// A client's probes. Of an event the first byte says how much later it is, the second what happens: any
/// datagram comes, or the reply to the last probe with other stamps, or the test goes on.
pub(crate) fn probing(input: &[u8]) {
    let mut probing = Probing::new(KEY, Tos::default(), START);
    let mut now = START;
    let (mut traffic, mut spent) = (0_u64, 0_u64);
    let (mut quiet, mut ended) = (0, false);
    let mut last: Option<ProbeRequest> = None;
    for ([gap, what], bytes) in Events::<2>::new(input) {
        now += Duration::from_micros(u64::from(gap) * u64::from(gap) * 16);
        traffic += u64::from(gap) << 13;
        match what & 7 {
            0 => probing.pause(Duration::from_secs(u64::from(what >> 3))),
            1 => probing.compare(now),
            2 => {
                probing.end();
                ended = true;
            }
            3 | 4 => {
                probing.received(bytes, wall(now));
            }
            _ => {
                if let Some(request) = last {
                    probing.received(&reply(request, bytes, now).encode(), wall(now));
                }
            }
        }
        let comparing = probing.is_comparing();
        if let Some(probe) = probing.next(now, wall(now), traffic) {
            assert!(!ended);
            spent += probe.len() as u64;
            assert!(spent <= traffic / SHARE);
            quiet += u32::from(comparing);
            assert!(quiet <= MAX_QUIET);
            last = ProbeRequest::parse(&probe);
            assert!(last.is_some_and(|request| request.key == KEY));
        }
        assert!(!ended || probing.due().is_none());
    }
    if let Some(result) = probing.result(None) {
        for series in [&result.idle, &result.loaded] {
            assert!(series.round_trips.count() <= series.sent);
            assert!(
                series
                    .round_trips
                    .points()
                    .iter()
                    .all(|(time, _)| *time >= 0)
            );
        }
    }
    probing.compare(now);
    let _ = probing.next(now + FOR_EVER, wall(now + FOR_EVER), traffic);
    assert!(probing.due().is_none(), "no probe is due for ever");
}

/// A reply whose stamps are near the time, or anything.
fn reply(request: ProbeRequest, bytes: &[u8], now: MonoTime) -> ProbeReply {
    let near = wall(now).as_nanos() as u64;
    let (received, sent) = match bytes {
        [a, b] => (near - u64::from(*a) * 1000, near - u64::from(*b) * 1000),
        _ => {
            let word = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).copied();
            let long = |at| word(at).map_or(near, u64::from_be_bytes);
            (long(0), long(8))
        }
    };
    ProbeReply {
        request,
        received,
        sent,
    }
}
