//! First stage: what was typed, in order, cut into options, values and words as `getopt_long(3)`
//! cuts them.
//!
//! Nothing is interpreted here beyond a table's names and arities. Faults are kept at their place,
//! because iperf 2 reports them and goes on.

use std::ffi::{OsStr, OsString};

use lexopt::Arg;

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arity {
    /// No value.
    Switch,
    /// A value, attached or in the next word.
    Required,
    /// A value only behind `=`.
    Optional,
}

/// What a long name, perhaps abbreviated, means in a table.
#[derive(Clone, Debug)]
pub(crate) enum NameMatch<Spec: 'static> {
    /// One option; its whole name is given (an option may have two).
    One(&'static Spec, &'static str),
    /// The beginning of several names.
    Ambiguous(Vec<&'static str>),
    /// No name begins so.
    Unknown,
}

/// A table of options.
pub(crate) trait Table {
    /// Its row.
    type Spec: 'static;
    /// An option with its value.
    type Given;

    /// The option with this letter.
    fn by_letter(&self, letter: char) -> Option<&'static Self::Spec>;

    /// The option with this name, or with the only name that begins so.
    fn by_name(&self, typed: &str) -> NameMatch<Self::Spec>;

    /// Whether the option takes a value.
    fn arity(&self, spec: &Self::Spec) -> Arity;

    /// The option as it was typed.
    fn given(&self, spec: &'static Self::Spec, typed: Typed) -> Self::Given;
}

/// How an option was typed.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    /// `-l`, `--len`.
    pub(crate) spelled: String,
    /// Present when the arity asks for it.
    pub(crate) value: Option<OsString>,
    /// The value stood in the word of its letter (`-P4`, `-P=4`).
    pub(crate) in_word_of_letter: bool,
}

/// Says of a word behind an option with an optional value how it becomes that value.
pub(crate) fn detached(spelled: &str, word: &OsStr) -> String {
    let word = word.to_string_lossy();
    format!("the value of {spelled} stands behind an equals sign: {spelled}={word}")
}

/// One piece of the command line.
#[derive(Clone, Debug)]
pub(crate) enum Piece<Given> {
    /// A known option.
    Option(Given),
    /// A word that is no option.
    Operand(OsString),
    /// Something that is no correct option.
    Fault(SyntaxFault),
}

/// What is wrong with a piece of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SyntaxFault {
    UnknownLetter(char),
    /// The whole word behind `--`, with its value.
    UnknownName(String),
    Ambiguous {
        word: String,
        candidates: Vec<&'static str>,
    },
    /// `-b` or `--bandwidth`, as typed.
    MissingValue(String),
    /// The whole name of a switch that was given a value.
    UnexpectedValue(&'static str),
}

/// Cuts the words behind the program's name.
pub(crate) fn cut<T: Table>(
    arguments: impl IntoIterator<Item = OsString>,
    table: &T,
) -> Vec<Piece<T::Given>> {
    let mut parser = lexopt::Parser::from_args(arguments);
    parser.set_short_equals(false);
    let mut pieces = Vec::new();
    loop {
        pieces.push(match parser.next() {
            Ok(None) => return pieces,
            Ok(Some(Arg::Short(letter))) => read_letter(letter, &mut parser, table),
            Ok(Some(Arg::Long(name))) => {
                let name = name.to_owned();
                read_name(&name, &mut parser, table)
            }
            Ok(Some(Arg::Value(word))) => Piece::Operand(word),
            Err(error) => Piece::Fault(SyntaxFault::UnknownName(error.to_string())),
        });
    }
}

fn read_letter<T: Table>(letter: char, parser: &mut lexopt::Parser, table: &T) -> Piece<T::Given> {
    let Some(spec) = table.by_letter(letter) else {
        return Piece::Fault(SyntaxFault::UnknownLetter(letter));
    };
    let spelled = format!("-{letter}");
    let mut typed = Typed {
        spelled,
        value: None,
        in_word_of_letter: false,
    };
    // A letter's value is not optional to getopt: `-d4` is `-d -4`.
    if table.arity(spec) == Arity::Required {
        typed.value = parser.optional_value();
        typed.in_word_of_letter = typed.value.is_some();
        if typed.value.is_none() {
            match parser.value() {
                Ok(value) => typed.value = Some(value),
                Err(_) => return Piece::Fault(SyntaxFault::MissingValue(typed.spelled)),
            }
        }
    }
    Piece::Option(table.given(spec, typed))
}

fn read_name<T: Table>(name: &str, parser: &mut lexopt::Parser, table: &T) -> Piece<T::Given> {
    let attached = parser.optional_value();
    let word = match &attached {
        Some(value) => format!("{name}={}", value.to_string_lossy()),
        None => name.to_owned(),
    };
    let (spec, whole_name) = match table.by_name(name) {
        NameMatch::One(spec, whole_name) => (spec, whole_name),
        NameMatch::Ambiguous(candidates) => {
            return Piece::Fault(SyntaxFault::Ambiguous { word, candidates });
        }
        NameMatch::Unknown => return Piece::Fault(SyntaxFault::UnknownName(word)),
    };
    let spelled = format!("--{name}");
    let value = match (table.arity(spec), attached) {
        (Arity::Switch, Some(_)) => {
            return Piece::Fault(SyntaxFault::UnexpectedValue(whole_name));
        }
        (Arity::Required, None) => match parser.value() {
            Ok(value) => Some(value),
            Err(_) => return Piece::Fault(SyntaxFault::MissingValue(spelled)),
        },
        (_, attached) => attached,
    };
    let typed = Typed {
        spelled,
        value,
        in_word_of_letter: false,
    };
    Piece::Option(table.given(spec, typed))
}

#[cfg(test)]
mod tests {
    use tapeline_dialect::Personality;

    use super::*;
    use crate::cli::options::table::KnownTo;

    /// The pieces as short texts: `-t=5`, `word`, `!Fault`.
    fn pieces(line: &str) -> Vec<String> {
        let words = line
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(OsString::from);
        cut(words, &KnownTo(Personality::Iperf2))
            .into_iter()
            .map(|item| match item {
                Piece::Option(given) => match &given.value {
                    Some(value) => format!("{}={}", given.spelled, value.to_string_lossy()),
                    None => given.spelled,
                },
                Piece::Operand(word) => word.to_string_lossy().into_owned(),
                Piece::Fault(fault) => format!("!{fault:?}"),
            })
            .collect()
    }

    #[test]
    fn letters_bundle_and_values_attach() {
        assert_eq!(pieces("-ue"), ["-u", "-e"]);
        assert_eq!(pieces("-b10m -P4"), ["-b=10m", "-P=4"]);
        assert_eq!(pieces("-uc host"), ["-u", "-c=host"]);
        assert_eq!(pieces("-ei1"), ["-e", "-i=1"]);
        assert_eq!(pieces("-P=4"), ["-P=4"]);
    }

    #[test]
    fn a_required_value_swallows_the_next_word() {
        assert_eq!(pieces("-t -1"), ["-t=-1"]);
        assert_eq!(pieces("-c -u"), ["-c=-u"]);
        assert_eq!(pieces("--parallel --udp"), ["--parallel=--udp"]);
        assert_eq!(pieces("-c --"), ["-c=--"]);
        assert_eq!(pieces("--port= x"), ["--port=", "x"]);
    }

    #[test]
    fn an_optional_value_comes_behind_equals_only() {
        assert_eq!(pieces("--bounceback 5"), ["--bounceback", "5"]);
        assert_eq!(pieces("--bounceback=5"), ["--bounceback=5"]);
        assert_eq!(pieces("--hist=1m,10"), ["--hist=1m,10"]);
    }

    #[test]
    fn options_permute_around_words_until_the_double_dash() {
        assert_eq!(pieces("h -c x -u"), ["h", "-c=x", "-u"]);
        assert_eq!(pieces("-u -- -e"), ["-u", "-e"]);
        assert!(matches!(
            cut(
                ["--", "-e"].map(OsString::from),
                &KnownTo(Personality::Iperf2)
            )[..],
            [Piece::Operand(_)]
        ));
        assert_eq!(pieces("-"), ["-"]);
    }

    #[test]
    fn faults_keep_their_place() {
        assert_eq!(pieces("-ß -u"), ["!UnknownLetter('ß')", "-u"]);
        assert_eq!(pieces("--nope=3"), ["!UnknownName(\"nope=3\")"]);
        assert_eq!(pieces("-c"), ["!MissingValue(\"-c\")"]);
        assert_eq!(pieces("--cli"), ["!MissingValue(\"--cli\")"]);
        assert_eq!(
            pieces("--enh=1 -u"),
            ["!UnexpectedValue(\"enhanced\")", "-u"]
        );
        assert_eq!(pieces("-e=1"), ["-e", "!UnknownLetter('=')", "-1"]);
        assert!(pieces("--tcp")[0].starts_with("!Ambiguous"));
    }
}
