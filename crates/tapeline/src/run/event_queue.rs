//! Events on their way to an output, in a bounded queue: a slow terminal or a full pipe never slows
//! the sampler, let alone the traffic.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use tapeline_base::MutexExt;
use tapeline_report::{Event, Phase};

/// Events that may wait for an output. A row every interval of 10,000 flows fits.
pub(crate) const QUEUE: usize = 16_384;

/// What both ends share. It grows with what waits: most tests never have more than a few events in it.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    size: usize,
    /// There is an event, or the end.
    filled: Condvar,
    /// There is room, or nobody who reads.
    emptied: Condvar,
    /// Interval rows that found no room.
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Box<Event>>,
    /// Nothing follows.
    ended: bool,
    /// Nobody reads any more.
    abandoned: bool,
}

/// Where events go in; all clones are of one queue.
#[derive(Clone)]
pub(crate) struct EventQueue {
    shared: Arc<Shared>,
}

/// Where they come out.
pub(crate) struct EventInbox {
    shared: Arc<Shared>,
    /// Taken from the queue together.
    taken: VecDeque<Box<Event>>,
    reported: u64,
}

/// What comes out within a time.
pub(crate) enum Arrival {
    Event(Box<Event>),
    Nothing,
    /// Nothing follows.
    Ended,
}

/// A queue for so many events.
pub(crate) fn event_queue(size: usize) -> (EventQueue, EventInbox) {
    let shared = Arc::new(Shared {
        state: Mutex::default(),
        size,
        filled: Condvar::new(),
        emptied: Condvar::new(),
        dropped: AtomicU64::new(0),
    });
    let inbox = EventInbox {
        shared: Arc::clone(&shared),
        taken: VecDeque::new(),
        reported: 0,
    };
    (EventQueue { shared }, inbox)
}

impl Shared {
    /// Adds an event; with `patience`, waits for room. Returns whether it found some, or nobody misses it.
    fn add(&self, event: Box<Event>, patience: bool) -> bool {
        let mut state = self.state.lock_unpoisoned();
        while patience && !state.abandoned && state.events.len() >= self.size {
            state = self
                .emptied
                .wait(state)
                .unwrap_or_else(|broken| broken.into_inner());
        }
        if state.abandoned || state.ended || state.events.len() >= self.size {
            return state.abandoned || state.ended;
        }
        state.events.push_back(event);
        if state.events.len() == 1 {
            self.filled.notify_one();
        }
        true
    }
}

impl EventQueue {
    /// Where the reporter sends its events. Interval rows are dropped, and counted, when the output
    /// cannot keep up, and so is what is reported next to them, uncounted; everything else waits.
    pub(crate) fn sink(&self) -> impl FnMut(Event) + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move |event| {
            let rows = rows_in(&event);
            if !shared.add(Box::new(event), rows.is_none()) {
                shared
                    .dropped
                    .fetch_add(rows.unwrap_or(0), Ordering::Relaxed);
            }
        }
    }

    /// Nothing follows.
    pub(crate) fn end(&self) {
        self.shared.state.lock_unpoisoned().ended = true;
        self.shared.filled.notify_one();
    }

    /// Interval rows that were dropped so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }
}

impl EventInbox {
    /// The next event, or the end.
    pub(crate) fn next(&mut self) -> Option<Box<Event>> {
        loop {
            match self.next_within(Duration::MAX) {
                Arrival::Event(event) => return Some(event),
                Arrival::Ended => return None,
                Arrival::Nothing => {}
            }
        }
    }

    /// The next event, if it comes within `time`.
    pub(crate) fn next_within(&mut self, time: Duration) -> Arrival {
        if let Some(event) = self.taken.pop_front() {
            return Arrival::Event(event);
        }
        let until = Instant::now().checked_add(time);
        let mut state = self.shared.state.lock_unpoisoned();
        while state.events.is_empty() {
            if state.ended {
                return Arrival::Ended;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => return Arrival::Nothing,
                Some(left) => {
                    let waited = self.shared.filled.wait_timeout(state, left);
                    waited.unwrap_or_else(|broken| broken.into_inner()).0
                }
                None => {
                    let waited = self.shared.filled.wait(state);
                    waited.unwrap_or_else(|broken| broken.into_inner())
                }
            };
        }
        std::mem::swap(&mut self.taken, &mut state.events);
        drop(state);
        self.shared.emptied.notify_all();
        self.taken
            .pop_front()
            .map_or(Arrival::Nothing, Arrival::Event)
    }

    /// Whether the next event is here already.
    pub(crate) fn has_next(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Interval rows that were dropped since this was asked.
    pub(crate) fn missed(&mut self) -> u64 {
        let dropped = self.shared.dropped.load(Ordering::Relaxed);
        let missed = dropped - self.reported;
        self.reported = dropped;
        missed
    }

    /// Keeps the queue moving to its end, so that the run ends in order.
    pub(crate) fn discard(&mut self) {
        while self.next().is_some() {}
    }
}

impl Drop for EventInbox {
    fn drop(&mut self) {
        self.shared.state.lock_unpoisoned().abandoned = true;
        self.shared.emptied.notify_all();
    }
}

/// How many interval rows a reader misses without this event; nothing where it may not be left out.
fn rows_in(event: &Event) -> Option<u64> {
    match event {
        Event::Row(row) => (row.phase == Phase::Interval).then_some(1),
        Event::Processor(used) => (used.phase == Phase::Interval).then_some(0),
        Event::Probes(_) | Event::PeerProgress(_) => Some(0),
        Event::OfFlow(one) => rows_in(one.event.as_ref()?),
        _ => None,
    }
}
