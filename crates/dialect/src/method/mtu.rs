//! The method `mtu`: probes of a flow, and the search of a server for what the path to its client carries.

use std::time::Duration;

use tapeline_base::{Clock, MonoTime};
use tapeline_stats::{PathMtuEnding, PathMtuLimits};
use tapeline_sys::{SystemClock, UdpSocket, reason, sleep_until};
use tapeline_wire::native::{Done, MethodDatagram, MethodKind, OrderEnd, PathMtuDone};

use super::flow::MethodFlow;
use super::job::{Job, LOOK, failed};
use super::leash::Leash;
use super::path_mtu::{
    PathMtuFinding, PathMtuRequest, ProbeFormat, is_path_mtu_search, measure_path_mtu,
};

/// Longest time between two looks at whether the search is over; what is beyond, this host was busy with
/// something else, or the packet had to wait.
const LOOKS: Duration = Duration::from_millis(200);
/// Longest wait for a probe that is too early.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Bytes of an IP packet that any path carries: probes of this size are counted apart.
const BASE_PACKET: usize = 1200;
/// Step of that wait.
const PAUSE: Duration = Duration::from_millis(2);

/// The probes of a method's flow, for a search at this end.
pub struct FlowProbes<'a> {
    flow: &'a mut MethodFlow,
    is_over: &'a mut dyn FnMut() -> bool,
    /// What a server may send.
    leash: Option<Leash>,
    /// When it was last looked at whether the search is over.
    looked: MonoTime,
    received: u64,
    sent: u64,
    bytes: u64,
}

impl std::fmt::Debug for FlowProbes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlowProbes")
            .field("datagrams", &self.flow)
            .finish_non_exhaustive()
    }
}

impl<'a> FlowProbes<'a> {
    /// On a flow, until `is_over`, which is called ten times a second or more often.
    pub fn new(flow: &'a mut MethodFlow, is_over: &'a mut dyn FnMut() -> bool) -> Self {
        Self {
            flow,
            is_over,
            leash: None,
            looked: SystemClock.now(),
            received: 0,
            sent: 0,
            bytes: 0,
        }
    }

    /// Waits until a packet may leave.
    fn await_room(&mut self, payload: usize) {
        let packet = payload + usize::from(self.flow.headers());
        let began = SystemClock.now();
        while let Some(leash) = &mut self.leash {
            let now = SystemClock.now();
            if leash.spend(payload, packet, now) || now.since(began) >= LONGEST_PAUSE {
                return;
            }
            if leash.end(now).is_some() {
                return;
            }
            sleep_until(now + PAUSE);
        }
    }
}

impl ProbeFormat for FlowProbes<'_> {
    fn probe(&mut self, number: u32, length: usize) -> &[u8] {
        self.flow.stay_present();
        self.await_room(length);
        self.sent += 1;
        self.bytes += length as u64;
        self.flow.fill(MethodKind::Probe, number, 0, length)
    }

    fn answer(&mut self, datagram: &[u8]) -> Option<u32> {
        let head = MethodDatagram::parse(datagram)?;
        if head.key != self.flow.key() {
            return None;
        }
        self.received += 1;
        if let Some(leash) = &mut self.leash {
            leash.heard(0, SystemClock.now());
        }
        if head.kind == MethodKind::Open {
            let _ = self.flow.answer(&head);
        }
        (head.kind == MethodKind::Answer).then_some(head.number)
    }

    fn is_over(&mut self) -> bool {
        self.flow.stay_present();
        let now = SystemClock.now();
        let pause = now.since(self.looked).saturating_sub(LOOKS);
        self.looked = now;
        if let Some(leash) = &mut self.leash {
            leash.excuse(pause);
        }
        let no_room = |leash: &Leash| {
            let left = leash.bytes_left();
            leash.end(now).is_some()
                || left.is_some_and(|left| left < UdpSocket::MAX_PAYLOAD as u64)
        };
        (self.is_over)() || self.leash.as_ref().is_some_and(no_room)
    }
}

/// Answers the client's probes.
pub(crate) fn answer(job: &Job, flow: &mut MethodFlow) -> Done {
    let mut leash = Leash::new(job.terms, job.context.now());
    let control = BASE_PACKET - usize::from(flow.headers());
    let (mut received, mut controls) = (0, 0);
    let mut heads = Vec::new();
    let end = loop {
        let now = job.context.now();
        if let Some(end) = job.stopped().or_else(|| leash.end(now)) {
            break end;
        }
        let wait = leash.due().since(now).min(LOOK);
        let came = flow.receive(wait, |datagram| {
            let length = datagram.payload.len();
            received += 1;
            let is_control = datagram.head.kind == MethodKind::Probe
                && length == control
                && is_path_mtu_search(datagram.head.number);
            controls += u64::from(is_control);
            heads.push((datagram.head, length));
        });
        if let Err(error) = came {
            return failed(&tapeline_sys::reason(&error));
        }
        let now = job.context.now();
        for (head, length) in heads.drain(..) {
            leash.heard(length, now);
            if head.kind == MethodKind::Probe {
                // One that does not leave is asked for again.
                let _ = flow.answer(&head);
            }
        }
    };
    let sent = flow.sent();
    Done {
        end,
        datagrams_sent: sent.datagrams,
        bytes_sent: sent.bytes,
        datagrams_received: received,
        controls_received: Some(controls),
        ..Done::default()
    }
}

/// Searches the path to the client.
pub(crate) fn search(job: &Job, flow: &mut MethodFlow) -> Done {
    let began = job.context.now();
    let request = PathMtuRequest {
        largest: job.parameters.largest.map(|largest| {
            let smallest = PathMtuLimits::headers(flow.peer().is_ipv6()) + 32;
            u16::try_from(largest).unwrap_or(u16::MAX).max(smallest)
        }),
        is_quick: job.parameters.quick.unwrap_or(false),
        round_trip: None,
        seed: flow.key().get(),
    };
    let socket = std::sync::Arc::clone(flow.socket());
    let mut stopped = || job.stopped().is_some();
    let mut probes = FlowProbes {
        leash: Some(Leash::new(job.terms, began)),
        ..FlowProbes::new(flow, &mut stopped)
    };
    let found = measure_path_mtu(&socket, &request, &mut probes);
    let now = job.context.now();
    let leash_end = probes.leash.as_ref().and_then(|leash| leash.end(now));
    let (sent, bytes, received) = (probes.sent, probes.bytes, probes.received);
    let end = job.stopped().or(leash_end).unwrap_or(OrderEnd::Complete);
    match found {
        Ok(found) => Done {
            end: end_of(end, &found, now, began + job.terms.time),
            path_mtu: Some(PathMtuDone {
                mss_bytes: segment_size(job, &socket),
                tcp_path_mtu_bytes: socket.path_mtu(),
                ..as_done(&found)
            }),
            datagrams_sent: sent,
            bytes_sent: bytes,
            datagrams_received: received,
            ..Done::default()
        },
        Err(error) => failed(&reason(&error)),
    }
}

/// What TCP sends with next: the segment size of the control connection, or what is left of it by what the
/// system has learnt meanwhile of the path.
fn segment_size(job: &Job, socket: &UdpSocket) -> Option<u32> {
    /// Time stamps, which each segment has.
    const OPTIONS: u32 = 12;
    let headers = if job.customer.peer.is_ipv6() { 60 } else { 40 };
    let agreed = job.customer.segment_size?;
    let learnt = socket
        .path_mtu()
        .map(|mtu| mtu.saturating_sub(headers + OPTIONS));
    Some(learnt.map_or(agreed, |learnt| agreed.min(learnt)))
}

/// A search that has an answer is complete, however late it was.
fn end_of(end: OrderEnd, found: &PathMtuFinding, now: MonoTime, until: MonoTime) -> OrderEnd {
    match end {
        OrderEnd::Complete if now < until => OrderEnd::Complete,
        _ if found.outcome.ending == PathMtuEnding::Found => OrderEnd::Complete,
        other => other,
    }
}

fn as_done(found: &PathMtuFinding) -> PathMtuDone {
    let outcome = &found.outcome;
    let size = outcome.size.map(u32::from);
    let error = match outcome.ending {
        PathMtuEnding::Found => None,
        PathMtuEnding::Blocked => Some("blocked"),
        PathMtuEnding::BelowMinimum => Some("mtu-below-minimum"),
        PathMtuEnding::TooLossy => Some("path-too-lossy"),
        PathMtuEnding::OutOfTime => Some("out-of-time"),
    };
    PathMtuDone {
        mtu_bytes: size,
        exact: outcome.is_exact,
        at_least: size.filter(|_| !outcome.is_exact),
        error: error.map(str::to_owned),
        refused_here: outcome.refused_here,
        size_dependent_loss: outcome.is_size_dependent,
        interface_mtu_bytes: found.interface_mtu,
        icmp: found.icmp.map_or("", |icmp| icmp.word()).to_owned(),
        icmp_mtu_bytes: found.icmp_mtu,
        icmp_from: found.icmp_from,
        fragments: match found.fragments_pass {
            Some(true) => "pass",
            Some(false) => "blocked",
            None => "",
        }
        .to_owned(),
        probes_sent: outcome.sent.into(),
        probes_answered: outcome.answered.into(),
        controls_sent: outcome.controls.into(),
        controls_answered: outcome.controls_answered.into(),
        round_trip_ns: outcome.round_trip.map(tapeline_base::whole_nanos),
        ..PathMtuDone::default()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::num::NonZeroU64;

    use super::*;
    use crate::method::terms::{Task, Terms};

    #[test]
    fn a_host_that_was_busy_does_not_take_that_for_silence() {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let client = UdpSocket::bind(any, &Default::default()).expect("a socket");
        let client = client.socket.local_addr().expect("an address");
        let server = UdpSocket::connected(client, None, &Default::default()).expect("a socket");
        let mut flow = MethodFlow::new(server.socket, NonZeroU64::MIN).expect("a flow");
        let terms = Terms {
            task: Task::MtuDown,
            time: Duration::from_secs(60),
            bytes: None,
            bits_per_second: None,
        };
        let mut never = || false;
        let mut probes = FlowProbes {
            leash: Some(Leash::new(terms, SystemClock.now())),
            ..FlowProbes::new(&mut flow, &mut never)
        };
        assert!(!probes.is_over());
        // The pause is the subject.
        std::thread::sleep(Duration::from_millis(1300));
        assert!(!probes.is_over());
        while !probes.is_over() {
            std::thread::sleep(PAUSE);
        }
    }
}
