//! A server in this process, clients on threads, and the events of both.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tapeline_base::{ExitCode, Transport};
use tapeline_dialect::{
    Arrangement, BindPlan, ClientPlan, Interruption, Iperf3Client, Limit, Personality, Reporter,
    ReporterHandle, ReporterSettings, ServedTransports, Server, ServerLimits, ServerPlan,
    run_client, run_iperf3_client,
};
use tapeline_report::{Event, Notice, Phase, Row, Subject};

/// Only a failing test waits so long.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

pub(crate) const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(crate) const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// What one end has reported so far.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<(Mutex<Vec<Event>>, Condvar)>);

impl Events {
    fn push(&self, event: Event) {
        self.0.0.lock().expect("events").push(event);
        self.0.1.notify_all();
    }

    pub(crate) fn all(&self) -> Vec<Event> {
        self.0.0.lock().expect("events").clone()
    }

    /// Waits until `enough` of what was reported.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, enough: impl Fn(&[Event]) -> bool) {
        let until = Instant::now() + LIMIT;
        let mut events = self.0.0.lock().expect("events");
        while !enough(&events) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no {what} in {events:#?}");
            events = self.0.1.wait_timeout(events, left).expect("events").0;
        }
    }

    pub(crate) fn wait_for_totals(&self, count: usize) {
        self.wait("totals", |events| totals(events).len() >= count);
    }

    pub(crate) fn wait_for_connections(&self, count: usize) {
        self.wait("connections", |events| {
            let connected = |event: &&Event| matches!(event, Event::Connected(_));
            events.iter().filter(connected).count() >= count
        });
    }
}

pub(crate) fn reporter(events: &Events) -> Reporter {
    let sink = events.clone();
    Reporter::start(ReporterSettings::default(), move |event| sink.push(event)).expect("reporter")
}

/// A server on ports of the system's choice.
pub(crate) struct TestServer {
    pub(crate) events: Events,
    pub(crate) address: SocketAddr,
    server: Server,
    reporter: Reporter,
    interruption: Interruption,
}

impl TestServer {
    pub(crate) fn start(plan: ServerPlan) -> Self {
        let events = Events::default();
        let reporter = reporter(&events);
        let interruption = Interruption::new().expect("interruption");
        let server = Server::start(&plan, &reporter.handle(), &interruption)
            .unwrap_or_else(|error| panic!("{error}: {:?}", events.all()));
        let ip = plan
            .bind
            .as_ref()
            .map_or(V4, |bind| bind.host.parse().expect("a numeric address"));
        let port = server.ports()[0].1;
        Self {
            events,
            address: SocketAddr::new(ip, port),
            server,
            reporter,
            interruption,
        }
    }

    pub(crate) fn on(ip: IpAddr, transport: Transport) -> Self {
        Self::start(server_plan(ip, transport))
    }

    /// What its clients are granted, to be replaced.
    pub(crate) fn limits(&self) -> ServerLimits {
        self.server.limits()
    }

    /// Waits for the server to end by itself; its events.
    pub(crate) fn wait(self) -> Vec<Event> {
        let (server, reporter) = (self.server, self.reporter);
        within(LIMIT, "the server's end", move || {
            assert_eq!(server.wait(), ExitCode::Success);
            reporter.finish();
        });
        self.events.all()
    }

    /// Stops as an interrupt does, without the server's own stopper.
    pub(crate) fn stop(self) -> Vec<Event> {
        self.interruption.interrupt();
        self.wait()
    }
}

/// What a server reports that cannot start.
pub(crate) fn refused(plan: ServerPlan) -> Vec<Event> {
    let events = Events::default();
    let reporter = reporter(&events);
    let interruption = Interruption::new().expect("interruption");
    let started = Server::start(&plan, &reporter.handle(), &interruption);
    assert!(started.is_err(), "{plan:?}");
    reporter.finish();
    events.all()
}

/// Runs `body` on a thread and waits for it, but not for ever.
#[track_caller]
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (done, wait) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = done.send(body());
    });
    match wait.recv_timeout(limit) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what} takes too long"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(fault) => std::panic::resume_unwind(fault),
            Ok(()) => panic!("{what} ended without a result"),
        },
    }
}

/// A client on a thread of its own.
pub(crate) struct TestClient {
    pub(crate) events: Events,
    pub(crate) interruption: Interruption,
    thread: JoinHandle<ExitCode>,
}

impl TestClient {
    pub(crate) fn start(plan: ClientPlan) -> Self {
        Self::running(move |reporter, stop| run_client(&plan, reporter, stop))
    }

    pub(crate) fn start_iperf3(plan: Iperf3Client) -> Self {
        Self::running(move |reporter, stop| run_iperf3_client(&plan, reporter, stop))
    }

    fn running(
        client: impl FnOnce(&ReporterHandle, &Interruption) -> ExitCode + Send + 'static,
    ) -> Self {
        let events = Events::default();
        let interruption = Interruption::new().expect("interruption");
        let (recorder, stop) = (events.clone(), interruption.clone());
        let thread = std::thread::spawn(move || {
            let reporter = reporter(&recorder);
            let code = client(&reporter.handle(), &stop);
            reporter.finish();
            code
        });
        Self {
            events,
            interruption,
            thread,
        }
    }

    #[track_caller]
    pub(crate) fn wait(self) -> (ExitCode, Vec<Event>) {
        let thread = self.thread;
        let code = within(LIMIT, "the client", move || thread.join().expect("client"));
        (code, self.events.all())
    }
}

/// Runs a client that must succeed without a word of complaint.
#[track_caller]
pub(crate) fn succeed(plan: ClientPlan) -> Vec<Event> {
    let shown = format!("{plan:?}");
    let (code, events) = TestClient::start(plan).wait();
    assert_eq!(code, ExitCode::Success, "{shown}: {:?}", notices(&events));
    let complaints: Vec<_> = notices(&events)
        .into_iter()
        .filter(|notice| !is_about_this_machine(notice))
        .collect();
    assert!(complaints.is_empty(), "{shown}: {complaints:?}");
    events
}

/// What a busy or small machine may say of itself.
fn is_about_this_machine(notice: &Notice) -> bool {
    matches!(
        notice,
        Notice::CpuSaturated { .. } | Notice::PacingMissed { .. } | Notice::BufferClamped { .. }
    )
}

pub(crate) fn notices(events: &[Event]) -> Vec<Notice> {
    let notice = |event: &Event| match event {
        Event::Notice(notice) => Some(notice.clone()),
        _ => None,
    };
    events.iter().filter_map(notice).collect()
}

/// Rows over whole flows.
pub(crate) fn totals(events: &[Event]) -> Vec<Row> {
    rows(events, Phase::Total, |subject| {
        matches!(subject, Subject::Flow(_))
    })
}

/// Rows over all flows of a test.
pub(crate) fn sums(events: &[Event]) -> Vec<Row> {
    rows(events, Phase::Total, |subject| {
        matches!(subject, Subject::Sum { .. })
    })
}

pub(crate) fn rows(events: &[Event], phase: Phase, of: impl Fn(Subject) -> bool) -> Vec<Row> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Row(row) if row.phase == phase && of(row.subject) => Some(row.clone()),
            _ => None,
        })
        .collect()
}

/// A direction of a flow: from where to where, and what went through.
pub(crate) type Carried = (SocketAddr, SocketAddr, u64);

/// What the flows carried according to their totals, at the sending or the receiving end.
pub(crate) fn carried(events: &[Event], by_senders: bool) -> Vec<Carried> {
    let mut carried: Vec<Carried> = totals(events)
        .iter()
        .filter_map(|row| {
            let ends = row.endpoints.expect("a flow has addresses");
            let (from, to) = if ends.local_sends {
                (ends.local, ends.peer)
            } else {
                (ends.peer, ends.local)
            };
            (ends.local_sends == by_senders).then_some((from, to, row.bytes))
        })
        .collect();
    carried.sort();
    carried
}

/// Both ends reported the same flows with the same bytes, `flows` of them.
#[track_caller]
pub(crate) fn assert_agreement(client: &[Event], server: &[Event], flows: usize, what: &str) {
    for senders_are_clients in [true, false] {
        let (senders, receivers) = if senders_are_clients {
            (client, server)
        } else {
            (server, client)
        };
        let sent = carried(senders, true);
        assert_eq!(sent, carried(receivers, false), "{what}");
    }
    assert_eq!(totals(client).len(), flows, "{what}");
    assert_eq!(totals(server).len(), flows, "{what}");
}

pub(crate) fn server_plan(ip: IpAddr, transport: Transport) -> ServerPlan {
    let transports = match transport {
        Transport::Tcp => ServedTransports::Tcp,
        Transport::Udp => ServedTransports::Udp,
    };
    ServerPlan {
        bind: Some(BindPlan::address(&ip.to_string())),
        ..ServerPlan::new(Personality::Native, 0, transports)
    }
}

/// A test of so many bytes towards `server`.
pub(crate) fn client_plan(server: SocketAddr, transport: Transport) -> ClientPlan {
    let host = server.ip().to_string();
    ClientPlan {
        limit: Limit::Bytes(tapeline_base::Bytes(100_000)),
        pace: match transport {
            Transport::Tcp => None,
            Transport::Udp => Some(tapeline_base::Pace::Bits(tapeline_base::BitRate(
                10_000_000,
            ))),
        },
        ..ClientPlan::new(Personality::Native, &host, server.port(), transport)
    }
}

/// A port that is free on every address for both transports, below those that the system
/// gives to others.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + ((std::process::id() as u16).wrapping_mul(61) ^ step) % 20_000;
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
        let v6 = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port);
        if [any, v6].into_iter().all(|address| {
            std::net::TcpListener::bind(address).is_ok()
                && std::net::UdpSocket::bind(address).is_ok()
        }) {
            return port;
        }
    }
}

pub(crate) fn time(millis: u64) -> Limit {
    Limit::Time(Duration::from_millis(millis))
}

pub(crate) fn bytes(count: u64) -> Limit {
    Limit::Bytes(tapeline_base::Bytes(count))
}

/// Every arrangement; `dual` ones need a port to listen on.
pub(crate) fn arrangements() -> [Arrangement; 5] {
    [
        Arrangement::Forward,
        Arrangement::Reverse,
        Arrangement::FullDuplex,
        Arrangement::Dual {
            listen_port: free_port(),
        },
        Arrangement::Tradeoff {
            listen_port: free_port(),
        },
    ]
}

/// Rows that each flow of an arrangement has.
pub(crate) fn directions(arrangement: Arrangement) -> usize {
    match arrangement {
        Arrangement::Forward | Arrangement::Reverse => 1,
        Arrangement::FullDuplex | Arrangement::Dual { .. } | Arrangement::Tradeoff { .. } => 2,
    }
}

/// Runs `body` for all items at the same time.
pub(crate) fn at_once<T: Send>(items: impl IntoIterator<Item = T>, body: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for item in items {
            let body = &body;
            scope.spawn(move || body(item));
        }
    });
}
