//! The sampler: it decides when intervals end, subtracts snapshots, adds up groups and
//! passes finished [`Event`]s on, in order.
//!
//! One thread per process. Workers and drivers only send it commands; nothing on the
//! data path waits for it.

mod awaited;
mod clock_watch;
mod evidence;
mod flow;
mod following;
mod group;
mod jury;
mod measure;
mod processor;
mod state;
mod sum;
#[cfg(any(test, fuzzing))]
mod tale_checks;
mod tap;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tapeline_base::{BitRate, Clock, FlowId, FlowTag, MonoTime, Role};
use tapeline_engine::{
    BurstCell, BurstRecord, DatagramCell, DelayCell, ExchangeCell, FrameRecord, HistogramCell,
    ReceiveCell, RecordedDelays, SendCell,
};
use tapeline_report::{BurstKind, Endpoints, Event, HistogramKind, Row};
use tapeline_sys::{SystemClock, TcpConn};

pub(crate) use evidence::{EndFacts, SocketFacts};
use following::Followers;
pub(crate) use following::Following;
use state::State;
#[cfg(any(test, fuzzing))]
pub(crate) use tale_checks::Tale;
pub(crate) use tap::Tap;
use tap::Taps;

/// The counters of one direction of a flow.
#[derive(Clone, Debug)]
pub(crate) enum CounterCell {
    /// TCP sender.
    TcpSend(Arc<SendCell>),
    /// TCP receiver.
    TcpReceive(Arc<ReceiveCell>),
    /// TCP receiver of stamped bursts, and what they are.
    TcpBursts(Arc<BurstCell>, BurstKind),
    /// UDP sender.
    UdpSend(Arc<SendCell>),
    /// UDP receiver.
    UdpReceive(Arc<DatagramCell>),
    /// Request/response client.
    Exchange(Arc<ExchangeCell>),
}

/// A histogram that a flow's worker fills.
#[derive(Clone, Debug)]
pub(crate) struct FlowHistogram {
    pub(crate) kind: HistogramKind,
    pub(crate) cell: Arc<HistogramCell>,
    /// Bins are shown in microseconds rather than milliseconds.
    pub(crate) in_micros: bool,
    /// Told at each interval's end too, not for the whole test alone.
    pub(crate) by_interval: bool,
}

/// What a group of flows adds up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// A SUM row over flows, as this end of the agreement tells it.
    Sum(Role),
    /// The two directions of one flow.
    Duplex(FlowTag),
}

/// Names a group, and says what it is to add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupKey {
    number: u64,
    kind: GroupKind,
    /// Directions of flows that belong to it; its sum waits for them.
    members: usize,
}

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
    /// In the order of their lines.
    pub(crate) histograms: Vec<FlowHistogram>,
    /// What is told beside the counters.
    pub(crate) extras: FlowExtras,
}

/// What some flows tell beside their counters.
#[derive(Debug, Default)]
pub(crate) struct FlowExtras {
    /// The stamps of the data come from a clock that is said to agree with ours.
    pub(crate) trip_times: bool,
    /// Frames are counted (isochronous traffic).
    pub(crate) frames: bool,
    /// Congestion marks are watched (UDP receivers).
    pub(crate) marks: bool,
    /// Transit times in buckets, told with the total (UDP receivers).
    pub(crate) delays: Option<Arc<RecordedDelays>>,
    /// Packets are looked at below UDP too (UDP receivers).
    pub(crate) link: bool,
    /// Durations of writes (`--tcp-write-times`).
    pub(crate) write_times: Option<Arc<DelayCell>>,
    /// Bursts whose rows stand in place of those of intervals.
    pub(crate) bursts: Option<mpsc::Receiver<BurstRecord>>,
    /// The rate that a sender is to keep.
    pub(crate) target: Option<BitRate>,
    /// Time at the start that does not count; the cell's intervals have a boundary there.
    pub(crate) omit: Duration,
    /// The same for frames of datagrams.
    pub(crate) frame_rows: Option<mpsc::Receiver<FrameRecord>>,
}

/// A flow has ended; its cell holds the final counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowEnd {
    pub(crate) at: MonoTime,
    /// Datagrams sent, the final one included (UDP senders).
    pub(crate) sent: Option<u64>,
    /// Datagrams that this host's own buffer dropped (UDP receivers).
    pub(crate) dropped: Option<u64>,
    /// What may have limited the flow.
    pub(crate) facts: EndFacts,
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

/// A flow between its start and its end. Dropped without an end, as by a panic, it ends
/// then.
#[derive(Debug)]
#[must_use]
pub(crate) struct RunningFlow {
    tag: FlowTag,
    /// Taken by the end.
    handle: Option<ReporterHandle>,
}

impl RunningFlow {
    pub(crate) fn end(mut self, end: FlowEnd) {
        if let Some(handle) = self.handle.take() {
            handle.end(self.tag, end, None);
        }
    }

    /// Ends the flow and returns its total as it was told; `None` when the reporter has quit.
    pub(crate) fn end_told(mut self, end: FlowEnd) -> Option<Row> {
        let handle = self.handle.take()?;
        let (reply, total) = mpsc::sync_channel(1);
        handle.end(self.tag, end, Some(reply));
        total.recv().ok()
    }
}

impl Drop for RunningFlow {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            let at = SystemClock.now();
            let end = FlowEnd {
                at,
                ..FlowEnd::default()
            };
            handle.end(self.tag, end, None);
        }
    }
}

enum Command {
    Event(Box<Event>),
    Start(Box<FlowStart>),
    /// With the place that waits for the total, if any.
    End(FlowTag, FlowEnd, Option<mpsc::SyncSender<Row>>),
    /// The round trip of a probe.
    Probed(Duration),
    Flush(mpsc::SyncSender<()>),
    Quit,
}

/// Sends commands to the reporter; cheap to clone.
#[derive(Clone, Debug)]
pub struct ReporterHandle {
    commands: mpsc::Sender<Command>,
    next_group: Arc<AtomicU64>,
    /// Directions that run under each number.
    running: Arc<Mutex<HashMap<FlowId, usize>>>,
    taps: Taps,
    followers: Followers,
}

impl ReporterHandle {
    /// Keeps the rows of these flows from now on.
    pub(crate) fn tap(&self, flows: Vec<FlowTag>) -> Arc<Tap> {
        self.taps.open(flows)
    }

    /// Follows flows from now on.
    pub(crate) fn follow(&self) -> Arc<Following> {
        self.followers.open()
    }

    /// Passes an event on, behind everything said before.
    pub fn event(&self, event: Event) {
        self.send(Command::Event(Box::new(event)));
    }

    /// A probe beside the running flows took so long there and back.
    pub(crate) fn probed(&self, round_trip: Duration) {
        self.send(Command::Probed(round_trip));
    }

    /// Waits until everything said before has been passed on.
    pub fn flush(&self) {
        let (done, wait) = mpsc::sync_channel(1);
        self.send(Command::Flush(done));
        let _ = wait.recv();
    }

    /// A new group for `members` directions of flows.
    pub(crate) fn open_group(&self, kind: GroupKind, members: usize) -> GroupKey {
        GroupKey {
            number: self.next_group.fetch_add(1, Ordering::Relaxed),
            kind,
            members,
        }
    }

    pub(crate) fn start(&self, start: FlowStart) -> RunningFlow {
        let tag = start.tag;
        self.followers.start(&start);
        *self.running().entry(tag.id).or_default() += 1;
        self.send(Command::Start(Box::new(start)));
        RunningFlow {
            tag,
            handle: Some(self.clone()),
        }
    }

    /// Whether a flow of this number runs.
    pub(crate) fn is_running(&self, id: FlowId) -> bool {
        self.running().contains_key(&id)
    }

    /// The numbers of the flows that run.
    #[must_use]
    pub fn running_flows(&self) -> Vec<FlowId> {
        self.running().keys().copied().collect()
    }

    fn end(&self, tag: FlowTag, end: FlowEnd, reply: Option<mpsc::SyncSender<Row>>) {
        self.send(Command::End(tag, end, reply));
        let mut running = self.running();
        if let Some(count) = running.get_mut(&tag.id) {
            *count -= 1;
            if *count == 0 {
                running.remove(&tag.id);
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<FlowId, usize>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut sink = sink;
        let taps = Taps::default();
        let followers = Followers::default();
        let (listening, following) = (taps.clone(), followers.clone());
        let tapped = move |event: Event| {
            listening.hear(&event);
            following.hear(&event);
            sink(event);
        };
        let state = State::new(settings, tapped, SystemClock).followed_by(followers.clone());
        let thread = std::thread::Builder::new()
            .name("reporter".into())
            .spawn(move || state.run(&inbox))?;
        Ok(Self {
            handle: ReporterHandle {
                commands,
                next_group: Arc::new(AtomicU64::new(0)),
                running: Arc::default(),
                taps,
                followers,
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
