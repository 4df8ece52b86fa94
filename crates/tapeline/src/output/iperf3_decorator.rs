//! What iperf3's options add to any of its forms: times before lines, events as they are, and
//! which signal it was.

use std::borrow::Cow;

use tapeline_base::{Clock, Role};
use tapeline_report::{Calendar, Event, Notice, Output, Renderer, TestEnd, TestFailure};
use tapeline_sys::{Interrupts, Signal, SystemClock};

use crate::presentation::{Iperf3Form, Presentation, TextStyle};

/// iperf3's number for a server that was asked to end.
const SERVER_TERMINATED: u32 = 120;

/// No test: what a server says when it ends.
pub(crate) const END_OF_SERVER: u32 = 0;

/// A renderer whose lines and events are completed.
pub(crate) struct Iperf3Decorator {
    inner: Box<dyn Renderer + Send>,
    calendar: Calendar,
    timestamps: Option<String>,
    errors_to_file: bool,
    debug: u8,
    scratch: Output,
    /// Which end this process is, once it is known.
    role: Role,
    /// Errors are lines of text.
    text: bool,
    /// The signal that ends the process has been reported.
    reported: bool,
}

impl Iperf3Decorator {
    pub(crate) fn new(inner: Box<dyn Renderer + Send>, presentation: &Presentation) -> Self {
        Self {
            inner,
            calendar: Calendar::new(false),
            timestamps: presentation.timestamps.clone(),
            errors_to_file: presentation.errors_to_file,
            debug: presentation.debug,
            scratch: Output::default(),
            role: Role::Client,
            text: presentation.style == TextStyle::Iperf3(Iperf3Form::Text),
            reported: false,
        }
    }

    /// Hands the lines over, complete.
    fn hand_over(&mut self, out: &mut Output) {
        let prefix = self.timestamps.as_ref().map(|format| {
            let shown = self.calendar.formatted(SystemClock.wall(), format);
            shown.unwrap_or_else(|| format.clone())
        });
        add(&self.scratch.stdout, prefix.as_deref(), &mut out.stdout);
        let errors = if self.errors_to_file {
            &mut out.stdout
        } else {
            &mut out.stderr
        };
        add(&self.scratch.stderr, prefix.as_deref(), errors);
        self.scratch.clear();
    }

    /// The words of `-d`.
    fn expose(&mut self, event: &Event) {
        let level = match event {
            Event::ControlConnected(_) | Event::TestStart(_) | Event::TestEnd(_) => 1,
            Event::Connected(_) | Event::Listening(_) | Event::Notice(_) => 2,
            _ => 4,
        };
        if level <= self.debug {
            self.scratch.stdout.push_str(&format!("{event:?}\n"));
        }
    }

    /// The end of a test by a signal names the signal.
    fn with_signal<'a>(&mut self, event: &'a Event) -> Cow<'a, Event> {
        let Event::TestEnd(end) = event else {
            return Cow::Borrowed(event);
        };
        let Some(TestFailure {
            interrupted, code, ..
        }) = end.failure
        else {
            return Cow::Borrowed(event);
        };
        let own = interrupted || (code == SERVER_TERMINATED && self.role == Role::Server);
        match latest_signal().filter(|_| own) {
            Some(signal) => {
                self.reported = true;
                Cow::Owned(Event::TestEnd(Box::new(TestEnd {
                    failure: Some(interruption(self.role, signal)),
                    ..TestEnd::clone(end)
                })))
            }
            None => Cow::Borrowed(event),
        }
    }
}

/// The latest of the signals that are caught.
pub(crate) fn latest_signal() -> Option<Signal> {
    Interrupts::install().ok()?.latest()
}

/// How a process says that a signal ended it.
pub(crate) fn interruption(role: Role, signal: Signal) -> TestFailure {
    let who = match role {
        Role::Client => "client",
        Role::Server => "server",
    };
    let signal = match signal {
        Signal::Interrupt => "Interrupt(2)",
        Signal::Alarm => "Alarm clock(14)",
        Signal::Hangup => "Hangup(1)",
        Signal::Terminate => "Terminated(15)",
    };
    TestFailure {
        code: 0,
        text: format!("interrupt - the {who} has terminated by signal {signal}"),
        by_peer: false,
        interrupted: true,
    }
}

fn add(lines: &str, prefix: Option<&str>, out: &mut String) {
    match prefix {
        None => out.push_str(lines),
        Some(prefix) => {
            for line in lines.split_inclusive('\n') {
                out.push_str(prefix);
                out.push_str(line);
            }
        }
    }
}

impl Renderer for Iperf3Decorator {
    fn render(&mut self, event: &Event, out: &mut Output) {
        if matches!(event, Event::Listening(_)) {
            self.role = Role::Server;
        }
        if self.reported && matches!(event, Event::TestEnd(end) if end.test == END_OF_SERVER) {
            return;
        }
        if let (true, Event::Notice(Notice::ListenFailed { reason, .. })) = (self.text, event) {
            let errors = &mut self.scratch.stderr;
            errors.push_str(&format!(
                "iperf3: error - unable to start listener for connections: {reason}\n\
                 iperf3: exiting\n"
            ));
            return self.hand_over(out);
        }
        let event = self.with_signal(event);
        self.expose(&event);
        self.inner.render(&event, &mut self.scratch);
        self.hand_over(out);
    }

    fn finish(&mut self, out: &mut Output) {
        self.inner.finish(&mut self.scratch);
        self.hand_over(out);
    }
}
