//! Tests that are run for a comparison or a gate: each is a process of this very program, with the
//! arguments that were given and no shell.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::{Command, Stdio};

use tapeline_base::ExitCode;
use tapeline_sys::reason;

use super::place::{Found, documents};
use super::say::{Fault, note};

/// Runs a test; what it measured. Its warnings go to standard error.
///
/// # Errors
/// The test has no result: its line is wrong (which it has said), or there is no process.
pub(crate) fn measure(words: &[OsString]) -> Result<Vec<Found>, Fault> {
    let failed = |error: io::Error| Fault::Failure(format!("no test process: {}", reason(&error)));
    let program = std::env::current_exe().map_err(failed)?;
    let output = Command::new(program)
        .args(["--as", "tapeline"])
        .args(words)
        .arg("--json")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(failed)?;
    match output.status.code() {
        Some(code) if code == i32::from(ExitCode::Usage.code()) => {
            Err(Fault::Said(ExitCode::Usage))
        }
        None => Err(Fault::Failure("the test was killed".to_owned())),
        // A test that failed has a document, whose numbers do not count.
        Some(_) => documents(&shown(words), &output.stdout),
    }
}

/// The words of a test as one text.
pub(crate) fn shown(words: &[OsString]) -> String {
    let words = words.iter().map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}

/// Says how far it is, to people who look on.
pub(crate) fn progress(text: &str) {
    if io::stderr().is_terminal() {
        note(text);
    }
}
