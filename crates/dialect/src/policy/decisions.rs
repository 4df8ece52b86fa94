//! A server's limits, and how much of them is taken.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tapeline_base::{MonoTime, MutexExt};

use super::anti_amplification::{AmplificationLimit, UnverifiedBudget};
use super::attempts::Attempts;
use super::grant::Grant;
use super::slots;
use super::slots::{Refusal, Slot, Slots};
use crate::plan::Limits;

/// A server's limits, and how much of them is taken.
#[derive(Debug)]
pub(crate) struct Policy {
    /// May be replaced while the server runs.
    limits: RwLock<Arc<Limits>>,
    slots: Arc<Mutex<Slots>>,
    keys: Mutex<Attempts>,
    unverified: Mutex<UnverifiedBudget>,
}

/// What a client's first message orders in addition to its streams.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ordered {
    /// Longest block or message, bytes.
    pub(crate) block: u32,
    /// Port of the client's that the server is to connect to.
    pub(crate) port: Option<u16>,
}

impl Policy {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            keys: Mutex::new(Attempts::new(limits.keys_of_source, limits.keys)),
            unverified: Mutex::new(UnverifiedBudget::new()),
            slots: Arc::default(),
            limits: RwLock::new(Arc::new(limits)),
        })
    }

    pub(crate) fn limits(&self) -> Arc<Limits> {
        let limits = self.limits.read();
        Arc::clone(&limits.unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other limits in the place of those so far. What runs keeps what it was granted, and
    /// counts.
    pub(crate) fn replace(&self, limits: Limits) {
        self.keys().allow(limits.keys_of_source, limits.keys);
        let mut place = self.limits.write().unwrap_or_else(PoisonError::into_inner);
        *place = Arc::new(limits);
    }

    /// Whether an address is served at all.
    pub(crate) fn serves(&self, address: IpAddr) -> bool {
        self.limits().admit(address)
    }

    /// Whether an address is known to be what it says, and to mean well.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.limits().trusted.contain(address)
    }

    /// Lets a stream of a test begin whose client announces `streams` of them.
    ///
    /// # Errors
    /// The limit that it would exceed.
    pub(crate) fn admit(&self, address: IpAddr, streams: u32) -> Result<Option<Slot>, Refusal> {
        self.admit_many(address, streams, 1)
    }

    /// Lets `count` streams begin at once, of a test that has `streams`.
    ///
    /// # Errors
    /// The limit that they would exceed.
    pub(crate) fn admit_many(
        &self,
        address: IpAddr,
        streams: u32,
        count: u32,
    ) -> Result<Option<Slot>, Refusal> {
        if self.trusts(address) {
            return Ok(None);
        }
        let limits = self.limits();
        slots::acquire(&self.slots, &limits, address.into(), streams, count).map(Some)
    }

    /// Whether a client may order this.
    ///
    /// # Errors
    /// The limit that it would exceed.
    pub(crate) fn permit(&self, address: IpAddr, ordered: Ordered) -> Result<(), Refusal> {
        let limits = self.limits();
        if limits.trusted.contain(address) {
            return Ok(());
        }
        if ordered.block > limits.block {
            return Err(Refusal::Block {
                asked: ordered.block,
                max: limits.block,
            });
        }
        match ordered.port {
            Some(asked) if asked < limits.lowest_port => Err(Refusal::Port {
                asked,
                lowest: limits.lowest_port,
            }),
            _ => Ok(()),
        }
    }

    /// What a client's test may have.
    pub(crate) fn grant(&self, address: IpAddr) -> Grant {
        let limits = self.limits();
        if limits.trusted.contain(address) {
            Grant::default()
        } else {
            Grant::foreign(&limits)
        }
    }

    /// What may be sent to an address that datagrams claim to come from.
    pub(crate) fn amplification_limit(&self, address: IpAddr) -> AmplificationLimit {
        if self.trusts(address) {
            AmplificationLimit::Unlimited
        } else {
            AmplificationLimit::default()
        }
    }

    /// Whether an answer of so many bytes may leave to an unverified source.
    pub(crate) fn permits_unverified(&self, bytes: usize, now: MonoTime) -> bool {
        let rate = self.limits().unverified_rate;
        let mut unverified = self.unverified.lock_unpoisoned();
        unverified.spend(bytes, rate, now)
    }

    /// Whether another key of this address is looked at.
    pub(crate) fn accepts_keys(&self, address: IpAddr, now: MonoTime) -> bool {
        self.keys().are_few(address.into(), now)
    }

    /// A key of this address was wrong.
    pub(crate) fn key_failed(&self, address: IpAddr, now: MonoTime) {
        self.keys().add(address.into(), now);
    }

    fn keys(&self) -> MutexGuard<'_, Attempts> {
        self.keys.lock_unpoisoned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_limits_hold_from_then_on_and_count_what_runs() {
        let foreign: IpAddr = "192.0.2.1".parse().expect("an address");
        let limits = |tests| Limits {
            tests,
            ..Limits::default()
        };
        let policy = Policy::new(limits(2));
        let first = policy.admit(foreign, 1).expect("a place");
        policy.replace(limits(1));
        assert_eq!(policy.admit(foreign, 1).err(), Some(Refusal::Tests(1)));
        drop(first);
        assert!(policy.admit(foreign, 1).is_ok());
        policy.replace(Limits {
            denied: crate::plan::Networks::any(),
            keys: 0,
            ..Limits::default()
        });
        assert!(!policy.serves(foreign) && !policy.accepts_keys(foreign, MonoTime::ZERO));
    }

    #[test]
    fn foreign_orders_have_bounds_and_trusted_ones_have_none() {
        let (foreign, trusted): (IpAddr, IpAddr) = (
            "192.0.2.1".parse().expect("an address"),
            "127.0.0.1".parse().expect("an address"),
        );
        let policy = Policy::new(Limits::default());
        let order = |block, port| Ordered { block, port };
        assert_eq!(policy.permit(foreign, order(4 << 20, Some(1024))), Ok(()));
        assert_eq!(
            policy.permit(foreign, order((4 << 20) + 1, None)),
            Err(Refusal::Block {
                asked: (4 << 20) + 1,
                max: 4 << 20
            })
        );
        assert_eq!(
            policy.permit(foreign, order(0, Some(1023))),
            Err(Refusal::Port {
                asked: 1023,
                lowest: 1024
            })
        );
        assert_eq!(policy.permit(trusted, order(u32::MAX, Some(1))), Ok(()));
        assert_eq!(policy.grant(trusted), Grant::default());
        assert_eq!(policy.grant(foreign).time, Some(Limits::default().longest));
    }
}
