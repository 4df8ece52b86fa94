//! How far the clocks of hosts are from this one: for tests that start together.

use std::collections::BTreeMap;

use tapeline_mesh::HostId;
use tapeline_remote::{Body, Order, Orders, Reply, unix_time};

/// Exchanges with each host; the one with the shortest way counts.
const SAMPLES: u32 = 5;
/// A clock that is known no better is of no use, seconds.
const WORST: f64 = 0.05;

/// The clocks of hosts.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    hosts: BTreeMap<HostId, Clock>,
}

#[derive(Debug)]
struct Clock {
    /// The order that waits for its reply, and when it left.
    asked: Option<(u64, f64)>,
    samples: u32,
    /// Ahead of this one, and half of the way there and back; seconds.
    best: Option<(f64, f64)>,
}

impl Clocks {
    /// Asks a host for its time. One that has gone says so elsewhere.
    pub(crate) fn ask(&mut self, host: HostId, orders: &Orders) {
        let clock = self.hosts.entry(host).or_insert(Clock {
            asked: None,
            samples: 0,
            best: None,
        });
        let t1 = unix_time();
        clock.asked = orders.order(Order::Clock { t1 }).ok().map(|id| (id, t1));
    }

    /// Takes a reply; true if the host is to be asked again.
    pub(crate) fn take(&mut self, host: HostId, reply: &Reply) -> bool {
        self.sample(host, reply, unix_time())
            .is_some_and(|samples| samples < SAMPLES)
    }

    fn sample(&mut self, host: HostId, reply: &Reply, t4: f64) -> Option<u32> {
        let clock = self.hosts.get_mut(&host)?;
        let (id, t1) = clock.asked?;
        let Body::Clock { t2, t3 } = reply.body else {
            return None;
        };
        if reply.id != Some(id) {
            return None;
        }
        clock.asked = None;
        clock.samples += 1;
        let (ahead, error) = (
            ((t2 - t1) + (t3 - t4)) / 2.0,
            ((t4 - t1) - (t3 - t2)).abs() / 2.0,
        );
        if clock.best.is_none_or(|(_, best)| error < best) {
            clock.best = Some((ahead, error));
        }
        Some(clock.samples)
    }

    /// A host has gone.
    pub(crate) fn forget(&mut self, host: HostId) {
        self.hosts.remove(&host);
    }

    /// No reply is waited for.
    pub(crate) fn are_known(&self) -> bool {
        self.hosts.values().all(|clock| clock.asked.is_none())
    }

    /// The host whose clock is known too badly, and how badly, in seconds.
    pub(crate) fn worst(&self) -> Option<(HostId, f64)> {
        let errors = self
            .hosts
            .iter()
            .filter_map(|(host, clock)| Some((*host, clock.best?.1)));
        let worst = errors.max_by(|one, other| one.1.total_cmp(&other.1));
        worst.filter(|(_, error)| *error > WORST)
    }

    /// What a host's clock shows when this one shows `time`, seconds since 1970.
    pub(crate) fn there(&self, host: HostId, time: f64) -> f64 {
        let best = self.hosts.get(&host).and_then(|clock| clock.best);
        time + best.map_or(0.0, |(ahead, _)| ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_exchange_counts() {
        let host = HostId(0);
        let mut clocks = Clocks::default();
        for (way, ahead) in [(0.3, 5.2), (0.02, 5.0), (0.1, 4.9)] {
            let clock = clocks.hosts.entry(host).or_insert(Clock {
                asked: None,
                samples: 0,
                best: None,
            });
            clock.asked = Some((7, 100.0));
            let arrived = 100.0 + way / 2.0 + ahead;
            let reply = Reply {
                id: Some(7),
                body: Body::Clock {
                    t2: arrived,
                    t3: arrived,
                },
            };
            assert!(!clocks.are_known());
            let other = Reply {
                id: Some(8),
                ..reply.clone()
            };
            assert_eq!(clocks.sample(host, &other, 100.0 + way), None);
            assert!(clocks.sample(host, &reply, 100.0 + way).is_some());
        }
        assert!(clocks.are_known() && clocks.worst().is_none());
        assert!((clocks.there(host, 200.0) - 205.0).abs() < 1e-6);
        assert!((clocks.there(HostId(1), 200.0) - 200.0).abs() < 1e-6);
    }
}
