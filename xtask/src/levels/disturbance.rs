//! Whether the machine could hold a test's times.
//!
//! A virtual machine whose host withholds its processors for a second spoils every test that runs
//! meanwhile: buffers of real peers overflow, rates are missed, deadlines pass. Such a failure says
//! nothing about the program, so what failed then is run again.

use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the watch wants to be woken.
const TICK: Duration = Duration::from_millis(10);
/// A wake so late spoils tests of a second.
const STANDSTILL: Duration = Duration::from_millis(150);
/// Withheld share of one processor's time that spoils them, too.
const WITHHELD: f64 = 0.05;

/// What was seen of the machine during a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disturbance {
    standstill: Duration,
    /// Of one processor's time.
    withheld: f64,
}

impl Disturbance {
    /// Whether failures of the run prove nothing.
    pub(crate) fn spoils(self) -> bool {
        self.standstill >= STANDSTILL || self.withheld >= WITHHELD
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the machine stood still for {:.2} s, its host withheld {:.0} % of a processor",
            self.standstill.as_secs_f64(),
            self.withheld * 100.0
        )
    }
}

/// Watches the machine.
#[derive(Debug)]
pub(crate) struct Watch {
    began: Instant,
    withheld_before: f64,
    /// Dropped when the watch ends.
    going_on: Sender<()>,
    longest: JoinHandle<Duration>,
}

impl Watch {
    pub(crate) fn begin() -> Self {
        let (going_on, ended) = channel();
        let longest = std::thread::spawn(move || {
            let mut longest = Duration::ZERO;
            loop {
                let before = Instant::now();
                let wake = ended.recv_timeout(TICK);
                longest = longest.max(before.elapsed().saturating_sub(TICK));
                if wake != Err(RecvTimeoutError::Timeout) {
                    return longest;
                }
            }
        });
        Self {
            began: Instant::now(),
            withheld_before: interop::withheld_seconds(),
            going_on,
            longest,
        }
    }

    pub(crate) fn end(self) -> Disturbance {
        drop(self.going_on);
        let withheld = interop::withheld_seconds() - self.withheld_before;
        Disturbance {
            standstill: self.longest.join().unwrap_or_default(),
            withheld: withheld / self.began.elapsed().as_secs_f64().max(0.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_wakes_and_withheld_time_spoil() {
        let seen = |millis, withheld| Disturbance {
            standstill: Duration::from_millis(millis),
            withheld,
        };
        assert!(!seen(149, 0.04).spoils());
        assert!(seen(150, 0.0).spoils());
        assert!(seen(0, 0.05).spoils());
    }

    #[test]
    fn a_watch_ends_when_it_is_asked_to() {
        let watch = Watch::begin();
        assert!(watch.end().withheld >= 0.0);
    }
}
