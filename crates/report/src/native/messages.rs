//! Conditions as they stand on standard error: what happened, its name, and what helps.

use super::paint::Paint;
use crate::model::{NoPeerResults, Notice, Severity, TestFailure, WarningId};
use crate::native::warning;
use crate::render::{Output, tame};
use crate::style::{Style, Terminal};

/// What stands between iperf3's words and the command that a server of iperf 2 needs.
const OTHER_COMMAND: &str = "; if the server is one of iperf 2, use: ";
/// Conditions that are not reported again.
const MAX_REPORTED: usize = 20;

/// A condition in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) severity: Severity,
    pub(crate) text: String,
    /// Its name, which `tapeline explain` takes.
    pub(crate) id: Option<WarningId>,
    /// What helps.
    pub(crate) hint: Option<String>,
}

impl Message {
    pub(crate) fn new(id: WarningId, (severity, text): (Severity, String)) -> Self {
        Self {
            severity,
            text,
            id: Some(id),
            hint: None,
        }
    }

    /// That of a notice.
    pub(crate) fn from_notice(notice: &Notice, style: &Style) -> Self {
        let id = WarningId::from_notice(notice);
        Self {
            id: Some(id).filter(|id| *id != WarningId::Other),
            hint: warning::hint(notice),
            ..Self::new(id, warning::plain(notice, style))
        }
    }

    /// Why a test of iperf3's protocol failed.
    pub(crate) fn from_failure(failure: &TestFailure) -> Self {
        let (said, command) = match failure.text.split_once(OTHER_COMMAND) {
            Some((said, command)) => (said, Some(command)),
            None => (failure.text.as_str(), None),
        };
        let reason = said.rsplit_once("etc.: ").map(|(_, reason)| reason);
        let (text, hint) = match reason {
            Some(reason) if said.starts_with("unable to connect to server") => (
                format!("cannot connect to the server: {}", warning::lowered(reason)),
                warning::connection_hint(reason),
            ),
            Some(reason) if said.starts_with("unable to receive control message") => {
                let reason = warning::lowered(reason);
                (format!("no answer from the server: {reason}"), None)
            }
            _ => (said.to_owned(), None),
        };
        let other = command.map(|command| format!("for a server of iperf 2: {command}"));
        Self {
            hint: hint.or(other),
            ..Self::new(WarningId::TestFailed, (Severity::Error, text))
        }
    }

    /// Why the other end's numbers are missing; nothing where the result says so.
    pub(crate) fn from_absence(reason: &NoPeerResults) -> Option<Self> {
        let why = match reason {
            NoPeerResults::NotRecognised => return None,
            NoPeerResults::Unreachable(why) => format!("no control connection: {}", tame(why)),
            NoPeerResults::Refused(why) => {
                format!("the server refused the control connection: {}", tame(why))
            }
            NoPeerResults::Broken(why) => format!("the control connection broke: {}", tame(why)),
        };
        let text = format!("{why}; the server's CPU and counts are unknown");
        Some(Self {
            id: None,
            ..Self::new(WarningId::Other, (Severity::Note, text))
        })
    }

    /// Its lines of at most `width` columns: `warning: what [id]`, `hint:  what helps`.
    pub(crate) fn lines(&self, paint: Paint, width: usize) -> Vec<String> {
        let word = self.severity.word();
        let name = match (self.severity, self.id) {
            (Severity::Warning, Some(id)) => format!(" [{}]", id.name()),
            _ => String::new(),
        };
        let mut lines = hanging(&format!("{word}: "), &format!("{}{name}", self.text), width);
        let painted = match self.severity {
            Severity::Note => word.to_owned(),
            Severity::Warning => paint.yellow(word),
            Severity::Error => paint.red(word),
        };
        lines[0].replace_range(..word.len(), &painted);
        lines.extend(
            self.hint
                .iter()
                .flat_map(|hint| hanging("hint:  ", hint, width)),
        );
        lines
    }
}

/// A text behind its head, in lines of at most `width` columns below each other; at least one.
#[must_use]
pub fn hanging(head: &str, text: &str, width: usize) -> Vec<String> {
    let indent = head.len();
    let mut lines = vec![head.to_owned()];
    let mut used = indent;
    for (index, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && used + 1 + length > width && used > indent {
            lines.push(" ".repeat(indent));
            used = indent;
        } else if index > 0 {
            lines.last_mut().expect("there is always a line").push(' ');
            used += 1;
        }
        lines
            .last_mut()
            .expect("there is always a line")
            .push_str(word);
        used += length;
    }
    lines
}

/// Where conditions go, and which of them have been reported.
#[derive(Clone, Debug)]
pub(crate) struct Messages {
    paint: Paint,
    width: usize,
    /// The report gets them too, in their place.
    in_report: bool,
    reported: Vec<String>,
}

impl Messages {
    /// For a standard error that is no terminal.
    pub(crate) fn plain() -> Self {
        let unwrapped = Terminal {
            width: usize::MAX,
            ..Terminal::default()
        };
        Self::new(unwrapped, false)
    }

    /// For a standard error that is this device; `in_report` when the report goes elsewhere.
    pub(crate) fn new(terminal: Terminal, in_report: bool) -> Self {
        Self {
            paint: Paint::new(terminal.colour),
            width: terminal.width,
            in_report,
            reported: Vec::new(),
        }
    }

    /// Reports a condition.
    pub(crate) fn report(&self, message: &Message, out: &mut Output) {
        for line in message.lines(self.paint, self.width) {
            out.error_line(&line);
        }
        if self.in_report {
            for line in message.lines(Paint::new(false), Terminal::default().width) {
                out.line(&line);
            }
        }
    }

    /// Reports a condition, unless it was reported since a test ended.
    pub(crate) fn report_once(&mut self, message: &Message, out: &mut Output) {
        if self.reported.contains(&message.text) {
            return;
        }
        self.report(message, out);
        if self.reported.len() < MAX_REPORTED {
            self.reported.push(message.text.clone());
        }
    }

    /// A test has ended: what was reported may be reported again.
    pub(crate) fn forget(&mut self) {
        self.reported.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        Message {
            hint: Some("one thing, or another".to_owned()),
            ..Message::new(
                WarningId::CpuSaturated,
                (Severity::Warning, "one two three four".to_owned()),
            )
        }
    }

    #[test]
    fn lines_hang_below_their_head() {
        let lines = message().lines(Paint::new(false), 24);
        assert_eq!(
            lines,
            [
                "warning: one two three",
                "         four",
                "         [cpu-saturated]",
                "hint:  one thing, or",
                "       another",
            ]
        );
        let one = message().lines(Paint::new(true), usize::MAX);
        assert_eq!(
            one,
            [
                "\u{1b}[33mwarning\u{1b}[0m: one two three four [cpu-saturated]",
                "hint:  one thing, or another",
            ]
        );
    }

    #[test]
    fn a_sentence_is_reported_once_for_a_test_and_to_the_report_where_that_is_elsewhere() {
        let mut out = Output::default();
        let mut messages = Messages::new(Terminal::default(), true);
        messages.report_once(&message(), &mut out);
        messages.report_once(&message(), &mut out);
        assert_eq!(out.stderr.lines().count(), 2);
        assert_eq!(out.stdout, out.stderr);
        messages.forget();
        messages.report_once(&message(), &mut out);
        assert_eq!(out.stderr.lines().count(), 4);
    }

    #[test]
    fn a_silent_server_may_be_another_programs() {
        let text = "unable to receive control message - port may not be available, the other side \
                    may have stopped running, etc.: Connection timed out; if the server is one of \
                    iperf 2, use: tapeline -c h -p 5201";
        let failed = TestFailure {
            code: 112,
            text: text.to_owned(),
            by_peer: false,
            interrupted: false,
        };
        let message = Message::from_failure(&failed);
        assert_eq!(
            message.text,
            "no answer from the server: connection timed out"
        );
        let hint = message.hint.expect("a hint");
        assert_eq!(hint, "for a server of iperf 2: tapeline -c h -p 5201");
    }
}
