//! Which runs: `r42`, `r42..r57`, `s14`, `last`, `last:10`, `tag:release=2.1`, `baseline:main`, or
//! a file; several are joined with `+`.

use std::fmt;
use std::path::PathBuf;

use crate::id::{RunId, SeriesId};

/// Some runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// One of the history.
    Run(RunId),
    /// All from one to another, both included.
    Runs(RunId, RunId),
    /// All of a series.
    Series(SeriesId),
    /// The latest of the history.
    Last(u32),
    /// Those with a tag, and of any value where none is given.
    Tag(String, Option<String>),
    /// Those that a baseline names.
    Baseline(String),
    /// Those of a file that is not the history.
    File(PathBuf),
}

/// Several of them, as they were typed: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(Vec<Selector>);

/// A word that names no runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no runs: use r42, r42..r57, s14, last:10, tag:key=value, baseline:NAME or a file"
)]
pub struct SelectorError(String);

impl Selection {
    /// Reads a word. Whatever begins like none of the others is a file.
    ///
    /// # Errors
    /// It names nothing.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let bad = || SelectorError(text.to_owned());
        let parts = text
            .split('+')
            .map(|part| Selector::parse(part).ok_or_else(bad));
        parts.collect::<Result<_, _>>().map(Self)
    }

    /// Its parts.
    #[must_use]
    pub fn parts(&self) -> &[Selector] {
        &self.0
    }
}

impl From<Selector> for Selection {
    fn from(selector: Selector) -> Self {
        Self(vec![selector])
    }
}

impl Selector {
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        if text == "last" {
            return Some(Self::Last(1));
        }
        if let Some(count) = text.strip_prefix("last:") {
            return count
                .parse()
                .ok()
                .filter(|count| *count > 0)
                .map(Self::Last);
        }
        if let Some(tag) = text.strip_prefix("tag:") {
            let (key, value) = match tag.split_once('=') {
                Some((key, value)) => (key, Some(value.to_owned())),
                None => (tag, None),
            };
            return (!key.is_empty()).then(|| Self::Tag(key.to_owned(), value));
        }
        if let Some(name) = text.strip_prefix("baseline:") {
            return (!name.is_empty()).then(|| Self::Baseline(name.to_owned()));
        }
        if let Some((first, last)) = text.split_once("..")
            && let (Some(first), Some(last)) = (numbered('r', first), numbered('r', last))
        {
            return (first <= last).then_some(Self::Runs(RunId(first), RunId(last)));
        }
        if let Some(number) = numbered('r', text) {
            return Some(Self::Run(RunId(number)));
        }
        if let Some(number) = numbered('s', text) {
            return Some(Self::Series(SeriesId(number)));
        }
        Some(Self::File(PathBuf::from(text)))
    }
}

/// The number of `r42`.
fn numbered(letter: char, text: &str) -> Option<i64> {
    let digits = text.strip_prefix(letter)?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

impl fmt::Display for Selector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(id) => write!(formatter, "{id}"),
            Self::Runs(first, last) => write!(formatter, "{first}..{last}"),
            Self::Series(id) => write!(formatter, "{id}"),
            Self::Last(1) => formatter.write_str("last"),
            Self::Last(count) => write!(formatter, "last:{count}"),
            Self::Tag(key, Some(value)) => write!(formatter, "tag:{key}={value}"),
            Self::Tag(key, None) => write!(formatter, "tag:{key}"),
            Self::Baseline(name) => write!(formatter, "baseline:{name}"),
            Self::File(path) => write!(formatter, "{}", path.display()),
        }
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, part) in self.0.iter().enumerate() {
            let plus = if number > 0 { "+" } else { "" };
            write!(formatter, "{plus}{part}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_runs_and_are_written_the_same() {
        let words = [
            "r42",
            "r42..r57",
            "s14",
            "last",
            "last:10",
            "tag:release=2.1",
            "tag:link",
            "baseline:main",
            "results/a.json",
            "s14+r3+last:2",
        ];
        for word in words {
            let selection = Selection::parse(word).expect(word);
            assert_eq!(selection.to_string(), word);
            assert_eq!(selection.parts().len(), word.split('+').count());
        }
        let parsed = Selection::parse("r1..r2+run.json").expect("a selection");
        assert_eq!(
            parsed.parts(),
            [
                Selector::Runs(RunId(1), RunId(2)),
                Selector::File(PathBuf::from("run.json"))
            ]
        );
        assert_eq!(
            Selection::parse("rate.json").expect("a file").parts(),
            [Selector::File(PathBuf::from("rate.json"))]
        );
    }

    #[test]
    fn words_that_name_nothing_are_refused() {
        for word in [
            "",
            "r1+",
            "last:0",
            "last:x",
            "tag:",
            "tag:=1",
            "baseline:",
            "r5..r2",
        ] {
            assert!(Selection::parse(word).is_err(), "{word}");
        }
    }
}
