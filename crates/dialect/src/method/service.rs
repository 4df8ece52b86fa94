//! The orders of a server's clients: who may have what, the sockets of their datagrams, and the threads that
//! do it.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tapeline_base::MutexExt;
use tapeline_report::Notice;
use tapeline_sys::{HostFacts, UdpSocket};
use tapeline_wire::native::{
    MethodDatagram, MethodKind, Methods, Order, Ready, is_method_datagram,
};

use super::desk::{Desk, Opening, OrderNumber};
use super::job::{self, Job};
use super::{samples, tasks, terms};
use crate::native::orders::{Customer, OrderLink, Orders, Senders};
use crate::native::test_registry::draw_key;
use crate::policy::Policy;
use crate::run::context::Context;
use crate::run::event_limiter::EventLimiter;

/// Does what a server's clients order.
pub(crate) struct MethodService {
    context: Arc<Context>,
    policy: Arc<Policy>,
    /// Longest test of anybody.
    longest: Option<Duration>,
    senders: Arc<Senders>,
    state: Arc<Mutex<State>>,
    declined: Mutex<EventLimiter>,
}

#[derive(Default)]
struct State {
    desk: Desk,
    /// Where the socket of an order goes that is opened.
    doors: HashMap<OrderNumber, SyncSender<UdpSocket>>,
    /// The ports at which datagrams reach the server.
    ports: HashSet<u16>,
}

impl MethodService {
    /// A service without orders, for clients of whose tests `senders` knows the connections.
    pub(crate) fn new(
        context: &Arc<Context>,
        policy: &Arc<Policy>,
        longest: Option<Duration>,
        senders: Arc<Senders>,
    ) -> Arc<Self> {
        let logged = policy.limits().refusals_logged;
        Arc::new(Self {
            declined: Mutex::new(EventLimiter::of_refusals(context, logged)),
            context: Arc::clone(context),
            policy: Arc::clone(policy),
            longest,
            senders,
            state: Arc::default(),
        })
    }

    /// Datagrams for this port come to [`take_datagram`](Self::take_datagram).
    pub(crate) fn serves(&self, port: u16) {
        self.lock().ports.insert(port);
    }

    /// Looks at a datagram of a source that has no flow on `socket`; returns whether it belongs to a
    /// method. The first one with an order's key gives the order a socket of its own.
    pub(crate) fn take_datagram(
        &self,
        socket: &UdpSocket,
        payload: &[u8],
        source: SocketAddr,
        destination: Option<IpAddr>,
    ) -> bool {
        if !is_method_datagram(payload) {
            return false;
        }
        let open = MethodDatagram::parse(payload).filter(|one| one.kind == MethodKind::Open);
        if let (Some(open), Ok(local)) = (open, socket.local_addr()) {
            self.open(
                socket,
                &open,
                source,
                own_address(local, source, destination),
            );
        }
        true
    }

    fn open(
        &self,
        socket: &UdpSocket,
        open: &MethodDatagram,
        source: SocketAddr,
        local: SocketAddr,
    ) {
        let source = tapeline_sys::unmapped(source);
        let now = self.context.now();
        let opening = self.lock().desk.open(source, local.port(), open.key, now);
        // Later ones go to the order's own socket, but for those that were here already.
        let Opening::First(number) = opening else {
            return;
        };
        let Some(door) = self.lock().doors.remove(&number) else {
            return;
        };
        match socket.branch(local, source) {
            Ok(branch) => {
                // The socket is bound before the client learns of it: its next datagram has a place.
                if let Some(opened) = open.answer() {
                    let _ = branch.send_nonblocking(&opened.encode());
                }
                let _ = door.send(branch);
            }
            // The order ends by itself: its door is gone.
            Err(error) => {
                let what = format!("a socket for a method: {error}");
                self.context.notice(Notice::Text(what));
            }
        }
    }

    fn begin(
        &self,
        order: &Order,
        customer: &Customer,
        link: &Arc<OrderLink>,
    ) -> Result<Ready, String> {
        let client = customer.peer.ip();
        let limits = self.policy.limits();
        let terms = terms::terms(order, &limits, client, self.longest)?;
        let slot = self.policy.admit(client, 1);
        let slot = slot.map_err(|refusal| refusal.to_string())?;
        let port = NonZeroU16::new(customer.local.port()).filter(|_| terms.task.has_datagrams());
        let key = port.map(|_| draw_key());
        let (number, door) = {
            let mut state = self.lock();
            if port.is_some_and(|port| !state.ports.contains(&port.get())) {
                return Err("no datagrams reach this server".to_owned());
            }
            let entrance = port.map(NonZeroU16::get).zip(key);
            let number = state.desk.enter(client, entrance, self.context.now())?;
            let (socket, sockets) = mpsc::sync_channel(1);
            if key.is_some() {
                state.doors.insert(number, socket);
            }
            (number, key.map(|key| (key, sockets)))
        };
        let job = Job {
            context: Arc::clone(&self.context),
            terms,
            parameters: order.parameters.clone(),
            customer: *customer,
            link: Arc::clone(link),
            door,
            senders: Arc::clone(&self.senders),
            _slot: slot,
        };
        let state = Arc::clone(&self.state);
        let spawned = std::thread::Builder::new()
            .name("method".into())
            .spawn(move || run(&job, number, &state));
        if let Err(error) = spawned {
            self.lock().leave(number);
            return Err(format!(
                "no thread for it: {}",
                tapeline_sys::reason(&error)
            ));
        }
        let facts = HostFacts::gather();
        Ok(Ready {
            udp_port: port,
            key,
            seconds: terms.time,
            bytes: terms.bytes,
            bits_per_second: terms.bits_per_second,
            interface_mtu_bytes: tapeline_sys::interface_mtu(&customer.local),
            mss_bytes: customer.segment_size,
            tcp_receive_buffer_bytes: facts.max_tcp_receive_buffer,
            tcp_send_buffer_bytes: facts.max_tcp_send_buffer,
            unsent_ms: samples::unsent_ms(&terms, &order.parameters),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock_unpoisoned()
    }
}

impl State {
    fn leave(&mut self, number: OrderNumber) {
        self.desk.leave(number);
        self.doors.remove(&number);
    }
}

impl Orders for MethodService {
    fn methods(&self, customer: &Customer) -> Option<Methods> {
        let served = self.lock().ports.contains(&customer.local.port());
        let methods = terms::methods(&self.policy.limits(), customer.peer.ip());
        (served && !methods.0.is_empty()).then_some(methods)
    }

    fn take(
        &self,
        order: &Order,
        customer: &Customer,
        link: &Arc<OrderLink>,
    ) -> Result<Ready, String> {
        let taken = self.begin(order, customer, link);
        if let Err(why) = &taken {
            let mut declined = self.declined.lock_unpoisoned();
            declined.sum_up();
            declined.refused(customer.peer, format!("its order is declined: {why}"));
        }
        taken
    }
}

/// Does an order to its end; a fault in it costs that order alone.
fn run(job: &Job, number: OrderNumber, state: &Mutex<State>) {
    let done = panic::catch_unwind(AssertUnwindSafe(|| tasks::perform(job)));
    state.lock_unpoisoned().leave(number);
    job.link
        .finish(done.unwrap_or_else(|_| job::failed("a fault of the server")));
}

/// The own address that a datagram of `source` has reached, with its interface where that is needed.
fn own_address(bound: SocketAddr, source: SocketAddr, destination: Option<IpAddr>) -> SocketAddr {
    let mut own = bound;
    if let Some(address) = destination {
        own.set_ip(address);
    }
    if let (SocketAddr::V6(own), SocketAddr::V6(source)) = (&mut own, source)
        && tapeline_sys::needs_zone((*own.ip()).into())
    {
        own.set_scope_id(source.scope_id());
    }
    own
}
