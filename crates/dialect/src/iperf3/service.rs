//! The service of iperf3 clients on a server, and what a test needs of it.

use std::net::SocketAddr;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard};

use tapeline_base::{MonoTime, MutexExt};
use tapeline_engine::Stop;
use tapeline_sys::{TcpConn, Waker};
use tapeline_wire::iperf3::Cookie;

use super::registry::{Expected, Registry};
use crate::iperf3::login::gate::Gate;
use crate::plan::{Iperf3Server, MaxTests};
use crate::policy::Policy;
use crate::run::context::Context;
use crate::run::event_limiter::EventLimiter;
use crate::run::tasks::{Part, Tally};

/// Serves iperf3 clients on the ports of a server.
pub(crate) struct Iperf3Service {
    pub(crate) plan: Iperf3Server,
    pub(crate) context: Arc<Context>,
    pub(crate) gate: Option<Gate>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) policy: Arc<Policy>,
    refusals: Mutex<EventLimiter>,
    pub(crate) numbers: AtomicU32,
    /// The one test of `-1` is over.
    pub(crate) done: Stop,
    /// When the service began.
    pub(crate) began: MonoTime,
}

impl Iperf3Service {
    /// # Errors
    /// A sentence when logins cannot be checked as planned.
    pub(crate) fn new(
        plan: Iperf3Server,
        context: Arc<Context>,
        tally: Arc<Tally>,
        policy: Arc<Policy>,
    ) -> Result<Arc<Self>, String> {
        let gate = plan.authentication.as_ref().map(Gate::new).transpose()?;
        let max_logged = policy.limits().refusals_logged;
        Ok(Arc::new(Self {
            refusals: Mutex::new(EventLimiter::of_refusals(&context, max_logged)),
            began: context.now(),
            done: Stop::new(),
            plan,
            context,
            gate,
            registry: Arc::default(),
            tally,
            policy,
            numbers: AtomicU32::new(0),
        }))
    }

    /// Tests at the same time.
    pub(crate) fn max_tests(&self) -> usize {
        match self.plan.max_tests {
            _ if self.plan.one_off => 1,
            MaxTests::AtOnce(max) => max.max(1),
            MaxTests::One => 1,
        }
    }

    /// Whether the server has served its one test, or has waited too long for it (`-1`).
    pub(crate) fn is_done(&self) -> bool {
        let waited = |end| self.context.now() >= end;
        self.done.is_raised() || self.waits_until().is_some_and(waited)
    }

    /// Refusals of this service's clients.
    pub(crate) fn refusals(&self) -> MutexGuard<'_, EventLimiter> {
        self.refusals.lock_unpoisoned()
    }

    /// Logs a client that finds no place. The reference says nothing of it.
    pub(crate) fn report_refusal(&self, peer: SocketAddr, reason: &str) {
        if !self.plan.reports_each {
            self.refusals().refused(peer, reason);
        }
    }

    /// Whether a test runs, whose streams may still come.
    pub(crate) fn is_busy(&self) -> bool {
        !self.registry.is_empty()
    }

    /// Until when the server waits for its one test (`-1 --idle-timeout`).
    pub(crate) fn waits_until(&self) -> Option<MonoTime> {
        let idle = self.plan.idle_timeout.filter(|_| self.plan.one_off)?;
        (self.tally.pending() == 0).then(|| self.began + idle)
    }

    /// Whether a connection with this cookie belongs to a test that is known.
    pub(crate) fn knows(&self, cookie: &Cookie) -> bool {
        self.registry.knows(cookie)
    }
}

/// A control connection that is about to be served.
pub(crate) struct Test {
    pub(crate) number: u32,
    pub(crate) service: Arc<Iperf3Service>,
    pub(crate) conn: Arc<TcpConn>,
    pub(crate) peer: SocketAddr,
    pub(crate) expected: Arc<Expected>,
    pub(crate) waker: Arc<Waker>,
    pub(crate) part: Option<Part>,
}

impl Drop for Test {
    fn drop(&mut self) {
        self.service.registry.leave(&self.expected);
    }
}
