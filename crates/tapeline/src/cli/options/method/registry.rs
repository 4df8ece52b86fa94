//! The methods that the command line knows.

use super::common::MethodEntry;
use super::{capacity, find_rate, mtu, responsiveness, rfc6349, try_host};

/// All of them: a row for each.
pub(crate) static METHODS: &[MethodEntry] = &[
    MethodEntry {
        word: "mtu",
        options: mtu::OPTIONS,
        own_length: false,
        plan: mtu::plan,
    },
    MethodEntry {
        word: "try",
        options: &[],
        own_length: false,
        plan: try_host::plan,
    },
    MethodEntry {
        word: "responsiveness",
        options: responsiveness::OPTIONS,
        own_length: false,
        plan: responsiveness::plan,
    },
    MethodEntry {
        word: "rfc6349",
        options: rfc6349::OPTIONS,
        own_length: false,
        plan: rfc6349::plan,
    },
    MethodEntry {
        word: "capacity",
        options: capacity::OPTIONS,
        own_length: true,
        plan: capacity::plan,
    },
    MethodEntry {
        word: "find-rate",
        options: find_rate::OPTIONS,
        own_length: true,
        plan: find_rate::plan,
    },
];

/// The method of that word.
pub(crate) fn find(word: &str) -> Option<&'static MethodEntry> {
    METHODS.iter().find(|entry| entry.word == word)
}
