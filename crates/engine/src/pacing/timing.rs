//! When a TCP sender's bursts are due, and how long they are.

use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_sys::TcpConn;

use super::frames::{FrameClock, FrameCounts, FrameSizes};
use super::schedule::Schedule;
use super::variable_rate::VariableRate;

/// When bursts leave. Without a clock a burst is a block.
#[derive(Debug)]
pub enum Timing {
    /// As fast as the connection takes them.
    Free,
    /// Blocks at a rate.
    Paced(Schedule),
    /// Blocks at a changing rate.
    Varying(VariableRate),
    /// After each block a pause of so many round-trip times.
    Resting(Rest),
    /// A frame or burst in each slot of a clock.
    Clocked {
        /// The slots.
        clock: FrameClock,
        /// Bytes of each.
        sizes: FrameSizes,
    },
}

/// Pauses that follow the connection's round-trip time, so that the path is kept near
/// congestion rather than in it.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    factor: f64,
    until: MonoTime,
}

impl Rest {
    /// Pauses of `factor` round-trip times; a factor that is no positive number pauses not
    /// at all.
    #[must_use]
    pub fn new(factor: f64) -> Self {
        Self {
            factor,
            until: MonoTime::ZERO,
        }
    }

    fn begin(&mut self, now: MonoTime, conn: &TcpConn) {
        let rtt = conn.tcp_info().and_then(|info| info.rtt_us).unwrap_or(0);
        let pause = f64::from(rtt) * 1e-6 * self.factor;
        self.until = now + Duration::try_from_secs_f64(pause).unwrap_or_default();
    }
}

impl Timing {
    /// When the next burst is due, for a sender that is free at `now`; `None` at once.
    #[inline]
    pub(crate) fn due(&self, now: MonoTime) -> Option<MonoTime> {
        match self {
            Self::Free => None,
            Self::Paced(schedule) => Some(schedule.due()),
            Self::Varying(rate) => Some(rate.due()),
            Self::Resting(rest) => Some(rest.until),
            Self::Clocked { clock, .. } => Some(clock.next(now).due),
        }
    }

    /// A burst begins: its number, where a clock gives it one, and its bytes.
    pub(crate) fn begin(&mut self, now: MonoTime, block: usize) -> (Option<u64>, u64) {
        match self {
            Self::Clocked { clock, sizes } => {
                let frame = clock.next(now);
                clock.begin(frame, now);
                (Some(frame.id), u64::from(sizes.draw()))
            }
            _ => (None, block as u64),
        }
    }

    /// A burst has left.
    #[inline]
    pub(crate) fn sent(&mut self, now: MonoTime, conn: &TcpConn) {
        match self {
            Self::Free | Self::Clocked { .. } => {}
            Self::Paced(schedule) => schedule.sent(1, now),
            Self::Varying(rate) => rate.sent(1, now),
            Self::Resting(rest) => rest.begin(now, conn),
        }
    }

    /// The clock, where there is one.
    pub(crate) fn clock(&self) -> Option<&FrameClock> {
        match self {
            Self::Clocked { clock, .. } => Some(clock),
            _ => None,
        }
    }

    /// Frames so far.
    pub(crate) fn frames(&self) -> FrameCounts {
        self.clock().map(FrameClock::counts).unwrap_or_default()
    }
}

/// The kernel's pacing, and how its rate changes during the test.
#[derive(Clone, Copy, Debug)]
pub struct KernelPacing {
    rate: u64,
    step: u64,
    every: Duration,
    next: MonoTime,
}

impl KernelPacing {
    /// Paces at `rate` bits per second.
    #[must_use]
    pub fn constant(rate: u64) -> Self {
        Self {
            rate,
            step: 0,
            every: Duration::ZERO,
            next: MonoTime::FAR,
        }
    }

    /// Begins with `rate` bits per second and adds `step` after each `every` from `start` on.
    #[must_use]
    pub fn stepped(rate: u64, step: u64, every: Duration, start: MonoTime) -> Self {
        let every = every.max(Duration::from_millis(1));
        Self {
            rate,
            step,
            every,
            next: start + every,
        }
    }

    /// Bits per second in force.
    #[must_use]
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// Asks the kernel for the rate in force.
    pub(crate) fn apply(&self, conn: &TcpConn) {
        // Refused where the platform cannot pace, which was reported when the flow was set up.
        let _ = conn.set_pacing_rate((self.rate / 8).max(1));
    }

    /// Steps that are due at `now`; whether there were any.
    #[inline]
    pub(crate) fn advance(&mut self, now: MonoTime) -> bool {
        if now < self.next {
            return false;
        }
        while now >= self.next {
            self.rate = self.rate.saturating_add(self.step);
            self.next += self.every;
        }
        true
    }

    /// When the next step is due.
    pub(crate) fn next(&self) -> MonoTime {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonoTime {
        MonoTime::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn steps_are_made_up_for_when_the_sender_was_blocked() {
        let mut pacing =
            KernelPacing::stepped(50_000_000, 10_000_000, Duration::from_millis(500), at(0));
        assert!(!pacing.advance(at(499)));
        assert!(pacing.advance(at(500)));
        assert_eq!(pacing.rate(), 60_000_000);
        assert!(pacing.advance(at(1600)));
        assert_eq!((pacing.rate(), pacing.next()), (80_000_000, at(2000)));
        assert!(!KernelPacing::constant(1).advance(at(1_000_000)));
    }

    #[test]
    fn clocked_bursts_have_the_number_of_their_slot() {
        let mut timing = Timing::Clocked {
            clock: FrameClock::new(at(0), Duration::from_millis(100)),
            sizes: FrameSizes::new(1000.0, 0.0, 1),
        };
        assert_eq!(timing.due(at(0)), Some(at(0)));
        assert_eq!(timing.begin(at(0), 7), (Some(1), 1000));
        assert_eq!(timing.due(at(10)), Some(at(100)));
        // Busy for two slots.
        assert_eq!(timing.due(at(350)), Some(at(300)));
        assert_eq!(timing.begin(at(350), 7), (Some(4), 1000));
        let frames = timing.frames();
        assert_eq!((frames.sent, frames.missed, frames.slips), (2, 2, 1));
    }
}
