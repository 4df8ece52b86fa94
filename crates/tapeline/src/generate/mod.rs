//! Manual pages and shell completions, made from the option table.
//!
//! Pure: a text follows from the table and the name of the program alone. They are printed
//! on demand (`tapeline --generate man`), so that no copy of them can be out of date.

mod bash;
mod candidates;
mod fish;
mod man;
mod roff;
#[cfg(all(test, unix))]
mod tests;
mod zsh;

use tapeline_dialect::Personality;

use crate::options::{Availability, OptionSpec, all};
use crate::plan::Document;

/// The text of a document, without its last line end.
pub(crate) fn text(document: Document, personality: Personality) -> String {
    let text = match document {
        Document::Man => man::page(personality),
        Document::Bash => bash::script(),
        Document::Zsh => zsh::script(),
        Document::Fish => fish::script(),
    };
    text.trim_end().to_owned()
}

/// Program names that completions are for.
const NAMES: [(&str, Personality); 2] = [
    ("tapeline", Personality::Native),
    ("iperf", Personality::Iperf2),
];

/// The options that can be used under a name, in the order of the help.
fn usable(personality: Personality) -> impl Iterator<Item = &'static OptionSpec> {
    all().filter(move |spec| {
        spec.availability == Availability::Available && spec.personalities.include(personality)
    })
}

/// Every spelling of an option: `-l`, `--len`, and the second names.
fn spellings(spec: &OptionSpec) -> Vec<String> {
    let letter = spec.short.map(|letter| format!("-{letter}"));
    letter.into_iter().chain(long_spellings(spec)).collect()
}

/// The long spellings of an option; names that only manuals know are left out when there is
/// another.
fn long_spellings(spec: &OptionSpec) -> impl Iterator<Item = String> {
    [spec.long_name(), spec.alias]
        .into_iter()
        .flatten()
        .map(|name| format!("--{name}"))
}
