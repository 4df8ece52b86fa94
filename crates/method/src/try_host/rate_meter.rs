//! What a receiver reads of a load, without the first second: connections begin slowly.

use std::time::Duration;

use tapeline_report::{Event, Measure, PeerProgress, Phase, Row, Subject};

/// What does not count at the beginning.
pub(crate) const SETTLING: Duration = Duration::from_secs(1);

/// Counts what the receiver of a load reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateMeter {
    /// This end's rows behind the beginning.
    own_bytes: u64,
    own_end: Duration,
    /// What the server had read of an upload when the beginning was over.
    settled: Option<PeerProgress>,
}

impl RateMeter {
    /// Takes an event of the load.
    pub(crate) fn observe(&mut self, event: &Event) {
        match event {
            Event::Row(row) => self.take(row),
            Event::PeerProgress(progress)
                if self.settled.is_none() && progress.elapsed >= SETTLING =>
            {
                self.settled = Some(*progress);
            }
            _ => {}
        }
    }

    fn take(&mut self, row: &Row) {
        let received = matches!(row.measure, Measure::TcpReceive(_));
        let of_flow = matches!(row.subject, Subject::Flow(_));
        if received && of_flow && row.phase == Phase::Interval && row.span.start >= SETTLING {
            self.own_bytes += row.bytes;
            self.own_end = self.own_end.max(row.span.end);
        }
    }

    /// Bits per second at this end, as the receiver.
    pub(crate) fn own(&self) -> Option<f64> {
        rate(self.own_bytes, self.own_end.checked_sub(SETTLING)?)
    }

    /// Bits per second at the server, which read so many bytes in this time.
    pub(crate) fn of_server(&self, bytes: u64, time: Duration) -> Option<f64> {
        let settled = self.settled?;
        rate(
            bytes.checked_sub(settled.bytes)?,
            time.checked_sub(settled.elapsed)?,
        )
    }
}

/// Bits per second; nothing of a time that is too short for a rate.
fn rate(bytes: u64, time: Duration) -> Option<f64> {
    (time >= SETTLING / 2).then(|| bytes as f64 * 8.0 / time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_base::{FlowId, FlowTag, Placement, WallTime};
    use tapeline_report::{Span, TcpReceive};

    fn row(end: u64, bytes: u64) -> Event {
        Event::Row(Row {
            subject: Subject::Flow(FlowTag {
                id: FlowId(1),
                reversed: true,
            }),
            phase: Phase::Interval,
            span: Span {
                start: Duration::from_millis(end - 500),
                end: Duration::from_millis(end),
            },
            bytes,
            measure: Measure::TcpReceive(TcpReceive::default()),
            endpoints: None,
            ended: WallTime::default(),
            trip_times: false,
            placement: Placement::default(),
        })
    }

    #[test]
    fn the_first_second_does_not_count() {
        let mut meter = RateMeter::default();
        for (end, bytes) in [(500, 9), (1000, 9), (1500, 1000), (2000, 3000)] {
            meter.observe(&row(end, bytes));
        }
        assert_eq!(meter.own(), Some(32_000.0));
        assert_eq!(RateMeter::default().own(), None);
    }

    #[test]
    fn a_servers_count_begins_with_its_first_word_behind_it() {
        let mut meter = RateMeter::default();
        for (millis, bytes) in [(500, 700), (1100, 1000), (1600, 5000)] {
            meter.observe(&Event::PeerProgress(PeerProgress {
                elapsed: Duration::from_millis(millis),
                bytes,
                ..PeerProgress::default()
            }));
        }
        let time = Duration::from_millis(3100);
        assert_eq!(meter.of_server(11_000, time), Some(40_000.0));
        assert_eq!(meter.of_server(11_000, Duration::from_millis(1200)), None);
    }
}
