use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};

use tapeline_engine::Techniques;
use tapeline_sys::{ReceiveFeatures, SocketOptions};
use tapeline_wire::iperf2::{DatagramStamp, UdpClientHeader};

use super::*;
use crate::iperf2::stamps::{Settings, datagram_template};
use crate::plan::{Limits, Personality, ServedTransports, ServerPlan};
use crate::policy::Policy;
use crate::run::context::{Context, Interruption};
use crate::run::tasks::Tally;
use crate::sampler::{Reporter, ReporterSettings};
use crate::server::listener::PeerFilter;
use crate::server::shared::ServerShared;

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn shared_port() -> SocketOptions {
    SocketOptions {
        reuse_address: true,
        ..SocketOptions::default()
    }
}

/// The intake of a socket for all own addresses, what its thread works on, and the socket's port.
fn server() -> (FlowIntake, IntakeWork, u16) {
    let reporter = Reporter::start(ReporterSettings::default(), |_| {}).expect("a reporter");
    let interruption = Interruption::new().expect("an interruption");
    let context = Context::new(reporter.handle(), interruption, Techniques::default());
    let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
    let socket = UdpSocket::bind(any, &shared_port())
        .expect("a socket")
        .socket;
    socket.request(ReceiveFeatures {
        destination: true,
        ..ReceiveFeatures::MEASURE
    });
    let port = socket.local_addr().expect("an address").port();
    let plan = ServerPlan::new(Personality::Native, 0, ServedTransports::Udp);
    let batch = context.techniques.receive_batch(SLOTS);
    let now = context.now();
    let intake = FlowIntake {
        served: ServedSocket {
            shared: ServerShared {
                plan: Arc::new(plan),
                peer_filter: PeerFilter::Server { only_from: None },
                groups: Arc::default(),
                tally: Tally::new(),
                control: None,
                methods: None,
                iperf3: None,
                policy: Policy::new(Limits::default()),
                context,
            },
            socket: Arc::new(socket),
        },
        until: None,
        max: None,
        only: None,
    };
    let flows = FlowTable::new(None, intake.refusals());
    (intake, IntakeWork::new(flows, batch, now), port)
}

/// A client whose datagrams are numbered.
struct Client {
    socket: std::net::UdpSocket,
    server: SocketAddr,
    sent: u64,
}

impl Client {
    fn new(port: u16) -> Self {
        Self {
            socket: std::net::UdpSocket::bind((HOST, 0)).expect("a socket"),
            server: SocketAddr::new(HOST, port),
            sent: 0,
        }
    }

    fn key(&self) -> FlowKey {
        FlowKey {
            source: self.socket.local_addr().expect("an address"),
            at: Some(HOST),
        }
    }

    fn send(&mut self, count: u64) {
        for _ in 0..count {
            self.sent += 1;
            let header = Settings::Header(UdpClientHeader::default());
            let mut datagram = datagram_template(200, &header);
            let stamp = DatagramStamp {
                id: self.sent as i64,
                seconds: 1,
                micros: 0,
            };
            stamp.write_16(&mut datagram);
            // Loopback delivers before the call returns.
            self.socket.send_to(&datagram, self.server).expect("sent");
        }
    }

    /// All that was sent has been counted, in order.
    #[track_caller]
    fn expect_all(&self, flows: &mut FlowTable) {
        let Some(Flow::Receiving(flow)) = flows.get_mut(self.key()) else {
            panic!("no flow");
        };
        assert_eq!(flow.receiver.in_order(), (self.sent, 0, 0));
    }
}

fn take(intake: &FlowIntake, work: &mut IntakeWork) {
    while work
        .batch
        .receive(&intake.served.socket, Wait::Never)
        .expect("datagrams")
        > 0
    {
        intake.take_batch(&work.batch, &mut work.flows);
    }
}

/// Two flows in the server's socket, more of them still unread.
fn two_flows(intake: &FlowIntake, work: &mut IntakeWork, port: u16) -> [Client; 2] {
    let mut clients = [Client::new(port), Client::new(port)];
    for client in &mut clients {
        client.send(BUSY);
    }
    take(intake, work);
    for client in &mut clients {
        client.send(3);
    }
    clients
}

#[test]
fn what_both_sockets_hold_counts_once_and_in_order() {
    let (intake, mut work, port) = server();
    let [mut own, mut other] = two_flows(&intake, &mut work, port);
    let options = shared_port();
    let branch = UdpSocket::bind(SocketAddr::new(HOST, port), &options);
    let branch = branch.expect("a branch").socket;
    let features = ReceiveFeatures {
        destination: true,
        ..ReceiveFeatures::MEASURE
    };
    branch.request(features);
    // It is preferred already, whoever sends.
    for client in [&mut own, &mut other] {
        client.send(5);
    }
    branch.connect(own.key().source).expect("connected");
    for client in [&mut other, &mut own] {
        client.send(7);
    }
    let mut batch = ReceiveBatch::coalescing(4);
    let key = own.key();
    assert!(take_in_order(&intake, &mut work, key, &branch, &mut batch));
    own.expect_all(&mut work.flows);
    other.expect_all(&mut work.flows);
    for socket in [&branch, &intake.served.socket] {
        assert_eq!(batch.receive(socket, Wait::Never).expect("nothing"), 0);
    }
}

#[test]
fn a_flow_that_is_not_a_branchs_own_begins_nothing_there() {
    let (intake, mut work, port) = server();
    let [own, mut other] = two_flows(&intake, &mut work, port);
    let intake = FlowIntake {
        only: Some(own.key()),
        ..intake
    };
    take(&intake, &mut work);
    work.flows.lose(other.key());
    other.send(1);
    take(&intake, &mut work);
    assert!(work.flows.get_mut(other.key()).is_none());
    assert_eq!(work.flows.served(), 2);
}

#[test]
fn a_branch_that_gets_nothing_of_its_flow_is_no_branch() {
    let (intake, mut work, port) = server();
    let [own, other] = two_flows(&intake, &mut work, port);
    let elsewhere = SocketAddr::new(HOST, 0);
    let branch = UdpSocket::connected(own.key().source, Some(elsewhere), &shared_port());
    let branch = branch.expect("a socket").socket;
    let mut batch = ReceiveBatch::coalescing(4);
    let key = own.key();
    assert!(!take_in_order(&intake, &mut work, key, &branch, &mut batch));
    own.expect_all(&mut work.flows);
    other.expect_all(&mut work.flows);
}

/// Looks for busy flows while the clients send on.
fn extend(
    branches: &FlowBranches,
    intake: &FlowIntake,
    work: &mut IntakeWork,
    clients: &mut [Client],
) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for client in clients {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    client.send(1);
                    std::thread::sleep(Duration::from_micros(100));
                }
            });
        }
        branches.extend(intake, work);
        over.store(true, Ordering::Relaxed);
    });
}

fn branches(max: usize) -> FlowBranches {
    FlowBranches {
        max,
        close: Stop::new(),
    }
}

#[test]
fn two_busy_flows_are_handed_over_and_what_remains_of_them_comes_back() {
    let (intake, mut work, port) = server();
    let mut clients = two_flows(&intake, &mut work, port);
    let branches = branches(2);
    extend(&branches, &intake, &mut work, &mut clients);
    assert_eq!((work.flows.branched(), work.flows.active()), (2, 0));
    for client in &mut clients {
        client.send(10);
    }
    // Threads of their own count them, and nothing is left here.
    let left = work.batch.receive(&intake.served.socket, Wait::Never);
    assert_eq!(left.expect("nothing"), 0);
    branches.end(&mut work.flows);
    assert_eq!((work.flows.branched(), work.flows.served()), (0, 2));
    for client in &clients {
        let flow = work.flows.get_mut(client.key());
        assert!(matches!(flow, Some(Flow::Ended(_))));
    }
}

#[test]
fn without_room_or_company_a_flow_stays() {
    let (intake, mut work, port) = server();
    let mut clients = two_flows(&intake, &mut work, port);
    extend(&branches(0), &intake, &mut work, &mut clients);
    assert_eq!(work.flows.branched(), 0);
    let one = branches(1);
    for _ in 0..2 {
        take(&intake, &mut work);
        for client in &clients {
            if let Some(Flow::Receiving(flow)) = work.flows.get_mut(client.key()) {
                flow.looked = 0;
            }
        }
        extend(&one, &intake, &mut work, &mut clients);
        assert_eq!((work.flows.branched(), work.flows.active()), (1, 1));
    }
    one.end(&mut work.flows);
    extend(&one, &intake, &mut work, &mut clients[..0]);
    assert_eq!((work.flows.branched(), work.flows.active()), (0, 1));
}
