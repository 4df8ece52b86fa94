//! Intervals that wait for the end of their test, which a document needs.

use std::collections::BTreeMap;

use super::json::{Json, Object};

/// Bytes of intervals of all running tests: four days of one stream, or an hour of 128 streams,
/// in rows of a second.
const MAX_BYTES: usize = 256 << 20;
/// How deep an interval stands in its document.
const DEPTH: usize = 2;

/// Intervals of tests that run, as the text that a document has of them: values would take
/// several times the memory. What does not fit is left out, and counted.
#[derive(Debug)]
pub(crate) struct IntervalBuffer {
    tests: BTreeMap<u32, Intervals>,
    bytes: usize,
    most: usize,
}

/// Those of one test.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    written: Vec<Json>,
    bytes: usize,
    left_out: u64,
}

impl Default for IntervalBuffer {
    fn default() -> Self {
        Self::within(MAX_BYTES)
    }
}

impl IntervalBuffer {
    /// At most so many bytes.
    pub(crate) fn within(most: usize) -> Self {
        Self {
            tests: BTreeMap::new(),
            bytes: 0,
            most,
        }
    }

    /// Takes an interval of a test.
    pub(crate) fn push(&mut self, test: u32, interval: &Json) {
        let intervals = self.tests.entry(test).or_default();
        let text = interval.indented_at(DEPTH);
        // A gap in the middle would be worse than an early end.
        if intervals.left_out > 0 || self.bytes + text.len() > self.most {
            intervals.left_out += 1;
            return;
        }
        self.bytes += text.len();
        intervals.bytes += text.len();
        intervals.written.push(Json::Written(text));
    }

    /// Gives those of a test away.
    pub(crate) fn take(&mut self, test: u32) -> Intervals {
        let intervals = self.tests.remove(&test).unwrap_or_default();
        self.bytes -= intervals.bytes;
        intervals
    }
}

impl Intervals {
    /// Enters them into a document.
    pub(crate) fn enter(self, document: Object) -> Object {
        let document = document.with("intervals", self.written);
        match self.left_out {
            0 => document,
            count => document.with("intervals_left_out", count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(number: u32) -> Json {
        Object::new().with("number", number).into()
    }

    #[test]
    fn what_does_not_fit_is_counted_and_leaves_no_gap() {
        let length = interval(1).indented_at(DEPTH).len();
        let mut buffer = IntervalBuffer::within(2 * length + 1);
        for number in 1..=3 {
            buffer.push(7, &interval(number));
        }
        buffer.push(8, &interval(1));
        let document = buffer.take(7).enter(Object::new());
        let text = Json::from(document).compact();
        assert_eq!(text.matches("number").count(), 2);
        assert!(text.ends_with("\"intervals_left_out\":1}"), "{text}");
        buffer.push(9, &interval(1));
        let document = buffer.take(9).enter(Object::new());
        assert_eq!(document.entries().len(), 1, "its place is free again");
    }

    #[test]
    fn a_document_looks_as_if_it_had_been_written_at_once() {
        let whole = Object::new().with("intervals", vec![interval(1), interval(2)]);
        let mut buffer = IntervalBuffer::default();
        buffer.push(1, &interval(1));
        buffer.push(1, &interval(2));
        let entered = buffer.take(1).enter(Object::new());
        assert_eq!(Json::from(entered).indented(), Json::from(whole).indented());
    }
}
