//! Where flows run: a thread each while they are few, shared workers above.
//!
//! Up to [`THREADED_FLOWS`] flows have a thread with blocking calls, which is cheapest
//! per byte; more are dealt out to one polling worker per processor.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use tapeline_base::{Clock, MonoTime};
use tapeline_sys::{Events, Interest, Poller, SystemClock, Wait, Waker};

use crate::stop::Stop;
use crate::work::{Call, Ending, Step, TcpWork, run_blocking};

/// Flows that get a thread of their own.
pub const THREADED_FLOWS: usize = 64;
/// Steps of one ready flow before the next one's turn.
const BUDGET: usize = 16;
/// Longest wait of a polling worker between two looks at stop flags and patience.
const TICK: Duration = Duration::from_millis(20);
const WAKE_TOKEN: u64 = u64::MAX;

/// Called on the worker when a flow ends.
pub type OnEnd = Box<dyn FnOnce(Ending) + Send>;

struct Job {
    work: Box<dyn TcpWork>,
    on_end: OnEnd,
}

struct Worker {
    jobs: mpsc::Sender<Job>,
    waker: Arc<Waker>,
}

/// Places flows on threads and workers.
pub struct Pool {
    threaded: Arc<AtomicUsize>,
    limit: usize,
    workers: Mutex<Vec<Worker>>,
    next: AtomicUsize,
    processors: usize,
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
        Self {
            threaded: Arc::new(AtomicUsize::new(0)),
            limit: threaded,
            workers: Mutex::new(Vec::new()),
            next: AtomicUsize::new(0),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Runs `work` until it ends. `many` says that the flow belongs to a test of more
    /// flows than threads are good for, so that all of them run alike.
    ///
    /// # Errors
    /// When neither a thread nor a poller can be had.
    pub fn run(
        &self,
        work: Box<dyn TcpWork>,
        stop: &Stop,
        many: bool,
        on_end: OnEnd,
    ) -> io::Result<()> {
        if !many && self.threaded.fetch_add(1, Ordering::AcqRel) < self.limit {
            return self.run_threaded(work, stop.clone(), on_end);
        }
        if !many {
            self.threaded.fetch_sub(1, Ordering::AcqRel);
        }
        self.run_polled(Job { work, on_end })
    }

    fn run_threaded(
        &self,
        mut work: Box<dyn TcpWork>,
        stop: Stop,
        on_end: OnEnd,
    ) -> io::Result<()> {
        let threaded = Arc::clone(&self.threaded);
        let spawned = std::thread::Builder::new()
            .name("flow".into())
            .stack_size(256 * 1024)
            .spawn(move || {
                let ending = run_blocking(work.as_mut(), &stop);
                drop(work);
                threaded.fetch_sub(1, Ordering::AcqRel);
                on_end(ending);
            });
        if spawned.is_err() {
            self.threaded.fetch_sub(1, Ordering::AcqRel);
        }
        spawned.map(drop)
    }

    fn run_polled(&self, job: Job) -> io::Result<()> {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if workers.len() < self.processors {
            workers.push(start_worker()?);
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed) % workers.len();
        let worker = &workers[index];
        worker
            .jobs
            .send(job)
            .map_err(|_| io::Error::other("a polling worker has ended"))?;
        worker.waker.wake();
        Ok(())
    }
}

fn start_worker() -> io::Result<Worker> {
    let waker = Arc::new(Waker::new()?);
    let (jobs, inbox) = mpsc::channel();
    let (report, started) = mpsc::sync_channel(1);
    let own = Arc::clone(&waker);
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
                    Polled::new(poller, own, inbox).run();
                }
                Err(error) => {
                    let _ = report.send(Err(error));
                }
            }
        })?;
    started
        .recv()
        .map_err(|_| io::Error::other("a polling worker did not start"))??;
    Ok(Worker { jobs, waker })
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
    slots: HashMap<u64, Slot>,
    next_token: u64,
    clock: SystemClock,
    /// Read buffer of whichever flow has its turn.
    scratch: Vec<u8>,
    closed: bool,
}

impl Polled {
    fn new(poller: Poller, waker: Arc<Waker>, inbox: mpsc::Receiver<Job>) -> Self {
        Self {
            poller,
            waker,
            inbox,
            slots: HashMap::new(),
            next_token: 0,
            clock: SystemClock,
            scratch: Vec::new(),
            closed: false,
        }
    }

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
            let mut ready: Vec<u64> = Vec::with_capacity(64);
            for event in events.iter() {
                if event.token == WAKE_TOKEN {
                    self.waker.drain();
                    self.take_jobs();
                } else {
                    ready.push(event.token);
                }
            }
            for token in ready {
                self.turn(token);
            }
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
        self.next_token += 1;
        let interest = job.work.interest();
        let needed = job.work.scratch_length();
        if self.scratch.len() < needed {
            self.scratch.resize(needed, 0);
        }
        if let Err(error) = self.poller.register(&job.work.conn(), token, interest) {
            let now = self.clock.now();
            let cause = crate::work::Cause::Failed(crate::work::Stage::Receive, error);
            (job.on_end)(Ending::new(cause, now));
            return;
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
        for _ in 0..BUDGET {
            let now = self.clock.now();
            match slot
                .job
                .work
                .step(now, Call::NonBlocking, &mut self.scratch)
            {
                Step::Progress => {}
                Step::NotReady => break,
                Step::NotBefore(due) => {
                    slot.not_before = Some(due);
                    let _ = self
                        .poller
                        .modify(&slot.job.work.conn(), token, Interest::NONE);
                    slot.interest = Interest::NONE;
                    return;
                }
                Step::Finished(ending) => {
                    self.remove(token, ending);
                    return;
                }
            }
        }
        let wanted = slot.job.work.interest();
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
            let Job { work, on_end } = slot.job;
            drop(work);
            on_end(ending);
        }
    }

    /// Gives paced flows whose time has come their turn.
    fn paced(&mut self, now: MonoTime) {
        let due: Vec<u64> = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.not_before.is_some_and(|due| due <= now))
            .map(|(token, _)| *token)
            .collect();
        for token in due {
            if let Some(slot) = self.slots.get_mut(&token) {
                slot.not_before = None;
            }
            self.turn(token);
        }
    }

    /// Lets every flow see stop flags, deadlines and its own patience.
    fn sweep(&mut self) {
        let tokens: Vec<u64> = self.slots.keys().copied().collect();
        for token in tokens {
            self.turn(token);
        }
    }
}
