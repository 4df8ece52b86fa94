//! Failures within the last second, by source and in all.

use std::collections::HashMap;
use std::time::Duration;

use tapeline_base::MonoTime;

use super::source::Source;

/// Time after which failures are forgotten.
const SPAN: Duration = Duration::from_secs(1);

/// Counts failures by seconds.
#[derive(Debug)]
pub(crate) struct Attempts {
    max_of_source: u32,
    max: u32,
    since: MonoTime,
    /// At most `max` sources.
    by_source: HashMap<Source, u32>,
    all: u32,
}

impl Attempts {
    pub(crate) fn new(max_of_source: u32, max: u32) -> Self {
        Self {
            max_of_source,
            max,
            since: MonoTime::ZERO,
            by_source: HashMap::new(),
            all: 0,
        }
    }

    /// Other numbers hold from now on.
    pub(crate) fn allow(&mut self, max_of_source: u32, max: u32) {
        (self.max_of_source, self.max) = (max_of_source, max);
    }

    /// Whether a further try is looked at.
    pub(crate) fn are_few(&mut self, source: Source, now: MonoTime) -> bool {
        self.forget(now);
        let own = self.by_source.get(&source).copied().unwrap_or(0);
        own < self.max_of_source && self.all < self.max
    }

    pub(crate) fn add(&mut self, source: Source, now: MonoTime) {
        self.forget(now);
        self.all = self.all.saturating_add(1);
        if self.all <= self.max {
            *self.by_source.entry(source).or_default() += 1;
        }
    }

    fn forget(&mut self, now: MonoTime) {
        if now.since(self.since) >= SPAN {
            self.since = now;
            self.by_source.clear();
            self.all = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    #[test]
    fn a_source_and_all_together_have_so_many_tries_a_second() {
        let at = |millis: u64| MonoTime::from_nanos(millis * 1_000_000);
        let source = |last| Source::from(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)));
        let mut attempts = Attempts::new(2, 5);
        let mut tries = |last, now| {
            let allowed = attempts.are_few(source(last), now);
            if allowed {
                attempts.add(source(last), now);
            }
            allowed
        };
        let allowed = [1, 1, 1, 2, 2, 3, 4].map(|last| tries(last, at(5000)));
        assert_eq!(allowed, [true, true, false, true, true, true, false]);
        assert!(!tries(4, at(5999)) && tries(1, at(6000)));
    }
}
