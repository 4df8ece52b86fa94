//! What happened, as the machines' own logs would say.

use tapeline_base::MonoTime;
use tapeline_fleet::{Epoch, JobId, JobRecord, ResultKey, Revision};

/// A host, by its number.
pub(crate) type HostNumber = usize;

/// A line of some log.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    /// A process of an exclusive test started.
    Started { host: HostNumber, process: u64 },
    /// It is gone.
    Ended { host: HostNumber, process: u64 },
    /// A job was accepted.
    Accepted { job: JobId },
    /// A job was written.
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

/// Lines with the world's time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) lines: Vec<(MonoTime, Line)>,
}

impl Log {
    pub(crate) fn add(&mut self, now: MonoTime, line: Line) {
        self.lines.push((now, line));
    }
}
