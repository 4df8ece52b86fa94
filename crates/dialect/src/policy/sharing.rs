//! Places that all sources share: who gives one up when all are taken.

use std::collections::HashMap;

use super::Source;

/// Of places that are taken, in the order in which they were, the one that a newcomer gets: the oldest
/// of the source that has most. So a crowd from one address displaces itself, and nobody else.
pub(crate) fn displaced<T>(taken: impl Iterator<Item = (T, Source)> + Clone) -> Option<T> {
    let counts = counted(taken.clone().map(|(_, source)| source));
    let most = counts.values().copied().max()?;
    let mut taken = taken;
    let (place, _) = taken.find(|(_, source)| counts.get(source) == Some(&most))?;
    Some(place)
}

/// How many places each source has.
pub(crate) fn counted(sources: impl Iterator<Item = Source>) -> HashMap<Source, usize> {
    let mut counts = HashMap::new();
    for source in sources {
        *counts.entry(source).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn source(last: u8) -> Source {
        IpAddr::from([192, 0, 2, last]).into()
    }

    #[test]
    fn a_crowd_displaces_itself() {
        let places = |sources: &[u8]| {
            let places = sources.iter().map(|last| source(*last)).enumerate();
            displaced(places)
        };
        assert_eq!(places(&[]), None);
        assert_eq!(places(&[1, 2, 3]), Some(0));
        assert_eq!(places(&[1, 2, 3, 2]), Some(1));
        assert_eq!(places(&[1, 2, 2, 3, 3, 3]), Some(3));
    }
}
