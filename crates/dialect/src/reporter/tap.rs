//! Rows that are kept for somebody beside the reader.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tapeline_base::FlowTag;
use tapeline_report::{Event, Phase, Row, Subject};

/// Rows that a tap keeps; of a longer test the first intervals and the totals.
const MOST_ROWS: usize = 16_384;

/// Keeps the rows of some flows while it lives.
#[derive(Debug)]
pub(crate) struct Tap {
    flows: Vec<FlowTag>,
    rows: Mutex<Vec<Row>>,
}

impl Tap {
    /// The rows that were told so far, in their order.
    pub(crate) fn rows(&self) -> Vec<Row> {
        lock(&self.rows).clone()
    }
}

/// The taps that are open.
#[derive(Clone, Debug, Default)]
pub(super) struct Taps(Arc<Mutex<Vec<Weak<Tap>>>>);

impl Taps {
    pub(super) fn open(&self, flows: Vec<FlowTag>) -> Arc<Tap> {
        let tap = Arc::new(Tap {
            flows,
            rows: Mutex::default(),
        });
        lock(&self.0).push(Arc::downgrade(&tap));
        tap
    }

    pub(super) fn hear(&self, event: &Event) {
        let Event::Row(row) = event else { return };
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        lock(&self.0).retain(|tap| {
            let Some(tap) = tap.upgrade() else {
                return false;
            };
            if tap.flows.contains(&tag) {
                let mut rows = lock(&tap.rows);
                if row.phase == Phase::Total || rows.len() < MOST_ROWS {
                    rows.push(row.clone());
                }
            }
            true
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tapeline_base::{FlowId, WallTime};
    use tapeline_report::{Measure, Span, UdpSend};

    use super::*;

    fn row(id: u32, phase: Phase) -> Event {
        Event::Row(Row {
            subject: Subject::Flow(tag(id)),
            phase,
            span: Span {
                start: Duration::ZERO,
                end: Duration::from_secs(1),
            },
            ended: WallTime::default(),
            bytes: 1,
            endpoints: None,
            trip_times: false,
            measure: Measure::UdpSend(UdpSend::default()),
        })
    }

    fn tag(id: u32) -> FlowTag {
        FlowTag {
            id: FlowId(id),
            reversed: false,
        }
    }

    #[test]
    fn a_tap_keeps_its_own_flows_rows_and_not_too_many() {
        let taps = Taps::default();
        let tap = taps.open(vec![tag(1), tag(2)]);
        for id in 1..=3 {
            taps.hear(&row(id, Phase::Interval));
        }
        taps.hear(&Event::Idle);
        assert_eq!(tap.rows().len(), 2);
        for _ in 0..2 * MOST_ROWS {
            taps.hear(&row(1, Phase::Interval));
        }
        taps.hear(&row(1, Phase::Total));
        let rows = tap.rows();
        assert_eq!(rows.len(), MOST_ROWS + 1);
        assert_eq!(rows[MOST_ROWS].phase, Phase::Total);
        drop(tap);
        taps.hear(&row(1, Phase::Total));
        assert!(lock(&taps.0).is_empty());
    }
}
