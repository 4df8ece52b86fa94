//! The second connection of dual (`-d`) and tradeoff (`-r`) tests: a server connects back,
//! a client listens for it.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use tapeline_base::{FlowTag, Pace, Transport};
use tapeline_engine::{Destination, Precision, SendEnd, Stop};
use tapeline_report::{ClientTest as ServedTest, ConnectionFlavour, Event, Notice, TargetGap};
use tapeline_sys::{SocketError, SocketOptions, TcpConn, UdpSocket, Waker};
use tapeline_wire::iperf2::limits;

use super::admission::Admission;
use super::banner::{self, SocketFacts};
use super::client::{SharedContext, Target, expected_from};
use super::flows::{SendPart, TcpFlow, payload};
use super::groups::TestGroups;
use super::listening::{ListenRequest, open_tcp, open_udp};
use super::opening::Families;
use super::order::{SLACK, SendOrder, patience};
use super::stamps::{Settings, StampForm};
use super::tcp_server::TcpService;
use super::traffic::TcpTraffic;
use super::udp_sending::{Fin, UdpSending};
use super::udp_server::UdpService;
use super::udp_traffic::Traffic;
use crate::context::{Part, Tally};
use crate::native::{ClientTest, Membership, OwnFlow, TestFlows};
use crate::plan::{
    Arrangement, ClientPlan, ClientWorkload, Limits, Networks, Personality, ServedTransports,
    ServerPlan,
};
use crate::policy::{Policy, Seat};
use crate::reporter::GroupKey;

/// Time for which a client that refuses is asked again, and the pause in between.
const REFUSED_LIMIT: Duration = Duration::from_secs(1);
const REFUSED_PAUSE: Duration = Duration::from_millis(20);
/// Time for the connect-back to be established.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Time after its own traffic for which a client waits for the server's connection.
const BACK_LIMIT: Duration = Duration::from_secs(3);

/// A server's order to itself: connect to the client that asked, and send.
pub(super) struct ConnectBack {
    pub(super) context: SharedContext,
    /// The client's own address, with the port it named.
    pub(super) peer: SocketAddr,
    /// Address that the client reached, with port 0; the flow leaves from there.
    pub(super) local: SocketAddr,
    pub(super) transport: Transport,
    pub(super) order: SendOrder,
    pub(super) interval: Option<Duration>,
    pub(super) group: GroupKey,
    /// The client's test.
    pub(super) test: Option<ServedTest>,
    pub(super) tally: Arc<Tally>,
    /// The place of its client's test.
    pub(super) seat: Option<Seat>,
    /// 12-byte datagrams, for clients up to 2.0.5.
    pub(super) narrow: bool,
    pub(super) congestion: Option<String>,
    /// The client's version, as its order told it.
    pub(super) peer_version: Option<String>,
    /// Its test, where it is tapeline.
    pub(super) membership: Option<Membership>,
}

/// Runs a connect-back on a thread of its own, unless the run is over. `part` counts it.
pub(super) fn spawn(back: ConnectBack, part: Part) {
    let context = Arc::clone(&back.context);
    if context.stop().is_raised() {
        return part.end(false);
    }
    let spawned = std::thread::Builder::new()
        .name("connect-back".into())
        .spawn(move || {
            let failed = match back.transport {
                Transport::Tcp => back.tcp(),
                Transport::Udp => back.udp(),
            };
            part.end(failed);
        });
    if let Err(error) = spawned {
        context.notice(Notice::Text(format!(
            "no thread for a connect-back: {error}"
        )));
    }
}

impl ConnectBack {
    fn tag(&self) -> FlowTag {
        FlowTag {
            id: self.context.next_id(),
            reversed: true,
        }
    }

    fn options(&self) -> SocketOptions {
        SocketOptions {
            tos: Some(self.order.tos).filter(|tos| tos.0 != 0),
            congestion: self.congestion.clone(),
            ..SocketOptions::default()
        }
    }

    fn show(&self, tag: FlowTag, local: SocketAddr, conn: Option<&TcpConn>) {
        let mut line = banner::connected(tag, local, self.peer);
        line.flavour = ConnectionFlavour::Reverse;
        line.peer_is_tapeline = self.membership.is_some();
        line.peer_version = self.peer_version.clone();
        line.test = self.test;
        line.congestion = conn.and_then(TcpConn::congestion);
        line.initial = conn.and_then(banner::initial_tcp);
        self.context.reporter.event(Event::Connected(line));
    }

    /// Makes the flow one of its client's test; returns what ends it.
    fn join(&self, tag: FlowTag, local: SocketAddr, conn: Option<&TcpConn>) -> Stop {
        let joined = self.membership.as_ref().and_then(|test| {
            test.add(OwnFlow {
                token: None,
                sends: Some(tag),
                receives: None,
                local,
                peer: self.peer,
                congestion: conn.and_then(TcpConn::congestion),
            })
        });
        joined.unwrap_or_else(|| self.context.stop().clone())
    }

    /// Connects. A client may open its listener only after its first message (2.1.8 does),
    /// so a refusal is not the last word at once.
    fn connect(&self) -> Result<tapeline_sys::Connected, SocketError> {
        let began = self.context.now();
        loop {
            let result = TcpConn::connect_or_cancel(
                self.peer,
                Some(self.local),
                &self.options(),
                Some(CONNECT_LIMIT),
                self.context.interruption.waker(),
            );
            match result {
                Err(error)
                    if error.kind() == ErrorKind::ConnectionRefused
                        && self.context.now().since(began) < REFUSED_LIMIT
                        && !self.context.stop().is_raised() =>
                {
                    std::thread::sleep(REFUSED_PAUSE);
                }
                other => return other,
            }
        }
    }

    /// Connects and starts the flow; returns whether that failed.
    fn tcp(self) -> bool {
        let tag = self.tag();
        let connected = match self.connect() {
            Ok(connected) => connected,
            Err(error) => {
                self.context.notice(Notice::ConnectFailed {
                    tag,
                    peer: self.peer,
                    reason: error.reason(),
                    at: self.context.wall(),
                    retrying: false,
                });
                return true;
            }
        };
        let conn = Arc::new(connected.conn);
        let Ok(local) = conn.local_addr() else {
            return true;
        };
        self.show(tag, local, Some(&conn));
        let stop = self.join(tag, local, Some(&conn));
        let facts = SocketFacts {
            buffer: conn.send_buffer().unwrap_or(0),
            mss: None,
            congestion: conn.congestion(),
        };
        let length = u64::from(self.order.length);
        self.context
            .reporter
            .event(Event::Connecting(banner::connect_back_banner(
                self.peer,
                Transport::Tcp,
                length,
                TargetGap::None,
                facts,
            )));
        let start = self.context.now();
        let flow = TcpFlow {
            tag,
            conn,
            local,
            peer: self.peer,
            start,
            interval: self.interval,
            groups: vec![self.group],
            stop,
            patience: patience(self.interval, None),
            many: false,
            tally: Arc::clone(&self.tally),
            after: None,
            seat: self.seat.clone(),
        };
        flow.send(
            &self.context,
            SendPart {
                deadline: self.order.time.map(|time| start + time),
                bytes: self.order.bytes,
                traffic: TcpTraffic::Blocks {
                    rate: self.order.rate.map(|rate| rate.0),
                },
                ..SendPart::plain(
                    payload(self.order.length, self.context.techniques),
                    self.order.length.min(limits::MAX_TCP_LENGTH),
                    SendEnd::ShutdownAndDrain(self.order.drain),
                )
            },
        );
        false
    }

    /// Sends and asks for the report; returns whether that failed.
    fn udp(self) -> bool {
        let tag = self.tag();
        let socket = match UdpSocket::connected(self.peer, Some(self.local), &self.options()) {
            Ok(opened) => opened.socket,
            Err(error) => {
                self.context.notice(Notice::Text(error.to_string()));
                return true;
            }
        };
        let length = self
            .order
            .length
            .clamp(limits::MIN_UDP_LENGTH as u32, limits::MAX_UDP_LENGTH);
        let rate = self.order.rate.unwrap_or_default();
        let gap = rate
            .gap(u64::from(length))
            .map_or(TargetGap::None, TargetGap::Every);
        let facts = SocketFacts {
            buffer: socket.send_buffer().unwrap_or(0),
            mss: None,
            congestion: None,
        };
        self.context
            .reporter
            .event(Event::Connecting(banner::connect_back_banner(
                self.peer,
                Transport::Udp,
                u64::from(length),
                gap,
                facts,
            )));
        let Ok(local) = socket.local_addr() else {
            return true;
        };
        self.show(tag, local, None);
        let stop = self.join(tag, local, None);
        let start = self.context.now();
        UdpSending {
            context: Arc::clone(&self.context),
            tag,
            socket: Arc::new(socket),
            to: Destination::Connected,
            form: if self.narrow {
                StampForm::Narrow
            } else {
                StampForm::Wide
            },
            settings: Settings::None,
            length,
            start,
            deadline: self.order.time.map(|time| start + time),
            bytes: self.order.bytes,
            traffic: Traffic::Steady(Pace::Bits(rate)),
            precision: Precision::Precise,
            seed: 0,
            trip_times: false,
            content: None,
            early_frames: false,
            l4s: None,
            interval: self.interval,
            groups: vec![self.group],
            local,
            peer: self.peer,
            stop,
            gone: Stop::new(),
            answers: None,
            fin: Fin::Exchange,
        }
        .run()
    }
}

/// A client's listener for the server's connections.
pub(super) struct ClientListener {
    port: u16,
    done: mpsc::Receiver<()>,
    close: Stop,
    waker: Arc<Waker>,
    tally: Arc<Tally>,
    context: SharedContext,
    /// The test whose flows arrive.
    test: Arc<OnceLock<TestFlows>>,
    /// Time that the server may take to begin once our own traffic has ended.
    patience: Duration,
}

impl ClientListener {
    /// Opens the listener where the arrangement needs one, before anything is sent:
    /// the server may connect before our own first message is acknowledged.
    pub(super) fn open(
        plan: &ClientPlan,
        target: &Target,
        context: &SharedContext,
        group: GroupKey,
    ) -> Result<Option<Self>, Notice> {
        let (port, slack) = match plan.arrangement() {
            Arrangement::Dual { listen_port } => (listen_port, SLACK),
            Arrangement::Tradeoff { listen_port } => (listen_port, SLACK + Duration::from_secs(1)),
            Arrangement::Forward | Arrangement::Reverse | Arrangement::FullDuplex => {
                return Ok(None);
            }
        };
        let open = |port| Self::open_on(port, slack, plan, target, context, group);
        let opened = open(port).or_else(|notice| {
            // On the server's own host its port is taken; the header can name any other.
            if port == plan.ports.0 {
                open(0).map_err(|_| notice)
            } else {
                Err(notice)
            }
        });
        opened.map(Some)
    }

    /// The plan as this listener serves it.
    pub(super) fn completed(listener: Option<&Self>, plan: &ClientPlan) -> ClientPlan {
        let mut plan = plan.clone();
        if let (
            Some(listener),
            ClientWorkload::Stream(
                Arrangement::Dual { listen_port } | Arrangement::Tradeoff { listen_port },
            ),
        ) = (listener, &mut plan.workload)
        {
            *listen_port = listener.port;
        }
        plan
    }

    fn open_on(
        port: u16,
        slack: Duration,
        plan: &ClientPlan,
        target: &Target,
        context: &SharedContext,
        group: GroupKey,
    ) -> Result<Self, Notice> {
        let server = Arc::new(server_plan(plan, port));
        let groups = Arc::new(TestGroups::default());
        let request = ListenRequest {
            plan: &server,
            groups: &groups,
            own: target.own(),
            ipv6: target.is_ipv6(),
            port,
            of_client: true,
        };
        let deadline = plan
            .time_limit()
            .map(|time| time.max(Duration::from_secs(1)) + slack);
        let test = Arc::default();
        let admission = Admission::ConnectBack {
            from: expected_from(target),
            limit: deadline,
            group,
            test: Arc::clone(&test),
        };
        let close = Stop::new();
        let waker = Arc::new(Waker::new().map_err(|error| Notice::Text(error.to_string()))?);
        let tally = Tally::new();
        tally.watch(Arc::clone(&waker));
        let (report, done) = mpsc::sync_channel(1);
        // The one source is the server that was called.
        let policy = Policy::new(Limits {
            trusted: Networks::any(),
            ..Limits::default()
        });
        let most = Some(plan.parallel);
        let (port, body): (u16, Box<dyn FnOnce() + Send>) = match plan.transport {
            Transport::Tcp => {
                let (listener, banner) = open_tcp(&request, None, context)?;
                let port = banner.ports.0;
                context.reporter.event(Event::Listening(banner));
                let service = TcpService {
                    plan: server,
                    context: Arc::clone(context),
                    listener,
                    admission,
                    families: Families::Iperf2,
                    groups,
                    tally: Arc::clone(&tally),
                    waker: Arc::clone(&waker),
                    iperf3: None,
                    control: None,
                    policy: Arc::clone(&policy),
                    close: close.clone(),
                    until: None,
                    most,
                };
                (port, Box::new(move || service.run()))
            }
            Transport::Udp => {
                let (socket, banner) = open_udp(&request, None, context)?;
                let port = banner.ports.0;
                context.reporter.event(Event::Listening(banner));
                let service = UdpService {
                    plan: server,
                    context: Arc::clone(context),
                    socket: Arc::new(socket),
                    admission,
                    groups,
                    tally: Arc::clone(&tally),
                    waker: Arc::clone(&waker),
                    iperf3: None,
                    control: None,
                    policy: Arc::clone(&policy),
                    close: close.clone(),
                    until: None,
                    most,
                    tap: None,
                };
                (port, Box::new(move || service.run()))
            }
        };
        std::thread::Builder::new()
            .name("listener".into())
            .spawn(move || {
                body();
                let _ = report.send(());
            })
            .map_err(|error| Notice::Text(error.to_string()))?;
        // A tradeoff's UDP service ends with its flows, so it may take the whole time.
        let udp_time = match plan.transport {
            Transport::Udp => deadline.unwrap_or(Duration::from_secs(3600)),
            Transport::Tcp => Duration::ZERO,
        };
        Ok(Self {
            port,
            done,
            close,
            waker,
            tally,
            context: Arc::clone(context),
            test,
            patience: BACK_LIMIT + udp_time,
        })
    }

    /// The server's flows are part of this test.
    pub(super) fn belongs_to(&self, test: &ClientTest) {
        let _ = self.test.set(test.flows());
    }

    /// Waits for the server's connections and their ends; returns whether anything failed.
    pub(super) fn wait(self) -> bool {
        let came = self.done.recv_timeout(self.patience).is_ok();
        self.close();
        if !came {
            let _ = self.done.recv();
            self.context.notice(Notice::Text(
                "the server did not connect back (in time)".into(),
            ));
        }
        self.tally.wait() || !came
    }

    fn close(&self) {
        self.close.raise();
        self.waker.wake();
    }
}

impl Drop for ClientListener {
    fn drop(&mut self) {
        self.close();
    }
}

/// The listener's half of a client's plan.
fn server_plan(plan: &ClientPlan, port: u16) -> ServerPlan {
    let transports = match plan.transport {
        Transport::Tcp => ServedTransports::Tcp,
        Transport::Udp => ServedTransports::Udp,
    };
    ServerPlan {
        family: plan.family,
        length: plan.length,
        interval: plan.interval,
        socket: crate::plan::SocketPlan {
            window: None,
            ..plan.socket.clone()
        },
        enhanced: plan.enhanced,
        latency: plan.latency,
        techniques: plan.techniques,
        ..ServerPlan::new(Personality::Iperf2, port, transports)
    }
}
