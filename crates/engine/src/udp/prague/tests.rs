//! The controller over a simulated bottleneck.

use std::collections::VecDeque;

use super::*;

/// A link with a queue that marks, and a buffer that overflows.
struct Bottleneck {
    /// Bytes per second.
    rate: f64,
    /// Round trip of the empty path.
    round_trip: Duration,
    /// Queueing delay above which datagrams are marked; `None` never marks.
    mark_above: Option<Duration>,
    /// Longest queueing delay.
    overflow_at: Duration,
    /// Clears the ECN bits.
    bleaches: bool,
    idle_at: MonoTime,
}

/// What came of a run.
#[derive(Debug)]
struct Outcome {
    /// Of the link, in the second half.
    utilisation: f64,
    /// Mean queueing delay in the second half, seconds.
    queue: f64,
    marked: u32,
    lost: u32,
}

impl Bottleneck {
    fn new(megabits: f64, round_trip: Duration) -> Self {
        Self {
            rate: megabits * 125_000.0,
            round_trip,
            mark_above: Some(Duration::from_millis(1)),
            overflow_at: Duration::from_millis(100),
            bleaches: false,
            idle_at: MonoTime::ZERO,
        }
    }

    /// Runs a flow of unlimited data over it for so long.
    fn run(mut self, controller: &mut Prague, length: Duration) -> Outcome {
        let end = MonoTime::ZERO + length;
        let half = MonoTime::ZERO + length / 2;
        let mut now = MonoTime::ZERO;
        let mut acks: VecDeque<(MonoTime, L4sFeedback)> = VecDeque::new();
        let mut seen = L4sFeedback::default();
        let (mut sent, mut next_send) = (0_u32, now);
        let (mut bytes, mut delays, mut samples) = (0.0, 0.0, 0.0);
        while now < end {
            let open = controller.in_flight(sent) < controller.window_packets();
            let send_at = if open {
                next_send.max(now)
            } else {
                controller.silent_at()
            };
            if let Some((at, feedback)) = acks.front().copied()
                && at <= send_at
            {
                now = at;
                acks.pop_front();
                controller.acknowledged(&feedback, sent, now);
                continue;
            }
            now = send_at;
            if !open {
                controller.silence(now);
                // Whatever was on the way is gone.
                seen.lost = sent.wrapping_sub(seen.received);
                seen.received += 1;
                sent += 1;
                controller.acknowledged(&seen, sent, now);
                continue;
            }
            let size = f64::from(controller.packet_size());
            next_send = now + Duration::from_secs_f64(size / controller.rate());
            sent += 1;
            let wait = self.idle_at.since(now);
            if wait > self.overflow_at {
                seen.lost += 1;
                continue;
            }
            let service = Duration::from_secs_f64(size / self.rate);
            self.idle_at = self.idle_at.max(now) + service;
            let arrival = self.idle_at + self.round_trip;
            if now >= half {
                bytes += size;
                delays += wait.as_secs_f64();
                samples += 1.0;
            }
            let ect = controller.mark() == L4sMark::Ect1 && !self.bleaches;
            seen.received += 1;
            seen.marked += u32::from(ect && self.mark_above.is_some_and(|max| wait > max));
            seen.ecn_error = controller.mark() == L4sMark::Ect1 && self.bleaches;
            seen.round_trip = Some(arrival.since(now));
            acks.push_back((arrival, seen));
        }
        Outcome {
            utilisation: bytes / self.rate / (length / 2).as_secs_f64(),
            queue: delays / f64::max(samples, 1.0),
            marked: seen.marked,
            lost: seen.lost,
        }
    }
}

fn controller() -> Prague {
    Prague::new(1470, None, MonoTime::ZERO)
}

const LENGTH: Duration = Duration::from_secs(20);

#[test]
fn a_marking_link_is_full_and_its_queue_short() {
    for (megabits, millis) in [(5.0, 100), (10.0, 20), (100.0, 5), (100.0, 40), (500.0, 10)] {
        let link = Bottleneck::new(megabits, Duration::from_millis(millis));
        let outcome = link.run(&mut controller(), LENGTH);
        let what = format!("{megabits} Mbit/s, {millis} ms: {outcome:?}");
        assert!(outcome.utilisation > 0.85, "{what}");
        assert!(outcome.queue < 0.004, "{what}");
        assert!(outcome.marked > 0 && outcome.lost == 0, "{what}");
    }
}

#[test]
fn a_link_that_only_drops_is_used_too() {
    let mut link = Bottleneck::new(20.0, Duration::from_millis(20));
    link.mark_above = None;
    link.overflow_at = Duration::from_millis(20);
    let outcome = link.run(&mut controller(), LENGTH);
    assert!(outcome.utilisation > 0.7, "{outcome:?}");
    assert!(outcome.lost > 0 && outcome.marked == 0, "{outcome:?}");
}

#[test]
fn a_path_that_clears_the_bits_gets_none() {
    let mut link = Bottleneck::new(20.0, Duration::from_millis(20));
    link.bleaches = true;
    link.overflow_at = Duration::from_millis(20);
    let mut controller = controller();
    let outcome = link.run(&mut controller, LENGTH);
    assert_eq!(controller.mark(), L4sMark::NotEct);
    assert!(outcome.utilisation > 0.7, "{outcome:?}");
}

#[test]
fn a_limit_is_not_passed() {
    let link = Bottleneck::new(100.0, Duration::from_millis(10));
    let mut controller = Prague::new(1470, Some(1_250_000.0), MonoTime::ZERO);
    let outcome = link.run(&mut controller, LENGTH);
    assert!((0.085..0.105).contains(&outcome.utilisation), "{outcome:?}");
    assert_eq!((outcome.marked, outcome.lost), (0, 0));
}

#[test]
fn datagrams_are_small_at_low_rates() {
    let fresh = controller();
    assert_eq!(fresh.packet_size(), 156);
    assert!((fresh.rate() - LOWEST_RATE).abs() < 1.0);
    let link = Bottleneck::new(100.0, Duration::from_millis(10));
    let mut fast = controller();
    link.run(&mut fast, Duration::from_secs(2));
    assert_eq!(fast.packet_size(), 1470);
}

#[test]
fn late_datagrams_take_the_response_to_their_loss_back() {
    let mut controller = controller();
    let at = |millis: u64| MonoTime::from_nanos(millis * 1_000_000);
    let feedback = |received, lost| L4sFeedback {
        round_trip: Some(Duration::from_millis(10)),
        received,
        lost,
        ..L4sFeedback::default()
    };
    controller.acknowledged(&feedback(5, 0), 20, at(10));
    let before = controller.window;
    controller.acknowledged(&feedback(6, 1), 20, at(11));
    assert!(controller.window < before * 0.6);
    controller.acknowledged(&feedback(7, 0), 20, at(12));
    assert!(controller.window >= before);
}

#[test]
fn what_cannot_be_is_ignored() {
    let mut controller = controller();
    let now = MonoTime::from_nanos(1);
    let fresh = format!("{controller:?}");
    for (received, marked, lost) in [(30, 0, 0), (5, 6, 0), (0, 0, 0), (5, 0, 30)] {
        let feedback = L4sFeedback {
            received,
            marked,
            lost,
            ..L4sFeedback::default()
        };
        controller.acknowledged(&feedback, 20, now);
        assert_eq!(format!("{controller:?}"), fresh, "{feedback:?}");
    }
    assert_eq!(controller.in_flight(20), 20);
    controller.silence(MonoTime::from_nanos(5));
    assert_eq!(controller.window_packets(), 2);
}
