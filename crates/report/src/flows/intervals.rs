//! Sums over different flows for each interval of their test.

use std::collections::BTreeMap;

use crate::model::FlowDirection;

/// Rows of sums. Flows have intervals of their own, from their own starts; an interval that lies across
/// two rows is parted between them by time, so that nothing is lost or counted twice.
#[derive(Debug)]
pub(crate) struct IntervalSums {
    /// Length of a row, seconds.
    length: f64,
    rows: BTreeMap<u64, Sums>,
    /// Until when all of each flow is known, seconds after the test's beginning.
    known: Vec<f64>,
    /// The end of the last interval.
    end: f64,
}

/// What a flow carried one way in an interval of its own, seconds after the test's beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) direction: FlowDirection,
    pub(crate) bytes: u64,
    pub(crate) retransmits: Option<u64>,
}

/// What the flows carried in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    /// Bytes to the server.
    pub(crate) to_server: f64,
    /// Bytes from the server.
    pub(crate) from_server: f64,
    /// Segments that were sent again, as far as this end sends.
    pub(crate) retransmits: Option<u64>,
}

/// A row that is complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    /// Seconds after the test's beginning.
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) sums: Sums,
}

/// Ends of intervals that are so near each other are one, as a share of a row.
const SAME: f64 = 0.05;

impl IntervalSums {
    /// For rows of so many seconds, of flows that begin at these times.
    pub(crate) fn new(length: f64, starts: impl Iterator<Item = f64>) -> Self {
        Self {
            length,
            rows: BTreeMap::new(),
            known: starts.collect(),
            end: 0.0,
        }
    }

    /// Takes an interval of the flow at this place.
    pub(crate) fn add(&mut self, flow: usize, counted: &Counted) {
        let Counted { from, to, .. } = *counted;
        if let Some(known) = self.known.get_mut(flow) {
            *known = known.max(from);
        }
        self.end = self.end.max(to);
        let bytes = counted.bytes as f64;
        // What lies across a boundary by a little belongs to one row.
        let place = |time: f64| (time / self.length).max(0.0) as u64;
        let slack = SAME * self.length;
        let first = place(from + slack);
        let last = place(to - slack).max(first);
        let span = (to - from).max(f64::MIN_POSITIVE);
        for place in first..=last {
            let begin = match place == first {
                true => from,
                false => place as f64 * self.length,
            };
            let end = match place == last {
                true => to,
                false => (place + 1) as f64 * self.length,
            };
            let share = (end - begin) / span;
            let row = self.rows.entry(place).or_default();
            match counted.direction {
                FlowDirection::Reverse => row.from_server += bytes * share,
                FlowDirection::Forward | FlowDirection::RoundTrip => row.to_server += bytes * share,
            }
        }
        if let Some(again) = counted.retransmits {
            let row = self.rows.entry(first).or_default();
            row.retransmits = Some(row.retransmits.unwrap_or(0) + again);
        }
    }

    /// The flow at this place has no more intervals.
    pub(crate) fn end(&mut self, flow: usize) {
        if let Some(known) = self.known.get_mut(flow) {
            *known = f64::INFINITY;
        }
    }

    /// Rows to which nothing can be added any more, in their order.
    pub(crate) fn complete(&mut self) -> Vec<Row> {
        let known = self.known.iter().copied().fold(f64::INFINITY, f64::min);
        let mut complete = Vec::new();
        while let Some(first) = self.rows.first_entry() {
            let start = *first.key() as f64 * self.length;
            if start + self.length * (1.0 - SAME) > known {
                break;
            }
            let sums = first.remove();
            let end = match self.rows.is_empty() {
                true => (start + self.length).min(self.end.max(start)),
                false => start + self.length,
            };
            if end > start {
                complete.push(Row { start, end, sums });
            }
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(from: f64, to: f64, bytes: u64, direction: FlowDirection) -> Counted {
        Counted {
            from,
            to,
            direction,
            bytes,
            retransmits: None,
        }
    }

    fn shown(rows: &[Row]) -> Vec<(f64, f64, f64)> {
        let sum = |row: &Row| row.sums.to_server + row.sums.from_server;
        rows.iter()
            .map(|row| (row.start, row.end, sum(row)))
            .collect()
    }

    #[test]
    fn a_row_waits_for_all_flows_and_takes_its_share_of_each() {
        let mut sums = IntervalSums::new(1.0, [0.0, 0.5].into_iter());
        let forward = FlowDirection::Forward;
        sums.add(0, &counted(0.0, 1.0, 100, forward));
        sums.add(0, &counted(1.0, 2.0, 100, forward));
        assert_eq!(sums.complete(), [], "the second flow is not known");
        sums.add(1, &counted(0.5, 1.5, 40, FlowDirection::Reverse));
        assert_eq!(sums.complete(), []);
        sums.add(1, &counted(1.5, 2.5, 40, FlowDirection::Reverse));
        assert_eq!(shown(&sums.complete()), [(0.0, 1.0, 120.0)]);
        sums.end(0);
        sums.end(1);
        let rest = sums.complete();
        assert_eq!(shown(&rest), [(1.0, 2.0, 140.0), (2.0, 2.5, 20.0)]);
    }

    #[test]
    fn boundaries_that_are_nearly_the_same_are_one() {
        let mut sums = IntervalSums::new(1.0, [0.0].into_iter());
        for second in 0..3 {
            let start = f64::from(second);
            sums.add(
                0,
                &counted(start + 0.02, start + 1.02, 10, FlowDirection::Forward),
            );
        }
        sums.end(0);
        let rows = sums.complete();
        let total: f64 = rows.iter().map(|row| row.sums.to_server).sum();
        assert!((total - 30.0).abs() < 1e-9, "{rows:?}");
        assert_eq!(rows.len(), 3, "{rows:?}");
    }
}
