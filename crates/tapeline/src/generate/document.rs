//! Which text a document is.

use tapeline_dialect::Personality;

use super::{bash, fish, form, man, man_iperf3, zsh};
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
        Document::Form => form::document(),
    };
    text.trim_end().to_owned()
}
