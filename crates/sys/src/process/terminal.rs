//! Terminals upon which is not typed, and words that must not be seen.

use std::io;

use crate::platform::terminal as system;

/// While it lives, what is typed does not appear on the terminal, and the process is not suspended
/// by a key; keys that interrupt still do. Dropped, the terminal is as it was before.
///
/// Windows: nothing is changed.
#[derive(Debug)]
pub struct QuietInput {
    _before: Option<system::Before>,
}

impl QuietInput {
    /// Of standard input, where that is a terminal.
    ///
    /// # Errors
    /// Those of `tcgetattr(3)` and `tcsetattr(3)`.
    pub fn start() -> io::Result<Self> {
        system::silence().map(|before| Self { _before: before })
    }
}

/// Asks on the terminal for one line, which is not shown as it is typed.
///
/// # Errors
/// There is no terminal, or (Windows) none that can be silenced.
pub fn ask_secret(question: &str) -> io::Result<String> {
    system::ask(question)
}
