//! Which flows of a server belong to one client's test.
//!
//! The wire carries no test number, only how many streams a client runs (`-P`). Flows
//! from one address that announce the same number, at about the same time, are one test.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tapeline_base::{MonoTime, Role};

use crate::reporter::{GroupKey, GroupKind, ReporterHandle};

/// Time within which all streams of a test must have begun.
const ASSEMBLY: Duration = Duration::from_secs(10);
/// Most tests that are being assembled; the oldest is forgotten beyond.
const MOST: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Open {
    key: GroupKey,
    threads: u32,
    members: u32,
    since: MonoTime,
}

/// Tests whose streams are still arriving.
#[derive(Debug, Default)]
pub(super) struct TestGroups {
    open: Mutex<HashMap<(IpAddr, u32), Open>>,
}

impl TestGroups {
    /// The group of a new flow from `client` whose test has `threads` streams.
    pub(super) fn join(
        &self,
        reporter: &ReporterHandle,
        client: IpAddr,
        threads: u32,
        now: MonoTime,
    ) -> GroupKey {
        let threads = threads.max(1);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = open.get_mut(&(client, threads))
            && group.members < group.threads
            && now.since(group.since) < ASSEMBLY
        {
            group.members += 1;
            return group.key;
        }
        if open.len() >= MOST {
            open.retain(|_, group| {
                now.since(group.since) < ASSEMBLY && group.members < group.threads
            });
            if open.len() >= MOST {
                open.clear();
            }
        }
        let members = usize::try_from(threads).unwrap_or(usize::MAX);
        let key = reporter.open_group(GroupKind::Sum(Role::Server), members);
        let group = Open {
            key,
            threads,
            members: 1,
            since: now,
        };
        open.insert((client, threads), group);
        key
    }
}
