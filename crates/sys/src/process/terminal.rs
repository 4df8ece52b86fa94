//! Terminals whose keys are not shown, and words that must not be seen.

use std::io;

use crate::platform::terminal as system;

/// While it lives, what is typed does not appear on the terminal and can be read key by key, and the
/// process is not suspended by a key; keys that interrupt still do. Dropped, the terminal is as it
/// was before.
///
/// Windows: nothing is changed, and no key can be read.
#[derive(Debug)]
pub struct QuietInput {
    before: Option<system::Before>,
}

impl QuietInput {
    /// Of standard input, where that is a terminal.
    ///
    /// # Errors
    /// Those of `tcgetattr(3)` and `tcsetattr(3)`.
    pub fn start() -> io::Result<Self> {
        system::silence().map(|before| Self { before })
    }

    /// Whether keys can be read: standard input is a terminal.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        self.before.is_some()
    }

    /// The next byte that was typed, if there is one already.
    #[must_use]
    pub fn key(&self) -> Option<u8> {
        self.before.as_ref().and_then(system::Before::key)
    }
}

/// Asks on the terminal for one line, which is not shown as it is typed.
///
/// # Errors
/// There is no terminal, or (Windows) none that can be silenced.
pub fn ask_secret(question: &str) -> io::Result<String> {
    system::ask(question)
}
