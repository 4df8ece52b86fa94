//! Manual pages and shell completions, made from the option table.
//!
//! Pure: a text follows from the table and the name of the program alone. They are printed
//! on demand (`tapeline --generate man`), so that no copy of them can be out of date.

mod bash;
mod candidates;
mod entry;
mod fish;
mod man;
mod man_iperf3;
mod roff;
#[cfg(all(test, unix))]
mod tests;
mod zsh;

use tapeline_dialect::Personality;

use crate::options::{Availability, OptionSpec, all};
use crate::plan::{CommandName, Document};

/// The text of a document, without its last line end.
pub(crate) fn text(document: Document, name: CommandName) -> String {
    let text = match document {
        Document::Man => match name {
            CommandName::Tapeline => man::page(Personality::Native),
            CommandName::Iperf => man::page(Personality::Iperf2),
            CommandName::Iperf3 => man_iperf3::page(),
        },
        Document::Bash => bash::script(),
        Document::Zsh => zsh::script(),
        Document::Fish => fish::script(),
    };
    text.trim_end().to_owned()
}

/// The options that can be used under a name, in the order of the help.
fn usable(personality: Personality) -> impl Iterator<Item = &'static OptionSpec> {
    all().filter(move |spec| {
        spec.availability == Availability::Available && spec.personalities.include(personality)
    })
}
