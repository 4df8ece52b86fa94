//! Events on their way to an output, in a bounded queue: a slow terminal or a full pipe never slows
//! the sampler, let alone the traffic.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};

use tapeline_report::{Event, Phase};

/// Events that may wait for an output. A row every interval of 10,000 flows fits.
pub(crate) const QUEUE: usize = 16_384;

/// Where events go in; all clones are of one queue.
#[derive(Clone)]
pub(crate) struct EventQueue {
    /// Boxed, because the queue's slots exist from the start; `None` is the last.
    events: SyncSender<Option<Box<Event>>>,
    dropped: Arc<AtomicU64>,
}

/// Where they come out.
pub(crate) struct EventInbox {
    events: Receiver<Option<Box<Event>>>,
    dropped: Arc<AtomicU64>,
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
    let (events, inbox) = mpsc::sync_channel(size);
    let dropped = Arc::<AtomicU64>::default();
    let inbox = EventInbox {
        events: inbox,
        dropped: Arc::clone(&dropped),
        reported: 0,
    };
    (EventQueue { events, dropped }, inbox)
}

impl EventQueue {
    /// Where the reporter sends its events. Interval rows are dropped, and counted, when the output
    /// cannot keep up, and so is what is reported next to them, uncounted; everything else waits.
    pub(crate) fn sink(&self) -> impl FnMut(Event) + Send + 'static {
        let Self { events, dropped } = self.clone();
        move |event| {
            match rows_in(&event) {
                // Fails only when the output has ended.
                None => {
                    let _ = events.send(Some(Box::new(event)));
                }
                Some(rows) => {
                    if let Err(TrySendError::Full(_)) = events.try_send(Some(Box::new(event))) {
                        dropped.fetch_add(rows, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    /// Nothing follows.
    pub(crate) fn end(&self) {
        let _ = self.events.send(None);
    }

    /// Interval rows that were dropped so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl EventInbox {
    /// The next event, or the end.
    pub(crate) fn next(&self) -> Option<Box<Event>> {
        self.events.recv().ok().flatten()
    }

    /// The next event, if it comes within `time`.
    pub(crate) fn next_within(&self, time: std::time::Duration) -> Arrival {
        match self.events.recv_timeout(time) {
            Ok(Some(event)) => Arrival::Event(event),
            Ok(None) | Err(mpsc::RecvTimeoutError::Disconnected) => Arrival::Ended,
            Err(mpsc::RecvTimeoutError::Timeout) => Arrival::Nothing,
        }
    }

    /// Interval rows that were dropped since this was asked.
    pub(crate) fn missed(&mut self) -> u64 {
        let dropped = self.dropped.load(Ordering::Relaxed);
        let missed = dropped - self.reported;
        self.reported = dropped;
        missed
    }

    /// Keeps the queue moving to its end, so that the run ends in order.
    pub(crate) fn discard(&self) {
        self.events
            .iter()
            .take_while(Option::is_some)
            .for_each(drop);
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
