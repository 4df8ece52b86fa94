//! `--tui`: the live view, on a thread of its own behind a bounded queue.
//!
//! Frames are drawn at most so often, and the next one only when the terminal has taken the last:
//! a slow terminal shows fewer of them.

use std::io::{self, IsTerminal};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tapeline_base::ExitCode;
use tapeline_report::Event;
use tapeline_report::document::RunInfo;
use tapeline_screen::{Board, Canvas, Look};

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
        if !io::stdout().is_terminal() || std::env::var_os("TERM").is_some_and(|it| it == "dumb") {
            return Err(cannot("--tui needs a terminal"));
        }
        let shown = terminal(true);
        let look = Look {
            unicode: shown.unicode,
            colour: shown.colour,
        };
        let board = Board::new(run_info.clone());
        let (events, inbox) = event_queue(QUEUE);
        // A signal that is not caught yet would leave the terminal as the view has it.
        signals::catch().map_err(|error| cannot(&format!("signals cannot be caught: {error}")))?;
        let lease = TerminalLease::take()
            .map_err(|error| cannot(&format!("the terminal cannot be had: {error}")))?;
        let thread = std::thread::Builder::new()
            .name("screen".into())
            .spawn(move || run(board, look, &lease, inbox))
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

fn run(mut board: Board, look: Look, lease: &TerminalLease, mut inbox: EventInbox) {
    let mut size = columns_and_rows();
    let mut canvas = Canvas::new(size.0, size.1, look);
    let mut due = Instant::now();
    let mut ended = false;
    while !ended {
        match inbox.next_within(due.saturating_duration_since(Instant::now())) {
            Arrival::Event(event) => {
                board.observe(&event);
                if Instant::now() < due {
                    continue;
                }
            }
            Arrival::Nothing => {}
            // The last frame has all of it.
            Arrival::Ended => ended = true,
        }
        board.missed(inbox.missed());
        if columns_and_rows() != size {
            size = columns_and_rows();
            canvas.resize(size.0, size.1);
        }
        let frame = canvas.frame(&board);
        if !frame.is_empty() && lease.write(frame.as_bytes()).is_err() {
            // The terminal has gone; the test goes on without its view.
            inbox.discard();
            return;
        }
        due = Instant::now() + FRAME;
    }
}

fn columns_and_rows() -> (u16, u16) {
    terminal_size::terminal_size().map_or((80, 24), |(width, height)| (width.0, height.0))
}
