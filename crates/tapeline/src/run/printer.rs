//! From events to written lines, on a thread of its own behind a bounded queue: a slow
//! terminal or a full pipe never slows the sampler, let alone the traffic.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::JoinHandle;

use tapeline_base::{ExitCode, Role};
use tapeline_dialect::Interruption;
use tapeline_report::{
    Event, Iperf3Json, Iperf3Style, Iperf3Text, Output, Phase, Renderer, Terminal, TestFailure,
};
use tapeline_sys::{reason, system_information};

use super::adorned::Adorned;
use super::cannot;
use crate::message::{self, CliMessage};
use crate::presentation::{Iperf3Form, Presentation, TextStyle};

/// Events that may wait for the output. A row every interval of 10,000 flows fits.
const QUEUE: usize = 16_384;

pub(super) fn iperf3_renderer(
    form: Iperf3Form,
    presentation: &Presentation,
) -> Box<dyn Renderer + Send> {
    let style = iperf3_style(form, presentation);
    let tale: Box<dyn Renderer + Send> = match form {
        Iperf3Form::Text => Box::new(Iperf3Text::new(style)),
        Iperf3Form::Json => Box::new(Iperf3Json::documents(style)),
        Iperf3Form::Stream { .. } => Box::new(Iperf3Json::stream(style)),
    };
    Box::new(Adorned::new(tale, presentation))
}

/// What iperf3's forms need to know beside the events.
pub(super) fn iperf3_style(form: Iperf3Form, presentation: &Presentation) -> Iperf3Style {
    Iperf3Style {
        version: format!("iperf {}", crate::iperf3::VERSION),
        system_info: system_information(),
        format: presentation.format,
        verbose: presentation.verbose,
        title: presentation.title.clone(),
        one_off: presentation.one_off,
        full_output: form == Iperf3Form::Stream { full: true },
    }
}

/// The end of a test that was not begun, in one of iperf3's forms.
pub(crate) fn refusal(form: Iperf3Form, text: &str) -> String {
    let mut renderer = iperf3_renderer(form, &Presentation::new(TextStyle::Iperf3(form)));
    let mut out = Output::default();
    let end = super::iperf3::end_of_nothing(TestFailure {
        code: 0,
        text: text.to_owned(),
        by_peer: false,
        interrupted: false,
    });
    renderer.render(&end, &mut out);
    renderer.finish(&mut out);
    out.stdout
}

/// The device behind standard output; a pipe or a file gets plain text.
pub(super) fn terminal(wanted: bool) -> Terminal {
    if !wanted || !io::stdout().is_terminal() {
        return Terminal::default();
    }
    let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .is_some_and(|value| value.to_ascii_lowercase().replace('-', "").contains("utf8"));
    Terminal {
        colour: anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
        width,
        unicode: utf8,
    }
}

/// Why the output ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// The reader went away.
    Pipe,
    /// Anything else; it has been told on standard error.
    Failed,
}

/// The output thread.
pub(super) struct Printer {
    /// Boxed, because the queue's slots exist from the start.
    events: SyncSender<Box<Event>>,
    dropped: Arc<AtomicU64>,
    thread: JoinHandle<Option<Broken>>,
}

impl Printer {
    /// Starts the thread. A client ends when it cannot report; a server goes on serving.
    ///
    /// # Errors
    /// The exit code, when there is no thread; the reason has been printed.
    pub(super) fn start(
        renderer: Box<dyn Renderer + Send>,
        writer: Box<dyn Write + Send>,
        errors: Box<dyn Write + Send>,
        role: Role,
        interruption: &Interruption,
    ) -> Result<Self, ExitCode> {
        let press = Press {
            renderer,
            writer,
            errors,
            role,
            interruption: interruption.clone(),
            failed: false,
        };
        Self::run(press, QUEUE).map_err(|error| cannot(&format!("no output thread: {error}")))
    }

    fn run(press: Press, queue: usize) -> io::Result<Self> {
        let (events, inbox) = mpsc::sync_channel(queue);
        let dropped = Arc::<AtomicU64>::default();
        let count = Arc::clone(&dropped);
        let thread = std::thread::Builder::new()
            .name("printer".into())
            .spawn(move || press.run(&inbox, &count))?;
        Ok(Self {
            events,
            dropped,
            thread,
        })
    }

    /// Where the reporter sends its events. Interval rows are dropped, and counted, when the output cannot keep
    /// up, and so is what is told beside them, uncounted; everything else waits.
    pub(super) fn sink(&self) -> impl FnMut(Event) + Send + 'static {
        let events = self.events.clone();
        let dropped = Arc::clone(&self.dropped);
        move |event| {
            match rows_in(&event) {
                // Fails only when the output thread has ended.
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

    /// Prints what is queued and ends; the exit code knows whether all was written.
    pub(super) fn finish(self, code: ExitCode) -> ExitCode {
        drop(self.events);
        let broken = self.thread.join().unwrap_or(Some(Broken::Failed));
        let dropped = self.dropped.load(Ordering::Relaxed);
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

/// How many interval rows a reader misses without this event; nothing where it may not be left out.
pub(super) fn rows_in(event: &Event) -> Option<u64> {
    match event {
        Event::Row(row) => (row.phase == Phase::Interval).then_some(1),
        Event::Processor(used) => (used.phase == Phase::Interval).then_some(0),
        Event::Probes(_) | Event::OtherProgress(_) => Some(0),
        _ => None,
    }
}

/// What the output thread owns.
struct Press {
    renderer: Box<dyn Renderer + Send>,
    writer: Box<dyn Write + Send>,
    /// For what belongs on standard error.
    errors: Box<dyn Write + Send>,
    role: Role,
    interruption: Interruption,
    /// A write failed, and that was told.
    failed: bool,
}

impl Press {
    /// Renders and writes until the last sender is gone; says how that went. What was dropped is
    /// told before the next event.
    fn run(mut self, inbox: &Receiver<Box<Event>>, dropped: &AtomicU64) -> Option<Broken> {
        let mut out = Output::default();
        let mut told = 0;
        let mut tell_dropped = |renderer: &mut dyn Renderer, out: &mut Output| {
            let missed = dropped.load(Ordering::Relaxed) - told;
            if missed > 0 {
                told += missed;
                renderer.missed(missed, out);
            }
        };
        while let Ok(event) = inbox.recv() {
            tell_dropped(&mut *self.renderer, &mut out);
            self.renderer.render(&event, &mut out);
            match self.write(&mut out) {
                Some(Broken::Failed) if self.role == Role::Server => {}
                Some(broken) => {
                    self.interruption.interrupt();
                    // Keeps the queue moving, so that the run ends in order.
                    inbox.iter().for_each(drop);
                    return Some(broken);
                }
                None => {}
            }
        }
        tell_dropped(&mut *self.renderer, &mut out);
        self.renderer.finish(&mut out);
        let broken = self.write(&mut out);
        broken.or(self.failed.then_some(Broken::Failed))
    }

    /// Writes and empties both streams; the first failure is told.
    fn write(&mut self, out: &mut Output) -> Option<Broken> {
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
                    "tapeline: the report cannot be written: {}\n",
                    reason(&error)
                ));
            }
        }
        if !out.stderr.is_empty() {
            // Nobody to tell when standard error fails.
            let _ = self.errors.write_all(out.stderr.as_bytes());
        }
        out.clear();
        broken
    }
}

#[cfg(test)]
mod tests;
