//! Messages of the second stage, worded for the name under which the program was called.

use tapeline_base::ExitCode;
use tapeline_dialect::Personality;

use crate::message::{CliMessage, HINT};
use crate::plan::HelpPage;

/// Why the second stage ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is said; the process ends.
    Code(ExitCode),
    /// Help was asked for.
    Help(HelpPage),
    /// The version was asked for.
    Version,
}

/// Collects messages. Every message has two wordings: iperf 2.2.1's and tapeline's.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    personality: Personality,
    messages: Vec<CliMessage>,
    failed: bool,
}

impl Diagnostics {
    pub(crate) fn new(personality: Personality) -> Self {
        Self {
            personality,
            messages: Vec::new(),
            failed: false,
        }
    }

    /// Whose wording is used.
    pub(crate) fn personality(&self) -> Personality {
        self.personality
    }

    /// Whether an error was reported.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// The exit code of a command line that cannot be carried out.
    pub(crate) fn refusal(&self) -> ExitCode {
        match self.personality {
            Personality::Iperf2 => ExitCode::Failure,
            Personality::Native => ExitCode::Usage,
        }
    }

    /// Everything said so far.
    pub(crate) fn into_messages(self) -> Vec<CliMessage> {
        self.messages
    }

    /// A message as it stands.
    pub(crate) fn say(&mut self, message: CliMessage) {
        self.messages.push(message);
    }

    /// A warning: the run goes on.
    pub(crate) fn warn(&mut self, iperf: impl Into<String>, native: impl Into<String>) {
        let text = match self.personality {
            Personality::Iperf2 => iperf.into(),
            Personality::Native => format!("warning: {}", bare(&native.into())),
        };
        self.messages.push(CliMessage::err(text));
    }

    /// An error: the run will not start, further rules are still looked at under iperf.
    pub(crate) fn error(&mut self, iperf: impl Into<String>, native: impl Into<String>) {
        let text = match self.personality {
            Personality::Iperf2 => iperf.into(),
            Personality::Native => format!("error: {}", bare(&native.into())),
        };
        self.messages.push(CliMessage::err(text));
        self.failed = true;
    }

    /// An error that iperf 2.2.1 writes to standard output.
    pub(crate) fn error_on_stdout(&mut self, iperf: impl Into<String>, native: impl Into<String>) {
        match self.personality {
            Personality::Iperf2 => {
                self.messages.push(CliMessage::out(iperf));
                self.failed = true;
            }
            Personality::Native => self.error("", native),
        }
    }

    /// An error of tapeline's after which nothing more is looked at, and what helps.
    pub(crate) fn fatal_with_hint(&mut self, native: &str, hint: Option<String>) -> Exit {
        let hint = hint.map_or_else(String::new, |hint| format!("\n{HINT}{hint}"));
        self.fatal("", format!("{native}{hint}"))
    }

    /// An error after which nothing more is looked at.
    pub(crate) fn fatal(&mut self, iperf: impl Into<String>, native: impl Into<String>) -> Exit {
        self.error(iperf, native);
        Exit::Code(self.refusal())
    }
}

/// An option stands for itself at the beginning of a sentence.
fn bare(sentence: &str) -> &str {
    match sentence.strip_prefix("option ") {
        Some(rest) if rest.starts_with('-') => rest,
        _ => sentence,
    }
}
