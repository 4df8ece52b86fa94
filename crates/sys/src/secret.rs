//! Words that must not be seen.

use std::io;

use crate::platform::secret;

/// Asks on the terminal for one line, which is not shown as it is typed.
///
/// # Errors
/// There is no terminal, or (Windows) none that can be silenced.
pub fn ask_secret(question: &str) -> io::Result<String> {
    secret::ask(question)
}
