//! First stage: what was typed, in order, cut into options, values and words.
//!
//! Nothing is interpreted here beyond the table's names and arities. Faults are kept at
//! their place, because iperf 2 reports them and goes on.

use std::ffi::OsString;

use lexopt::Arg;
use tapeline_dialect::Personality;

use crate::options::{Arity, LongMatch, OptionSpec, find_long, find_short};

/// Where an option came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    CommandLine,
    Environment(&'static str),
    /// A file, which `spelled` names with the line.
    File,
}

/// An option with its value, as given.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) spec: &'static OptionSpec,
    /// `-l`, `--len`, `IPERF_LEN`.
    pub(crate) spelled: String,
    /// Present when the arity asks for it.
    pub(crate) value: Option<OsString>,
    pub(crate) origin: Origin,
    /// The value was attached with `=` to a letter (`-P=4`), which iperf 2 reads as `=4`.
    pub(crate) letter_with_equals: bool,
}

impl Given {
    /// The value as text; bytes that are no UTF-8 become replacement characters.
    pub(crate) fn text(&self) -> String {
        self.value
            .as_ref()
            .map_or_else(String::new, |value| value.to_string_lossy().into_owned())
    }

    /// `option -l` or `variable IPERF_LEN`, for messages.
    pub(crate) fn named(&self) -> String {
        match self.origin {
            Origin::CommandLine => format!("option {}", self.spelled),
            Origin::Environment(name) => format!("variable {name}"),
            Origin::File => self.spelled.clone(),
        }
    }
}

/// One piece of the command line.
#[derive(Clone, Debug)]
pub(crate) enum RawItem {
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

/// The command line, cut into pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawArgs {
    /// Options from a server's file, in the order of its lines.
    pub(crate) file: Vec<Given>,
    /// Options from environment variables, in the order of reading.
    pub(crate) environment: Vec<Given>,
    /// Pieces of the command line.
    pub(crate) line: Vec<RawItem>,
}

/// Cuts the words behind the program's name.
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    personality: Personality,
) -> Vec<RawItem> {
    let mut parser = lexopt::Parser::from_args(arguments);
    parser.set_short_equals(false);
    let mut items = Vec::new();
    loop {
        let token = match parser.next() {
            Ok(None) => return items,
            Ok(Some(Arg::Short(letter))) => Token::Letter(letter),
            Ok(Some(Arg::Long(name))) => Token::Name(name.to_owned()),
            Ok(Some(Arg::Value(word))) => Token::Word(word),
            Err(error) => {
                items.push(RawItem::Fault(SyntaxFault::UnknownName(error.to_string())));
                continue;
            }
        };
        items.push(match token {
            Token::Letter(letter) => read_letter(letter, &mut parser, personality),
            Token::Name(name) => read_name(&name, &mut parser, personality),
            Token::Word(word) => RawItem::Operand(word),
        });
    }
}

enum Token {
    Letter(char),
    Name(String),
    Word(OsString),
}

fn read_letter(letter: char, parser: &mut lexopt::Parser, personality: Personality) -> RawItem {
    let Some(spec) = find_short(letter, personality) else {
        return RawItem::Fault(SyntaxFault::UnknownLetter(letter));
    };
    let spelled = format!("-{letter}");
    if spec.arity != Arity::Required {
        return given(spec, spelled, None, false);
    }
    if let Some(attached) = parser.optional_value() {
        return match attached.to_str().and_then(|text| text.strip_prefix('=')) {
            Some(text) => given(spec, spelled, Some(text.into()), true),
            None => given(spec, spelled, Some(attached), false),
        };
    }
    match parser.value() {
        Ok(value) => given(spec, spelled, Some(value), false),
        Err(_) => RawItem::Fault(SyntaxFault::MissingValue(spelled)),
    }
}

fn read_name(name: &str, parser: &mut lexopt::Parser, personality: Personality) -> RawItem {
    let attached = parser.optional_value();
    let word = match &attached {
        Some(value) => format!("{name}={}", value.to_string_lossy()),
        None => name.to_owned(),
    };
    let (spec, whole_name) = match find_long(name, personality) {
        LongMatch::One(spec, whole_name) => (spec, whole_name),
        LongMatch::Ambiguous(candidates) => {
            return RawItem::Fault(SyntaxFault::Ambiguous { word, candidates });
        }
        LongMatch::Unknown => return RawItem::Fault(SyntaxFault::UnknownName(word)),
    };
    let spelled = format!("--{name}");
    match (spec.arity, attached) {
        (Arity::Switch, Some(_)) => RawItem::Fault(SyntaxFault::UnexpectedValue(whole_name)),
        (Arity::Required, None) => match parser.value() {
            Ok(value) => given(spec, spelled, Some(value), false),
            Err(_) => RawItem::Fault(SyntaxFault::MissingValue(spelled)),
        },
        (_, attached) => given(spec, spelled, attached, false),
    }
}

fn given(
    spec: &'static OptionSpec,
    spelled: String,
    value: Option<OsString>,
    letter_with_equals: bool,
) -> RawItem {
    RawItem::Option(Given {
        spec,
        spelled,
        value,
        origin: Origin::CommandLine,
        letter_with_equals,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces as short texts: `-t=5`, `word`, `!Fault`.
    fn pieces(line: &str) -> Vec<String> {
        let words = line
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(OsString::from);
        parse(words, Personality::Iperf2)
            .into_iter()
            .map(|item| match item {
                RawItem::Option(given) => match &given.value {
                    Some(value) => format!("{}={}", given.spelled, value.to_string_lossy()),
                    None => given.spelled,
                },
                RawItem::Operand(word) => word.to_string_lossy().into_owned(),
                RawItem::Fault(fault) => format!("!{fault:?}"),
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
            parse(["--", "-e"].map(OsString::from), Personality::Iperf2)[..],
            [RawItem::Operand(_)]
        ));
        assert_eq!(pieces("-"), ["-"]);
    }

    #[test]
    fn faults_keep_their_place() {
        assert_eq!(pieces("-q -u"), ["!UnknownLetter('q')", "-u"]);
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
