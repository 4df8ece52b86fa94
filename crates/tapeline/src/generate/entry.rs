//! An option as documents show it, from either table.

use super::candidates::{Candidates, candidates, candidates_iperf3};
use super::usable;
use crate::iperf3;
use crate::options::{Arity, OptionSpec, Sides};
use crate::plan::CommandName;
use tapeline_dialect::Personality;

/// An option of a name.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) letter: Option<char>,
    /// Long names, with their dashes.
    pub(super) words: Vec<String>,
    pub(super) arity: Arity,
    pub(super) sides: Sides,
    /// What the value is called.
    pub(super) value: &'static str,
    /// One line.
    pub(super) help: String,
    pub(super) candidates: Candidates,
}

impl Entry {
    /// Every spelling: `-l`, `--len`, and the second names.
    pub(super) fn spellings(&self) -> Vec<String> {
        let letter = self.letter.map(|letter| format!("-{letter}"));
        letter
            .into_iter()
            .chain(self.words.iter().cloned())
            .collect()
    }
}

/// The options that can be used under a name, in the order of the help.
pub(super) fn entries(name: CommandName) -> Vec<Entry> {
    match name {
        CommandName::Tapeline => usable(Personality::Native).map(Entry::from).collect(),
        CommandName::Iperf => usable(Personality::Iperf2).map(Entry::from).collect(),
        CommandName::Iperf3 => iperf3::listed().map(Entry::from).collect(),
    }
}

impl From<&OptionSpec> for Entry {
    fn from(spec: &OptionSpec) -> Self {
        let names = [spec.long_name(), spec.alias].into_iter().flatten();
        Self {
            letter: spec.short,
            words: names.map(|name| format!("--{name}")).collect(),
            arity: spec.arity,
            sides: spec.sides,
            value: spec.value_name,
            help: spec.help.to_owned(),
            candidates: candidates(spec),
        }
    }
}

impl From<&iperf3::Spec> for Entry {
    fn from(spec: &iperf3::Spec) -> Self {
        Self {
            letter: spec.letter,
            words: spec.names.iter().map(|name| format!("--{name}")).collect(),
            arity: spec.arity,
            sides: match spec.end {
                iperf3::End::Both => Sides::BOTH,
                iperf3::End::Client => Sides::CLIENT,
                iperf3::End::Server => Sides::SERVER,
            },
            value: spec.value,
            help: spec.help.replace('\n', " "),
            candidates: candidates_iperf3(spec),
        }
    }
}
