//! Outcomes, kept from run to run.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::Value;

use crate::table;

/// Environment variable that names the log.
const LOG: &str = "TAPELINE_VERDICTS";

fn path() -> Option<PathBuf> {
    std::env::var_os(LOG).map(PathBuf::from)
}

/// Appends an outcome.
pub(crate) fn enter(record: &Value) -> io::Result<()> {
    let Some(path) = path() else { return Ok(()) };
    let mut log = OpenOptions::new().create(true).append(true).open(path)?;
    // One call, so that lines of several threads stay whole.
    log.write_all(format!("{record}\n").as_bytes())
}

/// Writes the tables of the whole log, and returns the promises that it breaks.
pub(crate) fn write_tables() -> io::Result<Vec<String>> {
    let Some(path) = path() else {
        return Ok(Vec::new());
    };
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read?,
    };
    let mut outcomes: Vec<Value> = Vec::new();
    for line in text.lines() {
        let outcome: Value = serde_json::from_str(line)?;
        // What was run again counts as it came out last.
        outcomes.retain(|before| before["trial"] != outcome["trial"]);
        outcomes.push(outcome);
    }
    std::fs::write(path.with_extension("md"), table::tables(&outcomes))?;
    Ok(table::broken_promises(&outcomes))
}
