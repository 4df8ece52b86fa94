//! The matrix as text: a row for each sender, a column for each receiver.

use std::collections::BTreeMap;

use super::cell::{Cell, Outcome};
use super::numbers::Numbers;

/// How a matrix is written, from the clearest form to the narrowest.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// Spaces between columns, beside the place of a mark.
    gap: usize,
    /// Words are letters, which a line below explains.
    letters: bool,
    /// Rows are numbered, and columns have these numbers in place of names.
    numbered: bool,
}

impl Form {
    const ALL: [Self; 5] = [
        Self::new(2, false, false),
        Self::new(1, false, false),
        Self::new(1, true, false),
        Self::new(1, false, true),
        Self::new(1, true, true),
    ];

    const fn new(gap: usize, letters: bool, numbered: bool) -> Self {
        Self {
            gap,
            letters,
            numbered,
        }
    }
}

/// The clearest form that is no wider; nothing if none is.
pub(crate) fn of_width(numbers: &Numbers<'_>, most: usize) -> Option<String> {
    let mut tables = Form::ALL.into_iter().map(|form| table(numbers, form));
    let fits = |text: &String| text.lines().all(|line| width(line) <= most);
    tables.find(fits)
}

/// What stands at a place of the matrix.
enum Place {
    /// No test was planned.
    Empty,
    /// A test between a host and itself, or one without the number.
    Sign(&'static str),
    Number {
        text: String,
        stands_out: bool,
    },
    Word(&'static str),
}

impl Place {
    fn new(numbers: &Numbers<'_>, cell: &Cell, form: Form) -> Self {
        match (numbers.value(cell), cell.measured()) {
            (Some(value), _) => Self::Number {
                text: numbers.shown(value),
                stands_out: numbers.stands_out(cell),
            },
            (None, Some(_)) => Self::Sign("-"),
            (None, None) if form.letters => Self::Sign(letter(&cell.outcome)),
            (None, None) => Self::Word(cell.outcome.word()),
        }
    }

    /// Columns that it takes, without the one for a mark.
    fn width(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Sign(text) => width(text),
            Self::Number { text, .. } => width(text),
            // It may stand where a number has its mark.
            Self::Word(word) => word.len() - 1,
        }
    }

    /// In so many columns and one for a mark.
    fn text(&self, wide: usize) -> String {
        match self {
            Self::Empty => " ".repeat(wide + 1),
            Self::Sign(text) => format!("{text:>wide$} "),
            Self::Number {
                text,
                stands_out: true,
            } => format!("{text:>wide$}!"),
            Self::Number {
                text,
                stands_out: false,
            } => format!("{text:>wide$} "),
            Self::Word(word) if word.len() > wide => (*word).to_owned(),
            Self::Word(word) => format!("{word:>wide$} "),
        }
    }
}

fn table(numbers: &Numbers<'_>, form: Form) -> String {
    let hosts = &numbers.hosts;
    let digits = hosts.len().to_string().len();
    let row_name = |(host, number): (&&str, usize)| match form.numbered {
        true => format!("{number:digits$} {host}"),
        false => (*host).to_owned(),
    };
    let names: Vec<String> = hosts.iter().zip(1..).map(row_name).collect();
    let left = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let mut lines: Vec<String> = names.iter().map(|name| format!("  {name:left$}")).collect();
    let mut head = format!("  {:left$}", "");
    let gap = " ".repeat(form.gap);
    for (to, number) in hosts.iter().zip(1..) {
        let name = match form.numbered {
            true => format!("{number}"),
            false => (*to).to_owned(),
        };
        let place = |from: &&str| match numbers.cell(from, to) {
            _ if from == to => Place::Sign("·"),
            Some(cell) => Place::new(numbers, cell, form),
            None => Place::Empty,
        };
        let places: Vec<Place> = hosts.iter().map(place).collect();
        let wide = places
            .iter()
            .map(Place::width)
            .max()
            .unwrap_or(0)
            .max(width(&name));
        head.push_str(&format!("{gap}{name:>wide$} "));
        for (line, place) in lines.iter_mut().zip(&places) {
            line.push_str(&gap);
            line.push_str(&place.text(wide));
        }
    }
    let title = format!("{}, row to column", numbers.label());
    let legend = if form.letters { legend(numbers) } else { None };
    let all = [title, head].into_iter().chain(lines).chain(legend);
    all.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// `R refused, U unreachable`.
fn legend(numbers: &Numbers<'_>) -> Option<String> {
    let failed = numbers.cells().filter(|cell| cell.measured().is_none());
    let words: BTreeMap<&str, &str> = failed
        .map(|cell| (letter(&cell.outcome), cell.outcome.word()))
        .collect();
    let words: Vec<String> = words
        .iter()
        .map(|(letter, word)| format!("{letter} {word}"))
        .collect();
    (!words.is_empty()).then(|| format!("  {}", words.join(", ")))
}

/// What stands for an outcome where there is no room for its word.
const fn letter(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Measured(_) => "M",
        Outcome::Refused { .. } => "R",
        Outcome::Failed { .. } => "F",
        Outcome::Unreachable { .. } => "U",
        Outcome::Stopped => "X",
        Outcome::Skipped { .. } => "S",
    }
}

pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}
