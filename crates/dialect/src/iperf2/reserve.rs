//! Descriptors that a listener keeps for the time when there are no others: with them the connections
//! that cannot be served are turned away, where they would wait until somebody else has gone.

use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_sys::{TcpListener, Waker};

/// Descriptors that are kept. One would do if nobody else took it in the moment between its close and
/// the accept.
const SPARES: usize = 4;
/// Connections that are turned away before a pause.
const SHED_AT_ONCE: usize = 16;
/// The pause, so that running out of descriptors costs no processor.
const PAUSE: Duration = Duration::from_millis(20);
/// How often it is told.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// The spare descriptors of one listener.
#[derive(Debug)]
pub(super) struct Reserve {
    /// Only their descriptors are of use.
    spares: Vec<Waker>,
    /// When running out was told last.
    told: Option<MonoTime>,
}

impl Reserve {
    pub(super) fn new() -> Self {
        let mut reserve = Self {
            spares: Vec::with_capacity(SPARES),
            told: None,
        };
        reserve.fill();
        reserve
    }

    /// Takes what is missing, as far as it can be had. To be called before an accept takes it.
    pub(super) fn fill(&mut self) {
        while self.spares.len() < SPARES
            && let Ok(spare) = Waker::new()
        {
            self.spares.push(spare);
        }
    }

    /// Whether another failure to accept is told.
    pub(super) fn tells(&mut self, now: MonoTime) -> bool {
        let tells = self.told.is_none_or(|told| now.since(told) >= TOLD_EVERY);
        if tells {
            self.told = Some(now);
        }
        tells
    }

    /// Closes connections that wait in the queue, and rests.
    pub(super) fn shed(&mut self, listener: &TcpListener) {
        self.spares.pop();
        for _ in 0..SHED_AT_ONCE {
            // Whatever it fails with, it is tried again after the rest.
            let Ok(Some(_)) = listener.accept() else {
                break;
            };
        }
        self.fill();
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> MonoTime {
        MonoTime::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn running_out_is_told_once_a_minute() {
        let mut reserve = Reserve::new();
        let told: Vec<u64> = (100..300).filter(|s| reserve.tells(at(*s))).collect();
        assert_eq!(told, [100, 160, 220, 280]);
    }
}
