//! A host: its disk, its lock file, its processes.

use std::collections::{BTreeMap, BTreeSet};

use tapeline_fleet::{AttemptKey, Kept, ResultKey, Spooled};
use tapeline_remote::Class;

/// Who has the lock file open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Holder {
    Agent,
    Process(u64),
}

/// What a process does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Serve,
    Run,
    /// A test that a person started there.
    Local,
}

/// A process of a test.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) of: Option<AttemptKey>,
    pub(crate) work: Work,
    pub(crate) class: Class,
    /// The agent's generation that started it: whoever hears of its end.
    pub(crate) parent: u64,
    /// It is ending already.
    pub(crate) is_ending: bool,
}

/// What outlives the agent's process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    pub(crate) kept: Kept,
    /// In the order in which they came.
    pub(crate) spool: Vec<Spooled>,
    pub(crate) is_full: bool,
}

/// A host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host {
    pub(crate) disk: Disk,
    lock: BTreeSet<Holder>,
    pub(crate) processes: BTreeMap<u64, Process>,
    /// Processes do not end when their agent dies, for some time.
    pub(crate) is_stuck: bool,
}

impl Host {
    /// Tries the lock file for somebody who has nothing of it.
    pub(crate) fn lock(&mut self, holder: Holder, is_guarded: bool) -> bool {
        self.lock.remove(&holder);
        let is_free = self.lock.is_empty() || !is_guarded;
        if is_free {
            self.lock.insert(holder);
        }
        is_free
    }

    /// A process inherits what its agent has.
    pub(crate) fn inherit(&mut self, process: u64) {
        if self.lock.contains(&Holder::Agent) {
            self.lock.insert(Holder::Process(process));
        }
    }

    pub(crate) fn close(&mut self, holder: Holder) {
        self.lock.remove(&holder);
    }

    /// The process of an attempt.
    pub(crate) fn process_of(&self, of: &AttemptKey) -> Option<u64> {
        let mut all = self.processes.iter();
        let found = all.find(|(_, process)| process.of.as_ref() == Some(of));
        found.map(|(number, _)| *number)
    }

    pub(crate) fn unspool(&mut self, key: &ResultKey) {
        self.disk.spool.retain(|spooled| spooled.key != *key);
    }
}
