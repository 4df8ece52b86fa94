//! The server: buckets with revisions, a stream with a consumer.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_fleet::{
    Entry, Expected, JobId, JobRecord, LeaseRecord, Read, ResultKey, Revision, Stream, Written,
};

/// A bucket.
#[derive(Clone, Debug)]
pub(crate) struct Bucket<K, V> {
    /// Each with the time of its write.
    pub(crate) entries: BTreeMap<K, (Entry<V>, MonoTime)>,
    last: Revision,
    /// Writes are compared. Without it nothing is refused.
    compares: bool,
}

impl<K: Ord + Clone, V: Clone> Bucket<K, V> {
    pub(crate) fn new(first: u64, compares: bool) -> Self {
        Self {
            entries: BTreeMap::new(),
            last: Revision(first),
            compares,
        }
    }

    /// A write of a value, or a deletion.
    pub(crate) fn write(
        &mut self,
        key: &K,
        value: Option<V>,
        expected: Expected,
        now: MonoTime,
    ) -> Written {
        let found = self.entries.get(key).map(|(entry, _)| entry.revision);
        let is_expected = match expected {
            Expected::Absent => found.is_none(),
            Expected::At(revision) => found == Some(revision),
        };
        if self.compares && !is_expected {
            return Written::Conflict;
        }
        self.last.0 += 1;
        match value {
            Some(value) => {
                let revision = self.last;
                let entry = Entry { revision, value };
                self.entries.insert(key.clone(), (entry, now));
            }
            None => {
                self.entries.remove(key);
            }
        }
        Written::At(self.last)
    }

    pub(crate) fn read(&self, key: &K) -> Read<V> {
        let found = self.entries.get(key);
        found.map_or(Read::Absent, |(entry, _)| Read::There(entry.clone()))
    }
}

/// The stream of results and its consumer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    /// Those that are to be delivered, or delivered again.
    unacknowledged: BTreeMap<u64, ResultKey>,
    last: u64,
    /// The ids of the window in which none is taken twice, and when they came.
    ids: HashSet<ResultKey>,
    came: VecDeque<(MonoTime, ResultKey)>,
}

impl Results {
    /// A result is published: its number, unless it is a repeated one.
    pub(crate) fn publish(&mut self, key: &ResultKey, now: MonoTime) -> Option<u64> {
        let window: Duration = Stream::Result.bounds().duplicates;
        while let Some((at, key)) = self.came.front()
            && now.since(*at) >= window
        {
            self.ids.remove(key);
            self.came.pop_front();
        }
        if !self.ids.insert(key.clone()) {
            return None;
        }
        self.came.push_back((now, key.clone()));
        self.last += 1;
        self.unacknowledged.insert(self.last, key.clone());
        Some(self.last)
    }

    /// What is to be delivered, or delivered again.
    pub(crate) fn unacknowledged(&self) -> Vec<u64> {
        self.unacknowledged.keys().copied().collect()
    }

    /// A message that is not acknowledged.
    pub(crate) fn message(&self, number: u64) -> Option<ResultKey> {
        self.unacknowledged.get(&number).cloned()
    }

    pub(crate) fn acknowledge(&mut self, number: u64) {
        self.unacknowledged.remove(&number);
    }

    /// The folder is wiped. Numbers go on, so that an old acknowledgement means no new message.
    pub(crate) fn wipe(&mut self) {
        *self = Self {
            last: self.last,
            ..Self::default()
        };
    }
}

/// All that the server keeps.
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    pub(crate) is_up: bool,
    pub(crate) jobs: Bucket<JobId, JobRecord>,
    pub(crate) lease: Bucket<(), LeaseRecord>,
    pub(crate) results: Results,
}

impl Bus {
    pub(crate) fn new(compares: bool) -> Self {
        Self {
            is_up: true,
            jobs: Bucket::new(0, compares),
            lease: Bucket::new(1_795_000_000_000, compares),
            results: Results::default(),
        }
    }
}
