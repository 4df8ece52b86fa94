//! What a client's test may have on a server: asked of its parameters, and of its bytes while it
//! runs.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{BitRate, MonoTime};
use tapeline_wire::iperf3::{Direction, ErrorCode, Parameters, Protocol};

use super::service::Iperf3Service;
use super::streams::Traffic;
use crate::policy::{Grant, Ordered, Refusal, Slot};

/// The server's limits, as they hold for one test.
pub(crate) struct Bounds<'a> {
    service: &'a Iperf3Service,
    peer: IpAddr,
    /// What a client of this address is granted.
    pub(crate) grant: Grant,
    /// Its place among the server's tests.
    slot: Option<Slot>,
    recent: RecentRate,
}

impl<'a> Bounds<'a> {
    /// Of a test that a client at `peer` may ask for.
    pub(crate) fn new(service: &'a Iperf3Service, peer: IpAddr) -> Self {
        Self {
            service,
            peer,
            grant: service.policy.grant(peer),
            slot: None,
            recent: RecentRate::default(),
        }
    }

    /// Why the server does not run such a test.
    pub(crate) fn refusal(&self, wanted: &Parameters) -> Option<ErrorCode> {
        let plan = &self.service.plan;
        let directions = match wanted.direction {
            Direction::Forward | Direction::Reverse => 1,
            Direction::Bidirectional => 2,
        };
        let one_way = wanted
            .rate
            .max(wanted.pacing_rate)
            .saturating_mul(wanted.parallel.into());
        let exceeds = |(limit, _)| one_way.saturating_mul(directions) > limit;
        if plan.rate_limit.is_some_and(exceeds)
            || self.grant.is_exceeded_by(None, Some(BitRate(one_way)))
        {
            return Some(ErrorCode::RATE_LIMIT);
        }
        let ordered = Ordered {
            block: wanted.length.unwrap_or(0),
            port: None,
        };
        if self.service.policy.permit(self.peer, ordered).is_err() {
            return Some(match wanted.protocol {
                Protocol::Udp => ErrorCode::UDP_LENGTH,
                Protocol::Tcp | Protocol::Sctp => ErrorCode::LENGTH,
            });
        }
        let asked = Duration::from_secs(u64::from(wanted.time) + u64::from(wanted.omit));
        let endless = wanted.time == 0;
        let too_long = |longest: Duration| endless || asked > longest;
        let foreign = self.grant.time.is_some_and(|longest| asked > longest);
        let too_long = plan.longest.is_some_and(too_long) || foreign;
        too_long.then_some(ErrorCode::TIME_LIMIT)
    }

    /// Takes a place for a test with blocks of `length` bytes, if as much is granted as it asks
    /// for.
    ///
    /// # Errors
    /// The limit that it would exceed.
    pub(crate) fn acquire_slot(&mut self, wanted: &Parameters, length: u32) -> Result<(), Refusal> {
        let asked = match (wanted.bytes, wanted.blocks) {
            (0, blocks) => blocks.saturating_mul(length.into()),
            (bytes, _) => bytes,
        };
        if let Some(max) = self.grant.bytes
            && asked > max
        {
            return Err(Refusal::Bytes { asked, max });
        }
        let (policy, streams) = (&self.service.policy, wanted.connections());
        self.slot = policy.admit_many(self.peer, streams, streams)?;
        Ok(())
    }

    /// Gives the place back.
    pub(crate) fn release_slot(&mut self) {
        self.slot = None;
    }

    /// Whether amount or rate of the test are looked at while it runs.
    pub(crate) fn is_watched(&self) -> bool {
        let granted = self.grant.bytes.is_some() || self.grant.rate.is_some();
        granted || self.service.plan.rate_limit.is_some()
    }

    /// Why a running test is ended: it is faster than allowed, or has had what it is granted.
    pub(crate) fn exceeded(&mut self, traffic: &Traffic, now: MonoTime) -> Option<ErrorCode> {
        if let Some((limit, span)) = self.service.plan.rate_limit {
            let rate = self
                .recent
                .observe(now, traffic.byte_counters.total(), span);
            if rate.is_some_and(|rate| rate > limit as f64) {
                return Some(ErrorCode::RATE_LIMIT);
            }
        }
        let elapsed = now.since(traffic.start);
        // Senders end with a whole block.
        let parallel = u64::from(traffic.parameters.parallel);
        let blocks = u64::from(traffic.length).saturating_mul(parallel);
        let received = traffic.byte_counters.received();
        let sent = traffic.byte_counters.total().saturating_sub(received);
        for moved in [received, sent] {
            let counted = moved.saturating_sub(blocks);
            if self.grant.is_exceeded_by(Some(counted), None) {
                return Some(ErrorCode::TEST_EXPIRED);
            }
            if self.grant.is_used_up(counted, elapsed) {
                return Some(ErrorCode::RATE_LIMIT);
            }
        }
        None
    }
}

/// Bytes moved, as read at these times: as many as the rate of a span needs.
#[derive(Debug, Default)]
struct RecentRate(VecDeque<(MonoTime, u64)>);

impl RecentRate {
    /// Notes that `bytes` have moved by `now`; the rate since the last reading that is at least
    /// `span` old, bit/s, where there is one.
    fn observe(&mut self, now: MonoTime, bytes: u64, span: Duration) -> Option<f64> {
        self.0.push_back((now, bytes));
        while self.0.get(1).is_some_and(|(at, _)| now.since(*at) >= span) {
            self.0.pop_front();
        }
        let (since, before) = self.0.front().copied()?;
        let length = now.since(since);
        (length >= span).then(|| BitRate::over(bytes.saturating_sub(before), length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recent_rate_is_that_of_the_span_alone() {
        let at = |millis: u64| MonoTime::from_nanos(millis * 1_000_000);
        let span = Duration::from_secs(1);
        let mut recent = RecentRate::default();
        assert_eq!(recent.observe(at(5000), 0, span), None);
        assert_eq!(recent.observe(at(5900), 900_000, span), None);
        assert_eq!(recent.observe(at(6000), 1_000_000, span), Some(8e6));
        // The second before this one counts no more.
        assert_eq!(recent.observe(at(7000), 1_000_000, span), Some(0.0));
        assert_eq!(recent.observe(at(9000), 3_000_000, span), Some(8e6));
    }
}
