//! What the command line has to say, as data; printed once, by [`print`].

use std::io::{self, Write};

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
        let line = format!("{}\n", message.text);
        match message.stream {
            Stream::Out => {
                let mut out = anstream::stdout().lock();
                out.write_all(line.as_bytes())?;
                out.flush()?;
            }
            Stream::Err => anstream::stderr().lock().write_all(line.as_bytes())?,
        }
    }
    Ok(())
}
