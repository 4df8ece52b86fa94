//! Why a file could not be taken over.

use std::error::Error;
use std::fmt;

/// Why a file could not be taken over, and where that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// A phrase.
    pub why: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.why)
    }
}

impl Error for ImportError {}

/// Why a part of a file could not be taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Offset in the file.
    pub(crate) at: usize,
    /// A phrase.
    pub(crate) why: String,
}

impl Fault {
    pub(crate) fn new(at: usize, why: impl Into<String>) -> Self {
        Self {
            at,
            why: why.into(),
        }
    }

    /// A fault of a file, with its line.
    pub(crate) fn of_file(self, name: &str, file: &[u8]) -> ImportError {
        let before = &file[..self.at.min(file.len())];
        ImportError {
            file: name.to_owned(),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            why: self.why,
        }
    }
}

/// The sentence for bytes that are nothing known.
pub(crate) const UNKNOWN: &str =
    "neither a report of tapeline nor iperf3's JSON, and no line of iperf's";
