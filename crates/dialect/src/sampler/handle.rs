//! The reporter from outside: its thread, and the handle through which drivers and workers reach it.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tapeline_base::{Clock, FlowId, FlowTag, MutexExt};
use tapeline_report::{Event, Row};
use tapeline_sys::SystemClock;

use super::flow_start::{FlowEnd, FlowStart, GroupKey, GroupKind};
use super::state::{Command, ReporterSettings, State};
use super::subscribers::{FlowRows, FlowTotals, Subscribers};

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

    /// Ends the flow and returns its total as it was reported; `None` when the reporter has quit.
    pub(crate) fn end_reported(mut self, end: FlowEnd) -> Option<Row> {
        let handle = self.handle.take()?;
        let (reply, total) = mpsc::sync_channel(1);
        handle.end(self.tag, end, Some(reply));
        total.recv().ok()
    }

    /// Ends the flow without a word, and those that are added up with it: it was no test.
    pub(crate) fn discard(mut self) {
        if let Some(handle) = self.handle.take() {
            handle.send(Command::Discard(self.tag));
            handle.runs_no_more(self.tag);
        }
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

/// Sends commands to the reporter; cheap to clone.
#[derive(Clone, Debug)]
pub struct ReporterHandle {
    commands: mpsc::Sender<Command>,
    next_group: Arc<AtomicU64>,
    /// Directions that run under each number.
    running: Arc<Mutex<HashMap<FlowId, usize>>>,
    subscribers: Subscribers,
}

impl ReporterHandle {
    /// Keeps the rows of these flows from now on.
    pub(crate) fn keep_rows(&self, flows: Vec<FlowTag>) -> Arc<FlowRows> {
        self.subscribers.keep_rows(flows)
    }

    /// Follows flows from now on.
    pub(crate) fn follow_totals(&self) -> Arc<FlowTotals> {
        self.subscribers.follow_totals()
    }

    /// Passes an event on, behind everything said before.
    pub fn event(&self, event: Event) {
        self.send(Command::Event(Box::new(event)));
    }

    /// Passes on what a client counted, or that it is given up; its test, which has these totals,
    /// is over with it.
    pub(crate) fn peer_complete(&self, event: Event, totals: &Arc<FlowTotals>) {
        self.send(Command::PeerComplete(Box::new(event), Arc::clone(totals)));
    }

    /// A probe next to the running flows took so long there and back.
    pub(crate) fn probed(&self, round_trip: Duration) {
        self.send(Command::Probed(round_trip));
    }

    /// Waits until everything said before has been passed on.
    pub fn flush(&self) {
        let (done, wait) = mpsc::sync_channel(1);
        self.send(Command::Flush(done));
        let _ = wait.recv();
    }

    /// Has everything reported that is left, running flows too, and waits for it: nothing follows.
    pub fn quit(&self) {
        self.send(Command::Quit);
        // Comes back when the reporter has gone.
        self.flush();
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
        self.subscribers.start(&start);
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
        self.send(Command::End(tag, Box::new(end), reply));
        self.runs_no_more(tag);
    }

    fn runs_no_more(&self, tag: FlowTag) {
        let mut running = self.running();
        if let Some(count) = running.get_mut(&tag.id) {
            *count -= 1;
            if *count == 0 {
                running.remove(&tag.id);
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<FlowId, usize>> {
        self.running.lock_unpoisoned()
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
        let subscribers = Subscribers::default();
        let observers = subscribers.clone();
        let tapped = move |event: Event| {
            observers.observe(&event);
            sink(event);
        };
        let state = State::new(settings, tapped, SystemClock).observed_by(subscribers.clone());
        let thread = std::thread::Builder::new()
            .name("reporter".into())
            .spawn(move || state.run(&inbox))?;
        Ok(Self {
            handle: ReporterHandle {
                commands,
                next_group: Arc::new(AtomicU64::new(0)),
                running: Arc::default(),
                subscribers,
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
