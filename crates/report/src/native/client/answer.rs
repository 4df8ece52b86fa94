//! What a result block says of a client's test, as numbers, from as early as they are known.

use super::amount::{Amount, Way};
use super::run::ClientRun;
use crate::model::{Event, PeerProgress};
use tapeline_base::BitRate;

/// The main numbers of a client's test as its result block gives them, for a view that shows them
/// while the test runs.
#[derive(Debug, Default)]
pub struct ClientAnswer {
    run: ClientRun,
    /// The server's counters, the last but one and the last.
    progress: (PeerProgress, PeerProgress),
}

impl ClientAnswer {
    /// Takes what an event says of the test.
    pub fn observe(&mut self, event: &Event) {
        self.run.observe(event);
        if let Event::PeerProgress(progress) = event {
            self.progress = (self.progress.1, *progress);
        }
    }

    /// Bits per second of one direction of the whole test: the receiver's count where it is known,
    /// else the sender's. `None` before the end.
    #[must_use]
    pub fn mean(&self, to_server: bool) -> Option<f64> {
        let way = if to_server {
            Way::ToServer
        } else {
            Way::FromServer
        };
        let counted = self.run.received(way).or(self.run.sent(way));
        counted.as_ref().map(Amount::rate)
    }

    /// Bits per second that the server receives, by its latest two counters.
    #[must_use]
    pub fn received_by_server(&self) -> Option<f64> {
        let (before, now) = self.progress;
        let time = now.elapsed.checked_sub(before.elapsed)?;
        let bytes = now.bytes.checked_sub(before.bytes)?;
        (!time.is_zero()).then(|| BitRate::over(bytes, time))
    }

    /// Median round trip of the idle path in seconds, or the first one of its connection.
    #[must_use]
    pub fn idle_round_trip(&self) -> Option<f64> {
        let latency = self.run.latency.as_ref();
        let median = latency.and_then(|latency| latency.idle.round_trips.percentile(50.0));
        let line = self.run.line.as_ref();
        let first = line.and_then(|line| line.initial);
        let median = median.map(|nanos| nanos as f64 * 1e-9);
        median.or(first.map(|first| f64::from(first.rtt_micros) * 1e-6))
    }

    /// Median round trip beside the whole test's traffic, seconds.
    #[must_use]
    pub fn loaded_round_trip(&self) -> Option<f64> {
        let latency = self.run.latency.as_ref()?;
        let median = latency.loaded.round_trips.percentile(50.0)?;
        Some(median as f64 * 1e-9)
    }
}
