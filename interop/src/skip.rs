//! Tests that cannot run where they are.

use std::fs::OpenOptions;
use std::io::Write;

/// Environment variable that names the file to which skipped tests are appended, one a line.
pub const SKIP_LOG: &str = "TAPELINE_SKIP_LOG";

/// Says that `test` cannot run here and why.
///
/// The test harness counts the test as passed; `cargo xtask test` reads the log, counts it as
/// skipped and lists it with its reason.
#[expect(clippy::print_stderr, reason = "a skipped test is never silent")]
pub fn skip(test: &str, reason: &str) {
    let reason = reason.replace('\n', " ");
    eprintln!("SKIPPED {test}: {reason}");
    let Some(path) = std::env::var_os(SKIP_LOG) else {
        return;
    };
    let line = format!("{test}: {reason}\n");
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut log| log.write_all(line.as_bytes()));
    if let Err(error) = written {
        panic!("cannot write the skip log {}: {error}", path.display());
    }
}
