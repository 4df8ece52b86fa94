//! Whether what a fleet guarantees has held.

use std::collections::{BTreeMap, BTreeSet};

use interop::Fleet;
use tapeline_fleet::{JobEvent, State};

/// The final states of all jobs so far: none may ever change.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    finals: BTreeMap<String, String>,
}

impl Checker {
    /// What does not hold, now that all jobs are final.
    pub(crate) fn faults(&mut self, fleet: &Fleet, events: &[JobEvent]) -> Vec<String> {
        let mut faults = Vec::new();
        let mut done = BTreeSet::new();
        for job in fleet.jobs() {
            let text = |name: &str| job[name].as_str().unwrap_or_default().to_owned();
            let (name, state) = (text("job"), text("state"));
            let before = self.finals.insert(name.clone(), state.clone());
            if let Some(before) = before
                && before != state
            {
                faults.push(format!("{name} was {before}, and is {state}"));
            }
            if state == "done" {
                done.insert((name, text("from")));
            }
        }
        // An event that came twice is the same step.
        let mut ends: BTreeMap<&str, BTreeSet<(String, u64)>> = BTreeMap::new();
        for event in events.iter().filter(|event| event.state.is_final()) {
            let ends = ends.entry(event.job.as_str()).or_default();
            ends.insert((event.state.name().to_owned(), event.revision.0));
        }
        for (job, ends) in ends {
            if ends.len() > 1 {
                faults.push(format!("{job} has several ends: {ends:?}"));
            }
            let known = self.finals.get(job);
            if known.is_some_and(|known| ends.iter().any(|(state, _)| state != known)) {
                faults.push(format!("{job} is {known:?}, and its events say {ends:?}"));
            }
        }
        faults.extend(steps_back(events));
        let results = fleet.results();
        let there: BTreeSet<(String, String)> = results
            .iter()
            .map(|result| (result.job.clone(), result.host.clone()))
            .collect();
        for missing in done.difference(&there) {
            faults.push(format!("the result of {missing:?} is not in the database"));
        }
        let mut seen = BTreeSet::new();
        for result in results {
            if !seen.insert(result.document.clone()) {
                faults.push(format!(
                    "{} of {} is in the database twice",
                    result.job, result.host
                ));
            }
        }
        faults
    }
}

/// Steps after an end, by the revisions of the record.
fn steps_back(events: &[JobEvent]) -> Vec<String> {
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    for event in events.iter().filter(|event| event.state.is_final()) {
        ends.insert(event.job.as_str(), event.revision.0);
    }
    let later = events.iter().filter(|event| {
        let end = ends.get(event.job.as_str());
        end.is_some_and(|end| event.revision.0 > *end)
    });
    later
        .map(|event| {
            format!(
                "{} went on after its end: {:?}",
                event.job,
                State::name(&event.state)
            )
        })
        .collect()
}
