//! The iperf3 server: one thread for each control connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_engine::Stop;
use tapeline_report::Notice;
use tapeline_sys::{TcpConn, UdpSocket, Waker, reason};
use tapeline_wire::iperf3::{CONNECT_REPLY, Cookie, State};

use super::login::Gate;
use super::parting::part_in_peace;
use super::plan::{Iperf3Server, MostTests};
use super::registry::{Claim, Expected, Registry};
use super::session::Session;
use super::streams::Link;
use crate::context::{Context, Part, Tally};
use crate::policy::Policy;
use crate::telling::Telling;

/// Control connections beyond those of running tests.
const MOST_SILENT: usize = 64;
/// Time for a client to close after its last word, so that it can read ours.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves iperf3 clients on the ports of a server.
pub(crate) struct Iperf3Service {
    pub(super) plan: Iperf3Server,
    pub(super) context: Arc<Context>,
    pub(super) gate: Option<Gate>,
    pub(super) registry: Arc<Registry>,
    pub(super) tally: Arc<Tally>,
    pub(super) policy: Arc<Policy>,
    refusals: Mutex<Telling>,
    pub(super) numbers: AtomicU32,
    /// The one test of `-1` is over.
    pub(super) done: Stop,
    /// When the service began.
    pub(super) began: MonoTime,
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
        let told = policy.limits().refusals_told;
        Ok(Arc::new(Self {
            refusals: Mutex::new(Telling::of_refusals(&context, told)),
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
    pub(super) fn most(&self) -> usize {
        match self.plan.most_tests {
            _ if self.plan.one_off => 1,
            MostTests::AtOnce(most) => most.max(1),
            MostTests::One => 1,
        }
    }

    /// Whether the server has served its one test, or has waited too long for it (`-1`).
    pub(crate) fn is_done(&self) -> bool {
        let waited = |end| self.context.now() >= end;
        self.done.is_raised() || self.waits_until().is_some_and(waited)
    }

    /// Refusals of this service's clients.
    pub(crate) fn refusals(&self) -> MutexGuard<'_, Telling> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of a client that finds no place. The reference says nothing of it.
    fn turned_away(&self, peer: SocketAddr, reason: &str) {
        if !self.plan.tells_each {
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

    /// Takes a connection whose cookie has been read: a stream of a known test, or the control
    /// connection of a new one. Returns whether a test began.
    pub(crate) fn take(
        self: &Arc<Self>,
        conn: TcpConn,
        peer: SocketAddr,
        accepted: MonoTime,
        cookie: Cookie,
    ) -> bool {
        let conn = Arc::new(conn);
        let link = Link::Tcp(Arc::clone(&conn));
        match self.registry.claim_tcp(&cookie, accepted, link) {
            Claim::Taken => false,
            Claim::Unwanted => {
                deny(&conn);
                false
            }
            Claim::Unknown => self.begin(conn, peer, cookie),
        }
    }

    fn begin(self: &Arc<Self>, conn: Arc<TcpConn>, peer: SocketAddr, cookie: Cookie) -> bool {
        if self.registry.is_full(self.most()) {
            deny(&conn);
            let most = self.most();
            self.turned_away(
                peer,
                &format!("{most} iperf3 tests run, which is the limit"),
            );
            return false;
        }
        let most = self.most().saturating_add(MOST_SILENT);
        let Ok(waker) = Waker::new().map(Arc::new) else {
            deny(&conn);
            return false;
        };
        let Some(expected) = self
            .registry
            .enter(cookie, peer.ip(), Arc::clone(&waker), most)
        else {
            deny(&conn);
            self.turned_away(peer, "its test is known, or there is no place for it");
            return false;
        };
        let test = Test {
            number: self.numbers.fetch_add(1, Ordering::Relaxed) + 1,
            service: Arc::clone(self),
            conn,
            peer,
            expected,
            waker,
            part: Some(self.tally.begin()),
        };
        let spawned = std::thread::Builder::new()
            .name("iperf3".into())
            .spawn(move || test.run());
        if let Err(error) = spawned {
            let what = format!("no thread for a test: {}", reason(&error));
            self.context.notice(Notice::Text(what));
            return false;
        }
        true
    }

    /// Answers a UDP client's connect message with a socket of its own. Returns whether a test
    /// awaited it.
    pub(crate) fn take_datagram(
        &self,
        socket: &UdpSocket,
        source: SocketAddr,
        destination: Option<IpAddr>,
    ) -> bool {
        let Some(test) = self.registry.udp_test(tapeline_sys::unmapped(source).ip()) else {
            return false;
        };
        let Ok(mut local) = socket.local_addr() else {
            return false;
        };
        if let Some(address) = destination {
            local.set_ip(address);
        }
        let branch = match socket.branch(local, source) {
            Ok(branch) => Arc::new(branch),
            Err(error) => {
                let what = format!("a socket for a UDP stream: {error}");
                self.context.notice(Notice::Text(what));
                return false;
            }
        };
        // The socket is bound before the client hears of it: its next datagram has a place.
        let answered = branch.send(&CONNECT_REPLY).is_ok();
        let came = self.context.now();
        answered && self.registry.give_udp(&test, came, Link::Udp(branch))
    }
}

/// Tells a client that there is no room for it.
fn deny(conn: &TcpConn) {
    let _ = conn.send_nonblocking(&[State::AccessDenied.byte()]);
    let _ = conn.shutdown_write();
}

/// A control connection that is about to be served.
pub(super) struct Test {
    pub(super) number: u32,
    pub(super) service: Arc<Iperf3Service>,
    pub(super) conn: Arc<TcpConn>,
    pub(super) peer: SocketAddr,
    pub(super) expected: Arc<Expected>,
    pub(super) waker: Arc<Waker>,
    pub(super) part: Option<Part>,
}

impl Drop for Test {
    fn drop(&mut self) {
        self.service.registry.leave(&self.expected);
    }
}

impl Test {
    fn run(mut self) {
        let part = self.part.take();
        let ended = Session::new(&self).map(Session::serve);
        self.service.registry.leave(&self.expected);
        let context = &self.service.context;
        part_in_peace(&self.conn, context, FAREWELL, context.stop());
        // Somebody who only looked in, or could not log in, is not the one client.
        if self.service.plan.one_off && ended.is_some_and(|ended| ended.asked) {
            self.service.done.raise();
        }
        let failed = ended.is_none_or(|ended| ended.failed);
        if let Some(part) = part {
            // A server of many tests has not failed with one of them.
            part.end(failed && self.service.plan.one_off);
        }
    }
}
