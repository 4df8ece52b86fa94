//! When a client asks for the server's clock, and what the answers make of it.

use std::collections::VecDeque;
use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};
use tapeline_stats::{ClockExchange, Random};
use tapeline_wire::native::{ClockReply, Message};

/// Requests in a row before and after the traffic.
const ROW: u32 = 24;
/// Mean distance of requests in a row.
const IN_ROW: Duration = Duration::from_millis(6);
/// Mean distance of requests while traffic flows.
const BETWEEN: Duration = Duration::from_millis(200);
/// Requests that may be unanswered; a path that holds more back is asked less often.
const MAX_OPEN: usize = 64;

/// The schedule of requests: rows of many, few in between.
#[derive(Debug)]
pub(crate) struct ClockRequests {
    random: Random,
    /// Of the running row.
    left: u32,
    next: MonoTime,
    number: u32,
    /// Sent and not answered: number and T1.
    open: VecDeque<(u32, WallTime)>,
}

impl ClockRequests {
    /// Begins with a row at `now`.
    pub(crate) fn new(now: MonoTime, seed: u64) -> Self {
        Self {
            random: Random::seeded(seed),
            left: ROW,
            next: now,
            number: 0,
            open: VecDeque::new(),
        }
    }

    /// Another row begins.
    pub(crate) fn begin_row(&mut self, now: MonoTime) {
        self.left = ROW;
        self.next = now;
        self.open.clear();
    }

    /// Whether the row is out and answered.
    pub(crate) fn is_row_answered(&self) -> bool {
        self.left == 0 && self.open.is_empty()
    }

    /// When the next request is due.
    pub(crate) fn due(&self) -> MonoTime {
        self.next
    }

    /// The request that is due, if one is; `wall` is the time at which it is written.
    pub(crate) fn next(&mut self, now: MonoTime, wall: WallTime) -> Option<Message> {
        if now < self.next {
            return None;
        }
        let mean = if self.left > 0 { IN_ROW } else { BETWEEN };
        self.next = now + mean.mul_f64(0.5 + self.random.fraction());
        self.left = self.left.saturating_sub(1);
        if self.open.len() >= MAX_OPEN {
            return None;
        }
        self.number = self.number.wrapping_add(1);
        self.open.push_back((self.number, wall));
        Some(Message::ClockRequest {
            number: self.number,
            sent: nanos(wall),
        })
    }

    /// The exchange that a reply completes, which was read at `wall`; nothing when it answers no
    /// request of ours.
    pub(crate) fn answered(&mut self, reply: &ClockReply, wall: WallTime) -> Option<ClockExchange> {
        let place = self
            .open
            .iter()
            .position(|(number, _)| *number == reply.number)?;
        let (_, sent) = self.open.remove(place)?;
        let exchange = ClockExchange {
            client_send: sent,
            server_receive: time(reply.request_received)?,
            server_send: time(reply.reply_sent)?,
            client_receive: wall,
        };
        // The answer cannot have been on its way for less than no time.
        (exchange.delay_ns() >= 0 && nanos(sent) == reply.request_sent).then_some(exchange)
    }
}

/// As the messages carry it; times before 1970 are its beginning.
pub(crate) fn nanos(time: WallTime) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(0)
}

/// The time that a message carries.
pub(crate) fn time(nanos: u64) -> Option<WallTime> {
    i64::try_from(nanos).ok().map(WallTime::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_first_and_replies_must_fit_a_request() {
        let mut requests = ClockRequests::new(MonoTime::ZERO, 1);
        let mut now = MonoTime::ZERO;
        let wall = WallTime::from_nanos(5);
        for _ in 0..ROW {
            assert!(requests.next(now, wall).is_some());
            assert!(requests.next(now, wall).is_none());
            now = requests.due();
        }
        assert!(now.since(MonoTime::ZERO) < 2 * IN_ROW * ROW);
        let row = now;
        assert!(requests.next(now, wall).is_some());
        assert!(requests.due().since(row) >= BETWEEN / 2);
        let reply = |number, request_sent| ClockReply {
            number,
            request_sent,
            request_received: 7,
            reply_sent: 8,
        };
        let later = WallTime::from_nanos(20);
        assert_eq!(requests.answered(&reply(1000, 5), later), None);
        assert_eq!(requests.answered(&reply(1, 6), later), None);
        let exchange = requests.answered(&reply(2, 5), later).expect("an exchange");
        assert_eq!(exchange.delay_ns(), 14);
        assert_eq!(requests.answered(&reply(2, 5), later), None);
        assert!(!requests.is_row_answered());
    }
}
