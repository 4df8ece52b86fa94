//! The enrolled hosts and the schedules of a site.

use std::collections::BTreeMap;

use crate::bus::watch::Shown;
use crate::schedule::{Enrolled, ScheduleSpec};

/// The enrolled hosts and the schedules of a site, as its buckets hold them.
#[derive(Clone, Debug, Default)]
pub struct SiteBooks {
    /// By name.
    pub hosts: BTreeMap<String, Enrolled>,
    /// By name.
    pub schedules: BTreeMap<String, ScheduleSpec>,
    are_hosts_current: bool,
    are_schedules_current: bool,
}

impl SiteBooks {
    /// Takes what a watch of the hosts shows.
    pub(crate) fn hosts_shown(&mut self, shown: Shown) {
        take(&mut self.hosts, &mut self.are_hosts_current, shown);
    }

    /// Takes what a watch of the schedules shows.
    pub(crate) fn schedules_shown(&mut self, shown: Shown) {
        take(&mut self.schedules, &mut self.are_schedules_current, shown);
    }

    /// Whether both are whole.
    pub(crate) fn are_current(&self) -> bool {
        self.are_hosts_current && self.are_schedules_current
    }
}

fn take<V: serde::de::DeserializeOwned>(
    entries: &mut BTreeMap<String, V>,
    is_current: &mut bool,
    shown: Shown,
) {
    match shown {
        Shown::Began => {
            entries.clear();
            *is_current = false;
        }
        Shown::Entry(key, _, value, _) => {
            match serde_json::from_slice(&value) {
                Ok(value) => entries.insert(key, value),
                // Of a later version: it is not planned with.
                Err(_) => entries.remove(&key),
            };
        }
        Shown::Gone(key) => {
            entries.remove(&key);
        }
        Shown::Current => *is_current = true,
    }
}
