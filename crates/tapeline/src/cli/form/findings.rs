//! What the command line says of a form.

use std::ffi::OsString;
use std::net::{Ipv4Addr, Ipv6Addr};

use tapeline_dialect::Personality;
use tapeline_remote::GivenOption;

use super::line::{self, Key};
use super::model::{Form, FormJob, is_key};
use super::spelling::Spelling;
use crate::cli::invocation::understand;
use crate::cli::options::table::{find_long, find_short};
use crate::cli::order;
use crate::cli::parse::NameMatch;
use crate::cli::spec::{OptionId as Id, OptionSpec};
use crate::message::{CliMessage, HINT};
use crate::plan::{CommandName, Invocation};

/// A sentence, and the option it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Its identifier.
    pub(crate) option: Option<String>,
    pub(crate) text: String,
}

/// What is to be said of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// It cannot be started.
    pub(crate) faults: Vec<Finding>,
    /// It can, but.
    pub(crate) notes: Vec<Finding>,
}

const NO_HOST: &str = "a client needs a host";

/// The words of the command line about the form. Nothing of this host is read.
pub(crate) fn findings(form: &Form) -> Findings {
    let mut found = Findings::default();
    if form.options().len() > order::MAX_OPTIONS {
        let text = format!("more than {} options", order::MAX_OPTIONS);
        found.faults.push(Finding { option: None, text });
        return found;
    }
    for given in form.options() {
        if let Err(text) = form.word(given) {
            // A refusal quotes the value.
            let text = match is_key(given) {
                true => "--permit-key: no value of one short line".to_owned(),
                false => text,
            };
            let option = Some(given.name.clone());
            found.faults.push(Finding { option, text });
        }
    }
    let hosts = form.options().iter().filter(|given| is(given, Id::Client));
    let hosts = hosts.count();
    if form.job() == FormJob::Client && hosts != 1 {
        let text = match hosts {
            0 => NO_HOST,
            _ => "a client has one host",
        };
        found.faults.push(Finding {
            option: Some("client".to_owned()),
            text: text.to_owned(),
        });
    }
    if hosts > 1 || found.faults.iter().any(|fault| fault.text != NO_HOST) {
        return found;
    }
    // As the shown line has them, but for the key, which no text shall have.
    let words = line::native(&form.with_neutral_key(), Key::Spelled);
    let mut words: Vec<String> = match words {
        Ok(spellings) => spellings.into_iter().flat_map(Spelling::words).collect(),
        Err(_) => return found,
    };
    match form.job() {
        FormJob::Server => words.push("-s".to_owned()),
        // What else there is to say does not wait for the host.
        FormJob::Client if hosts == 0 => words.push("--client=host".to_owned()),
        FormJob::Client => {}
    }
    said(form, words, &mut found);
    found
}

fn said(form: &Form, words: Vec<String>, found: &mut Findings) {
    let (_, resolution) = understand(&Invocation {
        program: CommandName::Tapeline.word().into(),
        arguments: words.into_iter().map(OsString::from).collect(),
        variable: &|_| None,
        // Names are not looked up: any may have an address.
        resolver: |_| vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
    });
    for CliMessage { text, .. } in &resolution.messages {
        let lines = text.lines().filter(|line| !line.starts_with(HINT));
        let text = lines.collect::<Vec<_>>().join(" ");
        let (text, is_error) = match text.strip_prefix("error: ") {
            Some(text) => (text, true),
            None => {
                let heads = ["warning: ", "note: "];
                let bare = heads.iter().find_map(|head| text.strip_prefix(head));
                (bare.unwrap_or(&text), false)
            }
        };
        let finding = Finding {
            option: option_of(text, form),
            text: text.to_owned(),
        };
        match is_error {
            true => found.faults.push(finding),
            false => found.notes.push(finding),
        }
    }
    if resolution.outcome.is_err() && found.faults.is_empty() {
        found.faults.push(Finding {
            option: None,
            text: "the command line refuses it".to_owned(),
        });
    }
}

/// The first option of the form that the sentence names, or else the first option.
fn option_of(text: &str, form: &Form) -> Option<String> {
    let named: Vec<&OptionSpec> = text.split_whitespace().filter_map(option_named).collect();
    let given = |spec: &&&OptionSpec| form.has(spec.id);
    let spec = named.iter().find(given).or(named.first())?;
    Some(order::identifier(spec))
}

fn option_named(word: &str) -> Option<&'static OptionSpec> {
    let word = word.trim_matches([':', ',', ';', '.', '(', ')', '"']);
    let word = word.split('=').next().unwrap_or_default();
    let personality = Personality::Native;
    match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(name), _) if !name.is_empty() => match find_long(name, personality) {
            NameMatch::One(spec, _) => Some(spec),
            _ => None,
        },
        (None, Some(letters)) if letters.chars().count() == 1 => {
            find_short(letters.chars().next()?, personality)
        }
        _ => None,
    }
}

fn is(given: &GivenOption, id: Id) -> bool {
    order::find(&given.name).is_ok_and(|spec| spec.id == id)
}
