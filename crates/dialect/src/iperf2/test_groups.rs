//! Which flows of a server belong to one client's test.
//!
//! The wire carries no test number, only how many streams a client runs (`-P`). Flows
//! from one address that announce the same number, at about the same time, are one test.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tapeline_base::{MonoTime, MutexExt, Role};
use tapeline_report::ClientTest;
use tapeline_wire::iperf2::TestMode;

use super::probe_run::ProbeRuns;
use super::test_header::test_mode;
use crate::plan::{ClientPlan, LoadDirection};
use crate::sampler::{GroupKey, GroupKind, ReporterHandle};

/// Time within which all streams of a test must have begun.
const ASSEMBLY: Duration = Duration::from_secs(10);
/// Most tests that are being assembled; the oldest is forgotten beyond.
const MAX: usize = 1024;

/// Where the flows of one test are added up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TestSums {
    /// Flows that the client opened.
    pub(crate) opened: GroupKey,
    /// Flows with which the server connects back: the same sum when they run at the same
    /// time, another one when they follow.
    pub(crate) back: GroupKey,
    /// Which test of which server's client.
    pub(crate) test: Option<ClientTest>,
}

impl TestSums {
    /// For a client's test with its working load.
    pub(crate) fn for_client(reporter: &ReporterHandle, plan: &ClientPlan) -> Self {
        let load = plan.working_load.as_ref().map_or(0, |load| {
            let directions = match load.direction {
                LoadDirection::Up | LoadDirection::Down => 1,
                LoadDirection::Both => 2,
            };
            load.flows.saturating_mul(directions)
        });
        let mode = test_mode(plan);
        Self::with_load(reporter, Role::Client, mode, plan.parallel, load)
    }

    /// For a test of `flows` parallel flows, as `role` reports it.
    pub(crate) fn open(
        reporter: &ReporterHandle,
        role: Role,
        mode: TestMode,
        flows: usize,
    ) -> Self {
        Self::with_load(reporter, role, mode, flows, 0)
    }

    /// With so many directions of flows next to the test.
    fn with_load(
        reporter: &ReporterHandle,
        role: Role,
        mode: TestMode,
        flows: usize,
        load: usize,
    ) -> Self {
        let group = |members| reporter.open_group(GroupKind::Sum(role), members);
        let opened = match mode {
            TestMode::Normal | TestMode::Reverse | TestMode::Tradeoff => {
                group(flows.saturating_add(load))
            }
            TestMode::FullDuplex | TestMode::Dual => {
                group(flows.saturating_mul(2).saturating_add(load))
            }
        };
        let back = match mode {
            TestMode::Tradeoff => group(flows),
            _ => opened,
        };
        Self {
            opened,
            back,
            test: None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Open {
    sums: TestSums,
    mode: TestMode,
    threads: u32,
    members: u32,
    since: MonoTime,
}

impl Open {
    /// Whether further streams may belong to it.
    fn is_assembling(&self, now: MonoTime) -> bool {
        self.members < self.threads && now.since(self.since) < ASSEMBLY
    }
}

/// What the flows of one sum have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupBy {
    /// This client's test.
    Client(IpAddr),
    /// Our address that they go to, whoever sends (`--sum-dstip`).
    Destination(IpAddr),
    /// This client, whose flows do not say how many they are (bounce-back).
    Uncounted(IpAddr),
}

/// Tests whose streams are still arriving.
#[derive(Debug, Default)]
pub(crate) struct TestGroups {
    open: Mutex<HashMap<(IpAddr, u32), Open>>,
    /// A sum is over when no flow of it runs; the next flow begins it anew.
    uncounted: Mutex<HashMap<IpAddr, TestSums>>,
    /// Tests that were numbered.
    numbered: AtomicU32,
    /// Runs of probes, each of which is one flow.
    pub(crate) probes: Arc<ProbeRuns>,
}

impl TestGroups {
    /// A new test of so many directions of flows.
    fn number(&self, flows: Option<u32>) -> Option<ClientTest> {
        let before = self.numbered.fetch_add(1, Ordering::Relaxed);
        Some(ClientTest {
            number: before.wrapping_add(1),
            flows,
        })
    }

    /// The sums of a new flow whose test has `threads` streams.
    pub(crate) fn join(
        &self,
        reporter: &ReporterHandle,
        by: GroupBy,
        mode: TestMode,
        threads: u32,
        now: MonoTime,
    ) -> TestSums {
        match by {
            GroupBy::Client(client) => self.join_test(reporter, client, mode, threads, now),
            GroupBy::Destination(address) | GroupBy::Uncounted(address) => {
                self.join_uncounted(reporter, address)
            }
        }
    }

    fn join_uncounted(&self, reporter: &ReporterHandle, address: IpAddr) -> TestSums {
        let mut sums = self.uncounted.lock_unpoisoned();
        if sums.len() >= MAX {
            sums.clear();
        }
        // Whoever comes last makes it complete: how many come is not known.
        *sums.entry(address).or_insert_with(|| {
            let group = reporter.open_group(GroupKind::Sum(Role::Server), 1);
            TestSums {
                opened: group,
                back: group,
                test: self.number(None),
            }
        })
    }

    fn join_test(
        &self,
        reporter: &ReporterHandle,
        client: IpAddr,
        mode: TestMode,
        threads: u32,
        now: MonoTime,
    ) -> TestSums {
        let threads = threads.max(1);
        let mut open = self.open.lock_unpoisoned();
        if let Some(test) = open.get_mut(&(client, threads))
            && test.mode == mode
            && test.is_assembling(now)
        {
            test.members += 1;
            return test.sums;
        }
        open.retain(|_, test| test.is_assembling(now));
        if open.len() >= MAX {
            open.clear();
        }
        let flows = usize::try_from(threads).unwrap_or(usize::MAX);
        let directions = match mode {
            TestMode::Normal | TestMode::Reverse => threads,
            TestMode::FullDuplex | TestMode::Dual | TestMode::Tradeoff => threads.saturating_mul(2),
        };
        let sums = TestSums {
            test: self.number(Some(directions)),
            ..TestSums::open(reporter, Role::Server, mode, flows)
        };
        let test = Open {
            sums,
            mode,
            threads,
            members: 1,
            since: now,
        };
        if test.is_assembling(now) {
            open.insert((client, threads), test);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::{Reporter, ReporterSettings};

    #[test]
    fn streams_of_a_test_meet_and_tests_do_not() {
        let reporter = Reporter::start(ReporterSettings::default(), |_| {}).expect("reporter");
        let handle = reporter.handle();
        let groups = TestGroups::default();
        let at = |seconds: u64| MonoTime::from_nanos(seconds * 1_000_000_000);
        let host = |last| IpAddr::from([192, 0, 2, last]);
        let join = |last, mode, threads, seconds| {
            groups
                .join(
                    &handle,
                    GroupBy::Client(host(last)),
                    mode,
                    threads,
                    at(seconds),
                )
                .opened
        };
        let first = join(1, TestMode::Normal, 2, 0);
        assert_ne!(join(2, TestMode::Normal, 2, 0), first, "another host");
        assert_ne!(join(1, TestMode::Normal, 3, 0), first, "another test");
        assert_eq!(join(1, TestMode::Normal, 2, 9), first);
        let next = join(1, TestMode::Normal, 2, 9);
        assert_ne!(next, first, "it was complete");
        assert_ne!(join(1, TestMode::Reverse, 2, 9), next, "another mode");
        let late = join(2, TestMode::Normal, 2, 11);
        assert_ne!(late, join(2, TestMode::Normal, 2, 22), "too late");
        let alone = join(3, TestMode::Normal, 1, 22);
        assert_ne!(join(3, TestMode::Normal, 1, 22), alone);
        reporter.finish();
    }

    #[test]
    fn flows_to_one_address_meet_whoever_sends_them() {
        let reporter = Reporter::start(ReporterSettings::default(), |_| {}).expect("reporter");
        let handle = reporter.handle();
        let groups = TestGroups::default();
        let join = |last: u8| {
            let by = GroupBy::Destination(IpAddr::from([192, 0, 2, last]));
            groups
                .join(&handle, by, TestMode::Normal, 1, MonoTime::ZERO)
                .opened
        };
        assert_eq!(join(1), join(1));
        assert_ne!(join(1), join(2));
        reporter.finish();
    }

    #[test]
    fn what_is_over_is_not_kept() {
        let reporter = Reporter::start(ReporterSettings::default(), |_| {}).expect("reporter");
        let handle = reporter.handle();
        let groups = TestGroups::default();
        for n in 0..100_000_u32 {
            let client = IpAddr::from(n.to_be_bytes());
            let by = GroupBy::Client(client);
            groups.join(&handle, by, TestMode::Normal, 1 + n % 3, MonoTime::ZERO);
            let by = GroupBy::Destination(client);
            groups.join(&handle, by, TestMode::Normal, 1, MonoTime::ZERO);
        }
        assert!(groups.open.lock().expect("groups").len() <= MAX);
        assert!(groups.uncounted.lock().expect("groups").len() <= MAX);
        reporter.finish();
    }
}
