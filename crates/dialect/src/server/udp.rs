//! The UDP server: a thread that waits for what arrives on a socket, and has it taken; of several busy flows each
//! gets a socket and a thread of its own.
//!
//! Datagrams and faults also come from below the sockets: `--tap-dev`, and `--l2checks` where the server allows it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tapeline_engine::Stop;
use tapeline_report::Notice;
use tapeline_sys::{DeviceTap, Events, Interest, LinkHeader, Poller, ReceiveBatch, Wait, Waker};
use tapeline_wire::UdpPacket;

use super::flow_branch::FlowBranches;
use super::flow_intake::{FlowIntake, IntakeWork, POLL_INTERVAL, SLOTS, contents, key};
use super::flow_table::{Flow, FlowKey, FlowTable};
use super::udp_socket::FlowDatagram;
use crate::iperf2::udp_receiver::Datagram;

const SOCKET: u64 = 0;
const WAKER: u64 = 1;
const INTERRUPTION: u64 = 2;
/// Between two looks whether clients of a stopped server are still connected.
const LAST_LOOK: Duration = Duration::from_millis(5);

/// One bound socket and all flows that arrive on it.
pub(crate) struct UdpService {
    pub(crate) intake: FlowIntake,
    /// Wakes the thread of the socket.
    pub(crate) waker: Arc<Waker>,
    /// Ends the service.
    pub(crate) close: Stop,
    /// Device that the datagrams are read from in place of the socket (`--tap-dev`).
    pub(crate) tap: Option<DeviceTap>,
}

impl UdpService {
    /// Serves until asked to stop.
    pub(crate) fn run(mut self) {
        let mut tap = self.tap.take();
        let context = Arc::clone(&self.intake.served.shared.context);
        let batch = context.techniques.receive_batch(SLOTS);
        let mut events = Events::with_capacity(4);
        let flows = FlowTable::new(self.intake.served.socket.dropped(), self.intake.refusals());
        self.intake.served.socket.receive_refusals();
        let mut work = IntakeWork::new(flows, batch, context.now());
        let branches = FlowBranches::new(&self.intake, &self.close);
        let mut poller = match self.poller(tap.as_ref()) {
            Ok(poller) => poller,
            Err(error) => return context.notice(Notice::Text(format!("poll: {error}"))),
        };
        while !self.is_over(&work.flows) {
            // With flows that are active here the socket itself is waited on, which is one call per
            // batch; an idle server sleeps until something happens.
            let received = if let Some(tap) = &mut tap {
                if poller.wait(&mut events, self.wait(&work.flows)).is_err() {
                    break;
                }
                self.waker.drain();
                self.take_frames(tap, &mut work.flows).map(|()| 0)
            } else if work.flows.active() == 0 {
                if poller.wait(&mut events, self.wait(&work.flows)).is_err() {
                    break;
                }
                self.waker.drain();
                let socket = &self.intake.served.socket;
                work.batch.receive(socket, Wait::Never)
            } else {
                let socket = &self.intake.served.socket;
                work.batch.receive(socket, Wait::AtMost(POLL_INTERVAL))
            };
            let swept = work.take(&self.intake, received);
            self.look_for_faults(&mut work.flows);
            if swept && tap.is_none() {
                branches.extend(&self.intake, &mut work);
            }
        }
        branches.end(&mut work.flows);
        self.intake.served.end_all(&mut work.flows);
        if tap.is_none() {
            self.answer_last_probes(&mut work.batch);
        }
    }

    /// A server that is stopped lets its clients compare the quiet path with the loaded one: their probes are
    /// answered as long as their control connections last.
    fn answer_last_probes(&self, batch: &mut ReceiveBatch) {
        let shared = &self.intake.served.shared;
        let Some(control) = &shared.control else {
            return;
        };
        while shared.context.stop().is_raised() && control.has_connections() {
            match batch.receive(&self.intake.served.socket, Wait::AtMost(LAST_LOOK)) {
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => continue,
                Err(_) => return,
            }
            for datagram in batch.datagrams() {
                let key = key(&datagram);
                for content in contents(&datagram, shared.context.now()) {
                    self.intake.is_probe(&FlowDatagram { key, content });
                }
            }
        }
    }

    fn poller(&self, tap: Option<&DeviceTap>) -> std::io::Result<Poller> {
        let mut poller = Poller::new()?;
        match tap {
            Some(tap) => poller.register(tap, SOCKET, Interest::READ)?,
            None => poller.register(&self.intake.served.socket, SOCKET, Interest::READ)?,
        }
        poller.register(&self.waker, WAKER, Interest::READ)?;
        let interruption = self.intake.served.shared.context.interruption.waker();
        poller.register(interruption, INTERRUPTION, Interest::READ)?;
        Ok(poller)
    }

    fn idle_wait(&self) -> Wait {
        let idle = self
            .intake
            .served
            .shared
            .iperf3
            .as_ref()
            .and_then(|service| service.waits_until());
        let until = self.intake.until.into_iter().chain(idle).min();
        until.map_or(Wait::Forever, |until| {
            Wait::AtMost(until.since(self.intake.served.shared.context.now()))
        })
    }

    /// The longest wait for a datagram.
    fn wait(&self, flows: &FlowTable) -> Wait {
        if flows.is_empty() {
            self.idle_wait()
        } else {
            Wait::AtMost(POLL_INTERVAL)
        }
    }

    /// Stopped, or done: no flow can begin any more, all have ended, and nobody asks for
    /// a report.
    fn is_over(&self, flows: &FlowTable) -> bool {
        if self.close.is_raised() || self.intake.is_stopped() {
            return true;
        }
        let now = self.intake.served.shared.context.now();
        !self.intake.has_room(flows, now) && flows.are_quiet(now)
    }
}

/// Frames that are taken before the sockets have their turn again.
const MAX_FRAMES: usize = 1024;
/// What frames are read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// They carry the flows.
    Data,
    /// Sockets carry the flows; frames show faults.
    Faults,
}

impl UdpService {
    /// Takes what has arrived on the device that carries the flows.
    pub(crate) fn take_frames(&self, tap: &mut DeviceTap, flows: &mut FlowTable) -> io::Result<()> {
        self.read_frames(tap, flows, Purpose::Data)
    }

    /// Looks at what has arrived on the watched devices.
    pub(crate) fn look_for_faults(&self, flows: &mut FlowTable) {
        let mut watched = std::mem::take(&mut flows.watched);
        watched.devices.retain_mut(|(device, tap)| {
            let read = self.read_frames(tap, flows, Purpose::Faults);
            if let Err(error) = &read {
                self.intake.served.log_unwatched(device, error);
            }
            read.is_ok()
        });
        flows.watched = watched;
    }

    fn read_frames(
        &self,
        tap: &mut DeviceTap,
        flows: &mut FlowTable,
        purpose: Purpose,
    ) -> io::Result<()> {
        let own = self.intake.served.socket.local_addr()?;
        let mut touched = None;
        for _ in 0..MAX_FRAMES {
            let Some(frame) = tap.receive()? else {
                break;
            };
            let packet = match frame.link {
                LinkHeader::Ethernet => {
                    UdpPacket::from_ethernet(frame.bytes, frame.checksum_counts)
                }
                LinkHeader::None => UdpPacket::from_ip(frame.bytes, frame.checksum_counts),
            };
            let Some(packet) = packet.filter(|one| one.destination.port() == own.port()) else {
                continue;
            };
            let knows_address = purpose == Purpose::Data || own.ip().is_unspecified();
            let key = FlowKey {
                source: packet.source,
                at: knows_address.then(|| packet.destination.ip()),
            };
            if touched != Some(key) {
                flows.publish(touched);
                touched = Some(key);
            }
            if let Some(fault) = packet.fault {
                if let Some(Flow::Receiving(flow)) = flows.get_mut(key) {
                    flow.receiver.note_fault(fault);
                }
                continue;
            }
            if purpose == Purpose::Faults {
                continue;
            }
            let segment = frame.segment_size.unwrap_or(packet.payload.len()).max(1);
            let now = self.intake.served.shared.context.now();
            let contents = packet.payload.chunks(segment).map(|payload| Datagram {
                payload,
                arrival: frame.arrival,
                truncated: frame.truncated,
                tos: None,
                joined: frame.segment_size.is_some(),
                now,
            });
            self.intake.take_guarded(flows, key, contents);
        }
        flows.publish(touched);
        Ok(())
    }
}
