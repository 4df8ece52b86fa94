//! What the server keeps: streams and buckets with their bounds, keys, and writes that compare.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::names::{JobId, PREFIX, SiteName};

const DAY: Duration = Duration::from_secs(86_400);

/// The number that the server gives to a write; of a bucket's writes each has a greater one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Revision(pub u64);

/// A stream of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Results, until the collector has them and beyond.
    Result,
    /// Steps of jobs.
    Event,
}

/// Bounds of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamBounds {
    /// Messages older than this leave.
    pub age: Duration,
    /// All messages together, bytes; the oldest leave.
    pub bytes: Option<u64>,
    /// One message, bytes.
    pub message: usize,
    /// Repeated message ids are dropped for so long. A result that is published again later than that passes
    /// the collector again, which says again that it is stored.
    pub duplicates: Duration,
}

impl Stream {
    /// Its name in the server.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Result => "TL_RESULT",
            Self::Event => "TL_EVENT",
        }
    }

    /// The subjects that it stores.
    #[must_use]
    pub fn subjects(self) -> String {
        match self {
            Self::Result => format!("{PREFIX}.result.>"),
            Self::Event => format!("{PREFIX}.event.>"),
        }
    }

    /// Those of a site: what its holders of keys may read.
    #[must_use]
    pub fn of_site(self, site: &SiteName) -> String {
        match self {
            Self::Result => format!("{PREFIX}.result.{site}.>"),
            Self::Event => format!("{PREFIX}.event.{site}.>"),
        }
    }

    /// Its bounds.
    #[must_use]
    pub fn bounds(self) -> StreamBounds {
        let duplicates = Duration::from_secs(10);
        match self {
            Self::Result => StreamBounds {
                age: 7 * DAY,
                bytes: Some(10 << 30),
                message: 900_000,
                duplicates,
            },
            Self::Event => StreamBounds {
                age: 30 * DAY,
                bytes: None,
                message: 64 << 10,
                duplicates,
            },
        }
    }
}

/// A bucket: keys, each with its newest value. None has an age limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bucket {
    /// Jobs: `SITE.JOB`.
    Job,
    /// Enrolled hosts: `SITE.HOST`.
    Agent,
    /// Schedules: `SITE.NAME`.
    Schedule,
    /// Who controls: `controller.SITE`. Its first revision is the time in milliseconds since 1970 at which the
    /// bucket was made: epochs go on growing after the server's folder was wiped.
    Lease,
}

impl Bucket {
    /// Largest value, bytes.
    pub const LARGEST_VALUE: usize = 64 << 10;
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Job, Self::Agent, Self::Schedule, Self::Lease];

    /// Its name in the server.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Job => "tl_job",
            Self::Agent => "tl_agent",
            Self::Schedule => "tl_schedule",
            Self::Lease => "tl_lease",
        }
    }

    /// The name of the stream that it is.
    #[must_use]
    pub fn stream(self) -> String {
        format!("KV_{}", self.name())
    }

    /// The subjects of a site's keys: what its holders of keys may read.
    #[must_use]
    pub fn of_site(self, site: &SiteName) -> String {
        let keys = match self {
            Self::Job | Self::Agent | Self::Schedule => format!("{site}.>"),
            Self::Lease => lease_key(site),
        };
        format!("$KV.{}.{keys}", self.name())
    }
}

/// The key of a job.
#[must_use]
pub fn job_key(site: &SiteName, job: &JobId) -> String {
    format!("{site}.{job}")
}

/// The key of a site's lease.
#[must_use]
pub fn lease_key(site: &SiteName) -> String {
    format!("controller.{site}")
}

/// What a key must be for a write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Not there.
    Absent,
    /// At this revision.
    At(Revision),
}

/// What came of a write that compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is done.
    At(Revision),
    /// The key was not as expected.
    Conflict,
    /// No answer: it may be done, or may yet be.
    Unknown,
}

/// A value and its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<V> {
    /// Which write it is.
    pub revision: Revision,
    /// What was written.
    pub value: V,
}

/// What came of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read<V> {
    /// There is a value.
    There(Entry<V>),
    /// There is none.
    Absent,
    /// No answer.
    Unknown,
}
