//! A place for a test on a host.

use tapeline_base::MonoTime;
use tapeline_remote::Class;

use crate::job::{AttemptKey, ServerAt};
use crate::message::ReplyId;

/// How far the test of a slot is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The lock file is being tried.
    Locking {
        /// Who waits for the grant.
        reply: ReplyId,
    },
    /// It waits for its test.
    Reserved,
    /// The server's process was started, and does not listen yet.
    Starting {
        /// Who waits for its ports.
        reply: ReplyId,
    },
    /// The test's process runs.
    Running {
        /// Of a server.
        server: Option<ServerAt>,
    },
    /// The test's process is to end.
    Stopping,
}

/// A slot and the attempt that has it. It is free once it is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) of: AttemptKey,
    pub(crate) class: Class,
    /// The length of the test that it was asked for, seconds.
    pub(crate) seconds: u32,
    /// It frees itself then.
    pub(crate) until: MonoTime,
    /// It is never kept for longer than to here.
    pub(crate) latest: MonoTime,
    pub(crate) phase: Phase,
}

impl Slot {
    /// A process of a test is there.
    pub(crate) fn has_process(&self) -> bool {
        matches!(
            self.phase,
            Phase::Starting { .. } | Phase::Running { .. } | Phase::Stopping
        )
    }

    /// When something is to be done with it.
    pub(crate) fn wake_at(&self) -> MonoTime {
        match self.phase {
            Phase::Stopping => MonoTime::FAR,
            _ => self.until,
        }
    }
}
