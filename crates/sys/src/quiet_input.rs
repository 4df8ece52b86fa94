//! A terminal whose screen is not typed upon.

use std::io;

use crate::platform::quiet_input as system;

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
        system::start().map(|before| Self { _before: before })
    }
}
