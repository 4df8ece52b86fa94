//! Where flows run: a thread each while they are few, shared workers above.
//!
//! Up to [`THREADED_FLOWS`] flows have a thread with blocking calls, which is cheapest
//! per byte; more are dealt out to one polling worker per processor.

use std::collections::HashMap;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use tapeline_base::{Clock, MonoTime};
use tapeline_sys::{Events, Interest, Poller, SystemClock, Wait, Waker};

use crate::stop::Stop;
use crate::work::{Call, Cause, Ending, Step, TcpWork, run_blocking};

/// Flows that get a thread of their own.
pub const THREADED_FLOWS: usize = 64;
/// Steps of one ready flow before the next one's turn.
const BUDGET: usize = 16;
/// Longest wait of a polling worker between two looks at stop flags and patience.
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
    fn run(mut self, room: Option<Room>) {
        let ending = caught(|| run_blocking(self.work.as_mut(), &self.stop));
        // Whoever hears of the end may start another flow.
        drop(room);
        self.finish(ending);
    }

    /// Closes what the work holds, then tells the end.
    fn finish(self, ending: Ending) {
        let Self { work, mut end, .. } = self;
        drop(work);
        end.tell(ending);
    }
}

/// Tells the end of a flow once, at the latest when it is dropped: a flow whose worker is
/// lost, or never was, still ends.
struct End(Option<OnEnd>);

impl End {
    fn tell(&mut self, ending: Ending) {
        if let Some(on_end) = self.0.take() {
            // Whatever breaks in there must not take other flows' worker with it.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| on_end(ending)));
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if self.0.is_some() {
            self.tell(broken("no worker to run it"));
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
    workers: Mutex<Vec<Worker>>,
    next: AtomicUsize,
    most_workers: usize,
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
        let most_workers = std::thread::available_parallelism().map_or(2, |n| n.get().max(2));
        Self {
            threaded: Arc::new(AtomicUsize::new(0)),
            limit: threaded,
            shares: true,
            workers: Mutex::new(Vec::new()),
            next: AtomicUsize::new(0),
            most_workers,
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
            Some(room) if !(many && self.shares) => spawn_flow(job, Some(room)),
            _ => self.run_polled(job),
        }
    }

    fn run_polled(&self, mut job: Job) {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if workers.len() < self.most_workers
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
fn spawn_flow(job: Job, room: Option<Room>) {
    let _ = std::thread::Builder::new()
        .name("flow".into())
        .stack_size(256 * 1024)
        .spawn(move || job.run(room));
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
    interest: Interest,
    /// Paced flows wait here instead of for readiness.
    not_before: Option<MonoTime>,
}

/// A worker that serves many flows in turns.
struct Polled {
    poller: Poller,
    waker: Arc<Waker>,
    inbox: mpsc::Receiver<Job>,
    threaded: Arc<AtomicUsize>,
    slots: HashMap<u64, Slot>,
    next_token: u64,
    clock: SystemClock,
    /// Read buffer of whichever flow has its turn.
    scratch: Vec<u8>,
    /// Flows whose turn comes; kept so that a round allocates nothing.
    turns: Vec<u64>,
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
            slots: HashMap::new(),
            next_token: 0,
            clock: SystemClock,
            scratch: Vec::new(),
            turns: Vec::new(),
            closed: false,
        }
    }

    /// Serves until the pool is gone and every flow has ended. When the poller fails,
    /// dropping the flows ends them.
    fn run(mut self) {
        let mut events = Events::with_capacity(256);
        let mut swept = self.clock.now();
        while !(self.closed && self.slots.is_empty()) {
            let wait = if self.slots.is_empty() {
                Wait::Forever
            } else {
                Wait::AtMost(self.next_wait())
            };
            if self.poller.wait(&mut events, wait).is_err() {
                break;
            }
            let mut woken = false;
            for event in events.iter() {
                if event.token == WAKE_TOKEN {
                    woken = true;
                } else {
                    self.turns.push(event.token);
                }
            }
            if woken {
                self.waker.drain();
                self.take_jobs();
            }
            self.take_turns();
            let now = self.clock.now();
            self.paced(now);
            if now.since(swept) >= TICK {
                swept = now;
                self.sweep();
            }
        }
    }

    fn next_wait(&self) -> Duration {
        let now = self.clock.now();
        self.slots
            .values()
            .filter_map(|slot| slot.not_before)
            .min()
            .map_or(TICK, |due| due.since(now).min(TICK))
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
        let token = self.next_token;
        let interest = job.work.interest();
        match self.poller.register(&job.work.conn(), token, interest) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // The other direction of the connection lives here, and a poller knows a
                // socket once.
                return spawn_flow(job, Room::of(&self.threaded, usize::MAX));
            }
            Err(error) => {
                let now = self.clock.now();
                return job.finish(Ending::new(Cause::Worker(error), now));
            }
        }
        self.next_token += 1;
        let needed = job.work.scratch_length();
        if self.scratch.len() < needed {
            self.scratch.resize(needed, 0);
        }
        self.slots.insert(
            token,
            Slot {
                job,
                interest,
                not_before: None,
            },
        );
        self.turn(token);
    }

    /// A few steps of one flow.
    fn turn(&mut self, token: u64) {
        let Some(slot) = self.slots.get_mut(&token) else {
            return;
        };
        slot.not_before = None;
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
                Step::NotReady => break,
                Step::NotBefore(due) => {
                    slot.not_before = Some(due);
                    break;
                }
                Step::Finished(ending) => {
                    self.remove(token, ending);
                    return;
                }
            }
        }
        let wanted = match slot.not_before {
            Some(_) => Interest::NONE,
            None => slot.job.work.interest(),
        };
        if wanted != slot.interest
            && self
                .poller
                .modify(&slot.job.work.conn(), token, wanted)
                .is_ok()
        {
            slot.interest = wanted;
        }
    }

    fn remove(&mut self, token: u64, ending: Ending) {
        if let Some(slot) = self.slots.remove(&token) {
            let _ = self.poller.deregister(&slot.job.work.conn());
            slot.job.finish(ending);
        }
    }

    /// Gives paced flows whose time has come their turn.
    fn paced(&mut self, now: MonoTime) {
        let due = |slot: &Slot| slot.not_before.is_some_and(|due| due <= now);
        let slots = self.slots.iter().filter(|(_, slot)| due(slot));
        self.turns.extend(slots.map(|(token, _)| *token));
        self.take_turns();
    }

    /// Lets every flow see stop flags, deadlines and its own patience.
    fn sweep(&mut self) {
        self.turns.extend(self.slots.keys().copied());
        self.take_turns();
    }

    fn take_turns(&mut self) {
        let mut turns = std::mem::take(&mut self.turns);
        for token in turns.drain(..) {
            self.turn(token);
        }
        self.turns = turns;
    }
}

#[cfg(test)]
mod tests;
