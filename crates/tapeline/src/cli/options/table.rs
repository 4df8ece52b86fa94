//! The whole table, assembled from its groups, and how an option is found in it: by letter, by name,
//! by unique prefix; the nearest name for a typo.

use std::ffi::OsString;
use std::sync::LazyLock;

use tapeline_dialect::Personality;

use super::{
    access, addressing, amount, bounceback, direction, history, latency, lengths, limits, method,
    mode, output, peer, rate, repeat, schedule, shape, socket, working_load,
};
use crate::cli::parse::{Arity, NameMatch, Table, Typed};
use crate::cli::spec::{Availability, Given, OptionSpec, Origin};
use crate::cli::values::nearest_of;

const GROUPS: [&[OptionSpec]; 19] = [
    access::OPTIONS,
    addressing::OPTIONS,
    amount::OPTIONS,
    bounceback::OPTIONS,
    direction::OPTIONS,
    history::OPTIONS,
    latency::OPTIONS,
    lengths::OPTIONS,
    limits::OPTIONS,
    method::common::OPTIONS,
    mode::OPTIONS,
    output::OPTIONS,
    peer::OPTIONS,
    rate::OPTIONS,
    repeat::OPTIONS,
    schedule::OPTIONS,
    shape::OPTIONS,
    socket::OPTIONS,
    working_load::OPTIONS,
];

static TABLE: LazyLock<Vec<&'static OptionSpec>> = LazyLock::new(|| {
    let own = method::registry::METHODS.iter().map(|entry| entry.options);
    let mut rows: Vec<_> = GROUPS.into_iter().chain(own).flatten().collect();
    rows.sort_unstable_by_key(|row| row.id as usize);
    rows
});

/// Every option, in the order of the help.
pub(crate) fn all() -> impl Iterator<Item = &'static OptionSpec> {
    TABLE.iter().copied()
}

/// The options that can be used under a name, in the order of the help.
pub(crate) fn usable(personality: Personality) -> impl Iterator<Item = &'static OptionSpec> {
    all().filter(move |spec| {
        spec.availability == Availability::Available && spec.personalities.include(personality)
    })
}

/// The table under one name of the program.
pub(crate) struct KnownTo(pub(crate) Personality);

impl Table for KnownTo {
    type Spec = OptionSpec;
    type Given = Given;

    fn by_letter(&self, letter: char) -> Option<&'static OptionSpec> {
        find_short(letter, self.0)
    }

    fn by_name(&self, typed: &str) -> NameMatch<OptionSpec> {
        find_long(typed, self.0)
    }

    fn arity(&self, spec: &OptionSpec) -> Arity {
        spec.arity
    }

    /// The sign of `-P=4` does not belong to the value.
    fn given(&self, spec: &'static OptionSpec, typed: Typed) -> Given {
        let text = typed.value.as_ref().and_then(|value| value.to_str());
        let behind_sign = text
            .filter(|_| typed.in_word_of_letter)
            .and_then(|text| text.strip_prefix('='))
            .map(OsString::from);
        Given {
            spec,
            spelled: typed.spelled,
            origin: Origin::CommandLine,
            letter_with_equals: behind_sign.is_some(),
            value: behind_sign.or(typed.value),
        }
    }
}

/// The option with this letter.
pub(crate) fn find_short(letter: char, personality: Personality) -> Option<&'static OptionSpec> {
    known(personality).find(|spec| spec.short == Some(letter))
}

/// The option with this name, or with the only name that begins so.
pub(crate) fn find_long(typed: &str, personality: Personality) -> NameMatch<OptionSpec> {
    let exact = known(personality).find_map(|spec| {
        names(spec)
            .chain(spec.manual_names.iter().copied())
            .chain(spec.former_names.iter().copied())
            .find(|name| *name == typed)
            .map(|name| (spec, name))
    });
    if let Some((spec, name)) = exact {
        return NameMatch::One(spec, name);
    }
    let mut candidates: Vec<_> = known(personality)
        .flat_map(|spec| names(spec).map(move |name| (spec, name)))
        .filter(|(_, name)| name.starts_with(typed))
        .collect();
    match candidates.len() {
        0 => NameMatch::Unknown,
        1 => {
            let (spec, name) = candidates.remove(0);
            NameMatch::One(spec, name)
        }
        _ => NameMatch::Ambiguous(candidates.into_iter().map(|(_, name)| name).collect()),
    }
}

/// The name nearest to a mistyped one: at most two insertions, deletions, replacements
/// or swaps of neighbours away, and fewer than the word has letters.
pub(crate) fn nearest(typed: &str, personality: Personality) -> Option<&'static str> {
    let names =
        known(personality).flat_map(|spec| names(spec).chain(spec.manual_names.iter().copied()));
    nearest_of(typed, names)
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::cli::spec::{Effect, OptionId};

    #[test]
    fn names_letters_and_variables_are_unique() {
        let mut seen = HashSet::new();
        for spec in all() {
            let names = [Some(spec.long), spec.alias].into_iter().flatten();
            let others = spec.manual_names.iter().chain(spec.former_names);
            for name in names.chain(others.copied()) {
                assert!(
                    name.is_empty() || seen.insert(name.to_owned()),
                    "{name} twice"
                );
            }
            if let Some(letter) = spec.short {
                assert!(seen.insert(format!("-{letter}")), "-{letter} twice");
            }
            if let Some((rank, name)) = spec.variable {
                assert!(seen.insert(name.to_owned()), "{name} twice");
                assert!(seen.insert(format!("#{rank}")), "rank {rank} twice");
            }
        }
    }

    #[test]
    fn every_option_has_an_effect() {
        let idle: Vec<_> = all()
            .filter(|spec| matches!(spec.effect, Effect::None))
            .map(|spec| spec.id)
            .collect();
        // Accepted as by the reference, and looked for before or behind all others.
        let looked_for = [
            OptionId::From,
            OptionId::Via,
            OptionId::ServeOn,
            OptionId::Flow,
            OptionId::Flows,
            OptionId::FastSampling,
        ];
        assert_eq!(idle[..1], [OptionId::Awdl]);
        assert_eq!(idle[1..], looked_for);
    }

    #[test]
    fn every_option_explains_itself() {
        for spec in all().filter(|spec| spec.availability == Availability::Available) {
            if spec
                .personalities
                .include(tapeline_dialect::Personality::Native)
            {
                assert!(!spec.help.is_empty(), "{:?} has no help", spec.id);
                assert_eq!(
                    spec.arity == Arity::Switch,
                    spec.value_name.is_empty(),
                    "{:?}: value name",
                    spec.id
                );
            }
        }
    }

    /// Every prefix of every long name of iperf 2.2.1 and what it answers to it.
    const PREFIXES: &str = include_str!("../../../tests/golden/prefixes.tsv");

    #[test]
    fn abbreviations_mean_what_they_mean_to_the_reference() {
        let mut checked = 0;
        for line in PREFIXES.lines() {
            let (prefix, answer) = line.split_once('\t').expect("two columns");
            let ours = match find_long(prefix, Personality::Iperf2) {
                NameMatch::One(..) => "accepted",
                NameMatch::Ambiguous(_) => "ambiguous",
                NameMatch::Unknown => "unrecognized",
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
                matches!(find_long(name, Personality::Iperf2), NameMatch::One(..)),
                "{name}"
            );
        }
        assert!(matches!(
            find_long("peerdet", Personality::Iperf2),
            NameMatch::Unknown
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
