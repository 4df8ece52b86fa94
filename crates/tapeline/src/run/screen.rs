//! `--tui`: the live view, on a thread of its own behind a bounded queue.
//!
//! Frames are drawn at most so often, and the next one only when the terminal has taken the last:
//! a slow terminal shows fewer of them.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tapeline_base::ExitCode;
use tapeline_report::Event;
use tapeline_report::document::Occasion;
use tapeline_screen::{Board, Canvas, Look};

use super::cannot;
use super::printer::{rows_in, terminal};
use super::terminal_lease::TerminalLease;

/// Time between two frames at least.
const FRAME: Duration = Duration::from_millis(100);
/// Events that may wait for the view.
const QUEUE: usize = 16_384;

/// The view while it lives.
pub(super) struct Screen {
    events: SyncSender<Box<Event>>,
    dropped: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// The exit code, when there is no terminal or no thread; the reason has been printed.
    pub(super) fn start(occasion: &Occasion) -> Result<Self, ExitCode> {
        if !io::stdout().is_terminal() || std::env::var_os("TERM").is_some_and(|it| it == "dumb") {
            return Err(cannot("--tui needs a terminal"));
        }
        let shown = terminal(true);
        let look = Look {
            unicode: shown.unicode,
            colour: shown.colour,
        };
        let board = Board::new(occasion.clone());
        let (events, inbox) = mpsc::sync_channel(QUEUE);
        let dropped = Arc::<AtomicU64>::default();
        let count = Arc::clone(&dropped);
        let lease = TerminalLease::take()
            .map_err(|error| cannot(&format!("the terminal cannot be had: {error}")))?;
        let thread = std::thread::Builder::new()
            .name("screen".into())
            .spawn(move || run(board, look, &lease, &inbox, &count))
            .map_err(|error| cannot(&format!("no thread for the view: {error}")))?;
        Ok(Self {
            events,
            dropped,
            thread,
        })
    }

    /// Where the reporter sends its events. Interval rows are dropped, and counted, when the
    /// terminal cannot keep up.
    pub(super) fn sink(&self) -> impl FnMut(Event) + Send + 'static {
        let events = self.events.clone();
        let dropped = Arc::clone(&self.dropped);
        move |event| {
            match rows_in(&event) {
                // Fails only when the view has ended.
                None => {
                    let _ = events.send(Box::new(event));
                }
                Some(rows) => {
                    if let Err(TrySendError::Full(_)) = events.try_send(Box::new(event)) {
                        dropped.fetch_add(rows, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    /// Gives the terminal back.
    pub(super) fn finish(self) {
        drop(self.events);
        // A view that broke has given it back too.
        let _ = self.thread.join();
    }
}

fn run(
    mut board: Board,
    look: Look,
    lease: &TerminalLease,
    inbox: &Receiver<Box<Event>>,
    dropped: &AtomicU64,
) {
    let mut size = columns_and_rows();
    let mut canvas = Canvas::new(size.0, size.1, look);
    let mut due = Instant::now();
    let mut told = 0;
    let mut ended = false;
    while !ended {
        match inbox.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(event) => {
                board.note(&event);
                if Instant::now() < due {
                    continue;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // The last frame has all of it.
            Err(RecvTimeoutError::Disconnected) => ended = true,
        }
        let missed = dropped.load(Ordering::Relaxed);
        board.missed(missed - told);
        told = missed;
        if columns_and_rows() != size {
            size = columns_and_rows();
            canvas.resize(size.0, size.1);
        }
        let frame = canvas.frame(&board);
        if !frame.is_empty() && lease.write(frame.as_bytes()).is_err() {
            // The terminal has gone; the test goes on without its view.
            inbox.iter().for_each(drop);
            return;
        }
        due = Instant::now() + FRAME;
    }
}

fn columns_and_rows() -> (u16, u16) {
    terminal_size::terminal_size().map_or((80, 24), |(width, height)| (width.0, height.0))
}
