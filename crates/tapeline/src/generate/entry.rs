//! An option as documents show it, from either table.

use tapeline_dialect::Personality;
use tapeline_method::MethodPlan;

use super::candidates::{Candidates, candidates, candidates_iperf3};
use crate::cli::iperf3::options;
use crate::cli::options::table::usable;
use crate::cli::parse::Arity;
use crate::cli::spec::{Methods, OptionSpec, Sides};
use crate::plan::CommandName;

/// An option of a name.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) letter: Option<char>,
    /// Long names, with their dashes.
    pub(crate) words: Vec<String>,
    pub(crate) arity: Arity,
    pub(crate) sides: Sides,
    pub(crate) methods: Methods,
    /// What the value is called.
    pub(crate) value: &'static str,
    /// One line.
    pub(crate) help: String,
    pub(crate) candidates: Candidates,
}

impl Entry {
    /// Every spelling: `-l`, `--len`, and the second names.
    pub(crate) fn spellings(&self) -> Vec<String> {
        let letter = self.letter.map(|letter| format!("-{letter}"));
        letter
            .into_iter()
            .chain(self.words.iter().cloned())
            .collect()
    }
}

/// Words of the methods that are no job besides, as try is.
pub(crate) fn methods() -> impl Iterator<Item = &'static str> {
    let words = MethodPlan::WORDS.iter().map(|(word, _)| *word);
    words.filter(|word| *word != "try")
}

/// A command with actions or options of its own, as those about results that stay.
#[derive(Clone, Debug)]
pub(crate) struct ResultCommand {
    pub(crate) word: &'static str,
    pub(crate) about: &'static str,
    /// Words that may follow, with what they need and do.
    pub(crate) actions: &'static [(&'static str, &'static str, &'static str)],
    /// Names of options with their dashes, of values, and what they do.
    pub(crate) options: Vec<(String, &'static str, &'static str)>,
}

impl ResultCommand {
    /// The first words of its actions, each once.
    pub(crate) fn action_words(&self) -> Vec<&'static str> {
        let first = |(action, ..): &(&'static str, _, _)| action.split(' ').next();
        let mut words: Vec<&str> = self.actions.iter().filter_map(first).collect();
        words.dedup();
        words
    }
}

/// The commands about results that stay; none in a build without them.
#[cfg(not(feature = "history"))]
pub(crate) fn result_commands() -> Vec<ResultCommand> {
    Vec::new()
}

/// The commands about results that stay.
#[cfg(feature = "history")]
pub(crate) fn result_commands() -> Vec<ResultCommand> {
    use crate::cli::commands::actions::{COMMANDS, actions};
    use crate::cli::commands::options::{Spec, table};

    let command = |(word, about): (&'static str, &'static str)| {
        let actions = actions(word);
        let applies = |spec: &&Spec| match actions.is_empty() {
            true => spec.is_of(word),
            false => actions.iter().any(|(action, ..)| spec.is_of(action)),
        };
        let options = table(word).iter().filter(applies);
        ResultCommand {
            word,
            about,
            actions,
            options: options
                .map(|spec| (format!("--{}", spec.name), spec.value, spec.help))
                .collect(),
        }
    };
    COMMANDS.iter().copied().map(command).collect()
}

/// The options that can be used under a name, in the order of the help.
pub(crate) fn entries(name: CommandName) -> Vec<Entry> {
    match name {
        CommandName::Tapeline => of_table(Personality::Native),
        CommandName::Iperf => of_table(Personality::Iperf2),
        CommandName::Iperf3 => options::listed().map(Entry::from).collect(),
    }
}

fn of_table(personality: Personality) -> Vec<Entry> {
    let entry = |spec: &OptionSpec| {
        let names = [spec.long_name(), spec.alias].into_iter().flatten();
        Entry {
            letter: spec.short,
            words: names.map(|name| format!("--{name}")).collect(),
            arity: spec.arity,
            sides: spec.sides,
            methods: spec.methods,
            value: spec.value_name,
            help: spec.words(personality).0.to_owned(),
            candidates: candidates(spec),
        }
    };
    usable(personality).map(entry).collect()
}

impl From<&options::Spec> for Entry {
    fn from(spec: &options::Spec) -> Self {
        Self {
            letter: spec.letter,
            words: spec.names.iter().map(|name| format!("--{name}")).collect(),
            arity: spec.arity,
            sides: match spec.end {
                options::End::Both => Sides::BOTH,
                options::End::Client => Sides::CLIENT,
                options::End::Server => Sides::SERVER,
            },
            methods: Methods::None,
            value: spec.value,
            help: spec.help.replace('\n', " "),
            candidates: candidates_iperf3(spec),
        }
    }
}
