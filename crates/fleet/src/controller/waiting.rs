//! Jobs that wait, and the search for a pair that is free: a job starts as soon as both hosts and all links
//! between them are, the one with the greatest priority first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use tapeline_remote::Class;

use crate::job::JobSpec;
use crate::names::{HostName, JobId};
use crate::store::Revision;

/// Background tests of a host at a time.
const BACKGROUND: usize = 4;

/// A place in the queue: priority first, then age.
type Turn = (Reverse<i32>, Revision, JobId);

#[derive(Clone, Debug)]
struct Job {
    from: HostName,
    to: HostName,
    class: Class,
    turn: Turn,
}

#[derive(Clone, Debug, Default)]
struct Host {
    waiting: BTreeSet<Turn>,
    exclusive: usize,
    background: usize,
    /// Indices of its links.
    links: Vec<usize>,
}

#[derive(Clone, Debug)]
struct LinkUse {
    hosts: Vec<HostName>,
    free: usize,
}

/// Jobs that wait, and what those that run use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    jobs: BTreeMap<JobId, Job>,
    running: BTreeMap<JobId, Job>,
    hosts: BTreeMap<HostName, Host>,
    links: Vec<LinkUse>,
}

impl Waiting {
    /// Nothing waits; these hosts share links that carry so many exclusive tests at a time.
    pub(crate) fn new(links: impl Iterator<Item = (Vec<HostName>, usize)>) -> Self {
        let mut waiting = Self::default();
        for (number, (hosts, free)) in links.enumerate() {
            for host in &hosts {
                waiting
                    .hosts
                    .entry(host.clone())
                    .or_default()
                    .links
                    .push(number);
            }
            waiting.links.push(LinkUse { hosts, free });
        }
        waiting
    }

    /// A job waits from now on.
    pub(crate) fn add(&mut self, id: &JobId, spec: &JobSpec, age: Revision) {
        self.remove(id);
        let job = Job {
            from: spec.from.clone(),
            to: spec.to.clone(),
            class: spec.class,
            turn: (Reverse(spec.priority), age, id.clone()),
        };
        for host in [&job.from, &job.to] {
            let host = self.hosts.entry(host.clone()).or_default();
            host.waiting.insert(job.turn.clone());
        }
        self.jobs.insert(id.clone(), job);
    }

    /// A job waits no longer.
    pub(crate) fn remove(&mut self, id: &JobId) {
        if let Some(job) = self.jobs.remove(id) {
            self.leave(&job);
        }
    }

    fn leave(&mut self, job: &Job) {
        for host in [&job.from, &job.to] {
            if let Some(host) = self.hosts.get_mut(host) {
                host.waiting.remove(&job.turn);
            }
        }
    }

    /// A job runs from now on, whether or not it waited, and uses its hosts.
    pub(crate) fn start(&mut self, id: &JobId, spec: &JobSpec) {
        self.remove(id);
        let job = Job {
            from: spec.from.clone(),
            to: spec.to.clone(),
            class: spec.class,
            turn: (Reverse(0), Revision(0), id.clone()),
        };
        self.count(&job, true);
        self.running.insert(id.clone(), job);
    }

    /// A job uses its hosts no longer. Returns the hosts that may have become free for others.
    pub(crate) fn end(&mut self, id: &JobId) -> BTreeSet<HostName> {
        let Some(job) = self.running.remove(id) else {
            return BTreeSet::new();
        };
        self.count(&job, false);
        let mut freed: BTreeSet<HostName> = [job.from.clone(), job.to.clone()].into();
        for link in self.links_of(&job) {
            freed.extend(self.links[link].hosts.iter().cloned());
        }
        freed
    }

    fn count(&mut self, job: &Job, is_start: bool) {
        for host in [&job.from, &job.to] {
            let host = self.hosts.entry(host.clone()).or_default();
            let number = match job.class {
                Class::Exclusive => &mut host.exclusive,
                Class::Background => &mut host.background,
            };
            *number = if is_start {
                *number + 1
            } else {
                number.saturating_sub(1)
            };
        }
        for link in self.links_of(job) {
            let free = &mut self.links[link].free;
            *free = if is_start {
                free.saturating_sub(1)
            } else {
                *free + 1
            };
        }
    }

    fn links_of(&self, job: &Job) -> BTreeSet<usize> {
        if job.class == Class::Background {
            return BTreeSet::new();
        }
        let hosts = [&job.from, &job.to].into_iter();
        let hosts = hosts.filter_map(|host| self.hosts.get(host));
        hosts.flat_map(|host| host.links.iter().copied()).collect()
    }

    fn is_ready(&self, job: &Job, is_there: &impl Fn(&HostName) -> bool) -> bool {
        let has_room = |name: &HostName| {
            self.hosts.get(name).is_none_or(|host| match job.class {
                Class::Exclusive => host.exclusive == 0,
                Class::Background => host.background < BACKGROUND,
            })
        };
        [&job.from, &job.to]
            .into_iter()
            .all(|host| has_room(host) && is_there(host))
            && self
                .links_of(job)
                .into_iter()
                .all(|link| self.links[link].free > 0)
    }

    /// The first job of a host that may start.
    pub(crate) fn first_of(
        &self,
        host: &HostName,
        is_there: impl Fn(&HostName) -> bool,
    ) -> Option<JobId> {
        let waiting = self.hosts.get(host)?.waiting.iter();
        let mut ids = waiting.map(|(_, _, id)| id);
        ids.find(|id| {
            self.jobs
                .get(*id)
                .is_some_and(|job| self.is_ready(job, &is_there))
        })
        .cloned()
    }

    /// Whether this job may start.
    pub(crate) fn may_start(&self, id: &JobId, is_there: impl Fn(&HostName) -> bool) -> bool {
        self.jobs
            .get(id)
            .is_some_and(|job| self.is_ready(job, &is_there))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::UnixTime;

    fn host(name: &str) -> HostName {
        name.parse().expect("a name")
    }

    fn job(name: &str) -> JobId {
        name.parse().expect("a name")
    }

    fn spec(from: &str, to: &str, priority: i32, class: Class) -> JobSpec {
        JobSpec {
            from: host(from),
            to: host(to),
            options: Vec::new(),
            seconds: 10,
            class,
            priority,
            earliest: None,
            expires: UnixTime(0),
            live: false,
        }
    }

    fn add(waiting: &mut Waiting, name: &str, from: &str, to: &str, priority: i32) {
        let age = Revision(waiting.jobs.len() as u64);
        waiting.add(&job(name), &spec(from, to, priority, Class::Exclusive), age);
    }

    #[test]
    fn priority_goes_before_age() {
        let mut waiting = Waiting::new(std::iter::empty());
        add(&mut waiting, "old", "a", "b", 0);
        add(&mut waiting, "new", "a", "c", 1);
        assert_eq!(waiting.first_of(&host("a"), |_| true), Some(job("new")));
        assert_eq!(
            waiting.first_of(&host("a"), |name| *name != host("c")),
            Some(job("old"))
        );
        assert_eq!(waiting.first_of(&host("b"), |_| true), Some(job("old")));
    }

    #[test]
    fn a_host_has_one_exclusive_test_and_a_few_others() {
        let mut waiting = Waiting::new(std::iter::empty());
        add(&mut waiting, "j1", "a", "b", 0);
        add(&mut waiting, "j2", "b", "c", 0);
        waiting.start(&job("j1"), &spec("a", "b", 0, Class::Exclusive));
        assert!(!waiting.may_start(&job("j2"), |_| true));
        for number in 0..BACKGROUND {
            let id = job(&format!("b{number}"));
            waiting.add(&id, &spec("b", "c", 0, Class::Background), Revision(9));
            assert!(waiting.may_start(&id, |_| true));
            waiting.start(&id, &spec("b", "c", 0, Class::Background));
        }
        waiting.add(
            &job("more"),
            &spec("b", "d", 0, Class::Background),
            Revision(9),
        );
        assert!(!waiting.may_start(&job("more"), |_| true));
        assert_eq!(waiting.end(&job("j1")), [host("a"), host("b")].into());
        assert!(waiting.may_start(&job("j2"), |_| true));
        assert_eq!(waiting.end(&job("j1")), BTreeSet::new());
    }

    #[test]
    fn a_link_carries_as_many_as_it_may() {
        let link = (vec![host("a"), host("b"), host("c")], 1);
        let mut waiting = Waiting::new([link].into_iter());
        add(&mut waiting, "j1", "a", "x", 0);
        add(&mut waiting, "j2", "b", "y", 0);
        waiting.start(&job("j1"), &spec("a", "x", 0, Class::Exclusive));
        assert_eq!(waiting.first_of(&host("b"), |_| true), None);
        let freed = waiting.end(&job("j1"));
        assert!(freed.contains(&host("b")) && freed.contains(&host("x")));
        assert_eq!(waiting.first_of(&host("b"), |_| true), Some(job("j2")));
    }
}
