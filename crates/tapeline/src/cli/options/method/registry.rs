//! The methods that the command line knows.

use tapeline_method::{Common, MethodPlan};

use super::rfc6349;
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::Settings;
use crate::cli::spec::OptionSpec;

/// A method on the command line.
pub(crate) struct MethodEntry {
    /// Its word.
    pub(crate) word: &'static str,
    /// Rows of its own options.
    pub(crate) options: &'static [OptionSpec],
    /// It reads `-l` itself (`settings.method.length`); else that is a number of bytes.
    pub(crate) own_length: bool,
    /// From the settings to its plan; refuses what is outside of its ranges.
    pub(crate) plan: fn(&Settings, Common, &mut Diagnostics) -> Result<MethodPlan, Exit>,
}
use super::common::MethodEntry;
use super::find_rate;

/// All of them: a row for each.
pub(crate) static METHODS: &[MethodEntry] = &[
    MethodEntry {
        word: "rfc6349",
        options: rfc6349::OPTIONS,
        own_length: false,
        plan: rfc6349::plan,
    },
    // MethodEntry { word: "mtu", options: mtu::OPTIONS, own_length: false, plan: mtu::plan },
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
