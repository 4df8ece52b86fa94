//! What the cases of all methods need.

use interop::{Capture, Finished, Program, TestPath, Way, skip};
use serde_json::Value;

/// The path, or a skip of `test` where this machine cannot make it.
pub(crate) fn path(test: &str, up: Way, down: Way) -> Option<TestPath> {
    made(test, || TestPath::new(up, down))
}

/// The same with queues that TCP fills, or a skip.
pub(crate) fn queued(test: &str, up: Way, down: Way) -> Option<TestPath> {
    made(test, || TestPath::queued(up, down))
}

fn made(test: &str, make: impl FnOnce() -> std::io::Result<TestPath>) -> Option<TestPath> {
    if lacks(test, &[Program::Tapeline]) {
        return None;
    }
    match make() {
        Ok(path) => Some(path),
        Err(error) => {
            skip(
                test,
                &format!("no relay between network namespaces: {error}"),
            );
            None
        }
    }
}

/// Whether a program is missing; `test` is then skipped.
pub(crate) fn lacks(test: &str, programs: &[Program]) -> bool {
    let missing = programs.iter().find_map(|program| program.missing());
    let reason = missing.or_else(Capture::unavailable);
    if let Some(reason) = &reason {
        skip(test, reason);
    }
    reason.is_some()
}

/// The document that a program wrote to its output.
///
/// # Panics
/// There is none.
pub(crate) fn document(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}\n{finished}"))
}

/// Fails unless `value` is from `low` to `high`.
///
/// # Panics
/// It is not.
#[track_caller]
pub(crate) fn assert_within(name: &str, value: f64, low: f64, high: f64, shown: &Finished) {
    assert!(
        (low..=high).contains(&value),
        "{name} is {value}, not {low} to {high}\n{shown}"
    );
}
