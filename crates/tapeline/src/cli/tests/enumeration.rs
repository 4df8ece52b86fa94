//! The table against the list of what iperf 2 has.

use tapeline_dialect::Personality;

use crate::cli::options::table::{all, find_long, find_short};
use crate::cli::parse::{Arity, NameMatch};
use crate::cli::spec::{Availability, OptionId, OptionSpec};

const LIST: &str = include_str!("../../../tests/data/iperf2_options.tsv");

/// A line of the list.
struct Listed {
    letter: Option<char>,
    /// Empty for the few that have only a letter.
    name: &'static str,
    arity: Arity,
    /// Whether only a manual has the name, not the program of version 2.2.1.
    manual_only: bool,
    /// File and function of the test of its effect.
    effect: &'static str,
}

impl Listed {
    fn read(line: &'static str) -> Self {
        let columns: Vec<_> = line.split('\t').collect();
        let [letter, name, value, source, effect] = columns[..] else {
            panic!("five columns: {line}");
        };
        let given = |text: &'static str| if text == "-" { "" } else { text };
        Self {
            letter: given(letter).chars().next(),
            name: given(name),
            arity: match value {
                "none" => Arity::Switch,
                "required" => Arity::Required,
                "optional" => Arity::Optional,
                other => panic!("{line}: {other}"),
            },
            manual_only: source == "manual",
            effect: given(effect),
        }
    }

    fn shown(&self) -> String {
        match (self.name, self.letter) {
            ("", letter) => format!("-{}", letter.unwrap_or('?')),
            (name, _) => format!("--{name}"),
        }
    }

    /// The row of the table that this line means.
    fn spec(&self) -> &'static OptionSpec {
        let personality = if self.manual_only {
            Personality::Native
        } else {
            Personality::Iperf2
        };
        let found = match (self.name, self.letter) {
            ("", Some(letter)) => find_short(letter, personality),
            (name, _) => match find_long(name, personality) {
                NameMatch::One(spec, _) => Some(spec),
                _ => None,
            },
        };
        found.unwrap_or_else(|| panic!("{} is not in the table", self.shown()))
    }
}

fn listed() -> impl Iterator<Item = Listed> {
    let lines = LIST.lines().filter(|line| !line.starts_with('#'));
    lines.skip(1).map(Listed::read)
}

#[test]
fn every_option_of_iperf_2_is_there_with_its_letter_and_arity() {
    let mut checked = 0;
    for line in listed() {
        let spec = line.spec();
        assert_eq!(spec.arity, line.arity, "{}", line.shown());
        if !line.manual_only && spec.alias != Some(line.name) {
            assert_eq!(spec.short, line.letter, "{}", line.shown());
            assert_eq!(spec.long, line.name, "{}", line.shown());
        }
        checked += 1;
    }
    assert_eq!(checked, 109);
}

/// What is refused, is refused by the reference too, or belongs to another system.
#[test]
fn no_option_is_left_out() {
    let refused: Vec<_> = listed()
        .filter(|line| line.spec().availability != Availability::Available)
        .map(|line| line.name)
        .collect();
    assert_eq!(refused, ["tun-dev", "remove"]);
}

/// Chooses between iperf 2's builds, for which iperf 2 itself has no option.
const OURS: OptionId = OptionId::FastSampling;

#[test]
fn every_option_under_the_name_iperf_is_one_of_iperf_2() {
    let known = all().filter(|spec| spec.personalities.include(Personality::Iperf2));
    for spec in known.filter(|spec| spec.id != OURS) {
        assert!(
            listed().any(|line| line.spec().id == spec.id),
            "{:?}",
            spec.id
        );
    }
}

#[test]
fn every_option_has_a_test_of_its_effect() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for line in listed() {
        let (file, function) = line
            .effect
            .split_once(':')
            .unwrap_or_else(|| panic!("{}: file:function", line.shown()));
        let source = std::fs::read_to_string(format!("{root}/{file}"))
            .unwrap_or_else(|error| panic!("{}: {file}: {error}", line.shown()));
        assert!(
            source.contains(&format!("fn {function}(")),
            "{}: {file} has no {function}",
            line.shown()
        );
    }
}

/// The page that says, option by option, what is the same and what is not.
#[test]
fn every_option_is_documented() {
    let page = include_str!("../../../../../docs/iperf2.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
    for line in listed() {
        let letter = line.letter.map(|letter| format!("`-{letter}`"));
        let name = (!line.name.is_empty()).then(|| format!("`--{}`", line.name));
        let found = rows.iter().any(|row| {
            let cell = row.split(" | ").next().unwrap_or_default();
            letter
                .iter()
                .chain(&name)
                .all(|word| cell.contains(word.as_str()))
        });
        assert!(found, "{} has no row in docs/iperf2.md", line.shown());
    }
}
