//! What the command line has to say, as data; printed once, by [`print`].

use std::io::{self, IsTerminal, Write};

use tapeline_base::ExitCode;
use tapeline_report::hanging;

/// What a line of advice begins with: its text is below that of an error.
pub(crate) const HINT: &str = "hint:  ";

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output: help, version, notices that belong to the report.
    Out,
    /// Standard error: warnings and errors.
    Err,
}

/// One message, without its final line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliMessage {
    /// Where it goes.
    pub stream: Stream,
    /// One or more lines.
    pub text: String,
}

impl CliMessage {
    /// A message for standard output.
    #[must_use]
    pub fn out(text: impl Into<String>) -> Self {
        Self {
            stream: Stream::Out,
            text: text.into(),
        }
    }

    /// A message for standard error.
    #[must_use]
    pub fn err(text: impl Into<String>) -> Self {
        Self {
            stream: Stream::Err,
            text: text.into(),
        }
    }
}

/// Writes the messages in order, each as one write that ends its line.
///
/// # Errors
/// The first failure of either stream; [`io::ErrorKind::BrokenPipe`] means that the
/// reader went away (`tapeline --help | head -1`), which is no error of ours.
pub(crate) fn print(messages: &[CliMessage]) -> io::Result<()> {
    for message in messages {
        match message.stream {
            Stream::Out => {
                let line = format!("{}\n", message.text);
                let mut out = anstream::stdout().lock();
                out.write_all(line.as_bytes())?;
                out.flush()?;
            }
            Stream::Err => {
                let line = format!("{}\n", shown(&message.text, error_width()));
                anstream::stderr().lock().write_all(line.as_bytes())?;
            }
        }
    }
    Ok(())
}

/// The width of the terminal behind standard error, where there is one.
fn error_width() -> Option<usize> {
    let errors = io::stderr();
    let size = terminal_size::terminal_size_of(&errors).filter(|_| errors.is_terminal());
    size.map(|(width, _)| usize::from(width.0))
}

/// What tapeline's lines begin with, and their colours.
const HEADS: [(&str, &str); 4] = [
    ("error: ", "31"),
    ("warning: ", "33"),
    ("note: ", ""),
    (HINT, ""),
];

/// The text as a terminal of this width shows it: tapeline's lines hang below their heads.
fn shown(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else {
        return text.to_owned();
    };
    let mut lines = Vec::new();
    for line in text.lines() {
        let known = HEADS.iter().find(|(head, _)| line.starts_with(head));
        let Some((head, colour)) = known else {
            lines.push(line.to_owned());
            continue;
        };
        let mut hung = hanging(head, &line[head.len()..], width);
        if !colour.is_empty() {
            let word = head.trim_end_matches([':', ' ']);
            hung[0].replace_range(..word.len(), &format!("\u{1b}[{colour}m{word}\u{1b}[0m"));
        }
        lines.extend(hung);
    }
    lines.join("\n")
}

/// Says why the run cannot begin.
pub(crate) fn cannot(reason: &str) -> ExitCode {
    // Without standard error the exit code says the same.
    let _ = print(&[CliMessage::err(format!("error: {reason}"))]);
    ExitCode::Failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_lines_hang_below_their_heads_on_a_terminal() {
        let text = "error: one two three\nhint:  four five six\nUsage: seven eight nine ten";
        assert_eq!(shown(text, None), text);
        assert_eq!(
            shown(text, Some(16)),
            "\u{1b}[31merror\u{1b}[0m: one two\n       three\nhint:  four five\n       six\n\
             Usage: seven eight nine ten"
        );
    }
}
