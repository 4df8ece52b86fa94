//! A line of these commands, cut.

use std::ffi::OsString;
use std::path::PathBuf;

use super::actions::{COMMANDS, actions};
use super::options::{Given, Id, Known, Spec, table};
use crate::cli::flows;
use crate::cli::options::history::default_file;
use crate::cli::parse::{Arity, Piece, SyntaxFault, cut, detached};
use crate::cli::values::{missing, nearest_of};
use crate::plan::Destination;

/// A line, cut.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) command: &'static str,
    pub(crate) options: Vec<Given>,
    pub(crate) words: Vec<OsString>,
    /// A word behind an option whose value belongs behind an equals sign, as a sentence.
    pub(crate) detached: Option<String>,
    /// What stands behind each `--`.
    pub(crate) tests: Vec<Vec<OsString>>,
}

impl Line {
    pub(crate) fn read(arguments: &[OsString]) -> Result<Self, String> {
        let mut parts = arguments.split(|word| word == "--");
        let own = parts.next().unwrap_or_default();
        let command = own.first().and_then(|word| word.to_str());
        let known = COMMANDS.iter().find(|(its, _)| Some(*its) == command);
        let Some((command, _)) = known else {
            return Err(missing(command.unwrap_or_default()));
        };
        let mut line = Self {
            command,
            options: Vec::new(),
            words: Vec::new(),
            detached: None,
            tests: parts.map(<[OsString]>::to_vec).collect(),
        };
        let mut bare: Option<String> = None;
        for piece in cut(own.iter().skip(1).cloned(), &Known(table(command))) {
            match piece {
                Piece::Option(given) => {
                    let optional = given.spec.arity == Arity::Optional && given.value.is_none();
                    bare = optional.then(|| given.spelled.clone());
                    line.options.push(given);
                }
                Piece::Operand(word) => {
                    let spelled = bare.take().map(|bare| detached(&bare, &word));
                    line.detached = line.detached.take().or(spelled);
                    line.words.push(word);
                }
                Piece::Fault(fault) => return Err(said(&fault, table(command))),
            }
        }
        Ok(line)
    }

    /// Takes the action of a command that has some, else the command itself.
    pub(crate) fn take_action(&mut self) -> Result<&'static str, String> {
        let command = self.command;
        let actions = actions(command);
        if actions.is_empty() {
            return Ok(command);
        }
        let words = self.texts();
        let typed = |count: usize| words[..count.min(words.len())].join(" ");
        // An action has one word or two.
        for count in [2, 1] {
            let typed = typed(count);
            let found = actions.iter().find(|(action, ..)| *action == typed);
            if let Some((action, ..)) = found {
                self.words.drain(..count.min(words.len()));
                return Ok(action);
            }
        }
        let Some(first) = words.first() else {
            if command == "history" {
                return Ok("list");
            }
            let mut names: Vec<&str> = actions
                .iter()
                .filter_map(|(action, ..)| action.split(' ').next())
                .collect();
            names.dedup();
            let names = names.join(", ");
            return Err(format!(
                "usage: tapeline {command} ACTION: {names} (tapeline {command} --help)"
            ));
        };
        let of_first = format!("{first} ");
        let group = actions
            .iter()
            .filter(|(action, ..)| action.starts_with(&of_first));
        let group: Vec<String> = group
            .map(|(action, words, _)| format!("{action} {words}").trim_end().to_owned())
            .collect();
        if !group.is_empty() && words.len() == 1 {
            let group = group.join(" | ");
            return Err(format!("usage: tapeline {command} {group}"));
        }
        let typed = typed(if group.is_empty() { 1 } else { 2 });
        let names = actions.iter().map(|(action, ..)| match group.is_empty() {
            true => action.split(' ').next().unwrap_or(action),
            false => action,
        });
        let hint = nearest_of(&typed, names)
            .map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
        Err(format!("{command} has no action \"{typed}\"{hint}"))
    }

    /// An action as its command line begins.
    pub(crate) fn named(&self, action: &str) -> String {
        match actions(self.command).is_empty() {
            true => self.command.to_owned(),
            false => format!("{} {action}", self.command),
        }
    }

    /// How an action is used.
    pub(crate) fn usage(&self, action: &str) -> String {
        let mut all = actions(self.command).iter();
        let words = all.find(|(its, ..)| *its == action);
        let words = words.map_or("", |(_, words, _)| words);
        format!("usage: tapeline {} {words}", self.named(action))
            .trim_end()
            .to_owned()
    }

    pub(crate) fn option(&self, id: Id) -> Option<&Given> {
        self.options.iter().rfind(|given| given.spec.id == id)
    }

    pub(crate) fn has(&self, id: Id) -> bool {
        self.option(id).is_some()
    }

    pub(crate) fn path(&self, id: Id) -> Option<PathBuf> {
        let value = self.option(id)?.value.as_ref()?;
        Some(PathBuf::from(value))
    }

    /// Where a form goes; nowhere unless it is wanted.
    pub(crate) fn destination(&self, id: Id) -> Option<Destination> {
        self.option(id)?;
        Some(self.path(id).map_or(Destination::Stdout, Destination::File))
    }

    /// A page needs a file: standard output has the text.
    pub(crate) fn page(&self) -> Result<Option<PathBuf>, String> {
        match self.destination(Id::Html) {
            None => Ok(None),
            Some(Destination::File(file)) => Ok(Some(file)),
            Some(Destination::Stdout) => Err("--html needs a file: --html=FILE".to_owned()),
        }
    }

    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.path(Id::History).or_else(default_file)
    }

    /// The values of an option that may be repeated.
    #[cfg(any(feature = "fleet", feature = "web"))]
    pub(crate) fn all(&self, id: Id) -> impl Iterator<Item = String> {
        let given = self.options.iter().filter(move |given| given.spec.id == id);
        given.map(Given::text)
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        let words = self.words.iter();
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    pub(crate) fn number(&self, id: Id, most: u32) -> Result<Option<u32>, String> {
        let Some(given) = self.option(id) else {
            return Ok(None);
        };
        let text = given.text();
        let number = text
            .parse()
            .ok()
            .filter(|number| (1..=most).contains(number));
        number.map(Some).ok_or_else(|| {
            format!(
                "{} needs a number from 1 to {most}, not \"{text}\"",
                given.spelled
            )
        })
    }

    pub(crate) fn seed(&self) -> Result<Option<u64>, String> {
        let seed = self.option(Id::Seed).map(|given| {
            let seed = given.text().parse();
            seed.map_err(|_| format!("--seed needs a whole number, not \"{}\"", given.text()))
        });
        seed.transpose()
    }
}

/// Standard output has one form.
#[cfg(feature = "mesh")]
pub(crate) fn one_on_standard_output(
    json: &Option<Destination>,
    csv: &Option<Destination>,
) -> Result<(), String> {
    match (json, csv) {
        (Some(Destination::Stdout), Some(Destination::Stdout)) => {
            Err("--json and --csv: one of them needs a file".to_owned())
        }
        _ => Ok(()),
    }
}

/// A test's words: each on its own, or all of them in one.
pub(crate) fn test(words: &[OsString]) -> Result<Vec<OsString>, String> {
    let words: Vec<OsString> = match words {
        [one] => {
            let text = one.to_string_lossy();
            let cut = flows::words(&text).ok_or("a quotation mark is not closed")?;
            cut.into_iter().map(OsString::from).collect()
        }
        several => several.to_vec(),
    };
    if words.is_empty() {
        return Err("a test needs its options behind --".to_owned());
    }
    Ok(words)
}

fn said(fault: &SyntaxFault, table: &'static [Spec]) -> String {
    match fault {
        SyntaxFault::UnknownLetter(letter) => format!("unknown option -{letter}"),
        SyntaxFault::UnknownName(word) => {
            let name = word.split('=').next().unwrap_or_default();
            let names = table.iter().map(|spec| spec.name);
            match nearest_of(name, names) {
                Some(near) => format!("unknown option --{name} (did you mean --{near}?)"),
                None => format!("unknown option --{name}"),
            }
        }
        SyntaxFault::Ambiguous { word, candidates } => {
            format!("--{word} could be --{}", candidates.join(", --"))
        }
        SyntaxFault::MissingValue(spelled) => format!("{spelled} needs a value"),
        SyntaxFault::UnexpectedValue(name) => format!("--{name} takes no value"),
    }
}
