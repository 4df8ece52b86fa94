//! What has been seen of a load: bytes, round trips, connections.

use std::time::Duration;

use tapeline_report::method::Direction;
use tapeline_report::{Event, Measure, Phase, Subject};
use tapeline_stats::DelaySamples;

use super::fresh_probe::FreshProbe;

/// What a server has read so far.
#[derive(Clone, Copy, Debug, Default)]
struct Read {
    bytes: u64,
    elapsed: Duration,
}

/// The gauge of a load in one direction or both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge {
    /// Bytes that this end has read.
    received: u64,
    /// Bytes that this end has written.
    sent: u64,
    /// What the server has read, by its own words.
    server: Option<Read>,
    /// The same when an interval was taken last.
    taken: Taken,
    samples: DelaySamples,
    flows: u64,
    /// Probes with an answer, in all.
    pub(crate) answered: u64,
    /// Round trips of load connections, in all.
    pub(crate) own: u64,
    /// Probes without an answer, in all.
    pub(crate) failed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    received: u64,
    sent: u64,
    server: Read,
    at: Duration,
}

/// What came in an interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct GaugeInterval {
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    pub(crate) samples: DelaySamples,
    pub(crate) flows: u64,
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Gauge {
    /// Takes an event of the load in a direction.
    pub(crate) fn observe(&mut self, event: &Event, direction: Direction) {
        match event {
            Event::Connected(_) => self.flows += 1,
            Event::PeerProgress(progress) if direction == Direction::Up => {
                self.server = Some(Read {
                    bytes: progress.bytes,
                    elapsed: progress.elapsed,
                });
            }
            Event::Row(row)
                if row.phase == Phase::Interval && matches!(row.subject, Subject::Flow(_)) =>
            {
                match &row.measure {
                    Measure::TcpReceive(_) => self.received += row.bytes,
                    Measure::TcpSend(send) => {
                        self.sent += row.bytes;
                        if let Some(micros) = send.state.and_then(|state| state.rtt_micros) {
                            self.smoothed(Duration::from_micros(micros.into()));
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Takes the smoothed round trip of a load connection.
    pub(crate) fn smoothed(&mut self, round_trip: Duration) {
        self.own += 1;
        self.samples.own.push(millis(round_trip));
    }

    /// Takes a new connection that was answered.
    pub(crate) fn probed(&mut self, probe: &FreshProbe) {
        self.answered += 1;
        self.samples.connect.push(millis(probe.connect));
        self.samples.answer.push(millis(probe.answer));
    }

    /// Payload that receivers have read, as far as they have told.
    pub(crate) fn moved(&self) -> u64 {
        let up = self.server.map_or(self.sent, |server| server.bytes);
        self.received + up
    }

    /// Whether an upload's bytes are those of the sender: the server does not tell.
    pub(crate) fn is_senders_count(&self) -> bool {
        self.sent > 0 && self.server.is_none()
    }

    /// What came since the last call; `now` is the time since the load began.
    pub(crate) fn take(&mut self, now: Duration) -> GaugeInterval {
        let server = self.server.unwrap_or_default();
        let before = std::mem::replace(
            &mut self.taken,
            Taken {
                received: self.received,
                sent: self.sent,
                server,
                at: now,
            },
        );
        let elapsed = now.saturating_sub(before.at).as_secs_f64();
        // A server's counts come twice a second, with their own times.
        let (up, seconds) = if self.server.is_some() {
            let read = server.bytes.saturating_sub(before.server.bytes);
            let time = server.elapsed.saturating_sub(before.server.elapsed);
            (read, time.as_secs_f64())
        } else {
            (self.sent - before.sent, elapsed)
        };
        let down = self.received - before.received;
        let (bytes, seconds) = if down == 0 {
            (up, seconds)
        } else {
            // Both at once: rates add up.
            let up = if seconds > 0.0 {
                up as f64 * elapsed / seconds
            } else {
                0.0
            };
            (down + up as u64, elapsed)
        };
        GaugeInterval {
            bytes,
            seconds,
            samples: std::mem::take(&mut self.samples),
            flows: self.flows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_report::PeerProgress;

    fn progress(millis: u64, bytes: u64) -> Event {
        Event::PeerProgress(PeerProgress {
            elapsed: Duration::from_millis(millis),
            bytes,
            ..PeerProgress::default()
        })
    }

    #[test]
    fn a_servers_count_has_the_servers_time() {
        let mut gauge = Gauge::default();
        gauge.observe(&progress(500, 1000), Direction::Up);
        let first = gauge.take(Duration::from_millis(1000));
        assert_eq!((first.bytes, first.seconds), (1000, 0.5));
        gauge.observe(&progress(1000, 2500), Direction::Up);
        gauge.observe(&progress(1500, 4000), Direction::Up);
        let second = gauge.take(Duration::from_millis(2000));
        assert_eq!((second.bytes, second.seconds), (3000, 1.0));
        let nothing = gauge.take(Duration::from_millis(3000));
        assert_eq!((nothing.bytes, nothing.seconds), (0, 0.0));
        assert_eq!(gauge.moved(), 4000);
        // Of a download it is what was sent.
        gauge.observe(&progress(2000, 9000), Direction::Down);
        assert_eq!(gauge.moved(), 4000);
    }

    #[test]
    fn samples_belong_to_the_interval_in_which_they_come() {
        let mut gauge = Gauge::default();
        gauge.smoothed(Duration::from_millis(30));
        gauge.probed(&FreshProbe {
            connect: Duration::from_millis(20),
            answer: Duration::from_millis(21),
            smoothed: None,
        });
        let first = gauge.take(Duration::from_secs(1)).samples;
        assert_eq!((first.own, first.connect), (vec![30.0], vec![20.0]));
        assert_eq!(first.answer, [21.0]);
        assert_eq!(gauge.take(Duration::from_secs(2)).samples.pairs(), 0);
        assert_eq!((gauge.own, gauge.answered, gauge.failed), (1, 1, 0));
    }
}
