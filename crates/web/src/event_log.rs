//! What happened lately, for everybody who looks on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tapeline_base::MutexExt;
use tokio::sync::watch;

/// Events that are kept.
const MAX_EVENTS: usize = 4096;
/// Bytes of all of them.
const MAX_BYTES: usize = 8 << 20;

/// Numbered events; the oldest go.
#[derive(Debug)]
pub(crate) struct EventLog {
    kept: Mutex<Kept>,
    newest: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<(u64, Arc<str>)>,
    bytes: usize,
    next: u64,
}

impl EventLog {
    pub(crate) fn new() -> Self {
        Self {
            kept: Mutex::default(),
            newest: watch::Sender::new(0),
        }
    }

    /// Adds an event.
    pub(crate) fn push(&self, event: &Value) {
        let text: Arc<str> = event.to_string().into();
        let number = {
            let mut kept = self.kept.lock_unpoisoned();
            kept.next += 1;
            kept.bytes += text.len();
            let number = kept.next;
            kept.events.push_back((number, text));
            while kept.events.len() > MAX_EVENTS || kept.bytes > MAX_BYTES {
                let Some((_, gone)) = kept.events.pop_front() else {
                    break;
                };
                kept.bytes -= gone.len();
            }
            number
        };
        self.newest.send_replace(number);
    }

    /// Reads what comes after an event; from now on without one.
    pub(crate) fn reader(&self, after: Option<u64>) -> EventReader {
        let newest = self.newest.subscribe();
        let now = self.kept.lock_unpoisoned().next;
        // A number of an earlier process is of no use.
        let (position, is_lost) = match after {
            Some(after) if after <= now => (after, false),
            Some(_) => (now, true),
            None => (now, false),
        };
        EventReader {
            newest,
            position,
            is_lost,
        }
    }

    /// The event behind a position: the number that it brings the reader to, and its text. Who has
    /// missed some is told, and goes on with what comes.
    fn after(&self, position: u64) -> Option<(u64, Arc<str>)> {
        let kept = self.kept.lock_unpoisoned();
        let (oldest, _) = kept.events.front()?;
        if position + 1 < *oldest {
            return Some((kept.next, lost()));
        }
        let index = usize::try_from(position + 1 - oldest).ok()?;
        kept.events.get(index).cloned()
    }
}

fn lost() -> Arc<str> {
    json!({ "lost": true }).to_string().into()
}

/// A place in the log.
#[derive(Debug)]
pub(crate) struct EventReader {
    newest: watch::Receiver<u64>,
    position: u64,
    is_lost: bool,
}

impl EventReader {
    /// The next event and its number; `None` once the log has gone.
    pub(crate) async fn next(&mut self, log: &EventLog) -> Option<(u64, Arc<str>)> {
        loop {
            if std::mem::take(&mut self.is_lost) {
                return Some((self.position, lost()));
            }
            self.newest.mark_unchanged();
            if let Some((number, text)) = log.after(self.position) {
                self.position = number;
                return Some((number, text));
            }
            self.newest.changed().await.ok()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.build().expect("a runtime").block_on(future)
    }

    #[test]
    fn a_reader_gets_every_event_once_and_replays() {
        let log = EventLog::new();
        log.push(&json!(1));
        let mut reader = log.reader(None);
        log.push(&json!(2));
        log.push(&json!(3));
        run(async {
            assert_eq!(reader.next(&log).await, Some((2, "2".into())));
            assert_eq!(reader.next(&log).await, Some((3, "3".into())));
            let mut again = log.reader(Some(1));
            assert_eq!(again.next(&log).await, Some((2, "2".into())));
        });
    }

    #[test]
    fn who_is_too_slow_is_told_and_goes_on() {
        let log = EventLog::new();
        let mut reader = log.reader(None);
        for number in 0..=MAX_EVENTS {
            log.push(&json!(number));
        }
        let last = MAX_EVENTS as u64 + 1;
        run(async {
            assert_eq!(reader.next(&log).await, Some((last, lost())));
            log.push(&json!("new"));
            assert_eq!(reader.next(&log).await, Some((last + 1, "\"new\"".into())));
            let mut stranger = log.reader(Some(1 << 40));
            assert_eq!(stranger.next(&log).await, Some((last + 1, lost())));
        });
    }

    #[test]
    fn long_events_have_a_bound() {
        let log = EventLog::new();
        let long = "x".repeat(MAX_BYTES / 4);
        for _ in 0..10 {
            log.push(&json!(long));
        }
        let kept = log.kept.lock_unpoisoned();
        assert!(kept.bytes <= MAX_BYTES && kept.events.len() == 3);
    }
}
