//! A form as a command line.

use std::ffi::OsString;

use tapeline_dialect::Personality;

use super::model::{Form, FormJob, HIDDEN_KEY, is_key};
use super::spelling::{Spelling, shown, sound};
use super::to_iperf3;
use super::translation::{to_iperf, with_port_apart};
use crate::cli::environment;
use crate::cli::invocation::understand;
use crate::cli::options::table::find_long;
use crate::cli::parse::NameMatch;
use crate::cli::spec::{OptionId as Id, OptionSpec};
use crate::identity::quoted;
use crate::plan::{CommandName, Invocation};

/// The command that does the form's job under a name. Values may be wrong, where that name has a place for
/// them; [`super::findings`] tells.
///
/// # Errors
/// A sentence that says what the name cannot do.
pub(crate) fn line(form: &Form, name: CommandName) -> Result<String, String> {
    // The key is never shown, not even in what is said of it.
    let hidden = form.with_key(|_| HIDDEN_KEY.to_owned());
    let shown = words(&hidden, name)?;
    if name != CommandName::Tapeline {
        let neutral = words(&form.with_neutral_key(), name)?;
        possible(form, name, neutral)?;
    }
    let mut line = String::new();
    if name == CommandName::Tapeline && has_key(form) {
        line = format!("{}={HIDDEN_KEY} ", environment::KEY);
    }
    line.push_str(name.word());
    for word in shown {
        line.push(' ');
        line.push_str(&quoted(&word));
    }
    Ok(line)
}

fn has_key(form: &Form) -> bool {
    let mut options = form.options().iter();
    options.any(|given| is_key(given) && given.value.is_some())
}

/// The words behind the name.
fn words(form: &Form, name: CommandName) -> Result<Vec<String>, String> {
    let spellings = match name {
        CommandName::Tapeline => native(form, Key::InEnvironment)?,
        CommandName::Iperf => iperf(&with_port_apart(form))?,
        CommandName::Iperf3 => to_iperf3::spellings(form)?,
    };
    let server = (form.job() == FormJob::Server).then(|| "-s".to_owned());
    let options = spellings.into_iter().flat_map(Spelling::words);
    Ok(server.into_iter().chain(options).collect())
}

/// Where a permit key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Among the options.
    Spelled,
    /// Where others do not see it.
    InEnvironment,
}

/// tapeline's own spelling.
pub(crate) fn native(form: &Form, key: Key) -> Result<Vec<Spelling>, String> {
    let mut spellings = Vec::new();
    for (spec, given) in form.rows()? {
        sound(spec, given)?;
        let is_hidden = is_key(given) && given.value.is_some() && key == Key::InEnvironment;
        if !is_hidden {
            spellings.push(Spelling::new(spec, given.value.clone()));
        }
    }
    Ok(spellings)
}

fn iperf(form: &Form) -> Result<Vec<Spelling>, String> {
    let mut spellings = Vec::new();
    for (spec, given) in form.rows()? {
        sound(spec, given)?;
        if spec.id == Id::Peer && given.value.as_deref() != Some("iperf3") {
            continue;
        }
        if (form.job(), spec.id) == (FormJob::Server, Id::Client) {
            return Err("iperf has no --client beside --server".to_owned());
        }
        if !known_to_iperf(spec) {
            return Err(format!("iperf has no {}", shown(spec)));
        }
        match &given.value {
            None => spellings.push(Spelling::new(spec, None)),
            Some(value) => {
                let value = to_iperf(spec.id, value);
                spellings.extend(value.map(|value| Spelling::new(spec, Some(value))));
            }
        }
    }
    Ok(spellings)
}

/// Whether iperf 2.2.1 has it: names that only manuals mention do not count.
fn known_to_iperf(spec: &OptionSpec) -> bool {
    let named = !spec.long.is_empty()
        && matches!(find_long(spec.long, Personality::Iperf2), NameMatch::One(found, _) if found.id == spec.id);
    spec.personalities.include(Personality::Iperf2) && (spec.short.is_some() || named)
}

/// Whether the program under that name would do it.
fn possible(form: &Form, name: CommandName, words: Vec<String>) -> Result<(), String> {
    if form.job() == FormJob::Client && !form.has(Id::Client) {
        return Ok(());
    }
    let (_, resolution) = understand(&Invocation {
        program: name.word().into(),
        arguments: words.into_iter().map(OsString::from).collect(),
        variable: &|_| None,
        resolver: |_| Vec::new(),
    });
    if resolution.outcome.is_ok() {
        return Ok(());
    }
    let mut said = resolution.messages.iter().map(|message| {
        let text = message.text.lines().next().unwrap_or_default();
        let heads = ["iperf3: parameter error - ", "iperf3: error - ", "ERROR: "];
        let bare = heads.iter().find_map(|head| text.strip_prefix(head));
        bare.unwrap_or(text).trim_end_matches([':', ' ']).to_owned()
    });
    let last = said.next_back().unwrap_or_default();
    Err(format!("{} refuses it: {last}", name.word()))
}
