//! From events to written lines, on a thread of its own behind a bounded queue: a slow
//! terminal or a full pipe never slows the sampler, let alone the traffic.

use std::io::{self, IsTerminal, Stderr, Write};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use anstream::{AutoStream, ColorChoice};
use tapeline_base::{ExitCode, MutexExt, Role};
use tapeline_dialect::Interruption;
use tapeline_report::{Event, Output, Renderer, Terminal};
use tapeline_sys::reason;

use super::event_queue::{Arrival, EventInbox, EventQueue, QUEUE, event_queue};
use super::progress::{self, Progress};
use crate::message::{self, CliMessage, cannot};
use crate::presentation::Color;

/// Bytes from which a text is written although more is at hand.
const TOGETHER: usize = 16 * 1024;

/// Decides for the whole process whether there are colours.
pub(crate) fn choose_color(color: Color) {
    match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    }
    .write_global();
}

/// The device behind standard output; a pipe or a file gets text without a width, in ASCII.
pub(crate) fn terminal(wanted: bool) -> Terminal {
    let colour = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    if !wanted || !io::stdout().is_terminal() {
        return Terminal {
            colour: wanted && colour,
            ..Terminal::default()
        };
    }
    let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
    Terminal {
        colour,
        width,
        unicode: speaks_utf8(),
    }
}

/// The device behind standard error; lines for a pipe or a file are not wrapped.
pub(crate) fn error_terminal() -> Terminal {
    let errors = io::stderr();
    let colour = AutoStream::choice(&errors) != ColorChoice::Never;
    if !errors.is_terminal() {
        return Terminal {
            colour,
            width: usize::MAX,
            ..Terminal::default()
        };
    }
    let size = terminal_size::terminal_size_of(&errors);
    Terminal {
        colour,
        width: size.map_or(80, |(width, _)| usize::from(width.0)),
        unicode: speaks_utf8(),
    }
}

/// Whether the reader's locale has more characters than ASCII.
pub(crate) fn speaks_utf8() -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .is_some_and(|value| value.to_ascii_lowercase().replace('-', "").contains("utf8"))
}

/// Why the output ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// The reader went away.
    Pipe,
    /// Anything else; it has been reported on standard error.
    Failed,
}

/// The output thread.
pub(crate) struct Printer {
    events: EventQueue,
    thread: JoinHandle<Option<Broken>>,
    ended: Arc<Ended>,
}

/// Learns when an output thread has ended.
type Ended = Mutex<Receiver<()>>;

/// Ends an output, whoever else may still send it something.
pub(crate) struct Closer {
    events: EventQueue,
    ended: Arc<Ended>,
}

impl Closer {
    /// Has what is queued printed, and waits for it.
    pub(crate) fn close(&self) {
        self.events.end();
        let ended = self.ended.lock_unpoisoned();
        let _ = ended.recv();
    }
}

impl Printer {
    /// Starts the thread. A client ends when it cannot report; a server goes on serving.
    ///
    /// # Errors
    /// The exit code, when there is no thread; the reason has been printed.
    pub(crate) fn start(
        renderer: Box<dyn Renderer + Send>,
        writer: Box<dyn Write + Send>,
        errors: Box<dyn Write + Send>,
        role: Role,
        interruption: &Interruption,
        progress: Option<Progress<Stderr>>,
    ) -> Result<Self, ExitCode> {
        let worker = PrinterThread {
            progress,
            renderer,
            writer,
            errors,
            role,
            interruption: interruption.clone(),
            failed: false,
        };
        Self::run(worker, QUEUE).map_err(|error| cannot(&format!("no output thread: {error}")))
    }

    fn run(worker: PrinterThread, queue: usize) -> io::Result<Self> {
        let (events, inbox) = event_queue(queue);
        let (running, ended) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("printer".into())
            .spawn(move || {
                let broken = worker.run(inbox);
                drop::<Sender<()>>(running);
                broken
            })?;
        Ok(Self {
            events,
            thread,
            ended: Arc::new(Mutex::new(ended)),
        })
    }

    /// What ends it from elsewhere.
    pub(crate) fn closer(&self) -> Closer {
        Closer {
            events: self.events.clone(),
            ended: Arc::clone(&self.ended),
        }
    }

    /// Where the reporter sends its events.
    pub(crate) fn sink(&self) -> impl FnMut(Event) + Send + 'static {
        self.events.sink()
    }

    /// Prints what is queued and ends; the exit code knows whether all was written.
    pub(crate) fn finish(self, code: ExitCode) -> ExitCode {
        self.events.end();
        let broken = self.thread.join().unwrap_or(Some(Broken::Failed));
        let dropped = self.events.dropped();
        if dropped > 0 {
            let _ = message::print(&[CliMessage::err(not_shown(dropped))]);
        }
        match broken {
            None => code,
            Some(Broken::Pipe) => ExitCode::Success,
            Some(Broken::Failed) => ExitCode::Failure,
        }
    }
}

fn not_shown(rows: u64) -> String {
    format!("warning: {rows} interval rows were not shown: the output was too slow")
}

/// What the output thread owns.
struct PrinterThread {
    renderer: Box<dyn Renderer + Send>,
    writer: Box<dyn Write + Send>,
    /// For what belongs on standard error.
    errors: Box<dyn Write + Send>,
    role: Role,
    interruption: Interruption,
    /// What is on the terminal while nothing is printed.
    progress: Option<Progress<Stderr>>,
    /// A write failed, and that was reported.
    failed: bool,
}

impl PrinterThread {
    /// Renders and writes until the last event; says how that went. What was dropped is
    /// reported before the next event.
    fn run(mut self, mut inbox: EventInbox) -> Option<Broken> {
        let mut out = Output::default();
        while let Some(event) = self.next(&mut inbox) {
            self.report_dropped(&mut inbox, &mut out);
            self.renderer.render(&event, &mut out);
            // What came together is written together.
            if inbox.has_next() && out.stderr.is_empty() && out.stdout.len() < TOGETHER {
                continue;
            }
            match self.write(&mut out) {
                Some(Broken::Failed) if self.role == Role::Server => {}
                Some(broken) => {
                    self.interruption.interrupt();
                    inbox.discard();
                    return Some(broken);
                }
                None => {}
            }
        }
        self.report_dropped(&mut inbox, &mut out);
        self.renderer.finish(&mut out);
        if let Some(progress) = &mut self.progress {
            progress.give_way(Instant::now());
        }
        let broken = self.write(&mut out);
        broken.or(self.failed.then_some(Broken::Failed))
    }

    /// The next event, or the end; meanwhile, progress.
    fn next(&mut self, inbox: &mut EventInbox) -> Option<Box<Event>> {
        let Some(progress) = &mut self.progress else {
            return inbox.next();
        };
        loop {
            match inbox.next_within(progress::EVERY) {
                Arrival::Event(event) => {
                    progress.observe(&event, Instant::now());
                    return Some(event);
                }
                Arrival::Nothing => progress.tick(Instant::now()),
                Arrival::Ended => return None,
            }
        }
    }

    fn report_dropped(&mut self, inbox: &mut EventInbox, out: &mut Output) {
        let missed = inbox.missed();
        if missed > 0 {
            self.renderer.missed(missed, out);
        }
    }

    /// Writes and empties both streams; the first failure is reported.
    fn write(&mut self, out: &mut Output) -> Option<Broken> {
        if let Some(progress) = self.progress.as_mut().filter(|_| !out.is_empty()) {
            progress.give_way(Instant::now());
        }
        let mut broken = None;
        if !out.stdout.is_empty()
            && let Err(error) = self
                .writer
                .write_all(out.stdout.as_bytes())
                .and_then(|()| self.writer.flush())
        {
            // A server goes on without its reader, whom it did not serve.
            let is_filter = self.role == Role::Client;
            broken = Some(if is_filter && error.kind() == io::ErrorKind::BrokenPipe {
                Broken::Pipe
            } else {
                Broken::Failed
            });
            if broken == Some(Broken::Failed) && !self.failed {
                self.failed = true;
                out.stderr.push_str(&format!(
                    "error: the report cannot be written: {}\n",
                    reason(&error)
                ));
            }
        }
        if !out.stderr.is_empty() {
            // Nobody to notify when standard error fails.
            let _ = self.errors.write_all(out.stderr.as_bytes());
        }
        out.clear();
        broken
    }
}

#[cfg(test)]
mod tests;
