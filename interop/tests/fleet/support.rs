//! What the tests of fleets share.

use std::time::Duration;

use interop::{Finished, Fleet, FleetOptions, skip};

/// For what should be there soon.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A fleet; nothing where there can be none.
pub(crate) fn options(test: &str, agents: u8, controllers: u8) -> Option<FleetOptions> {
    if let Some(reason) = Fleet::unavailable() {
        skip(test, &reason);
        return None;
    }
    Some(FleetOptions {
        agents,
        controllers,
        rate: 20_000_000,
    })
}

/// A run ended with this code, and said these words on standard error.
#[track_caller]
pub(crate) fn says(finished: &Finished, code: i32, words: &str) {
    assert_eq!(finished.code(), Some(code), "{finished}");
    assert!(
        finished.stderr.contains(words),
        "not \"{words}\":\n{finished}"
    );
}

/// A number of the environment.
pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    let words = std::env::var(name).ok();
    words
        .and_then(|words| words.parse().ok())
        .unwrap_or(otherwise)
}
