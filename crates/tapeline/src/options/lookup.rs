//! Finding an option by letter, by name, by unique prefix; the nearest name for a typo.

use tapeline_dialect::Personality;

use super::{OptionSpec, all};

/// What a long name, perhaps abbreviated, means.
#[derive(Clone, Debug)]
pub(crate) enum LongMatch {
    /// One option; its whole name is given (an option may have two).
    One(&'static OptionSpec, &'static str),
    /// The beginning of several names.
    Ambiguous(Vec<&'static str>),
    /// No name begins so.
    Unknown,
}

/// The option with this letter.
pub(crate) fn find_short(letter: char, personality: Personality) -> Option<&'static OptionSpec> {
    known(personality).find(|spec| spec.short == Some(letter))
}

/// The option with this name, or with the only name that begins so.
pub(crate) fn find_long(typed: &str, personality: Personality) -> LongMatch {
    let exact = known(personality).find_map(|spec| {
        names(spec)
            .chain(spec.manual_names.iter().copied())
            .find(|name| *name == typed)
            .map(|name| (spec, name))
    });
    if let Some((spec, name)) = exact {
        return LongMatch::One(spec, name);
    }
    let mut candidates: Vec<_> = known(personality)
        .flat_map(|spec| names(spec).map(move |name| (spec, name)))
        .filter(|(_, name)| name.starts_with(typed))
        .collect();
    match candidates.len() {
        0 => LongMatch::Unknown,
        1 => {
            let (spec, name) = candidates.remove(0);
            LongMatch::One(spec, name)
        }
        _ => LongMatch::Ambiguous(candidates.into_iter().map(|(_, name)| name).collect()),
    }
}

/// The name nearest to a mistyped one: at most two insertions, deletions, replacements
/// or swaps of neighbours away, and fewer than the word has letters.
pub(crate) fn nearest(typed: &str, personality: Personality) -> Option<&'static str> {
    let names =
        known(personality).flat_map(|spec| names(spec).chain(spec.manual_names.iter().copied()));
    nearest_of(typed, names)
}

/// The nearest of these names.
pub(crate) fn nearest_of(
    typed: &str,
    names: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    names
        .map(|name| (distance(typed, name), name))
        .filter(|(distance, name)| *distance <= 2 && *distance < name.len().min(typed.len()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn known(personality: Personality) -> impl Iterator<Item = &'static OptionSpec> {
    all().filter(move |spec| spec.personalities.include(personality))
}

/// The names that may be abbreviated.
fn names(spec: &'static OptionSpec) -> impl Iterator<Item = &'static str> {
    [Some(spec.long), spec.alias]
        .into_iter()
        .flatten()
        .filter(|name| !name.is_empty())
}

/// Restricted Damerau-Levenshtein distance.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut best = (last[j] + usize::from(a != b))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every prefix of every long name of iperf 2.2.1 and what it answers to it.
    const PREFIXES: &str = include_str!("../../tests/golden/prefixes.tsv");

    #[test]
    fn abbreviations_mean_what_they_mean_to_the_reference() {
        let mut checked = 0;
        for line in PREFIXES.lines() {
            let (prefix, answer) = line.split_once('\t').expect("two columns");
            let ours = match find_long(prefix, Personality::Iperf2) {
                LongMatch::One(..) => "accepted",
                LongMatch::Ambiguous(_) => "ambiguous",
                LongMatch::Unknown => "unrecognized",
            };
            assert_eq!(ours, answer, "--{prefix}");
            checked += 1;
        }
        assert_eq!(checked, 752);
    }

    #[test]
    fn names_from_manuals_are_accepted_whole_only() {
        for name in [
            "peerdetect",
            "linux-congestion",
            "v4",
            "v6",
            "fileinput",
            "set-rand-seed",
            "remove",
        ] {
            assert!(
                matches!(find_long(name, Personality::Iperf2), LongMatch::One(..)),
                "{name}"
            );
        }
        assert!(matches!(
            find_long("peerdet", Personality::Iperf2),
            LongMatch::Unknown
        ));
    }

    #[test]
    fn typos_lead_to_the_nearest_name() {
        let nearest = |typed| nearest(typed, Personality::Native);
        assert_eq!(nearest("bandwith"), Some("bandwidth"));
        assert_eq!(nearest("prot"), Some("port"));
        assert_eq!(nearest("paralell"), Some("parallel"));
        assert_eq!(nearest("zzzzzz"), None);
        assert_eq!(nearest("x"), None);
    }
}
