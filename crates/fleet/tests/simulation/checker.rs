//! Whether the guarantees held, by all logs.

use std::collections::{BTreeMap, BTreeSet};

use tapeline_base::MonoTime;
use tapeline_fleet::{AttemptKey, JobId, ResultKey, State};

use crate::log::{Line, Log};

/// A guarantee that did not hold, with what shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Broken {
    /// Two exclusive tests ran on a host at once.
    Overlap(String),
    /// A job has no final state.
    Open(String),
    /// A job has a second final state, or another step after the first.
    Overwritten(String),
    /// A spooled result is not in the database.
    Missing(String),
    /// A job is done, and its client's result is not in the database.
    Hollow(String),
    /// A result is in the database twice.
    Twice(String),
    /// An agent followed an order of an older epoch than it knew.
    OldEpoch(String),
}

/// All that is broken; jobs must be final by `final_by`.
pub(crate) fn check(log: &Log, final_by: MonoTime) -> Vec<Broken> {
    let mut checker = Checker::default();
    for (at, line) in &log.lines {
        checker.line(*at, line, final_by);
    }
    for job in &checker.accepted {
        if !checker.finals.contains_key(job) {
            let state = checker.states.get(job);
            checker
                .broken
                .push(Broken::Open(format!("{job} is {state:?}")));
        }
    }
    for key in &checker.done {
        if !checker.inserted.contains_key(key) {
            checker.broken.push(Broken::Hollow(key.to_string()));
        }
    }
    for key in &checker.spooled {
        match checker.inserted.get(key) {
            None => checker.broken.push(Broken::Missing(key.to_string())),
            Some(1) => {}
            Some(times) => checker
                .broken
                .push(Broken::Twice(format!("{key}: {times} times"))),
        }
    }
    checker.broken
}

#[derive(Default)]
struct Checker {
    /// The process of an exclusive test on each host.
    running: BTreeMap<usize, BTreeSet<u64>>,
    accepted: BTreeSet<JobId>,
    states: BTreeMap<JobId, State>,
    finals: BTreeMap<JobId, State>,
    /// What the jobs that are done have measured.
    done: Vec<ResultKey>,
    spooled: BTreeSet<ResultKey>,
    inserted: BTreeMap<ResultKey, u32>,
    /// The newest epoch of each host.
    epochs: BTreeMap<usize, u64>,
    broken: Vec<Broken>,
}

impl Checker {
    fn line(&mut self, at: MonoTime, line: &Line, final_by: MonoTime) {
        let seconds = at.as_nanos() as f64 / 1e9;
        match line {
            Line::Started { host, process } => {
                let running = self.running.entry(*host).or_default();
                running.insert(*process);
                if running.len() > 1 {
                    let what = format!("host {host}: processes {running:?} at {seconds:.3}");
                    self.broken.push(Broken::Overlap(what));
                }
            }
            Line::Ended { host, process } => {
                self.running.entry(*host).or_default().remove(process);
            }
            Line::Accepted { job } => {
                self.accepted.insert(job.clone());
            }
            Line::Wrote {
                job,
                record,
                revision,
            } => {
                if let Some(state) = self.finals.get(job) {
                    let what = format!(
                        "{job} was {state}, and is {} by {revision:?} of {:?} at {seconds:.3}",
                        record.state, record.epoch
                    );
                    self.broken.push(Broken::Overwritten(what));
                } else if record.state.is_final() {
                    if at > final_by {
                        let what = format!("{job} is {} only at {seconds:.3}", record.state);
                        self.broken.push(Broken::Open(what));
                    }
                    if record.state == State::Done {
                        let of = AttemptKey {
                            job: job.clone(),
                            attempt: record.attempt,
                        };
                        let host = record.spec.from.clone();
                        self.done.push(ResultKey { of, host });
                    }
                    self.finals.insert(job.clone(), record.state.clone());
                }
                self.states.insert(job.clone(), record.state.clone());
            }
            Line::Deleted { job } => {
                if !self.finals.contains_key(job) {
                    let what = format!("{job} left without a final state at {seconds:.3}");
                    self.broken.push(Broken::Open(what));
                }
            }
            Line::Spooled { key } => {
                self.spooled.insert(key.clone());
            }
            Line::GivenUp { key } => {
                self.spooled.remove(key);
            }
            Line::Inserted { key } => *self.inserted.entry(key.clone()).or_default() += 1,
            Line::Knows { host, epoch } => {
                let newest = self.epochs.entry(*host).or_default();
                *newest = epoch.0.max(*newest);
            }
            Line::Followed { host, epoch } => {
                let newest = self.epochs.get(host).copied().unwrap_or_default();
                if epoch.0 < newest {
                    let what = format!(
                        "host {host} knew {newest} and followed {} at {seconds:.3}",
                        epoch.0
                    );
                    self.broken.push(Broken::OldEpoch(what));
                }
            }
            Line::Refused | Line::Fault { .. } => {}
        }
    }
}
