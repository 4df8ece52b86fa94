//! `--tui`: the live view, on a thread of its own behind a bounded queue.
//!
//! Frames are drawn at most so often, and the next one only when the terminal has taken the last:
//! a slow terminal shows fewer of them.

use std::io::{self, IsTerminal};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tapeline_base::{Clock, ExitCode};
use tapeline_report::Event;
use tapeline_report::document::RunInfo;
use tapeline_screen::{Board, Canvas, Look};
use tapeline_sys::{Interrupts, SystemClock};

use super::event_queue::{Arrival, EventInbox, EventQueue, QUEUE, event_queue};
use super::printer::terminal;
use super::signals;
use super::terminal_lease::TerminalLease;
use crate::message::cannot;

/// Time between two frames at least.
const FRAME: Duration = Duration::from_millis(100);

/// The view while it lives.
pub(crate) struct Screen {
    events: EventQueue,
    thread: JoinHandle<()>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// The exit code, when there is no terminal or no thread; the reason has been printed.
    pub(crate) fn start(run_info: &RunInfo) -> Result<Self, ExitCode> {
        Self::show(Board::new(run_info.clone(), || SystemClock.wall()))
    }

    /// The same of a method.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub(crate) fn of_method(title: &str, run_info: &RunInfo) -> Result<Self, ExitCode> {
        let clock = || SystemClock.wall();
        Self::show(Board::of_method(title, run_info.clone(), clock))
    }

    fn show(board: Board) -> Result<Self, ExitCode> {
        if !io::stdout().is_terminal() || std::env::var_os("TERM").is_some_and(|it| it == "dumb") {
            return Err(cannot("--tui needs a terminal"));
        }
        let (events, inbox) = event_queue(QUEUE);
        // A signal that is not caught yet would leave the terminal as the view has it.
        let interrupts = signals::catch()
            .map_err(|error| cannot(&format!("signals cannot be caught: {error}")))?;
        let lease = TerminalLease::take()
            .map_err(|error| cannot(&format!("the terminal is not available: {error}")))?;
        let shown = terminal(true);
        let look = Look {
            unicode: shown.unicode,
            colour: shown.colour,
            keys: lease.has_keys(),
        };
        let worker = ScreenThread {
            board,
            look,
            lease,
            interrupts,
            is_paused: false,
            is_ending: false,
        };
        let thread = std::thread::Builder::new()
            .name("screen".into())
            .spawn(move || worker.run(inbox))
            .map_err(|error| cannot(&format!("no thread for the view: {error}")))?;
        Ok(Self { events, thread })
    }

    /// Where the reporter sends its events.
    pub(crate) fn sink(&self) -> impl FnMut(Event) + Send + 'static {
        self.events.sink()
    }

    /// Gives the terminal back.
    pub(crate) fn finish(self) {
        self.events.end();
        // A view that broke has given it back too.
        let _ = self.thread.join();
    }
}

/// What the thread of the view owns.
struct ScreenThread {
    board: Board,
    look: Look,
    lease: TerminalLease,
    interrupts: Interrupts,
    is_paused: bool,
    /// `q` was pressed; pressed again it does nothing more.
    is_ending: bool,
}

impl ScreenThread {
    fn run(mut self, mut inbox: EventInbox) {
        let mut size = columns_and_rows();
        let mut canvas = Canvas::new(size.0, size.1, self.look);
        let mut due = Instant::now();
        let mut ended = false;
        while !ended {
            match inbox.next_within(due.saturating_duration_since(Instant::now())) {
                Arrival::Event(event) => {
                    self.board.observe(&event);
                    if Instant::now() < due {
                        continue;
                    }
                }
                Arrival::Nothing => {}
                // The last frame has all of it.
                Arrival::Ended => {
                    ended = true;
                    self.board.finish();
                }
            }
            self.board.missed(inbox.missed());
            let toggled = self.obey();
            let resized = columns_and_rows() != size;
            if resized {
                size = columns_and_rows();
                canvas.resize(size.0, size.1);
            }
            due = Instant::now() + FRAME;
            if self.is_paused && !toggled && !resized && !ended {
                continue;
            }
            let frame = canvas.frame(&self.board);
            if !frame.is_empty() && self.lease.write(frame.as_bytes()).is_err() {
                // The terminal has gone; the test goes on without its view.
                inbox.discard();
                return;
            }
        }
    }

    /// Obeys the keys that were pressed; returns whether the picture was paused or goes on.
    fn obey(&mut self) -> bool {
        let before = self.is_paused;
        while let Some(key) = self.lease.key() {
            match key {
                b'q' | b'Q' if !self.is_ending => {
                    self.is_ending = true;
                    self.interrupts.raise();
                }
                b'p' | b'P' => self.is_paused = !self.is_paused,
                _ => {}
            }
        }
        self.board.pause(self.is_paused);
        self.is_paused != before
    }
}

fn columns_and_rows() -> (u16, u16) {
    terminal_size::terminal_size().map_or((80, 24), |(width, height)| (width.0, height.0))
}
