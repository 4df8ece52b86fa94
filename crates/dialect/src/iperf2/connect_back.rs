//! The second connection of dual (`-d`) and tradeoff (`-r`) tests, from the server that opens it.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, Pace, Transport};
use tapeline_engine::{Destination, Precision, SendEnd, Stop};
use tapeline_report::{ClientTest as ServedTest, ConnectionFlavour, Event, Notice, TargetGap};
use tapeline_sys::{SocketError, SocketOptions, TcpConn, UdpSocket};
use tapeline_wire::iperf2::limits;

use super::banner;
use super::banner::SocketFacts;
use super::stamps::{Settings, StampForm};
use super::tcp_flow::{SendPart, TcpFlow, payload};
use super::tcp_traffic::TcpTraffic;
use super::test_header::{SendRequest, idle_timeout};
use super::udp_sender::{Fin, UdpSending};
use super::udp_traffic::Traffic;
use crate::native::local_results::OwnFlow;
use crate::native::server::Membership;
use crate::policy::Slot;
use crate::run::context::Context;
use crate::run::tasks::{Part, Tally};
use crate::sampler::GroupKey;

/// Time for which a client that refuses is asked again, and the pause in between.
const REFUSED_LIMIT: Duration = Duration::from_secs(1);
const REFUSED_PAUSE: Duration = Duration::from_millis(20);
/// Time for the connect-back to be established.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Time after its own traffic for which a client waits for the server's connection.
pub(crate) const BACK_LIMIT: Duration = Duration::from_secs(3);

/// A server's order to itself: connect to the client that asked, and send.
pub(crate) struct ConnectBack {
    pub(crate) context: Arc<Context>,
    /// The client's own address, with the port it named.
    pub(crate) peer: SocketAddr,
    /// Address that the client reached, with port 0; the flow leaves from there.
    pub(crate) local: SocketAddr,
    pub(crate) transport: Transport,
    pub(crate) order: SendRequest,
    pub(crate) interval: Option<Duration>,
    pub(crate) group: GroupKey,
    /// The client's test.
    pub(crate) test: Option<ServedTest>,
    pub(crate) tally: Arc<Tally>,
    /// The place of its client's test.
    pub(crate) slot: Option<Slot>,
    /// 12-byte datagrams, for clients up to 2.0.5.
    pub(crate) narrow: bool,
    pub(crate) congestion: Option<String>,
    /// The client's version, as its request carried it.
    pub(crate) peer_version: Option<String>,
    /// Its test, where it is tapeline.
    pub(crate) membership: Option<Membership>,
}

/// Runs a connect-back on a thread of its own, unless the run is over. `part` counts it.
pub(crate) fn spawn(back: ConnectBack, part: Part) {
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
        let transport = match conn {
            Some(_) => Transport::Tcp,
            None => Transport::Udp,
        };
        let mut line = banner::connected(tag, transport, local, self.peer);
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
        let began = self.context.now();
        let connected = match self.connect() {
            Ok(connected) => connected,
            Err(error) => {
                self.context.notice(Notice::ConnectFailed {
                    tag,
                    peer: self.peer,
                    reason: error.reason(),
                    after: self.context.now().since(began),
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
            idle_timeout: idle_timeout(self.interval, None),
            many: false,
            tally: Arc::clone(&self.tally),
            after: None,
            wrong_protocol: None,
            slot: self.slot.clone(),
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
            refusal_is_failure: false,
            answers: None,
            fin: Fin::Exchange,
        }
        .run()
    }
}
