//! Where flows run: a thread each while they are few, shared workers above.
//!
//! Up to [`THREADED_FLOWS`] flows have a thread with blocking calls, which is cheapest
//! per byte; more are dealt out to one polling worker per processor.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, MutexExt};
use tapeline_sys::{Events, Interest, Poller, SystemClock, ThreadTime, Wait, WaitMode, Waker};

use crate::stop::Stop;
use crate::work::{Call, Cause, Ending, Step, TcpWork, ThreadUse, run_waiting};

/// Flows that get a thread of their own.
pub const THREADED_FLOWS: usize = 64;
/// Steps of one ready flow before the next one's turn.
const BUDGET: usize = 16;
/// Ready flows that a polling worker is handed at a time.
const EVENTS: usize = 256;
/// Longest wait of a polling worker between two looks at stop flags.
const TICK: Duration = Duration::from_millis(20);
const WAKE_TOKEN: u64 = u64::MAX;

/// Called once when a flow ends, on its worker where it had one.
pub type OnEnd = Box<dyn FnOnce(Ending) + Send>;

/// A flow's work, and what is to be called at its end, however that comes about.
struct Job {
    work: Box<dyn TcpWork>,
    stop: Stop,
    end: End,
}

impl Job {
    /// Runs on the calling thread to the end.
    fn run(mut self, room: Option<Room>, mode: WaitMode) {
        let ending = caught(|| run_waiting(self.work.as_mut(), &self.stop, mode));
        // Whoever learns of the end may start another flow.
        drop(room);
        self.finish(ending);
    }

    /// Closes what the work holds, then reports the end.
    fn finish(self, ending: Ending) {
        let Self { work, mut end, .. } = self;
        drop(work);
        end.report(ending);
    }
}

/// Reports the end of a flow once, at the latest when it is dropped: a flow whose worker is
/// lost, or never was, still ends.
struct End(Option<OnEnd>);

impl End {
    fn report(&mut self, ending: Ending) {
        if let Some(on_end) = self.0.take() {
            // Whatever breaks in there must not take other flows' worker with it.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| on_end(ending)));
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if self.0.is_some() {
            self.report(broken("no worker to run it"));
        }
    }
}

fn broken(reason: &'static str) -> Ending {
    Ending::new(Cause::Worker(io::Error::other(reason)), SystemClock.now())
}

/// Runs a flow's code; a panic in there ends that flow only.
fn caught(run: impl FnOnce() -> Ending) -> Ending {
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| broken("internal fault"))
}

/// A polling worker, which ends when its last flow has ended after this was dropped.
struct Worker {
    jobs: Option<mpsc::Sender<Job>>,
    waker: Arc<Waker>,
}

impl Worker {
    /// Hands a job over; gives it back when the worker has ended.
    fn take(&self, job: Job) -> Result<(), Job> {
        let Some(jobs) = &self.jobs else {
            return Err(job);
        };
        jobs.send(job).map_err(|mpsc::SendError(job)| job)?;
        self.waker.wake();
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        self.waker.wake();
    }
}

/// Places flows on threads and workers.
pub struct Pool {
    threaded: Arc<AtomicUsize>,
    limit: usize,
    /// Flows of large tests go to workers from the first one.
    shares: bool,
    /// How a flow's own thread waits.
    wait: WaitMode,
    workers: Mutex<Vec<Worker>>,
    next: AtomicUsize,
    max_workers: usize,
}

impl Default for Pool {
    fn default() -> Self {
        Self::new(THREADED_FLOWS)
    }
}

impl Pool {
    /// A pool that gives up to `threaded` flows a thread each.
    #[must_use]
    pub fn new(threaded: usize) -> Self {
        // Two at least: the two directions of a connection go to different ones.
        let max_workers = std::thread::available_parallelism().map_or(2, |n| n.get().max(2));
        Self {
            threaded: Arc::new(AtomicUsize::new(0)),
            limit: threaded,
            shares: true,
            wait: WaitMode::Auto,
            workers: Mutex::new(Vec::new()),
            next: AtomicUsize::new(0),
            max_workers,
        }
    }

    /// A pool that gives every flow a thread, however many there are.
    #[must_use]
    pub fn of_threads() -> Self {
        Self {
            shares: false,
            ..Self::new(usize::MAX)
        }
    }

    /// The same, whose threads of a single flow wait so for what arrives.
    #[must_use]
    pub fn waiting(self, wait: WaitMode) -> Self {
        Self { wait, ..self }
    }

    /// Runs `work` until it ends, and calls `on_end` exactly once: also when no worker can
    /// be had, or when it panics. `many` says that the flow belongs to a test of more flows
    /// than threads are good for, so that all of them run alike.
    pub fn run(&self, work: Box<dyn TcpWork>, stop: &Stop, many: bool, on_end: OnEnd) {
        let job = Job {
            work,
            stop: stop.clone(),
            end: End(Some(on_end)),
        };
        let room = Room::of(&self.threaded, self.limit);
        match room {
            Some(room) if !(many && self.shares) => spawn_flow(job, Some(room), self.wait),
            _ => self.run_polled(job),
        }
    }

    fn run_polled(&self, mut job: Job) {
        let mut workers = self.workers.lock_unpoisoned();
        loop {
            if workers.len() < self.max_workers
                && let Ok(worker) = start_worker(&self.threaded)
            {
                workers.push(worker);
            }
            if workers.is_empty() {
                return;
            }
            let index = self.next.fetch_add(1, Ordering::Relaxed) % workers.len();
            match workers[index].take(job) {
                Ok(()) => return,
                Err(back) => {
                    job = back;
                    workers.swap_remove(index);
                }
            }
        }
    }
}

/// One of the places for flows with a thread of their own.
struct Room(Arc<AtomicUsize>);

impl Room {
    fn of(taken: &Arc<AtomicUsize>, limit: usize) -> Option<Self> {
        let room = Self(Arc::clone(taken));
        (taken.fetch_add(1, Ordering::AcqRel) < limit).then_some(room)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Runs a flow on a thread of its own; without one, dropping the job ends it.
fn spawn_flow(job: Job, room: Option<Room>, mode: WaitMode) {
    let _ = std::thread::Builder::new()
        .name("flow".into())
        .stack_size(256 * 1024)
        .spawn(move || job.run(room, mode));
}

fn start_worker(threaded: &Arc<AtomicUsize>) -> io::Result<Worker> {
    let waker = Arc::new(Waker::new()?);
    let (jobs, inbox) = mpsc::channel();
    let (report, started) = mpsc::sync_channel(1);
    let own = Arc::clone(&waker);
    let threaded = Arc::clone(threaded);
    std::thread::Builder::new()
        .name("flows".into())
        .spawn(move || {
            // A poller stays on the thread that made it.
            let poller = Poller::new().and_then(|mut poller| {
                poller.register(&own, WAKE_TOKEN, Interest::READ)?;
                Ok(poller)
            });
            match poller {
                Ok(poller) => {
                    let _ = report.send(Ok(()));
                    Polled::new(poller, own, inbox, threaded).run();
                }
                Err(error) => {
                    let _ = report.send(Err(error));
                }
            }
        })?;
    started
        .recv()
        .map_err(|_| io::Error::other("a polling worker did not start"))??;
    Ok(Worker {
        jobs: Some(jobs),
        waker,
    })
}

struct Slot {
    job: Job,
    /// The worker's times when it took the flow.
    before: ThreadTime,
    interest: Interest,
    /// A paced flow waits for this time instead of for readiness.
    not_before: Option<MonoTime>,
    /// When the flow is to be looked at although its socket is not ready.
    look: MonoTime,
}

/// A worker that serves many flows in turns.
struct Polled {
    poller: Poller,
    waker: Arc<Waker>,
    inbox: mpsc::Receiver<Job>,
    threaded: Arc<AtomicUsize>,
    /// By token; places of ended flows are used again.
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// Times of `not_before` and `look`. An entry whose slot has other times is void.
    looks: BinaryHeap<Reverse<(MonoTime, usize)>>,
    clock: SystemClock,
    /// Read buffer of whichever flow has its turn.
    scratch: Vec<u8>,
    /// Flows whose turn comes; kept so that a round allocates nothing.
    turns: Vec<usize>,
    /// When stop flags were looked at last.
    swept: MonoTime,
    closed: bool,
}

impl Polled {
    fn new(
        poller: Poller,
        waker: Arc<Waker>,
        inbox: mpsc::Receiver<Job>,
        threaded: Arc<AtomicUsize>,
    ) -> Self {
        Self {
            poller,
            waker,
            inbox,
            threaded,
            slots: Vec::new(),
            free: Vec::new(),
            looks: BinaryHeap::new(),
            clock: SystemClock,
            scratch: Vec::new(),
            turns: Vec::new(),
            swept: MonoTime::ZERO,
            closed: false,
        }
    }

    fn is_idle(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Serves until the pool is gone and every flow has ended. When the poller fails,
    /// dropping the flows ends them.
    fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        while !(self.closed && self.is_idle()) {
            if self.round(&mut events).is_err() {
                break;
            }
        }
    }

    /// Waits, and gives flows that are ready, due or stopped their turn.
    fn round(&mut self, events: &mut Events) -> io::Result<()> {
        self.poller.wait(events, self.next_wait())?;
        let mut woken = false;
        for event in events.iter() {
            match usize::try_from(event.token) {
                Ok(token) if event.token != WAKE_TOKEN => self.turns.push(token),
                _ => woken = true,
            }
        }
        if woken {
            self.waker.drain();
            self.take_jobs();
        }
        self.take_turns();
        let now = self.clock.now();
        self.look(now);
        if now.since(self.swept) >= TICK {
            self.swept = now;
            self.sweep();
        }
        Ok(())
    }

    fn next_wait(&self) -> Wait {
        if self.is_idle() {
            return Wait::Forever;
        }
        let now = self.clock.now();
        Wait::AtMost(match self.looks.peek() {
            Some(Reverse((due, _))) => due.since(now).min(TICK),
            None => TICK,
        })
    }

    fn take_jobs(&mut self) {
        loop {
            match self.inbox.try_recv() {
                Ok(job) => self.admit(job),
                Err(mpsc::TryRecvError::Empty) => return,
                Err(mpsc::TryRecvError::Disconnected) => {
                    self.closed = true;
                    return;
                }
            }
        }
    }

    fn admit(&mut self, job: Job) {
        let place = self.free.pop().unwrap_or(self.slots.len());
        let interest = job.work.interest();
        match self
            .poller
            .register(&job.work.conn(), place as u64, interest)
        {
            Ok(()) => {}
            Err(error) => {
                if place < self.slots.len() {
                    self.free.push(place);
                }
                if error.kind() == io::ErrorKind::AlreadyExists {
                    // The other direction of the connection lives here, and a poller knows a
                    // socket once.
                    return spawn_flow(job, Room::of(&self.threaded, usize::MAX), WaitMode::Auto);
                }
                let now = self.clock.now();
                return job.finish(Ending::new(Cause::Worker(error), now));
            }
        }
        let needed = job.work.scratch_length();
        if self.scratch.len() < needed {
            self.scratch.resize(needed, 0);
        }
        let slot = Slot {
            job,
            before: ThreadTime::now(),
            interest,
            not_before: None,
            look: MonoTime::FAR,
        };
        match self.slots.get_mut(place) {
            Some(free) => *free = Some(slot),
            None => self.slots.push(Some(slot)),
        }
        self.turn(place);
    }

    /// A few steps of one flow.
    fn turn(&mut self, place: usize) {
        let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) else {
            return;
        };
        let waited_for = slot.not_before.take();
        for _ in 0..BUDGET {
            let now = self.clock.now();
            let work = slot.job.work.as_mut();
            let scratch = &mut self.scratch;
            let step = panic::catch_unwind(AssertUnwindSafe(|| {
                work.step(now, Call::NonBlocking, scratch)
            }))
            .unwrap_or_else(|_| Step::Finished(broken("internal fault")));
            match step {
                Step::Progress => {}
                Step::Partial | Step::NotReady => break,
                Step::NotBefore(due) => {
                    slot.not_before = Some(due);
                    break;
                }
                Step::Finished(ending) => return self.remove(place, ending),
            }
        }
        let wanted = match slot.not_before {
            Some(due) => {
                if waited_for != Some(due) {
                    self.looks.push(Reverse((due, place)));
                }
                Interest::NONE
            }
            None => slot.job.work.interest(),
        };
        if wanted != slot.interest
            && self
                .poller
                .modify(&slot.job.work.conn(), place as u64, wanted)
                .is_ok()
        {
            slot.interest = wanted;
        }
        // A time that moves on with the data is corrected when it comes.
        let look = slot.job.work.next_look();
        if look < slot.look {
            slot.look = look;
            self.looks.push(Reverse((look, place)));
        }
    }

    fn remove(&mut self, place: usize, ending: Ending) {
        if let Some(slot) = self.slots.get_mut(place).and_then(Option::take) {
            self.free.push(place);
            let _ = self.poller.deregister(&slot.job.work.conn());
            let thread = ThreadUse::shared_since(&slot.before).on(slot.job.work.conn());
            slot.job.finish(Ending {
                thread: Some(thread),
                ..ending
            });
        }
    }

    /// Gives flows whose time has come their turn.
    fn look(&mut self, now: MonoTime) {
        while let Some(Reverse((due, place))) = self.looks.peek().copied()
            && due <= now
        {
            self.looks.pop();
            let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) else {
                continue;
            };
            if slot.not_before == Some(due) {
                slot.not_before = None;
                self.turns.push(place);
            } else if slot.look == due {
                slot.look = slot.job.work.next_look();
                if slot.look <= now {
                    slot.look = MonoTime::FAR;
                    self.turns.push(place);
                } else if slot.look < MonoTime::FAR {
                    self.looks.push(Reverse((slot.look, place)));
                }
            }
        }
        self.take_turns();
    }

    /// Lets flows that were asked to stop see it.
    fn sweep(&mut self) {
        let stopped = |slot: &Slot| slot.job.stop.is_raised();
        let slots = self.slots.iter().enumerate();
        let stopped = slots.filter(|(_, slot)| slot.as_ref().is_some_and(stopped));
        self.turns.extend(stopped.map(|(place, _)| place));
        self.take_turns();
    }

    fn take_turns(&mut self) {
        let mut turns = std::mem::take(&mut self.turns);
        for place in turns.drain(..) {
            self.turn(place);
        }
        self.turns = turns;
    }
}

#[cfg(test)]
mod tests;
