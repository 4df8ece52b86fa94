//! Runs that are to be removed, and may still be kept.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tapeline_base::MutexExt;

/// Time to think better of it.
pub(crate) const UNDO: Duration = Duration::from_secs(10);

/// Sets of runs that are hidden, and go when their time is over.
#[derive(Debug, Default)]
pub(crate) struct Trash(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    sets: BTreeMap<u64, (Instant, Vec<String>)>,
    /// Taken, and hidden until they have gone.
    going: Vec<String>,
}

impl Trash {
    /// Hides runs; the number by which they can be had back.
    pub(crate) fn put(&self, runs: Vec<String>, now: Instant) -> u64 {
        let mut waiting = self.0.lock_unpoisoned();
        waiting.last += 1;
        let number = waiting.last;
        waiting.sets.insert(number, (now + UNDO, runs));
        number
    }

    /// Shows runs again; whether they were still there.
    pub(crate) fn undo(&self, number: u64) -> bool {
        self.0.lock_unpoisoned().sets.remove(&number).is_some()
    }

    /// The runs that are hidden.
    pub(crate) fn hidden(&self) -> Vec<String> {
        let waiting = self.0.lock_unpoisoned();
        let kept = waiting.sets.values().flat_map(|(_, runs)| runs);
        kept.chain(&waiting.going).cloned().collect()
    }

    /// Takes the runs whose time is over; all of them without a time. [`Trash::gone`] says that they
    /// need not be hidden any more.
    pub(crate) fn take(&self, now: Option<Instant>) -> Vec<String> {
        let mut waiting = self.0.lock_unpoisoned();
        let is_due = |until: &Instant| now.is_none_or(|now| *until <= now);
        let (due, rest) = std::mem::take(&mut waiting.sets)
            .into_iter()
            .partition(|(_, (until, _))| is_due(until));
        waiting.sets = rest;
        let due: BTreeMap<u64, (Instant, Vec<String>)> = due;
        let runs: Vec<String> = due.into_values().flat_map(|(_, runs)| runs).collect();
        waiting.going.extend_from_slice(&runs);
        runs
    }

    /// What was taken has been removed, or cannot be.
    pub(crate) fn gone(&self, runs: &[String]) {
        let mut waiting = self.0.lock_unpoisoned();
        waiting.going.retain(|run| !runs.contains(run));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_go_when_their_time_is_over_unless_they_were_taken_back() {
        let (trash, start) = (Trash::default(), Instant::now());
        let first = trash.put(vec!["r1".to_owned()], start);
        let second = trash.put(vec!["r2".to_owned()], start + UNDO / 2);
        assert_eq!(trash.hidden(), ["r1", "r2"]);
        assert!(trash.take(Some(start + UNDO / 2)).is_empty());
        assert_eq!(trash.take(Some(start + UNDO)), ["r1"]);
        assert_eq!(trash.hidden(), ["r2", "r1"]);
        trash.gone(&["r1".to_owned()]);
        assert_eq!(trash.hidden(), ["r2"]);
        assert!(trash.undo(second) && !trash.undo(first));
        assert!(trash.hidden().is_empty() && trash.take(None).is_empty());
    }
}
