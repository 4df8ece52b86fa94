//! Words of command lines that stand for something of a single run.

use std::path::{Path, PathBuf};

use interop::free_port;
use tempfile::TempDir;

/// What a run has for itself.
#[derive(Debug)]
pub(crate) struct Place {
    folder: TempDir,
    port: u16,
}

impl Place {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            folder: tempfile::tempdir()?,
            port: neighbours(),
        })
    }

    /// A file that [`Place::fill`] calls `OUT`.
    pub(crate) fn written(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Replaces `FILE` by a file of known content, `OUT` by a file that does not exist yet, and
    /// `PORT` by a free port with a free neighbour.
    pub(crate) fn fill(&self, options: &str) -> Vec<String> {
        let filled = |word: &str| match word {
            "FILE" => file().display().to_string(),
            "OUT" => self.written().display().to_string(),
            "PORT" => self.port.to_string(),
            _ => word.to_owned(),
        };
        options.split_whitespace().map(filled).collect()
    }
}

/// The first of two neighbouring free ports: a client's second stream takes the next one.
fn neighbours() -> u16 {
    let mut first = free_port();
    loop {
        let next = free_port();
        if next == first + 1 {
            return first;
        }
        first = next;
    }
}

/// A file of known content.
pub(crate) fn file() -> &'static Path {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/iperf3/modes.rs"
    ))
}
