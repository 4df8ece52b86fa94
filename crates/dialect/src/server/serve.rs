//! A server's run: open the sockets, announce them, become who it is to be, serve until asked to stop.
//!
//! A server of datagrams alone listens over TCP too, on the port of its UDP socket: for working loads and control
//! connections.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use tapeline_base::{ExitCode, Family, Transport};
use tapeline_engine::Stop;
use tapeline_report::{Event, Notice, ServerBanner};
use tapeline_sys::{
    Account, InheritedSockets, SocketOptions, TcpListener, UdpSocket, Waker,
    raise_descriptor_limit, reason,
};

use super::flow_intake::FlowIntake;
use super::listener::{ListenRequest, PeerFilter, open_tap, open_tcp, open_udp};
use super::shared::ServerShared;
use super::tcp::TcpService;
use super::udp::UdpService;
use super::udp_socket::ServedSocket;
use crate::iperf2::first_message::Protocols;
use crate::iperf2::test_groups::TestGroups;
use crate::iperf3::service::Iperf3Service;
use crate::method::service::MethodService;
use crate::native::orders::{Orders, Senders};
use crate::native::server::ControlService;
use crate::plan::{
    AccountName, Limits, Personality, ServedProtocols, ServedTransports, ServerPlan,
};
use crate::policy::Policy;
use crate::run::address::{add_zone, look_up};
use crate::run::context::{Context, Interruption};
use crate::run::tasks::Tally;
use crate::sampler::ReporterHandle;

/// Why a server could not start. The sentence has been logged already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server could not listen")]
pub struct ServerError;
/// How many ports of the system's choice are tried until one is free for both transports.
const MAX_PORT_TRIES: usize = 16;
/// What a thread of a server does.
type Body = Box<dyn FnOnce() + Send>;

/// Whether clients may order methods: their tests and datagrams reach one port, and more than one test is
/// served.
fn takes_orders(plan: &ServerPlan) -> bool {
    plan.transports == ServedTransports::Both
        && plan.protocols.has_iperf2()
        && plan.permit_key.is_none()
        && plan.connections.is_none()
        && !plan.single_client
        && plan.tap_device.is_none()
}

/// A server with its sockets open.
pub struct Server {
    pub(crate) context: Arc<Context>,
    /// What is to be announced when nothing needs privileges any more.
    banners: Vec<ServerBanner>,
    /// What is to be run then.
    bodies: Vec<Body>,
    threads: Vec<JoinHandle<()>>,
    pub(crate) tally: Arc<Tally>,
    wakers: Vec<Arc<Waker>>,
    ports: Vec<(Transport, u16)>,
    iperf3: Option<Arc<Iperf3Service>>,
    pub(crate) control: Option<Arc<ControlService>>,
    methods: Option<Arc<MethodService>>,
    pub(crate) policy: Arc<Policy>,
}

impl Server {
    /// Opens all sockets of the plan and begins to serve.
    ///
    /// # Errors
    /// As [`Server::start_on`].
    pub fn start(
        plan: &ServerPlan,
        reporter: &ReporterHandle,
        interruption: &Interruption,
    ) -> Result<Self, ServerError> {
        Self::start_on(plan, InheritedSockets::default(), reporter, interruption)
    }

    /// Begins to serve on sockets that are open already; where there are none, on those of the
    /// plan.
    ///
    /// # Errors
    /// [`ServerError`] when a socket cannot be had or is none that the plan serves, or when the
    /// process cannot become the user that it is to be; the reason has gone to `reporter`.
    pub fn start_on(
        plan: &ServerPlan,
        given: InheritedSockets,
        reporter: &ReporterHandle,
        interruption: &Interruption,
    ) -> Result<Self, ServerError> {
        raise_descriptor_limit();
        let context = Context::new(reporter.clone(), interruption.clone(), plan.techniques);
        if plan.realtime {
            context.run_first();
        }
        let mut server = Self {
            tally: Tally::new(),
            banners: Vec::new(),
            bodies: Vec::new(),
            threads: Vec::new(),
            wakers: Vec::new(),
            ports: Vec::new(),
            iperf3: None,
            control: None,
            methods: None,
            policy: Policy::new(plan.limits.clone()),
            context,
        };
        if plan.control {
            let (context, tally) = (Arc::clone(&server.context), Arc::clone(&server.tally));
            let probes = plan.transports != ServedTransports::Tcp && plan.permit_key.is_none();
            let policy = Arc::clone(&server.policy);
            let senders = Arc::new(Senders::default());
            server.methods = takes_orders(plan).then(|| {
                let senders = Arc::clone(&senders);
                MethodService::new(&server.context, &server.policy, plan.time, senders)
            });
            let orders = server.methods.clone();
            let orders = orders.map(|methods| -> Arc<dyn Orders> { methods });
            let service =
                ControlService::new(context, tally, probes, policy, plan.time, orders, senders);
            server.control = service.ok();
        }
        if let Some(plan) = plan.protocols.iperf3().cloned() {
            let (context, tally) = (Arc::clone(&server.context), Arc::clone(&server.tally));
            let policy = Arc::clone(&server.policy);
            match Iperf3Service::new(plan, context, tally, policy) {
                Ok(service) => server.iperf3 = Some(service),
                Err(why) => {
                    server.context.notice(Notice::Text(why));
                    return Err(ServerError);
                }
            }
        }
        match server.begin(plan, given) {
            Ok(()) => Ok(server),
            Err(notice) => {
                server.context.notice(notice);
                server.context.interruption.interrupt();
                for waker in &server.wakers {
                    waker.wake();
                }
                Err(ServerError)
            }
        }
    }

    /// Opens the sockets; then nothing needs privileges any more, and only then does anybody learn that
    /// the server listens, or gets an answer.
    fn begin(&mut self, plan: &ServerPlan, given: InheritedSockets) -> Result<(), Notice> {
        let account = plan.account.as_ref().map(find).transpose()?;
        if given.is_empty() {
            self.open(plan)?;
        } else {
            self.open_given(plan, given)?;
        }
        if let (Some(account), Some(name)) = (account, &plan.account) {
            account
                .assume()
                .map_err(|error| unlike(name, &reason(&error)))?;
        }
        let mut following = self.banners.len();
        for banner in std::mem::take(&mut self.banners) {
            following -= 1;
            let banner = ServerBanner {
                following,
                ..banner
            };
            self.context.reporter.event(Event::Listening(banner));
        }
        for body in std::mem::take(&mut self.bodies) {
            let thread = std::thread::Builder::new()
                .name("server".into())
                .spawn(body)
                .map_err(|error| Notice::Text(error.to_string()))?;
            self.threads.push(thread);
        }
        Ok(())
    }

    /// Takes sockets as they are: ports and addresses of the plan do not count.
    fn open_given(&mut self, plan: &ServerPlan, given: InheritedSockets) -> Result<(), Notice> {
        let plan = Arc::new(ServerPlan {
            ports: (0, 0),
            extra_port: None,
            bind: None,
            ..plan.clone()
        });
        let groups = Arc::new(TestGroups::default());
        let request = |local: std::io::Result<SocketAddr>| -> Result<ListenRequest<'_>, Notice> {
            let local = local.map_err(|error| Notice::Text(reason(&error)))?;
            Ok(ListenRequest {
                plan: &plan,
                groups: &groups,
                own: Some(local),
                ipv6: local.is_ipv6(),
                port: local.port(),
                of_client: false,
            })
        };
        for listener in given.tcp {
            let request = request(listener.local_addr())?;
            if plan.transports == ServedTransports::Udp {
                return Err(unserved(&request, Transport::Tcp, "-u serves UDP alone"));
            }
            let service = self.open_tcp(&request, Some(listener))?;
            self.prepare(move || service.run());
        }
        for socket in given.udp {
            let request = request(socket.local_addr())?;
            if plan.permit_key.is_some() {
                return Err(unserved(&request, Transport::Udp, "UDP has no permit keys"));
            }
            self.open_udp(&request, Some(socket))?;
        }
        Ok(())
    }

    fn open(&mut self, plan: &ServerPlan) -> Result<(), Notice> {
        let own = match &plan.bind {
            None => None,
            Some(bind) => {
                let mut own = look_up(&bind.host, 0, plan.family)?;
                add_zone(&mut own, bind.device.as_deref())?;
                Some(own)
            }
        };
        let ipv6 = match (own, plan.family) {
            (Some(own), _) => own.is_ipv6(),
            (None, Family::V6) => true,
            (None, Family::V4) => false,
            // Under its own name the server takes both families where the host has both.
            (None, Family::Any) => plan.personality == Personality::Native && has_ipv6(),
        };
        let plan = Arc::new(plan.clone());
        let groups = Arc::new(TestGroups::default());
        let mut request = ListenRequest {
            plan: &plan,
            groups: &groups,
            own,
            ipv6,
            port: plan.ports.0,
            of_client: false,
        };
        for port in plan.ports.0..=plan.ports.1.max(plan.ports.0) {
            request.port = port;
            self.open_port(&mut request)?;
        }
        if let Some(port) = plan.extra_port {
            request.port = port;
            if let Err(notice) = self.open_port(&mut request) {
                self.context.notice(notice);
            }
        }
        Ok(())
    }

    /// Opens what the plan serves on one port.
    fn open_port(&mut self, request: &mut ListenRequest<'_>) -> Result<(), Notice> {
        let plan = request.plan;
        let mut over_tcp = None;
        if plan.transports != ServedTransports::Udp {
            let service = self.open_tcp(request, None)?;
            request.port = service
                .listener
                .local_addr()
                .map_or(request.port, |own| own.port());
            over_tcp = Some(service);
        }
        // UDP has no permit keys: a server that asks for one does not serve it.
        if plan.transports != ServedTransports::Tcp && plan.permit_key.is_none() {
            self.open_udp(request, None)?;
        }
        if let Some(service) = over_tcp {
            self.prepare(move || service.run());
        }
        Ok(())
    }

    /// Listens over TCP; the service is still to be run.
    fn open_tcp(
        &mut self,
        request: &ListenRequest<'_>,
        given: Option<TcpListener>,
    ) -> Result<TcpService, Notice> {
        let plan = request.plan;
        if request.own.is_some_and(|own| own.ip().is_multicast()) {
            return Err(Notice::Text("Multicast requires -u option".into()));
        }
        let (listener, mut banner) = open_tcp(request, given, &self.context)?;
        self.announce(plan, &mut banner, Transport::Tcp);
        Ok(TcpService {
            listener,
            shared: ServerShared {
                iperf3: self.iperf3.clone(),
                control: self.control.clone(),
                ..self.shared(request, &self.tally)
            },
            protocols: Protocols::from(&plan.protocols),
            waker: self.waker()?,
            close: Stop::new(),
            until: plan
                .time
                .into_iter()
                .chain(plan.permit_key.as_ref().and_then(|permit| permit.lifetime))
                .min()
                .map(|time| self.context.now() + time),
            max: plan.connections,
        })
    }

    fn open_udp(
        &mut self,
        request: &ListenRequest<'_>,
        mut given: Option<UdpSocket>,
    ) -> Result<(), Notice> {
        let plan = request.plan;
        let mut tries = 0;
        let (socket, mut banner, companion) = loop {
            let (socket, mut banner) = open_udp(request, given.take(), &self.context)?;
            // A port of the system's choice is free for UDP, not always for TCP.
            let last = request.port != 0 || tries >= MAX_PORT_TRIES;
            match self.open_companion(request, &mut banner) {
                Ok(companion) => break (socket, banner, companion),
                Err(_) if !last => tries += 1,
                Err(_) if !plan.working_load => break (socket, banner, TcpCompanion::Nothing),
                Err(notice) => return Err(notice),
            }
        };
        let local = socket.local_addr().unwrap_or(request.address());
        let tap = open_tap(plan, local)?;
        self.announce(plan, &mut banner, Transport::Udp);
        // The client connects where its flows go: that takes a listener over TCP.
        let control = match companion {
            TcpCompanion::Nothing => None,
            TcpCompanion::Tests | TcpCompanion::Listener(..) => self.control.clone(),
        };
        let methods = self.methods.clone().filter(|_| control.is_some());
        if let Some(methods) = &methods {
            methods.serves(local.port());
        }
        let service = UdpService {
            intake: FlowIntake {
                served: ServedSocket {
                    socket: Arc::new(socket),
                    shared: ServerShared {
                        iperf3: self.iperf3.clone(),
                        control,
                        methods,
                        ..self.shared(request, &self.tally)
                    },
                },
                until: plan.time.map(|time| self.context.now() + time),
                max: plan.connections,
                only: None,
            },
            waker: self.waker()?,
            close: Stop::new(),
            tap,
        };
        self.prepare(move || {
            service.run();
            if let TcpCompanion::Listener(close, waker) = companion {
                close.raise();
                waker.wake();
            }
        });
        Ok(())
    }

    /// What begins on a socket shares, without services of other protocols.
    fn shared(&self, request: &ListenRequest<'_>, tally: &Arc<Tally>) -> ServerShared {
        ServerShared {
            plan: Arc::clone(request.plan),
            context: Arc::clone(&self.context),
            peer_filter: PeerFilter::Server {
                only_from: request.plan.only_from,
            },
            groups: Arc::clone(request.groups),
            tally: Arc::clone(tally),
            control: None,
            methods: None,
            iperf3: None,
            policy: Arc::clone(&self.policy),
        }
    }

    /// One banner for a whole port range.
    fn announce(&mut self, plan: &ServerPlan, banner: &mut ServerBanner, transport: Transport) {
        let port = banner.ports.0;
        self.ports.push((transport, port));
        let range = plan.ports.1 > plan.ports.0;
        if !range || port == plan.ports.0 {
            if range {
                banner.ports = plan.ports;
            }
            self.banners.push(banner.clone());
        }
    }

    pub(crate) fn waker(&mut self) -> Result<Arc<Waker>, Notice> {
        let waker = Arc::new(Waker::new().map_err(|error| Notice::Text(error.to_string()))?);
        self.tally.watch(Arc::clone(&waker));
        self.wakers.push(Arc::clone(&waker));
        Ok(waker)
    }

    /// Notes what a thread is to do when all sockets are open.
    pub(crate) fn prepare(&mut self, body: impl FnOnce() + Send + 'static) {
        self.bodies.push(Box::new(body));
    }

    /// Transports and ports that are served, as bound.
    #[must_use]
    pub fn ports(&self) -> &[(Transport, u16)] {
        &self.ports
    }

    /// A handle that stops the server from another thread.
    #[must_use]
    pub fn stopper(&self) -> ServerStopper {
        ServerStopper {
            interruption: self.context.interruption.clone(),
            wakers: self.wakers.clone(),
            tally: Arc::clone(&self.tally),
        }
    }

    /// A handle that replaces the server's limits from another thread.
    #[must_use]
    pub fn limits(&self) -> ServerLimits {
        ServerLimits(Arc::clone(&self.policy))
    }

    /// Waits until the server has ended by its own limits or was stopped, and its running
    /// tests with it.
    #[must_use]
    pub fn wait(self) -> ExitCode {
        for thread in self.threads {
            if thread.join().is_err() {
                self.tally.fail();
            }
        }
        // A client that failed is its own affair: a server that served is a success.
        let _ = self.tally.wait();
        ExitCode::Success
    }
}

/// Finds the account that a server is to run as.
fn find(name: &AccountName) -> Result<Account, Notice> {
    let found = Account::look_up(&name.user, name.group.as_deref());
    found.map_err(|error| unlike(name, &reason(&error)))
}

/// Why the process cannot be that user's.
fn unlike(name: &AccountName, reason: &str) -> Notice {
    Notice::Text(format!("--user {name}: {reason}"))
}

/// Why a socket that was given is of no use.
fn unserved(request: &ListenRequest<'_>, transport: Transport, reason: &str) -> Notice {
    Notice::ListenFailed {
        transport,
        address: request.address(),
        reason: reason.to_owned(),
    }
}

/// The limits of a server that runs.
#[derive(Clone, Debug)]
pub struct ServerLimits(Arc<Policy>);

impl ServerLimits {
    /// Puts other limits in the place of those so far. Tests that run keep what they were granted;
    /// how many refusals are logged stays as it was at the start.
    pub fn replace(&self, limits: Limits) {
        self.0.replace(limits);
    }
}

/// Stops a server.
#[derive(Clone, Debug)]
pub struct ServerStopper {
    interruption: Interruption,
    wakers: Vec<Arc<Waker>>,
    tally: Arc<Tally>,
}

impl ServerStopper {
    /// Stops listening, ends running tests with their totals. Returns how many ran.
    pub fn stop(&self) -> usize {
        let running = self.tally.pending();
        self.interruption.interrupt();
        for waker in &self.wakers {
            waker.wake();
        }
        running
    }
}

/// Whether an IPv6 socket can be had here.
fn has_ipv6() -> bool {
    let any = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);
    UdpSocket::bind(any, &tapeline_sys::SocketOptions::default()).is_ok()
}

/// What listens over TCP on the port of a UDP socket.
pub(crate) enum TcpCompanion {
    Nothing,
    /// The server of tests over TCP.
    Tests,
    /// A listener that ends with the socket, and what ends it.
    Listener(Stop, Arc<Waker>),
}

impl Server {
    /// Listens over TCP on the port of a UDP socket, where no tests over TCP are served: for working
    /// loads, and for the control connections of tests over UDP.
    ///
    /// # Errors
    /// The port is not free for that.
    pub(crate) fn open_companion(
        &mut self,
        request: &ListenRequest<'_>,
        banner: &mut ServerBanner,
    ) -> Result<TcpCompanion, Notice> {
        let plan = request.plan;
        let is_group = request.own.is_some_and(|own| own.ip().is_multicast());
        match plan.transports {
            ServedTransports::Udp if plan.working_load => self.open_load(request, banner),
            ServedTransports::Udp if self.control.is_some() && !is_group => {
                self.open_control(request, banner.ports.0)
            }
            ServedTransports::Udp => Ok(TcpCompanion::Nothing),
            ServedTransports::Tcp | ServedTransports::Both => Ok(TcpCompanion::Tests),
        }
    }

    /// Serves the control connections of tests over UDP.
    fn open_control(
        &mut self,
        request: &ListenRequest<'_>,
        port: u16,
    ) -> Result<TcpCompanion, Notice> {
        let plan = request.plan;
        let options = SocketOptions {
            reuse_address: true,
            device: plan.bind.as_ref().and_then(|bind| bind.device.clone()),
            only_v6: request.ipv6.then_some(false),
            ..SocketOptions::default()
        };
        let mut address = request.address();
        address.set_port(port);
        let opened = TcpListener::bind(address, &options, TcpListener::MAX_BACKLOG)
            .map_err(|error| request.failed(Transport::Tcp, &error))?;
        let tally = Arc::clone(&self.tally);
        self.open_companion_listener(request, opened.socket, Protocols::None, tally)
    }

    /// Serves working loads.
    fn open_load(
        &mut self,
        request: &ListenRequest<'_>,
        banner: &mut ServerBanner,
    ) -> Result<TcpCompanion, Notice> {
        let plan = request.plan;
        // A load is no test: it neither waits for its turn, nor does a test wait for it, nor is
        // it counted.
        let tally = if plan.single_client {
            Tally::new()
        } else {
            Arc::clone(&self.tally)
        };
        let plan = Arc::new(ServerPlan {
            single_client: false,
            connections: None,
            length: None,
            pace: None,
            protocols: ServedProtocols::Iperf2,
            ..ServerPlan::clone(plan)
        });
        let request = ListenRequest {
            plan: &plan,
            port: banner.ports.0,
            ..*request
        };
        let (listener, _) = open_tcp(&request, None, &self.context)?;
        banner.working_load = Some(banner.ports.0);
        self.open_companion_listener(&request, listener, Protocols::Iperf2, tally)
    }

    fn open_companion_listener(
        &mut self,
        request: &ListenRequest<'_>,
        listener: TcpListener,
        protocols: Protocols,
        tally: Arc<Tally>,
    ) -> Result<TcpCompanion, Notice> {
        let (close, waker) = (Stop::new(), self.waker()?);
        let service = TcpService {
            listener,
            shared: ServerShared {
                control: self.control.clone(),
                ..self.shared(request, &tally)
            },
            protocols,
            waker: Arc::clone(&waker),
            close: close.clone(),
            until: None,
            max: None,
        };
        self.prepare(move || service.run());
        Ok(TcpCompanion::Listener(close, waker))
    }
}
