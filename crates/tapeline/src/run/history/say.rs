//! What these jobs write, and why they cannot go on.

use std::fs;
use std::path::Path;

use serde::Serialize;
use tapeline_archive::ArchiveError;
use tapeline_base::ExitCode;
use tapeline_sys::reason;

use crate::message::{self, CliMessage, cannot};
use crate::plan::Destination;

/// Why a job cannot go on.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The line cannot be carried out.
    Usage(String),
    /// What it needs cannot be had.
    Failure(String),
    /// It has been said.
    Said(ExitCode),
}

impl From<ArchiveError> for Fault {
    fn from(error: ArchiveError) -> Self {
        Self::Failure(error.to_string())
    }
}

impl Fault {
    /// Says it; the exit code.
    pub(crate) fn say(self) -> ExitCode {
        match self {
            Self::Usage(sentence) => {
                cannot(&sentence);
                ExitCode::Usage
            }
            Self::Failure(sentence) => cannot(&sentence),
            Self::Said(code) => code,
        }
    }
}

/// Prints a text whose lines end.
pub(crate) fn print(text: &str) -> Result<(), Fault> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    match message::print(&[CliMessage::out(text)]) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Fault::Failure(
            format!("standard output: {}", reason(&error)),
        )),
        _ => Ok(()),
    }
}

/// Says what is to be known on standard error.
pub(crate) fn note(text: &str) {
    // Without standard error nobody reads it.
    let _ = message::print(&[CliMessage::err(format!("note: {text}"))]);
}

/// Writes a text to a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Fault> {
    fs::write(path, text).map_err(|error| {
        Fault::Failure(format!(
            "cannot write to {}: {}",
            path.display(),
            reason(&error)
        ))
    })
}

/// Prints a text, or writes it.
pub(crate) fn deliver(destination: &Destination, text: &str) -> Result<(), Fault> {
    match destination {
        Destination::Stdout => print(text),
        Destination::File(path) => write(path, text),
    }
}

/// A document as JSON that people can read.
pub(crate) fn json(document: &impl Serialize) -> String {
    // Neither a map with keys that are no text nor a failing writer can occur.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}
