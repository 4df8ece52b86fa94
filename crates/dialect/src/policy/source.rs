//! Who counts as one client, and which of them gives up a place when all are taken.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

/// Who counts as one: an IPv4 address, or the 64 bits of an IPv6 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Source(IpAddr);

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(six) => {
                let network = six.to_bits() & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from_bits(network))
            }
            four => four,
        })
    }
}

/// Of places that are taken, in the order in which they were, the one that a new one gets: the oldest
/// of the source that has most. So a crowd from one address displaces itself, and nobody else.
pub(crate) fn displaced<T>(taken: impl Iterator<Item = (T, Source)> + Clone) -> Option<T> {
    let counts = counted(taken.clone().map(|(_, source)| source));
    let max = counts.values().copied().max()?;
    let mut taken = taken;
    let (place, _) = taken.find(|(_, source)| counts.get(source) == Some(&max))?;
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

    #[test]
    fn a_source_is_an_address_or_a_network_of_64_bits() {
        let source = |text: &str| Source::from(text.parse::<IpAddr>().expect("an address"));
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    }
}
