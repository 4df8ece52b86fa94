//! A command line that cannot be carried out, as data for the program that typed it.

use std::io::Write;
use std::path::PathBuf;

use tapeline_base::{Clock, Role};
use tapeline_method::Program;
use tapeline_report::Style;
use tapeline_report::document::{self, DocumentStream, Report, RunInfo, WholeDocument};
use tapeline_report::method::{MethodDocument, MethodPage, MethodStream};
use tapeline_sys::SystemClock;

use super::resolve::native_mode;
use super::settings::Mode;
use super::spec::{Given, OptionId, RawArgs, RawItem};
use crate::files::output_file;
use crate::identity;
use crate::message::{CliMessage, Stream};
use crate::plan::{Invocation, RefusalDocument};
use crate::presentation::{DocumentForm, TextStyle};

/// Writes it where and as the results would have been.
///
/// # Errors
/// The message that says why its file cannot be written.
pub(crate) fn write(document: &RefusalDocument) -> Result<(), CliMessage> {
    let form = TextStyle::Document(document.form);
    let file = document.file.as_deref();
    let mut place = output_file::open(form, file, document.role)?;
    let written = place.write_all(document.text.as_bytes());
    let written = written.and_then(|()| place.flush());
    // A reader of standard output that went away wants to know nothing.
    match (written, file) {
        (Err(error), Some(file)) => Err(output_file::unwritable(form, file, &error)),
        _ => Ok(()),
    }
}

/// The documents that say why, one for each form that the line asks for.
pub(crate) fn documents(
    raw: &RawArgs,
    said: &[CliMessage],
    invocation: &Invocation<'_>,
) -> Vec<RefusalDocument> {
    let given = raw.line.iter().filter_map(|item| match item {
        RawItem::Option(given) => Some(given),
        _ => None,
    });
    let of = |id| given.clone().filter(move |given| given.spec.id == id);
    let path = |given: &Given| given.value.as_ref().map(PathBuf::from);
    let role = if of(OptionId::Server).next().is_some() {
        Role::Server
    } else {
        Role::Client
    };
    let words = std::iter::once(&invocation.program).chain(&invocation.arguments);
    let command = identity::command(words.map(|word| word.to_string_lossy().into_owned()));
    let refused = Refused::new(raw, command, role, &reasons(said));
    // What has no file of its own goes where the text would.
    let output = of(OptionId::Output).filter_map(path).next_back();
    let documents = given.clone().filter_map(|given| {
        let form = form(given.spec.id)?;
        Some(RefusalDocument {
            form,
            file: path(given).or_else(|| output.clone()),
            role,
            text: refused.text(form)?,
        })
    });
    let mut documents: Vec<RefusalDocument> = documents.collect();
    // One place has one form.
    let mut taken = Vec::new();
    documents.retain(|document| {
        let new = !taken.contains(&document.file);
        taken.push(document.file.clone());
        new
    });
    documents
}

/// The form of documents that an option asks for.
fn form(id: OptionId) -> Option<DocumentForm> {
    match id {
        OptionId::Json => Some(DocumentForm::Json),
        OptionId::JsonStream => Some(DocumentForm::Stream),
        OptionId::Html => Some(DocumentForm::Html),
        _ => None,
    }
}

/// What was to be done, as a document that says why it was not.
enum Refused {
    Test(Box<Report>),
    Method(Box<MethodDocument>),
}

impl Refused {
    fn new(raw: &RawArgs, command: String, role: Role, why: &str) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        if let Mode::Method(word) = native_mode(raw) {
            let program = Program {
                version: version.clone(),
                command: command.clone(),
                hide_addresses: false,
            };
            if let Some(document) = tapeline_method::refused(word, &program, why) {
                return Self::Method(Box::new(document));
            }
        }
        let run_info = RunInfo {
            version,
            command,
            role,
            planned: None,
            style: Style::default(),
        };
        Self::Test(Box::new(document::refused(&run_info, why)))
    }

    fn text(&self, form: DocumentForm) -> Option<String> {
        match (form, self) {
            (DocumentForm::Json, Self::Test(report)) => Some(WholeDocument::json_of(report)),
            (DocumentForm::Json, Self::Method(method)) => Some(MethodPage::One(method).json()),
            (DocumentForm::Stream, Self::Test(report)) => Some(DocumentStream::line_of(report)),
            (DocumentForm::Stream, Self::Method(method)) => {
                Some(MethodStream::end(method, SystemClock.wall()))
            }
            (DocumentForm::Html, Self::Test(report)) => Some(WholeDocument::html_of(report)),
            (DocumentForm::Html, Self::Method(method)) => {
                Some(MethodPage::One(method).html(String::new()))
            }
            // Rows have no place for a reason.
            (DocumentForm::Csv | DocumentForm::SeriesCsv, _) => None,
        }
    }
}

/// What was said, without what helps; warnings are no reason.
fn reasons(said: &[CliMessage]) -> String {
    let said = said.iter().filter(|message| message.stream == Stream::Err);
    let lines = said.filter_map(|message| {
        let text = message.text.lines().next().unwrap_or_default();
        let text = text.strip_prefix("error: ").unwrap_or(text);
        (!text.starts_with("warning: ")).then_some(text)
    });
    lines.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::invocation::understand;

    fn refused(line: &str) -> Vec<(DocumentForm, Option<String>)> {
        let (_, resolution) = understand(&Invocation {
            program: "tapeline".into(),
            arguments: line.split_whitespace().map(Into::into).collect(),
            variable: &|_| None,
            resolver: |_| Vec::new(),
        });
        assert!(resolution.outcome.is_err(), "{line}");
        let documents = resolution.refusals.into_iter().map(|document| {
            assert!(document.text.contains("usage"), "{}", document.text);
            let file = document.file.map(|file| file.display().to_string());
            (document.form, file)
        });
        documents.collect()
    }

    #[test]
    fn a_method_that_is_refused_has_its_own_document() {
        let text = |line: &str| {
            let (_, resolution) = understand(&Invocation {
                program: "tapeline".into(),
                arguments: line.split_whitespace().map(Into::into).collect(),
                variable: &|_| None,
                resolver: |_| Vec::new(),
            });
            let mut refusals = resolution.refusals.into_iter();
            refusals.next().expect("a document").text
        };
        let json = text("capacity h -t 1 --json");
        let document: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(document["schema"], "tapeline-method/1");
        assert_eq!(document["method"], "capacity");
        assert_eq!(document["error"]["id"], "usage");
        assert_eq!(document["complete"], false);
        let why = document["error"]["text"].as_str().expect("a reason");
        assert!(why.contains("-t"), "{why}");
        let stream = text("mtu h --paralel 2 --json-stream");
        let line: serde_json::Value = serde_json::from_str(&stream).expect("one line");
        assert_eq!(line["event"], "end");
        assert!(text("rfc6349 h -t x --html f").starts_with("<!doctype html>"));
        // The self-test is no method.
        assert!(text("try -t x --json").contains("tapeline-report/1"));
    }

    #[test]
    fn every_document_that_was_asked_for_says_why() {
        use DocumentForm::{Html, Json, Stream};
        let file = |name: &str| Some(name.to_owned());
        assert_eq!(refused("-c h --paralel 4"), []);
        assert_eq!(refused("-c h --paralel 4 --json"), [(Json, None)]);
        assert_eq!(refused("-c h --json -o f -l x"), [(Json, file("f"))]);
        assert_eq!(
            refused("-c h --json=a --json-stream=b --csv=c --html d -P x"),
            [(Json, file("a")), (Stream, file("b")), (Html, file("d"))]
        );
        assert_eq!(refused("-c h --json --json-stream"), [(Json, None)]);
    }

    #[test]
    fn a_document_takes_the_place_of_an_older_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("run.json");
        std::fs::write(&file, "older").expect("a file");
        let document = |file: PathBuf| RefusalDocument {
            form: DocumentForm::Json,
            file: Some(file),
            role: Role::Client,
            text: "{}\n".to_owned(),
        };
        assert_eq!(write(&document(file.clone())), Ok(()));
        assert_eq!(std::fs::read_to_string(&file).expect("the file"), "{}\n");
        let nowhere = write(&document(folder.path().join("none/run.json")));
        let said = nowhere.expect_err("no folder").text;
        assert!(said.starts_with("error: cannot write to "), "{said}");
    }
}
