//! Two state machines talking over a link.

use tapeline_base::MonoTime;

use super::link::Link;
use super::profile::Side;

/// A protocol state machine without IO: it takes datagrams and times and gives
/// datagrams and the time at which it wants to be called next.
pub trait Endpoint {
    /// A datagram arrived.
    fn receive(&mut self, now: MonoTime, datagram: &[u8]);
    /// `now` has reached the deadline that the endpoint asked for.
    fn wake(&mut self, now: MonoTime);
    /// The next datagram to send now; called until there is none.
    fn transmit(&mut self, now: MonoTime) -> Option<Vec<u8>>;
    /// When to be woken; nothing to wait for a datagram alone.
    fn deadline(&self) -> Option<MonoTime>;
    /// Whether the endpoint has finished, successfully or not.
    fn is_done(&self) -> bool;
}

/// How a simulated run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both endpoints finished, the later one at this time.
    Done(MonoTime),
    /// The given end of time came first.
    TimedOut,
    /// Nothing was under way and nobody waited for anything: a deadlock.
    Stuck(MonoTime),
}

/// Most datagrams that an endpoint may send at one moment: more is an endless loop.
const MAX_AT_ONCE: usize = 100_000;

/// Drives a client and a server over a link, from `start` to the moment both are done
/// or until `end`. Time jumps from event to event.
///
/// # Panics
///
/// When an endpoint sends without end or asks to be woken without end at one moment:
/// the test has found an endless loop.
pub fn run(
    link: &mut Link,
    client: &mut dyn Endpoint,
    server: &mut dyn Endpoint,
    start: MonoTime,
    end: MonoTime,
) -> Outcome {
    let mut now = start;
    let mut turns_at_now = 0;
    loop {
        send_all(link, Side::Client, client, now);
        send_all(link, Side::Server, server, now);
        if client.is_done() && server.is_done() {
            return Outcome::Done(now);
        }
        let deadlines = [
            live_deadline(client),
            live_deadline(server),
            link.next_due(),
        ];
        let Some(next) = deadlines.into_iter().flatten().min() else {
            return Outcome::Stuck(now);
        };
        if next >= end {
            return Outcome::TimedOut;
        }
        turns_at_now = if next > now { 0 } else { turns_at_now + 1 };
        assert!(turns_at_now < MAX_AT_ONCE, "time stands still at {now:?}");
        now = next.max(now);
        if let Some((to, datagram)) = link.deliver(now) {
            match to {
                Side::Client => client.receive(now, &datagram),
                Side::Server => server.receive(now, &datagram),
            }
        }
        wake_if_due(client, now);
        wake_if_due(server, now);
    }
}

/// A finished endpoint waits for nothing, but still receives what arrives.
fn live_deadline(endpoint: &dyn Endpoint) -> Option<MonoTime> {
    endpoint.deadline().filter(|_| !endpoint.is_done())
}

fn wake_if_due(endpoint: &mut dyn Endpoint, now: MonoTime) {
    if live_deadline(endpoint).is_some_and(|deadline| deadline <= now) {
        endpoint.wake(now);
    }
}

fn send_all(link: &mut Link, from: Side, endpoint: &mut dyn Endpoint, now: MonoTime) {
    for _ in 0..MAX_AT_ONCE {
        match endpoint.transmit(now) {
            Some(datagram) => link.send(now, from, datagram),
            None => return,
        }
    }
    panic!("the {from:?} sends without end at {now:?}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Cut, LinkProfile};
    use std::time::Duration;

    /// Sends a request every 250 ms, ten times at most, until it is answered.
    struct Asker {
        next: MonoTime,
        tries: u32,
        answered: bool,
        due: bool,
    }

    impl Asker {
        fn new() -> Self {
            Self {
                next: MonoTime::ZERO,
                tries: 0,
                answered: false,
                due: false,
            }
        }
    }

    impl Endpoint for Asker {
        fn receive(&mut self, _: MonoTime, datagram: &[u8]) {
            self.answered |= datagram == b"answer";
        }
        fn wake(&mut self, now: MonoTime) {
            self.tries += 1;
            self.due = true;
            self.next = now + Duration::from_millis(250);
        }
        fn transmit(&mut self, _: MonoTime) -> Option<Vec<u8>> {
            std::mem::take(&mut self.due).then(|| b"question".to_vec())
        }
        fn deadline(&self) -> Option<MonoTime> {
            Some(self.next)
        }
        fn is_done(&self) -> bool {
            self.answered || self.tries > 10
        }
    }

    #[derive(Default)]
    struct Answerer {
        owed: u32,
        served: bool,
    }

    impl Endpoint for Answerer {
        fn receive(&mut self, _: MonoTime, datagram: &[u8]) {
            assert_eq!(datagram, b"question");
            self.owed += 1;
            self.served = true;
        }
        fn wake(&mut self, _: MonoTime) {}
        fn transmit(&mut self, _: MonoTime) -> Option<Vec<u8>> {
            self.owed = self.owed.checked_sub(1)?;
            Some(b"answer".to_vec())
        }
        fn deadline(&self) -> Option<MonoTime> {
            None
        }
        fn is_done(&self) -> bool {
            self.served
        }
    }

    fn ask(link: &mut Link, end_ms: u64) -> (Outcome, u32) {
        let mut asker = Asker::new();
        let end = MonoTime::from_nanos(end_ms * 1_000_000);
        let outcome = run(
            link,
            &mut asker,
            &mut Answerer::default(),
            MonoTime::ZERO,
            end,
        );
        (outcome, asker.tries)
    }

    fn slow() -> LinkProfile {
        LinkProfile {
            delay: Duration::from_millis(20),
            ..LinkProfile::default()
        }
    }

    #[test]
    fn a_question_is_answered_after_a_round_trip() {
        let (outcome, tries) = ask(&mut Link::new(0, slow()), 10_000);
        assert_eq!(outcome, Outcome::Done(MonoTime::from_nanos(40_000_000)));
        assert_eq!(tries, 1);
    }

    #[test]
    fn lost_datagrams_are_asked_for_again() {
        let mut link = Link::new(0, slow());
        link.lose_next(Side::Client, 1);
        link.lose_next(Side::Server, 1);
        let (outcome, tries) = ask(&mut link, 10_000);
        assert_eq!(outcome, Outcome::Done(MonoTime::from_nanos(540_000_000)));
        assert_eq!(tries, 3);
    }

    #[test]
    fn a_dead_link_ends_by_time_or_when_everyone_gave_up() {
        let dead = LinkProfile {
            cuts: vec![Cut {
                from: MonoTime::ZERO,
                until: MonoTime::FAR,
            }],
            ..LinkProfile::default()
        };
        let (outcome, _) = ask(&mut Link::new(0, dead.clone()), 1_000);
        assert_eq!(outcome, Outcome::TimedOut);
        let (outcome, tries) = ask(&mut Link::new(0, dead), 10_000);
        assert_eq!(outcome, Outcome::Stuck(MonoTime::from_nanos(2_500_000_000)));
        assert_eq!(tries, 11);
    }
}
