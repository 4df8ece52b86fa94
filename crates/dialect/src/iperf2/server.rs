//! A server's run: open the sockets, announce them, serve until told to stop.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use tapeline_base::{ExitCode, Family, Transport};
use tapeline_engine::Stop;
use tapeline_report::{Event, Notice, ServerBanner};
use tapeline_sys::{
    DeviceTap, MulticastGroup, Operation, ReceiveFeatures, SocketError, SocketOptions, TcpListener,
    UdpSocket, Waker, raise_descriptor_limit, reason,
};

use super::banner::{self, SocketFacts};
use super::beside::Beside;
use super::client::{SharedContext, add_zone, device_index, look_up};
use super::groups::TestGroups;
use super::opening::Families;
use super::tcp_server::{Admission, TcpService};
use super::udp_server::UdpService;
use crate::context::{Context, Interruption, Tally};
use crate::iperf3::Iperf3Service;
use crate::native::ControlService;
use crate::plan::{Limits, Personality, ServedTransports, ServerPlan};
use crate::policy::Policy;
use crate::reporter::ReporterHandle;

/// Why a server could not start. The sentence has been told already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server could not listen")]
pub struct ServerError;

/// How many ports of the system's choice are tried until one is free for both transports.
const MAX_PORT_TRIES: usize = 16;

/// A listening socket that is to be opened.
pub(super) struct ListenRequest<'a> {
    pub(super) plan: &'a ServerPlan,
    /// Own address, with the zone where it needs one; any when absent. Its port is not looked at.
    pub(super) own: Option<SocketAddr>,
    pub(super) ipv6: bool,
    pub(super) port: u16,
    /// It belongs to the client of a dual test.
    pub(super) of_client: bool,
}

impl ListenRequest<'_> {
    pub(super) fn address(&self) -> SocketAddr {
        let any = if self.ipv6 {
            IpAddr::V6(Ipv6Addr::UNSPECIFIED)
        } else {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED)
        };
        let mut address = self.own.unwrap_or(SocketAddr::new(any, 0));
        address.set_port(self.port);
        address
    }

    /// The group that is to be joined, if any.
    fn group(&self) -> Result<Option<MulticastGroup>, Notice> {
        let Some(address) = self.own.map(|own| own.ip()).filter(IpAddr::is_multicast) else {
            return Ok(None);
        };
        let bind = self.plan.bind.as_ref();
        let interface = match bind.and_then(|bind| bind.device.as_deref()) {
            None => 0,
            Some(device) => device_index(device)?,
        };
        Ok(Some(MulticastGroup {
            address,
            source: bind.and_then(|bind| bind.group_source),
            interface,
        }))
    }

    pub(super) fn failed(&self, transport: Transport, error: &SocketError) -> Notice {
        let reason = match error.operation {
            Operation::Bind | Operation::Listen => error.reason(),
            _ => error.to_string(),
        };
        Notice::ListenFailed {
            transport,
            address: self.address(),
            reason,
        }
    }
}

/// Opens a TCP listener and its banner.
pub(super) fn open_tcp(
    request: &ListenRequest<'_>,
    context: &SharedContext,
) -> Result<(TcpListener, ServerBanner), Notice> {
    let options = banner::server_options(request.plan, request.ipv6);
    let opened = TcpListener::bind(request.address(), &options, TcpListener::MAX_BACKLOG)
        .map_err(|error| request.failed(Transport::Tcp, &error))?;
    let personality = request.plan.personality;
    banner::tell_refusals(&opened.refused, &options, personality, context)?;
    let listener = opened.socket;
    let local = listener.local_addr().unwrap_or(request.address());
    let buffer = listener.receive_buffer().unwrap_or(0);
    banner::tell_clamped(
        request.plan.socket.window,
        buffer,
        request.plan.personality,
        context,
    );
    let facts = SocketFacts {
        buffer,
        mss: listener.mss(),
        congestion: listener.congestion(),
    };
    let ports = (local.port(), local.port());
    let banner = banner::server_banner(
        request.plan,
        Transport::Tcp,
        local,
        ports,
        facts,
        request.of_client,
    );
    Ok((listener, banner))
}

/// Opens a UDP socket for many flows and its banner.
pub(super) fn open_udp(
    request: &ListenRequest<'_>,
    context: &SharedContext,
) -> Result<(UdpSocket, ServerBanner), Notice> {
    let mut options = banner::server_options(request.plan, request.ipv6);
    // Two servers on one UDP port would steal each other's datagrams, silently.
    options.reuse_address = false;
    let opened = match request.group()? {
        None => UdpSocket::bind(request.address(), &options),
        Some(group) => {
            // The group is joined on the device; nothing else can arrive.
            options.device = None;
            UdpSocket::member(&group, request.port, &options)
        }
    }
    .map_err(|error| request.failed(Transport::Udp, &error))?;
    let personality = request.plan.personality;
    banner::tell_refusals(&opened.refused, &options, personality, context)?;
    let socket = opened.socket;
    let shown = socket.receive_buffer().unwrap_or(0);
    banner::tell_clamped(
        request.plan.socket.window,
        shown,
        request.plan.personality,
        context,
    );
    let wildcard = request.address().ip().is_unspecified();
    socket.request(ReceiveFeatures {
        destination: wildcard,
        ..context.techniques.receive_features()
    });
    if request.plan.tap_device.is_none() {
        context.enlarge_buffer(&socket, request.plan.socket.window);
    }
    let buffer = match request.plan.personality {
        Personality::Iperf2 if request.plan.socket.window.is_none() => shown,
        _ => socket.receive_buffer().unwrap_or(shown),
    };
    let local = socket.local_addr().unwrap_or(request.address());
    let facts = SocketFacts {
        buffer,
        mss: None,
        congestion: None,
    };
    let ports = (local.port(), local.port());
    let banner = banner::server_banner(
        request.plan,
        Transport::Udp,
        local,
        ports,
        facts,
        request.of_client,
    );
    Ok((socket, banner))
}

/// Opens the device that datagrams are to be read from, if any. The socket answers.
fn open_tap(plan: &ServerPlan, address: SocketAddr) -> Result<Option<DeviceTap>, Notice> {
    let Some(device) = &plan.tap_device else {
        return Ok(None);
    };
    DeviceTap::open(device, address.port())
        .map(Some)
        .map_err(|error| Notice::ListenFailed {
            transport: Transport::Udp,
            address,
            reason: format!(
                "no packet socket on {device} (--tap-dev): {}",
                reason(&error)
            ),
        })
}

/// A server with its sockets open.
pub struct Server {
    pub(super) context: SharedContext,
    threads: Vec<JoinHandle<()>>,
    pub(super) tally: Arc<Tally>,
    wakers: Vec<Arc<Waker>>,
    ports: Vec<(Transport, u16)>,
    iperf3: Option<Arc<Iperf3Service>>,
    pub(super) control: Option<Arc<ControlService>>,
    pub(super) policy: Arc<Policy>,
}

impl Server {
    /// Opens all sockets of the plan and begins to serve.
    ///
    /// # Errors
    /// [`ServerError`] when a socket cannot be had; the reason has gone to `reporter`.
    pub fn start(
        plan: &ServerPlan,
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
            threads: Vec::new(),
            wakers: Vec::new(),
            ports: Vec::new(),
            iperf3: None,
            control: None,
            policy: Policy::new(plan.limits.clone()),
            context,
        };
        if plan.control {
            let (context, tally) = (Arc::clone(&server.context), Arc::clone(&server.tally));
            let probes = plan.transports != ServedTransports::Tcp && plan.permit_key.is_none();
            server.control = ControlService::new(context, tally, probes).ok();
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
        match server.open(plan) {
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
            own,
            ipv6,
            port: plan.ports.0,
            of_client: false,
        };
        for port in plan.ports.0..=plan.ports.1.max(plan.ports.0) {
            request.port = port;
            self.open_port(&plan, &groups, &mut request)?;
        }
        if let Some(port) = plan.extra_port {
            request.port = port;
            if let Err(notice) = self.open_port(&plan, &groups, &mut request) {
                self.context.notice(notice);
            }
        }
        Ok(())
    }

    /// Opens what the plan serves on one port.
    fn open_port(
        &mut self,
        plan: &Arc<ServerPlan>,
        groups: &Arc<TestGroups>,
        request: &mut ListenRequest<'_>,
    ) -> Result<(), Notice> {
        let mut over_tcp = None;
        if plan.transports != ServedTransports::Udp {
            let service = self.open_tcp(plan, groups, request)?;
            request.port = service
                .listener
                .local_addr()
                .map_or(request.port, |own| own.port());
            over_tcp = Some(service);
        }
        // UDP has no permit keys: a server that asks for one does not serve it.
        if plan.transports != ServedTransports::Tcp && plan.permit_key.is_none() {
            self.open_udp(plan, groups, request)?;
        }
        // An iperf3 client follows its connection with datagrams: the port takes both by then.
        match over_tcp {
            Some(service) => self.spawn(move || service.run()),
            None => Ok(()),
        }
    }

    /// Listens over TCP; the service is still to be run.
    fn open_tcp(
        &mut self,
        plan: &Arc<ServerPlan>,
        groups: &Arc<TestGroups>,
        request: &ListenRequest<'_>,
    ) -> Result<TcpService, Notice> {
        if request.own.is_some_and(|own| own.ip().is_multicast()) {
            return Err(Notice::Text("Multicast requires -u option".into()));
        }
        let (listener, mut banner) = open_tcp(request, &self.context)?;
        self.announce(plan, &mut banner, Transport::Tcp);
        Ok(TcpService {
            listener,
            plan: Arc::clone(plan),
            context: Arc::clone(&self.context),
            admission: Admission::Server {
                only_from: plan.only_from,
            },
            families: Families::from(&plan.protocols),
            groups: Arc::clone(groups),
            tally: Arc::clone(&self.tally),
            waker: self.waker()?,
            iperf3: self.iperf3.clone(),
            control: self.control.clone(),
            policy: Arc::clone(&self.policy),
            close: Stop::new(),
            until: plan
                .time
                .into_iter()
                .chain(plan.permit_key.as_ref().and_then(|permit| permit.lifetime))
                .min()
                .map(|time| self.context.now() + time),
            most: plan.connections,
        })
    }

    fn open_udp(
        &mut self,
        plan: &Arc<ServerPlan>,
        groups: &Arc<TestGroups>,
        request: &ListenRequest<'_>,
    ) -> Result<(), Notice> {
        let mut tries = 0;
        let (socket, mut banner, beside) = loop {
            let (socket, mut banner) = open_udp(request, &self.context)?;
            // A port of the system's choice is free for UDP, not always for TCP.
            let last = request.port != 0 || tries >= MAX_PORT_TRIES;
            match self.open_beside(plan, groups, request, &mut banner) {
                Ok(beside) => break (socket, banner, beside),
                Err(_) if !last => tries += 1,
                Err(_) if !plan.working_load => break (socket, banner, Beside::Nothing),
                Err(notice) => return Err(notice),
            }
        };
        let local = socket.local_addr().unwrap_or(request.address());
        let tap = open_tap(plan, local)?;
        self.announce(plan, &mut banner, Transport::Udp);
        // The client connects where its flows go: that takes a listener over TCP.
        let control = match beside {
            Beside::Nothing => None,
            Beside::Tests | Beside::Listener(..) => self.control.clone(),
        };
        let service = UdpService {
            socket: Arc::new(socket),
            plan: Arc::clone(plan),
            context: Arc::clone(&self.context),
            admission: Admission::Server {
                only_from: plan.only_from,
            },
            groups: Arc::clone(groups),
            tally: Arc::clone(&self.tally),
            waker: self.waker()?,
            iperf3: self.iperf3.clone(),
            control,
            policy: Arc::clone(&self.policy),
            close: Stop::new(),
            until: plan.time.map(|time| self.context.now() + time),
            most: plan.connections,
            tap,
        };
        self.spawn(move || {
            service.run();
            if let Beside::Listener(close, waker) = beside {
                close.raise();
                waker.wake();
            }
        })
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
            self.context
                .reporter
                .event(Event::Listening(banner.clone()));
        }
    }

    pub(super) fn waker(&mut self) -> Result<Arc<Waker>, Notice> {
        let waker = Arc::new(Waker::new().map_err(|error| Notice::Text(error.to_string()))?);
        self.tally.watch(Arc::clone(&waker));
        self.wakers.push(Arc::clone(&waker));
        Ok(waker)
    }

    pub(super) fn spawn(&mut self, body: impl FnOnce() + Send + 'static) -> Result<(), Notice> {
        let thread = std::thread::Builder::new()
            .name("server".into())
            .spawn(body)
            .map_err(|error| Notice::Text(error.to_string()))?;
        self.threads.push(thread);
        Ok(())
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

/// The limits of a server that runs.
#[derive(Clone, Debug)]
pub struct ServerLimits(Arc<Policy>);

impl ServerLimits {
    /// Puts other limits in the place of those so far. Tests that run keep what they were granted;
    /// how many refusals are told stays as it was at the start.
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
    UdpSocket::bind(any, &SocketOptions::default()).is_ok()
}
