//! What happened, as the machines' own logs would say.

use std::hash::{DefaultHasher, Hash, Hasher};

use tapeline_base::MonoTime;
use tapeline_fleet::{Epoch, JobId, JobRecord, ResultKey, Revision};

use crate::checker::{Broken, Checker, FinalBy};

/// A host, by its number.
pub(crate) type HostNumber = usize;

/// A line of some log.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    /// A process of an exclusive test started.
    Started { host: HostNumber, process: u64 },
    /// It is gone.
    Ended { host: HostNumber, process: u64 },
    /// A job was written: the first time, it was accepted.
    Wrote {
        job: JobId,
        record: JobRecord,
        revision: Revision,
    },
    /// A job left the bucket.
    Deleted { job: JobId },
    /// A result was written into a spool.
    Spooled { key: ResultKey },
    /// A result was given up for lack of room.
    GivenUp { key: ResultKey },
    /// A result was inserted into the database.
    Inserted { key: ResultKey },
    /// An agent has kept that epoch.
    Knows { host: HostNumber, epoch: Epoch },
    /// An agent followed an order of that epoch.
    Followed { host: HostNumber, epoch: Epoch },
    /// A store refused a write.
    Refused,
    /// A fault began, or ended.
    Fault { what: String },
}

/// Lines with the world's time: kept, or checked as they come and forgotten once a job is over.
#[derive(Debug)]
pub(crate) enum Log {
    Kept(Vec<(MonoTime, Line)>),
    Checked(Box<Checker>),
}

impl Log {
    pub(crate) fn new(checked: Option<FinalBy>) -> Self {
        match checked {
            Some(by) => Self::Checked(Box::new(Checker::new(by))),
            None => Self::Kept(Vec::new()),
        }
    }

    pub(crate) fn add(&mut self, now: MonoTime, line: Line) {
        match self {
            Self::Kept(lines) => lines.push((now, line)),
            Self::Checked(checker) => checker.line(now, &line),
        }
    }

    /// Those that were kept.
    pub(crate) fn lines(&self) -> &[(MonoTime, Line)] {
        match self {
            Self::Kept(lines) => lines,
            Self::Checked(_) => &[],
        }
    }

    /// Jobs and results that are over, and were checked.
    pub(crate) fn over(&self) -> (usize, usize) {
        match self {
            Self::Kept(_) => (0, 0),
            Self::Checked(checker) => checker.over(),
        }
    }

    /// What is broken at the end of lines that were checked.
    pub(crate) fn missing(&mut self, now: MonoTime) -> Vec<Broken> {
        match self {
            Self::Kept(_) => Vec::new(),
            Self::Checked(checker) => checker.missing(now),
        }
    }
}

/// Stands for a key of which there are millions.
pub(crate) fn fingerprint(key: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
