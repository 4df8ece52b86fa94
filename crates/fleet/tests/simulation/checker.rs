//! Whether the guarantees held, by all logs.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_fleet::{AttemptKey, JobId, JobRecord, ResultKey, Revision, State};

use crate::clocks::BEGIN;
use crate::log::{Line, Log, fingerprint};

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

/// When a job must have its final state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FinalBy {
    /// All jobs by then.
    Time(MonoTime),
    /// Each so long after it would expire.
    Expiry(Duration),
}

/// All that is broken; jobs must be final by `final_by`.
pub(crate) fn check(log: &Log, final_by: MonoTime) -> Vec<Broken> {
    let mut checker = Checker::new(FinalBy::Time(final_by));
    for (at, line) in log.lines() {
        checker.line(*at, line);
    }
    checker.missing(MonoTime::FAR)
}

/// A job without a final state.
#[derive(Debug)]
struct Open {
    state: State,
    by: MonoTime,
}

/// Follows logs. Of jobs and results that are over it keeps little: there may be millions.
#[derive(Debug)]
pub(crate) struct Checker {
    final_by: FinalBy,
    /// The processes of exclusive tests on each host.
    running: BTreeMap<usize, BTreeSet<u64>>,
    open: BTreeMap<JobId, Open>,
    finals: BTreeMap<JobId, State>,
    /// Jobs that left the bucket: their fingerprints.
    gone: HashSet<u64>,
    /// Results that are not in the database, and since when.
    spooled: BTreeMap<ResultKey, MonoTime>,
    /// Fingerprints of those that are.
    inserted: HashSet<u64>,
    /// The newest epoch of each host.
    epochs: BTreeMap<usize, u64>,
    broken: Vec<Broken>,
}

impl Checker {
    pub(crate) fn new(final_by: FinalBy) -> Self {
        Self {
            final_by,
            running: BTreeMap::new(),
            open: BTreeMap::new(),
            finals: BTreeMap::new(),
            gone: HashSet::new(),
            spooled: BTreeMap::new(),
            inserted: HashSet::new(),
            epochs: BTreeMap::new(),
            broken: Vec::new(),
        }
    }

    /// All that is broken at the end: also jobs that should have a final state before `now`, and results that were
    /// spooled [`RESULTS`](crate::RESULTS) before it.
    pub(crate) fn missing(&mut self, now: MonoTime) -> Vec<Broken> {
        let open = self.open.iter().filter(|(_, open)| open.by < now);
        let open = open.map(|(job, open)| Broken::Open(format!("{job} is {}", open.state)));
        let spooled = self.spooled.iter();
        let missing = spooled.filter(|(_, at)| now.since(**at) > crate::RESULTS);
        let missing = missing.map(|(key, _)| Broken::Missing(key.to_string()));
        self.broken.extend(open.chain(missing));
        std::mem::take(&mut self.broken)
    }

    /// How many jobs and results are over.
    pub(crate) fn over(&self) -> (usize, usize) {
        (self.gone.len() + self.finals.len(), self.inserted.len())
    }

    pub(crate) fn line(&mut self, at: MonoTime, line: &Line) {
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
            Line::Wrote {
                job,
                record,
                revision,
            } => self.wrote(at, job, record, *revision),
            Line::Deleted { job } => {
                self.open.remove(job);
                if self.finals.remove(job).is_none() {
                    let what = format!("{job} left without a final state at {seconds:.3}");
                    self.broken.push(Broken::Open(what));
                }
                self.gone.insert(fingerprint(job));
            }
            Line::Spooled { key } => {
                if !self.inserted.contains(&fingerprint(key)) {
                    self.spooled.insert(key.clone(), at);
                }
            }
            Line::GivenUp { key } => {
                self.spooled.remove(key);
            }
            Line::Inserted { key } => {
                self.spooled.remove(key);
                if !self.inserted.insert(fingerprint(key)) {
                    let what = format!("{key} at {seconds:.3}");
                    self.broken.push(Broken::Twice(what));
                }
            }
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

    fn wrote(&mut self, at: MonoTime, job: &JobId, record: &JobRecord, revision: Revision) {
        let seconds = at.as_nanos() as f64 / 1e9;
        let by = match self.final_by {
            FinalBy::Time(by) => by,
            FinalBy::Expiry(spare) => {
                let expires = u64::try_from(record.spec.expires.0 - BEGIN).unwrap_or_default();
                MonoTime::ZERO + Duration::from_secs(expires) + spare
            }
        };
        let ended = self.finals.get(job).map(State::to_string);
        let gone = || self.gone.contains(&fingerprint(job));
        if let Some(ended) = ended.or_else(|| gone().then(|| "final, and had left".to_owned())) {
            let what = format!(
                "{job} was {ended}, and is {} by {revision:?} of {:?} at {seconds:.3}",
                record.state, record.epoch
            );
            self.broken.push(Broken::Overwritten(what));
        } else if record.state.is_final() {
            if at > by {
                let what = format!("{job} is {} only at {seconds:.3}", record.state);
                self.broken.push(Broken::Open(what));
            }
            if record.state == State::Done {
                let of = AttemptKey {
                    job: job.clone(),
                    attempt: record.attempt,
                };
                let host = record.spec.from.clone();
                let key = ResultKey { of, host };
                if !self.inserted.contains(&fingerprint(&key)) {
                    self.broken.push(Broken::Hollow(key.to_string()));
                }
            }
            self.open.remove(job);
            self.finals.insert(job.clone(), record.state.clone());
        } else {
            let state = record.state.clone();
            self.open.insert(job.clone(), Open { state, by });
        }
    }
}
