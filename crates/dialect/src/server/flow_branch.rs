//! Of several busy UDP flows of a server each gets a socket and a thread of its own, so that they share neither a
//! queue nor a processor: a branch, connected to the flow's client, which the kernel prefers to the server's socket.
//!
//! ```text
//!  both sockets ─► what they hold, in order of arrival ─► the flow, still here ─► handed over ─► its thread
//! ```
//!
//! Between its bind and its connect the branch is given what others send, too. That is taken here as if it had
//! come to the server's socket: each datagram counts once, in its place.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use tapeline_base::WallTime;
use tapeline_engine::{Place, Stop, Technique};
use tapeline_sys::{
    Datagram, Interest, ReceiveBatch, ThreadTime, UdpSocket, Wait, outgoing_device,
};

use super::flow_intake::{FlowIntake, IntakeWork, POLL_INTERVAL, SLOTS, key};
use super::flow_table::{Flow, FlowKey, FlowTable, SharedPast};
use super::listener::set_up_branch;
use super::udp_socket::ServedSocket;
use crate::iperf2::udp_fin::ServerFin;
use crate::sampler::SocketFacts;

/// Most branches of a socket: each has a thread, a descriptor, and a buffer of the kernel.
const MAX: usize = 64;
/// Datagrams between two looks (50 ms) of a flow that is worth a thread: 15 Mbit/s of 1470 bytes each. Whoever
/// forges a source's datagrams has to go on so.
const BUSY: u64 = 64;
/// What arrived so long after the branch was connected cannot have been on its way to the server's socket.
const ON_THE_WAY: Duration = Duration::from_millis(1);
/// Time for a branch to get a datagram of its flow, which has just brought 64 within as much.
const PROOF: Duration = POLL_INTERVAL;
/// The longest look at both sockets, should the clock of the stamps be set meanwhile: a full buffer takes less.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// The branches of a socket.
pub(crate) struct FlowBranches {
    max: usize,
    /// Ends them.
    close: Stop,
}

impl FlowBranches {
    /// None yet, of a socket whose service is ended by `close`. There will never be more than processors: more
    /// threads would not receive more.
    pub(crate) fn new(intake: &FlowIntake, close: &Stop) -> Self {
        let shared = &intake.served.shared;
        let wanted = shared.context.techniques.uses(Technique::FlowSockets);
        // An unprivileged process cannot bind a branch to a device.
        let has_device = shared
            .plan
            .bind
            .as_ref()
            .is_some_and(|b| b.device.is_some());
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let able = UdpSocket::BRANCHES_IN_ORDER && wanted && !has_device && processors > 1;
        Self {
            max: if able { processors.min(MAX) } else { 0 },
            close: close.child(),
        }
    }

    /// Branches the flows that have been busy since the last call, if there are several.
    pub(crate) fn extend(&self, intake: &FlowIntake, work: &mut IntakeWork) {
        if self.max == 0 {
            return;
        }
        let busy = work.flows.busy(BUSY);
        let branched = work.flows.branched();
        if work.flows.active() + branched < 2 {
            return;
        }
        for key in busy.into_iter().take(self.max.saturating_sub(branched)) {
            if self.branch(intake, work, key).is_none() {
                // The next one would hardly fare better now.
                return work.flows.note_failed_branch(key);
            }
        }
    }

    /// Ends all, and takes back what remains of them.
    pub(crate) fn end(&self, flows: &mut FlowTable) {
        self.close.raise();
        flows.rejoin_all();
    }

    /// `None` where no thread or no socket can be had, or the socket gets nothing; then the flow stays where it is.
    fn branch(&self, intake: &FlowIntake, work: &mut IntakeWork, key: FlowKey) -> Option<()> {
        let served = &intake.served;
        let local = served.local_for(key);
        // What is sent to a group or to all hosts reaches all sockets of a port.
        outgoing_device(&local)?;
        let (give, take) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("udp".into())
            .spawn(move || serve(&take))
            .ok()?;
        let socket = open(served, local, key.source)?;
        let mut batch = served.shared.context.techniques.receive_batch(SLOTS);
        if !take_in_order(intake, work, key, &socket, &mut batch) {
            return None;
        }
        // If it has ended meanwhile, it has ended here.
        let mut flow = work.flows.hand_over(key, thread)?;
        served.note_idle(&mut work.flows);
        let before = flow.dropped_before;
        let here = SocketFacts::since(&served.socket, before);
        flow.past = Some(SharedPast {
            dropped: here.drops.unwrap_or(0),
            thread: ThreadTime::now().since(&flow.thread_before),
        });
        flow.dropped_before = before.map(|_| 0);
        let intake = FlowIntake {
            served: ServedSocket {
                socket: Arc::new(socket),
                shared: served.shared.clone(),
            },
            only: Some(key),
            ..*intake
        };
        let branch = FlowBranch {
            flows: work.flows.branch(key, flow, intake.refusals()),
            intake,
            batch,
            close: self.close.clone(),
            key,
        };
        give.send(branch).ok()
    }
}

/// A branch of the server's socket, like that one.
fn open(served: &ServedSocket, local: SocketAddr, source: SocketAddr) -> Option<UdpSocket> {
    let socket = served.socket.branch(local, source).ok()?;
    let own = served.socket.local_addr().ok()?;
    let wildcard = own.ip().is_unspecified();
    let shared = &served.shared;
    set_up_branch(&socket, wildcard, &shared.plan, &shared.context);
    Some(socket)
}

/// What a socket holds, from the oldest on.
struct Queue<'a> {
    socket: &'a UdpSocket,
    batch: &'a mut ReceiveBatch,
    next: usize,
}

impl Queue<'_> {
    fn oldest(&mut self) -> Option<Datagram<'_>> {
        if self.next == self.batch.len() {
            self.next = 0;
            // A socket that fails, fails again when it is waited on.
            let _ = self.batch.receive(self.socket, Wait::Never);
        }
        self.batch.datagrams().nth(self.next)
    }

    fn arrival(&mut self) -> Option<WallTime> {
        self.oldest().map(|datagram| datagram.arrival)
    }

    /// Takes the oldest one; returns whose it is.
    fn take(&mut self, intake: &FlowIntake, flows: &mut FlowTable) -> Option<FlowKey> {
        let datagram = self.oldest()?;
        let key = key(&datagram);
        intake.take_datagram(flows, &datagram);
        self.next += 1;
        Some(key)
    }
}

/// Takes what the server's socket and a branch that has just been connected hold, in order of arrival, until the
/// branch has got a datagram of its flow `key`. Afterwards nothing of that flow is left in the server's socket,
/// nothing of others in the branch. Returns `false` where the branch gets none: something else than the kernel's
/// preference decides (a virtual routing domain, a program of the administrator), and the flow must stay.
fn take_in_order(
    intake: &FlowIntake,
    work: &mut IntakeWork,
    key: FlowKey,
    branch: &UdpSocket,
    batch: &mut ReceiveBatch,
) -> bool {
    let context = &intake.served.shared.context;
    let (until, began) = (context.wall() + ON_THE_WAY, context.now());
    let flows = &mut work.flows;
    let next = work.batch.len();
    let mut shared = Queue {
        socket: &intake.served.socket,
        batch: &mut work.batch,
        next,
    };
    let mut own = Queue {
        socket: branch,
        next: batch.len(),
        batch,
    };
    let mut proven = false;
    loop {
        let longest = if proven { LONGEST_LOOK } else { PROOF };
        let (one, other) = (shared.arrival(), own.arrival());
        let oldest = one.into_iter().chain(other).min();
        let is_done = proven && oldest.is_none_or(|oldest| oldest > until);
        if is_done || context.now().since(began) >= longest {
            break;
        }
        match oldest {
            None => {
                let _ = branch.wait_ready(Interest::READ, Wait::AtMost(ON_THE_WAY));
            }
            Some(_) if oldest == one => {
                shared.take(intake, flows);
            }
            Some(_) => proven |= own.take(intake, flows) == Some(key),
        }
    }
    // Read, but newer: each socket has its own flows only.
    for queue in [&mut shared, &mut own] {
        while queue.next < queue.batch.len() {
            queue.take(intake, flows);
        }
    }
    proven
}

/// A branch as its thread has it.
struct FlowBranch {
    intake: FlowIntake,
    flows: FlowTable,
    batch: ReceiveBatch,
    close: Stop,
    key: FlowKey,
}

/// Waits for the flow, and serves it; returns what remains of it.
fn serve(branch: &Receiver<FlowBranch>) -> Option<ServerFin> {
    branch.recv().ok()?.run()
}

impl FlowBranch {
    /// Serves the flow, and those that its client begins behind it from the same port, until one has ended and
    /// its client asks no more. What it sends then goes to the server's socket, as the first datagram of all did.
    fn run(self) -> Option<ServerFin> {
        let (intake, mut flows, key) = (self.intake, self.flows, self.key);
        let context = Arc::clone(&intake.served.shared.context);
        if let Some(Flow::Receiving(flow)) = flows.get_mut(key) {
            flow.thread_before = ThreadTime::now();
        }
        let mut work = IntakeWork::new(flows, self.batch, context.now());
        let mut place = Place::default();
        while !self.close.is_raised()
            && !intake.is_stopped()
            && !work.flows.are_quiet(context.now())
        {
            if let Some(Flow::Receiving(flow)) = work.flows.get_mut(key) {
                place.follow(&flow.stop);
            }
            let wait = Wait::AtMost(POLL_INTERVAL);
            let received = work.batch.receive(&intake.served.socket, wait);
            work.take(&intake, received);
        }
        intake.served.end_all(&mut work.flows);
        work.flows.take_ended(key)
    }
}

#[cfg(test)]
mod tests;
