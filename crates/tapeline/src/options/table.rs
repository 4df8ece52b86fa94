//! The whole table, assembled from its groups.

use super::spec::OptionSpec;
use super::{access, amount, latency, mode, output, peer, repeat, shape, socket, traffic};

static GROUPS: [&[OptionSpec]; 10] = [
    mode::OPTIONS,
    amount::OPTIONS,
    traffic::OPTIONS,
    shape::OPTIONS,
    latency::OPTIONS,
    socket::OPTIONS,
    access::OPTIONS,
    peer::OPTIONS,
    repeat::OPTIONS,
    output::OPTIONS,
];

/// Every option, in the order of the help.
pub(crate) fn all() -> impl Iterator<Item = &'static OptionSpec> {
    GROUPS.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::options::{Arity, Availability};

    #[test]
    fn names_letters_and_variables_are_unique() {
        let mut seen = HashSet::new();
        for spec in all() {
            let names = [Some(spec.long), spec.alias].into_iter().flatten();
            for name in names.chain(spec.manual_names.iter().copied()) {
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
}
