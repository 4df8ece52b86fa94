//! The sampler: it decides when intervals end, subtracts snapshots, adds up groups and
//! passes finished [`Event`]s on, in order.
//!
//! One thread per process. Workers and drivers only send it commands; nothing on the
//! data path waits for it.

mod flow;
mod group;
mod measure;
mod sum;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tapeline_base::{Clock, FlowTag, MonoTime, Role};
use tapeline_engine::{DatagramCell, ExchangeCell, ReceiveCell, SendCell};
use tapeline_report::{Endpoints, Event};
use tapeline_sys::{SystemClock, TcpConn, set_timer_slack_minimal};

use flow::ActiveFlow;
use group::Group;

/// The counters of one direction of a flow.
#[derive(Clone, Debug)]
pub(crate) enum CounterCell {
    /// TCP sender.
    TcpSend(Arc<SendCell>),
    /// TCP receiver.
    TcpReceive(Arc<ReceiveCell>),
    /// UDP sender.
    UdpSend(Arc<SendCell>),
    /// UDP receiver.
    UdpReceive(Arc<DatagramCell>),
    /// Request/response client.
    Exchange(Arc<ExchangeCell>),
    /// Request/response server: bytes only.
    Answer(Arc<ExchangeCell>),
}

/// What a group of flows adds up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// A SUM row over flows, as this end of the agreement tells it.
    Sum(Role),
    /// The two directions of one flow.
    Duplex(FlowTag),
}

/// Names a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GroupKey(u64);

/// A flow begins.
#[derive(Debug)]
pub(crate) struct FlowStart {
    pub(crate) tag: FlowTag,
    pub(crate) cell: CounterCell,
    pub(crate) start: MonoTime,
    pub(crate) interval: Option<Duration>,
    pub(crate) endpoints: Endpoints,
    pub(crate) groups: Vec<GroupKey>,
    /// Connection whose TCP_INFO goes with the rows (senders).
    pub(crate) conn: Option<Arc<TcpConn>>,
}

/// A flow has ended; its cell holds the final counters.
#[derive(Debug)]
pub(crate) struct FlowEnd {
    pub(crate) tag: FlowTag,
    pub(crate) at: MonoTime,
    /// Datagrams sent, the final one included (UDP senders).
    pub(crate) sent: Option<u64>,
    /// Datagrams that this host's own buffer dropped (UDP receivers).
    pub(crate) dropped: Option<u64>,
}

/// How rows are formed.
#[derive(Clone, Copy, Debug)]
pub struct ReporterSettings {
    /// A last partial interval is told when longer than this share of the interval.
    pub partial_share: f64,
    /// Sums are told for groups of one flow too.
    pub sum_single: bool,
}

impl Default for ReporterSettings {
    fn default() -> Self {
        Self {
            partial_share: 0.25,
            sum_single: false,
        }
    }
}

enum Command {
    Event(Box<Event>),
    OpenGroup(GroupKey, GroupKind),
    Start(Box<FlowStart>),
    End(Box<FlowEnd>),
    Flush(mpsc::SyncSender<()>),
    Quit,
}

/// Sends commands to the reporter; cheap to clone.
#[derive(Clone)]
pub struct ReporterHandle {
    commands: mpsc::Sender<Command>,
    next_group: Arc<AtomicU64>,
}

impl ReporterHandle {
    /// Passes an event on, behind everything said before.
    pub fn event(&self, event: Event) {
        self.send(Command::Event(Box::new(event)));
    }

    /// Waits until everything said before has been passed on.
    pub fn flush(&self) {
        let (done, wait) = mpsc::sync_channel(1);
        self.send(Command::Flush(done));
        let _ = wait.recv();
    }

    pub(crate) fn open_group(&self, kind: GroupKind) -> GroupKey {
        let key = GroupKey(self.next_group.fetch_add(1, Ordering::Relaxed));
        self.send(Command::OpenGroup(key, kind));
        key
    }

    pub(crate) fn start(&self, start: FlowStart) {
        self.send(Command::Start(Box::new(start)));
    }

    pub(crate) fn end(&self, end: FlowEnd) {
        self.send(Command::End(Box::new(end)));
    }

    fn send(&self, command: Command) {
        // Fails only after the reporter has quit, when nobody listens any more.
        let _ = self.commands.send(command);
    }
}

/// The reporter thread; ends with [`finish`](Self::finish).
pub struct Reporter {
    handle: ReporterHandle,
    thread: JoinHandle<()>,
}

impl Reporter {
    /// Starts the thread; `sink` receives every event in order.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn start(
        settings: ReporterSettings,
        sink: impl FnMut(Event) + Send + 'static,
    ) -> io::Result<Self> {
        let (commands, inbox) = mpsc::channel();
        let state = State {
            settings,
            sink: Box::new(sink),
            flows: BTreeMap::new(),
            groups: BTreeMap::new(),
            boundaries: BinaryHeap::new(),
            clock: SystemClock,
        };
        let thread = std::thread::Builder::new()
            .name("reporter".into())
            .spawn(move || state.run(&inbox))?;
        Ok(Self {
            handle: ReporterHandle {
                commands,
                next_group: Arc::new(AtomicU64::new(0)),
            },
            thread,
        })
    }

    /// A handle for drivers and workers.
    #[must_use]
    pub fn handle(&self) -> ReporterHandle {
        self.handle.clone()
    }

    /// Passes on what is left, closes running flows, and ends the thread.
    pub fn finish(self) {
        self.handle.send(Command::Quit);
        let _ = self.thread.join();
    }
}

struct State {
    settings: ReporterSettings,
    sink: Box<dyn FnMut(Event) + Send>,
    flows: BTreeMap<FlowTag, ActiveFlow>,
    groups: BTreeMap<GroupKey, Group>,
    boundaries: BinaryHeap<Reverse<(MonoTime, FlowTag)>>,
    clock: SystemClock,
}

impl State {
    fn run(mut self, inbox: &mpsc::Receiver<Command>) {
        set_timer_slack_minimal();
        loop {
            let command = match self.boundaries.peek() {
                None => inbox
                    .recv()
                    .map_err(|_| mpsc::RecvTimeoutError::Disconnected),
                Some(Reverse((due, _))) => inbox.recv_timeout(due.since(self.clock.now())),
            };
            match command {
                Ok(Command::Quit) | Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Ok(command) => self.obey(command),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            self.close_due_intervals();
        }
        let now = self.clock.now();
        let left: Vec<FlowTag> = self.flows.keys().copied().collect();
        for tag in left {
            self.end(FlowEnd {
                tag,
                at: now,
                sent: None,
                dropped: None,
            });
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Event(event) => (self.sink)(*event),
            Command::OpenGroup(key, kind) => {
                self.groups
                    .insert(key, Group::new(kind, self.settings.sum_single));
            }
            Command::Start(start) => self.start(*start),
            Command::End(end) => self.end(*end),
            Command::Flush(done) => {
                let _ = done.send(());
            }
            Command::Quit => {}
        }
    }

    fn start(&mut self, start: FlowStart) {
        for key in &start.groups {
            if let Some(group) = self.groups.get_mut(key) {
                group.join(start.tag);
            }
        }
        let flow = ActiveFlow::new(start);
        if let Some(due) = flow.next_boundary() {
            self.boundaries.push(Reverse((due, flow.tag())));
        }
        self.flows.insert(flow.tag(), flow);
    }

    fn close_due_intervals(&mut self) {
        let now = self.clock.now();
        while let Some(Reverse((due, tag))) = self.boundaries.peek().copied() {
            if due > now {
                return;
            }
            self.boundaries.pop();
            let Some(flow) = self.flows.get_mut(&tag) else {
                continue;
            };
            // A tag may have been reused: its new flow has its own entry.
            if flow.next_boundary() != Some(due) {
                continue;
            }
            let (index, row) = flow.close_interval(self.clock.wall());
            let groups = flow.groups().to_vec();
            if let Some(next) = flow.next_boundary() {
                self.boundaries.push(Reverse((next, tag)));
            }
            (self.sink)(Event::Row(row.clone()));
            for key in groups {
                if let Some(group) = self.groups.get_mut(&key) {
                    for event in group.interval(tag, index, row.clone()) {
                        (self.sink)(event);
                    }
                }
            }
        }
    }

    fn end(&mut self, end: FlowEnd) {
        let Some(mut flow) = self.flows.remove(&end.tag) else {
            return;
        };
        let wall = self.clock.wall();
        for (index, row) in flow.last_intervals(end.at, wall, self.settings.partial_share) {
            (self.sink)(Event::Row(row.clone()));
            for key in flow.groups() {
                if let Some(group) = self.groups.get_mut(key) {
                    for event in group.interval(end.tag, index, row.clone()) {
                        (self.sink)(event);
                    }
                }
            }
        }
        let total = flow.total(end.at, wall, end.dropped);
        (self.sink)(Event::Row(total.clone()));
        if let Some(datagrams) = end.sent {
            (self.sink)(Event::Sent {
                tag: Some(end.tag),
                flows: 1,
                datagrams,
            });
        }
        for key in flow.groups() {
            let Some(group) = self.groups.get_mut(key) else {
                continue;
            };
            for event in group.total(end.tag, total.clone(), end.sent) {
                (self.sink)(event);
            }
        }
        if self.flows.is_empty() {
            (self.sink)(Event::Idle);
        }
    }
}
