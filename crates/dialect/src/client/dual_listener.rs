//! A client's own listener, for the connections and datagrams that the server of a dual (`-d`) or tradeoff (`-r`)
//! test sends back.

use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use tapeline_base::Transport;
use tapeline_engine::Stop;
use tapeline_report::{Event, Notice};
use tapeline_sys::Waker;

use super::target::{Target, expected_from};
use crate::iperf2::connect_back::BACK_LIMIT;
use crate::iperf2::first_message::Protocols;
use crate::iperf2::test_groups::TestGroups;
use crate::iperf2::test_header::GRACE;
use crate::native::client::{ClientTest, TestFlows};
use crate::plan::{
    Arrangement, ClientPlan, ClientWorkload, Limits, Networks, Personality, ServedTransports,
    ServerPlan,
};
use crate::policy::Policy;
use crate::run::context::Context;
use crate::run::tasks::Tally;
use crate::sampler::GroupKey;
use crate::server::flow_intake::FlowIntake;
use crate::server::listener::{ListenRequest, PeerFilter, open_tcp, open_udp};
use crate::server::shared::ServerShared;
use crate::server::tcp::TcpService;
use crate::server::udp::UdpService;
use crate::server::udp_socket::ServedSocket;

/// A client's listener for the server's connections.
pub(crate) struct ClientListener {
    port: u16,
    done: mpsc::Receiver<()>,
    close: Stop,
    waker: Arc<Waker>,
    tally: Arc<Tally>,
    context: Arc<Context>,
    /// The test whose flows arrive.
    test: Arc<OnceLock<TestFlows>>,
    /// Time that the server may take to begin once our own traffic has ended.
    timeout: Duration,
}

impl ClientListener {
    /// Opens the listener where the arrangement needs one, before anything is sent:
    /// the server may connect before our own first message is acknowledged.
    pub(crate) fn open(
        plan: &ClientPlan,
        target: &Target,
        context: &Arc<Context>,
        group: GroupKey,
    ) -> Result<Option<Self>, Notice> {
        let (port, grace) = match plan.arrangement() {
            Arrangement::Dual { listen_port } => (listen_port, GRACE),
            Arrangement::Tradeoff { listen_port } => (listen_port, GRACE + Duration::from_secs(1)),
            Arrangement::Forward | Arrangement::Reverse | Arrangement::FullDuplex => {
                return Ok(None);
            }
        };
        let open = |port| Self::open_on(port, grace, plan, target, context, group);
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
    pub(crate) fn completed(listener: Option<&Self>, plan: &ClientPlan) -> ClientPlan {
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
        grace: Duration,
        plan: &ClientPlan,
        target: &Target,
        context: &Arc<Context>,
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
            .map(|time| time.max(Duration::from_secs(1)) + grace);
        let test = Arc::default();
        let peer_filter = PeerFilter::ConnectBack {
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
        let shared = || ServerShared {
            plan: Arc::clone(&server),
            context: Arc::clone(context),
            peer_filter,
            groups: Arc::clone(&groups),
            tally: Arc::clone(&tally),
            control: None,
            methods: None,
            iperf3: None,
            policy,
        };
        let max = Some(plan.parallel);
        let (port, body): (u16, Box<dyn FnOnce() + Send>) = match plan.transport {
            Transport::Tcp => {
                let (listener, banner) = open_tcp(&request, None, context)?;
                let port = banner.ports.0;
                context.reporter.event(Event::Listening(banner));
                let service = TcpService {
                    shared: shared(),
                    listener,
                    protocols: Protocols::Iperf2,
                    waker: Arc::clone(&waker),
                    close: close.clone(),
                    until: None,
                    max,
                };
                (port, Box::new(move || service.run()))
            }
            Transport::Udp => {
                let (socket, banner) = open_udp(&request, None, context)?;
                let port = banner.ports.0;
                context.reporter.event(Event::Listening(banner));
                let service = UdpService {
                    intake: FlowIntake {
                        served: ServedSocket {
                            shared: shared(),
                            socket: Arc::new(socket),
                        },
                        until: None,
                        max,
                        only: None,
                    },
                    waker: Arc::clone(&waker),
                    close: close.clone(),
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
            timeout: BACK_LIMIT + udp_time,
        })
    }

    /// The server's flows are part of this test.
    pub(crate) fn belongs_to(&self, test: &ClientTest) {
        let _ = self.test.set(test.flows());
    }

    /// Waits for the server's connections and their ends; returns whether anything failed.
    pub(crate) fn wait(self) -> bool {
        let came = self.done.recv_timeout(self.timeout).is_ok();
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
