//! What a typed or pasted command line means.

use std::ffi::OsString;

use tapeline_dialect::Personality;
use tapeline_remote::GivenOption;

use super::model::{Form, FormJob};
use super::translation::from_iperf;
use super::{from_iperf3, shell};
use crate::cli::environment;
use crate::cli::options::table::KnownTo;
use crate::cli::order;
use crate::cli::parse::{self, SyntaxFault};
use crate::cli::resolve::complaint;
use crate::cli::spec::{Given, OptionId as Id, RawItem, Remote};
use crate::plan::CommandName;

/// The form that a line of tapeline, iperf or iperf3 fills.
///
/// # Errors
/// A sentence that says what has no place in the form.
pub(crate) fn read(line: &str) -> Result<Form, String> {
    let line = line.trim_start();
    // What a terminal shows before a command.
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let mut words = shell::words(line)?.into_iter();
    let mut key = None;
    let program = loop {
        let word = words.next().ok_or("there is no command")?;
        match word.split_once('=') {
            Some((environment::KEY, value)) => key = Some(value.to_owned()),
            Some((name, _)) if is_variable(name) => {
                return Err(format!("the variable {name} has no place in the form"));
            }
            _ => break word,
        }
    };
    let mut words: Vec<String> = words.collect();
    let name = match chosen_name(&mut words)? {
        Some(name) => name,
        None => called(&program).ok_or("a command begins with tapeline, iperf or iperf3")?,
    };
    let words = words.into_iter().map(OsString::from);
    let form = match name {
        CommandName::Tapeline => table(words, Personality::Native)?,
        CommandName::Iperf => table(words, Personality::Iperf2)?,
        CommandName::Iperf3 => from_iperf3::form(words)?,
    };
    match key {
        // An option counts more than the variable, which only tapeline reads.
        Some(key) if name == CommandName::Tapeline && !form.has(Id::PermitKey) => {
            let mut options = form.options().to_vec();
            options.push(GivenOption::new("permit-key", &key));
            Ok(Form::new(form.job(), options))
        }
        _ => Ok(form),
    }
}

fn is_variable(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.is_empty() && name.chars().all(plain)
}

/// That of `--as NAME`, which is taken away.
fn chosen_name(words: &mut Vec<String>) -> Result<Option<CommandName>, String> {
    let name = match words.first().map(String::as_str) {
        Some("--as") => {
            let name = words.get(1).cloned().unwrap_or_default();
            words.drain(..words.len().min(2));
            name
        }
        Some(word) => match word.strip_prefix("--as=") {
            Some(name) => {
                let name = name.to_owned();
                words.remove(0);
                name
            }
            None => return Ok(None),
        },
        None => return Ok(None),
    };
    let known = CommandName::ALL
        .into_iter()
        .find(|known| known.word() == name);
    known
        .map(Some)
        .ok_or_else(|| "--as: that is none of tapeline, iperf, iperf3".to_owned())
}

/// By the file's name, perhaps with a version behind it: `/usr/bin/iperf3`, `iperf-2.2.1`.
fn called(program: &str) -> Option<CommandName> {
    let file = program.rsplit('/').next().unwrap_or_default();
    let file = file.strip_suffix(".exe").unwrap_or(file);
    match file.split_once('-').unwrap_or((file, "")) {
        ("tapeline", _) => Some(CommandName::Tapeline),
        ("iperf3", _) => Some(CommandName::Iperf3),
        ("iperf", version) if version.starts_with('3') => Some(CommandName::Iperf3),
        ("iperf" | "iperf2", _) => Some(CommandName::Iperf),
        _ => None,
    }
}

/// A line whose options are the table's.
fn table(words: impl Iterator<Item = OsString>, personality: Personality) -> Result<Form, String> {
    let is_iperf = personality == Personality::Iperf2;
    let mut jobs = Vec::new();
    let mut options: Vec<Given> = Vec::new();
    for item in parse::cut(words, &KnownTo(personality)) {
        match item {
            RawItem::Fault(fault) => return Err(complaint(&without_value(fault))),
            // iperf leaves them aside.
            RawItem::Operand(_) if is_iperf => {}
            // Which word it is stays unsaid: it may be a key that lacks its sign.
            RawItem::Operand(_) => {
                return Err(
                    "a word that is no option: the form is for tests (-c HOST) and servers \
                            (-s), not for tapeline's other commands"
                        .to_owned(),
                );
            }
            RawItem::Option(given) => match given.spec.id {
                Id::Server => jobs.push(FormJob::Server),
                // iperf's server leaves it aside.
                Id::Client if is_iperf && jobs.first() == Some(&FormJob::Server) => {}
                Id::Client => {
                    jobs.push(FormJob::Client);
                    options.push(given);
                }
                _ => options.push(given),
            },
        }
    }
    let job = match (jobs.first(), jobs.contains(&FormJob::Server)) {
        (None, _) => return Err("the line has neither -c HOST nor -s".to_owned()),
        (Some(first), true) if is_iperf => *first,
        (_, true) => FormJob::Server,
        (_, false) => FormJob::Client,
    };
    let options = last_words(options);
    let options = options.into_iter().map(|given| option(&given, is_iperf));
    Ok(Form::new(job, options.collect::<Result<_, String>>()?))
}

fn option(given: &Given, is_iperf: bool) -> Result<GivenOption, String> {
    let spelled = &given.spelled;
    let name = order::identifier(given.spec);
    if order::find(&name).is_err() {
        return Err(format!(
            "{spelled} has no place in the form: tapeline has no such option"
        ));
    }
    if let Remote::No(why) = given.spec.remote {
        return Err(format!("{spelled} cannot be given here: {why}"));
    }
    let value = given.value.as_ref().map(|_| given.text());
    let value = value.map(|value| match is_iperf {
        true => from_iperf(given.spec.id, &value),
        false => value,
    });
    Ok(GivenOption { name, value })
}

/// Of options that replace each other the last one.
fn last_words(options: Vec<Given>) -> Vec<Given> {
    let mut kept: Vec<Given> = Vec::new();
    for given in options {
        let id = given.spec.id;
        match id {
            Id::Limit | Id::Flow => {}
            // Their letters add up.
            Id::ReportExclude => {
                let before = kept.iter_mut().find(|one| one.spec.id == id);
                if let Some(before) = before {
                    before.value = Some((before.text() + &given.text()).into());
                    continue;
                }
            }
            _ => kept.retain(|one| place(one.spec.id) != place(id)),
        }
        kept.push(given);
    }
    kept
}

/// One option for all that say the same thing differently.
fn place(id: Id) -> Id {
    match id {
        Id::Num => Id::Time,
        Id::Dscp => Id::Tos,
        Id::TcpCca => Id::TcpCongestion,
        Id::Tradeoff => Id::DualTest,
        Id::OneAtATime => Id::MaxTests,
        other => other,
    }
}

/// A fault names its option, not the value, which may be a key.
fn without_value(fault: SyntaxFault) -> SyntaxFault {
    let bare = |word: String| word.split('=').next().unwrap_or_default().to_owned();
    match fault {
        SyntaxFault::UnknownName(word) => SyntaxFault::UnknownName(bare(word)),
        SyntaxFault::Ambiguous { word, candidates } => SyntaxFault::Ambiguous {
            word: bare(word),
            candidates,
        },
        other => other,
    }
}
