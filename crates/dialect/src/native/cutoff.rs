//! Whether a server has cut a flow, inferred from what it grants: iperf 2's protocol has no word for it.

use std::num::NonZeroU64;
use std::time::Duration;

use tapeline_report::{Measure, Row};
use tapeline_wire::native::Granted;

/// What the ends of a stream that was cut may differ by: 1 in so many parts.
const TOLERANCE: u64 = 20;
/// Time for the last datagrams, and how long a rate may be exceeded.
const LENIENCE: Duration = Duration::from_secs(1);

/// What a client's flow had more of than its server grants, in words; `total` is of one of so many
/// streams, and `failed` says that the flows did not end by themselves.
pub(crate) fn exceeded(
    granted: Granted,
    total: &Row,
    streams: u64,
    failed: bool,
) -> Option<String> {
    let elapsed = total.span.end.saturating_sub(total.span.start);
    let time = granted
        .nanoseconds
        .map(|time| Duration::from_nanos(time.get()));
    let share = |limit: NonZeroU64| (limit.get() / streams.max(1)).max(1);
    let (time_over, bytes_over, rate_over) = match total.measure {
        // What comes over UDP is left aside, and the sender sees nothing of it.
        Measure::UdpSend(_) => {
            let bits = u128::from(total.bytes) * 8 * 1000;
            let allowed = |rate: u64| u128::from(rate) * (elapsed + LENIENCE).as_millis();
            (
                time.is_some_and(|time| elapsed > time + LENIENCE),
                granted
                    .bytes
                    .is_some_and(|bytes| total.bytes > share(bytes)),
                granted.rate.is_some_and(|rate| bits > allowed(share(rate))),
            )
        }
        // The connection is closed.
        Measure::TcpSend(_) | Measure::TcpReceive(_) if failed => {
            let near = |max: u64| max - max / TOLERANCE;
            let reached = |time: Duration| elapsed >= time - time / TOLERANCE as u32;
            (
                time.is_some_and(reached),
                granted
                    .bytes
                    .is_some_and(|bytes| total.bytes >= near(share(bytes))),
                false,
            )
        }
        _ => return None,
    };
    let reason = |over: bool, words: String| over.then_some(words);
    let number = |limit: Option<NonZeroU64>| limit.map_or(0, NonZeroU64::get);
    reason(
        time_over,
        format!("limit: {} s a test", time.unwrap_or_default().as_secs_f64()),
    )
    .or_else(|| {
        let words = format!("limit: {} bytes a test", number(granted.bytes));
        reason(bytes_over, words)
    })
    .or_else(|| {
        let words = format!("limit: {} bit/s a test", number(granted.rate));
        reason(rate_over, words)
    })
}

#[cfg(test)]
mod tests {
    use tapeline_base::{FlowId, FlowTag, Placement, WallTime};
    use tapeline_report::{Phase, Span, Subject, TcpSend, UdpSend};

    use super::*;

    fn total(measure: Measure, seconds: f64, bytes: u64) -> Row {
        Row {
            subject: Subject::Flow(FlowTag {
                id: FlowId(1),
                reversed: false,
            }),
            phase: Phase::Total,
            span: Span {
                start: Duration::ZERO,
                end: Duration::from_secs_f64(seconds),
            },
            ended: WallTime::from_nanos(0),
            bytes,
            endpoints: None,
            trip_times: false,
            placement: Placement::default(),
            measure,
        }
    }

    #[test]
    fn what_was_cut_is_distinguished_from_what_ended_or_broke_before() {
        let granted = Granted {
            nanoseconds: NonZeroU64::new(10_000_000_000),
            bytes: NonZeroU64::new(1000),
            rate: NonZeroU64::new(8000),
        };
        let tcp = |seconds, bytes, streams, failed| {
            let total = total(Measure::TcpSend(TcpSend::default()), seconds, bytes);
            exceeded(granted, &total, streams, failed)
        };
        let said = |words: &str| Some(words.to_owned());
        assert_eq!(tcp(10.0, 5, 1, false), None, "it ended by itself");
        assert_eq!(tcp(3.0, 5, 1, true), None, "it broke");
        assert_eq!(tcp(9.9, 5, 1, true), said("limit: 10 s a test"));
        let bytes = said("limit: 1000 bytes a test");
        assert_eq!(tcp(1.0, 1000, 1, true), bytes);
        assert_eq!(tcp(1.0, 500, 2, true), bytes);
        let udp = |seconds, bytes| {
            let total = total(Measure::UdpSend(UdpSend::default()), seconds, bytes);
            exceeded(granted, &total, 1, false)
        };
        assert_eq!(udp(10.1, 1000), None);
        assert_eq!(udp(12.0, 10), said("limit: 10 s a test"));
        assert_eq!(udp(1.0, 1001), bytes);
        let fast = Granted {
            bytes: None,
            ..granted
        };
        let row = total(Measure::UdpSend(UdpSend::default()), 1.0, 2001);
        let rate = said("limit: 8000 bit/s a test");
        assert_eq!(exceeded(fast, &row, 1, false), rate);
        assert_eq!(exceeded(Granted::default(), &row, 1, true), None);
    }
}
