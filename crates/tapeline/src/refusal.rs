//! A command line that cannot be carried out, as data for the program that typed it.

use tapeline_base::Role;
use tapeline_report::Style;
use tapeline_report::document::{DocumentStream, Occasion, Report, WholeDocument};

use crate::invocation::Invocation;
use crate::message::{CliMessage, Stream};
use crate::options::OptionId;
use crate::quoting;
use crate::raw::{RawArgs, RawItem};

/// The document that says why, where anything on the line asks for one on standard output.
pub(crate) fn document(
    raw: &RawArgs,
    said: &[CliMessage],
    invocation: &Invocation<'_>,
) -> Option<CliMessage> {
    let mut given = raw.line.iter().filter_map(|item| match item {
        RawItem::Option(given) => Some(given),
        _ => None,
    });
    let form = given.clone().find_map(|given| match given.spec.id {
        OptionId::Json if given.value.is_none() => Some(WholeDocument::json_of as fn(&Report) -> _),
        OptionId::JsonStream if given.value.is_none() => Some(DocumentStream::line_of),
        _ => None,
    })?;
    let serves = given.any(|given| given.spec.id == OptionId::Server);
    let words = std::iter::once(&invocation.program).chain(&invocation.arguments);
    let occasion = Occasion {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: quoting::command(words.map(|word| word.to_string_lossy().into_owned())),
        role: if serves { Role::Server } else { Role::Client },
        planned: None,
        style: Style::default(),
    };
    let mut text = form(&Report::refused(&occasion, &reasons(said)));
    text.truncate(text.trim_end().len());
    Some(CliMessage::out(text))
}

/// What was said, without the program's name; warnings are no reason.
fn reasons(said: &[CliMessage]) -> String {
    let said = said.iter().filter(|message| message.stream == Stream::Err);
    let lines = said.filter_map(|message| {
        let text = message.text.strip_prefix("tapeline: ");
        let text = text.unwrap_or(&message.text);
        (!text.starts_with("warning: ")).then_some(text)
    });
    lines.collect::<Vec<_>>().join("; ")
}
