//! Who tests whom.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tapeline_base::SplitMix64;
use thiserror::Error;

use crate::host::{Host, HostId, Pair};

/// Who tests whom. Hosts are named, as on the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pattern {
    /// All with all.
    Full,
    /// Each with the next, and the last with the first.
    Ring,
    /// This one with each other.
    Star(String),
    /// Each other sends to this one.
    Incast(String),
    /// This one sends to each other.
    Outcast(String),
    /// The first with the second, the third with the fourth, and so on.
    Pairs,
    /// Hosts that have groups, but none in common.
    Groups,
    /// Each with this many others, by chance.
    Sample(usize),
}

/// Why a pattern is none, or does not fit the hosts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// The text is no pattern.
    #[error(
        "\"{0}\" is no pattern: full, ring, star:HOST, incast:HOST, outcast:HOST, pairs, groups, sample:NUMBER"
    )]
    Unknown(String),
    /// It names a host that is none of the hosts.
    #[error("no host is called \"{0}\"")]
    UnknownHost(String),
    /// It needs an even number of hosts.
    #[error("pairs needs an even number of hosts, not {0}")]
    Odd(usize),
    /// No two hosts are in different groups.
    #[error("groups needs two hosts that have no group in common")]
    OneGroup,
    /// Each host cannot meet that many others.
    #[error("sample:{degree} is not possible with {hosts} hosts: {why}")]
    Sample {
        /// Others for each.
        degree: usize,
        /// Hosts.
        hosts: usize,
        /// The reason.
        why: &'static str,
    },
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let unknown = || PatternError::Unknown(text.to_owned());
        match (text, text.split_once(':')) {
            ("full", _) => Ok(Self::Full),
            ("ring", _) => Ok(Self::Ring),
            ("pairs", _) => Ok(Self::Pairs),
            ("groups", _) => Ok(Self::Groups),
            (_, Some(("star", host))) => Ok(Self::Star(host.to_owned())),
            (_, Some(("incast", host))) => Ok(Self::Incast(host.to_owned())),
            (_, Some(("outcast", host))) => Ok(Self::Outcast(host.to_owned())),
            (_, Some(("sample", degree))) => {
                let degree = degree.parse().map_err(|_| unknown())?;
                Ok(Self::Sample(degree))
            }
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::Ring => f.write_str("ring"),
            Self::Star(host) => write!(f, "star:{host}"),
            Self::Incast(host) => write!(f, "incast:{host}"),
            Self::Outcast(host) => write!(f, "outcast:{host}"),
            Self::Pairs => f.write_str("pairs"),
            Self::Groups => f.write_str("groups"),
            Self::Sample(degree) => write!(f, "sample:{degree}"),
        }
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.to_string()
    }
}

/// Pairs that do not share a host, and so can test at the same time.
type Round = Vec<Pair>;

impl Pattern {
    /// Whether each pair tests in both directions.
    #[must_use]
    pub fn is_both_ways(&self) -> bool {
        !matches!(self, Self::Incast(_) | Self::Outcast(_))
    }

    /// The pairs, each once, in rounds.
    ///
    /// # Errors
    /// The pattern does not fit the hosts.
    pub(crate) fn rounds(&self, hosts: &[Host], seed: u64) -> Result<Vec<Round>, PatternError> {
        let count = hosts.len();
        let find = |name: &String| {
            let place = hosts.iter().position(|host| host.name == *name);
            place.ok_or_else(|| PatternError::UnknownHost(name.clone()))
        };
        let others = |hub: usize| (0..count).filter(move |other| *other != hub);
        Ok(match self {
            Self::Full => circle(count),
            Self::Ring => ring(count),
            Self::Star(hub) | Self::Outcast(hub) => {
                let hub = find(hub)?;
                others(hub).map(|other| vec![pair(hub, other)]).collect()
            }
            Self::Incast(hub) => {
                let hub = find(hub)?;
                others(hub).map(|other| vec![pair(other, hub)]).collect()
            }
            Self::Pairs if count % 2 == 1 => return Err(PatternError::Odd(count)),
            Self::Pairs => vec![
                (0..count)
                    .step_by(2)
                    .map(|one| pair(one, one + 1))
                    .collect(),
            ],
            Self::Groups => {
                let apart = |pair: &Pair| {
                    let (one, other) = (&hosts[pair.from.0].groups, &hosts[pair.to.0].groups);
                    let is_shared = one.iter().any(|group| other.contains(group));
                    !one.is_empty() && !other.is_empty() && !is_shared
                };
                let mut rounds = circle(count);
                rounds.iter_mut().for_each(|round| round.retain(apart));
                rounds.retain(|round| !round.is_empty());
                if rounds.is_empty() {
                    return Err(PatternError::OneGroup);
                }
                rounds
            }
            Self::Sample(degree) => sample(count, *degree, seed)?,
        })
    }
}

fn pair(from: usize, to: usize) -> Pair {
    Pair {
        from: HostId(from),
        to: HostId(to),
    }
}

/// All with all by the circle method (Kirkman 1847): one stays, the others go round it. An even number of
/// hosts needs one round less than there are hosts; of an odd number one rests in each round.
fn circle(hosts: usize) -> Vec<Round> {
    let turn = turn(hosts);
    (0..turn).map(|number| round(hosts, number)).collect()
}

/// How many rounds the circle has.
fn turn(hosts: usize) -> usize {
    hosts + hosts % 2 - 1
}

/// A round of the circle.
fn round(hosts: usize, number: usize) -> Round {
    let turn = turn(hosts);
    let met = (1..=turn / 2).map(|step| ((number + step) % turn, (number + turn - step) % turn));
    // The last place, which nobody has where the number is odd.
    let last = std::iter::once((turn, number));
    let pairs = last.chain(met);
    let pairs = pairs.filter(|(one, other)| *one < hosts && *other < hosts);
    // Each is the first to send about as often as not.
    let sides = pairs
        .enumerate()
        .map(|(place, (one, other))| match (place + number) % 2 {
            0 => pair(one, other),
            _ => pair(other, one),
        });
    sides.collect()
}

fn ring(hosts: usize) -> Vec<Round> {
    if hosts == 2 {
        return vec![vec![pair(0, 1)]];
    }
    let closed = |parity: usize, end: usize| {
        let starts = (parity..end).step_by(2);
        starts.map(|one| pair(one, (one + 1) % hosts)).collect()
    };
    match hosts % 2 {
        0 => vec![closed(0, hosts), closed(1, hosts)],
        // Pairs that meet in turn need a third round where the number is odd.
        _ => vec![
            closed(0, hosts - 1),
            closed(1, hosts - 1),
            vec![pair(hosts - 1, 0)],
        ],
    }
}

/// A random graph in which each host has `degree` others, in as few rounds as that takes: of hosts in random
/// order, random rounds of the circle. Two rounds in a row, or the first distance, join all hosts.
fn sample(hosts: usize, degree: usize, seed: u64) -> Result<Vec<Round>, PatternError> {
    let why = match () {
        () if degree == 0 => "each host needs another one",
        () if degree >= hosts => "there are fewer others",
        () if degree * hosts % 2 == 1 => "one of the two numbers must be even",
        () => "",
    };
    if !why.is_empty() {
        return Err(PatternError::Sample { degree, hosts, why });
    }
    let mut random = SplitMix64::new(seed);
    let places = shuffled((0..hosts).collect(), &mut random);
    let rounds: Vec<Round> = if hosts.is_multiple_of(2) {
        // All rounds together would be pairs by the square of the hosts.
        let turn = turn(hosts);
        let first = random.below(turn as u64) as usize;
        let second = (first + 1) % turn;
        let rest = (0..turn).filter(|round| *round != first && *round != second);
        let rest = shuffled(rest.collect(), &mut random);
        // With two hosts the second is the first.
        let mut chosen = vec![first];
        chosen.extend((second != first).then_some(second));
        chosen.extend(rest);
        let chosen = chosen.into_iter().take(degree);
        chosen.map(|number| round(hosts, number)).collect()
    } else {
        let further = shuffled((2..=hosts / 2).collect(), &mut random);
        let distances = std::iter::once(1).chain(further).take(degree / 2);
        let at = |distance| (0..hosts).map(move |one| pair(one, (one + distance) % hosts));
        distances
            .flat_map(|distance| apart(hosts, at(distance)))
            .collect()
    };
    let placed = |one: Pair| pair(places[one.from.0], places[one.to.0]);
    Ok(rounds
        .into_iter()
        .map(|round| round.into_iter().map(placed).collect())
        .collect())
}

/// Pairs in rounds, each in the first in which both of its hosts are free.
fn apart(hosts: usize, pairs: impl Iterator<Item = Pair>) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    // The rounds of each host.
    let mut busy: Vec<Vec<usize>> = vec![Vec::new(); hosts];
    for new in pairs {
        let mut place = 0;
        while busy[new.from.0].contains(&place) || busy[new.to.0].contains(&place) {
            place += 1;
        }
        if place == rounds.len() {
            rounds.push(Vec::new());
        }
        rounds[place].push(new);
        busy[new.from.0].push(place);
        busy[new.to.0].push(place);
    }
    rounds
}

fn shuffled(mut items: Vec<usize>, random: &mut SplitMix64) -> Vec<usize> {
    for place in (1..items.len()).rev() {
        items.swap(place, random.below(place as u64 + 1) as usize);
    }
    items
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan::samples;

    fn rounds(pattern: &str, hosts: usize) -> Vec<Round> {
        let pattern: Pattern = pattern.parse().expect("a pattern");
        pattern
            .rounds(&samples::full(hosts).hosts, 7)
            .expect("it fits")
    }

    /// The pairs without their direction, each once; nobody is twice in a round.
    #[track_caller]
    fn edges(rounds: &[Round]) -> BTreeSet<[usize; 2]> {
        let mut edges = BTreeSet::new();
        for round in rounds {
            let mut there = BTreeSet::new();
            for pair in round {
                assert!(
                    there.insert(pair.from) && there.insert(pair.to),
                    "{round:?}"
                );
                let mut edge = [pair.from.0, pair.to.0];
                edge.sort_unstable();
                assert!(edges.insert(edge), "{edge:?} twice");
            }
        }
        edges
    }

    #[test]
    fn all_meet_all_in_as_few_rounds_as_can_be() {
        for hosts in 2..=60 {
            let rounds = rounds("full", hosts);
            assert_eq!(edges(&rounds).len(), hosts * (hosts - 1) / 2);
            assert_eq!(rounds.len(), hosts - 1 + hosts % 2, "{hosts} hosts");
        }
    }

    #[test]
    fn the_other_patterns_are_what_they_are_called() {
        assert_eq!(rounds("ring", 2).len(), 1);
        for hosts in 3..12 {
            let rounds = rounds("ring", hosts);
            let closed: BTreeSet<[usize; 2]> = (0..hosts)
                .map(|one| {
                    let mut edge = [one, (one + 1) % hosts];
                    edge.sort_unstable();
                    edge
                })
                .collect();
            assert_eq!(edges(&rounds), closed);
            assert_eq!(rounds.len(), 2 + hosts % 2);
        }
        assert_eq!(rounds("pairs", 4), [[pair(0, 1), pair(2, 3)]]);
        assert_eq!(rounds("star:h1", 3), [[pair(1, 0)], [pair(1, 2)]]);
        assert_eq!(rounds("incast:h1", 3), [[pair(0, 1)], [pair(2, 1)]]);
        assert_eq!(rounds("outcast:h0", 3), [[pair(0, 1)], [pair(0, 2)]]);
        // Groups are the numbers modulo 3.
        assert_eq!(edges(&rounds("groups", 6)).len(), 12);
    }

    #[test]
    fn a_sample_gives_each_host_its_number_of_others_and_joins_all() {
        for (hosts, degree) in [
            (2, 1),
            (5, 2),
            (6, 3),
            (7, 4),
            (7, 6),
            (10, 9),
            (31, 4),
            (40, 3),
        ] {
            let rounds = rounds(&format!("sample:{degree}"), hosts);
            let edges = edges(&rounds);
            for host in 0..hosts {
                let met = edges.iter().filter(|edge| edge.contains(&host)).count();
                assert_eq!(met, degree, "{hosts} hosts, host {host}");
            }
            let mut joined = BTreeSet::from([0]);
            for _ in 0..hosts {
                let near = edges
                    .iter()
                    .filter(|edge| edge.iter().any(|one| joined.contains(one)));
                let near: Vec<usize> = near.flatten().copied().collect();
                joined.extend(near);
            }
            assert_eq!(joined.len(), hosts, "{hosts} hosts, {degree} others");
        }
        let plan = samples::full(20);
        let drawn = |seed| {
            Pattern::Sample(3)
                .rounds(&plan.hosts, seed)
                .expect("a sample")
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn what_is_no_pattern_or_does_not_fit_is_refused() {
        for text in ["", "Full", "star", "sample:x", "sample:-1", "mesh:h0"] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
        for (text, hosts, part) in [
            ("star:h9", 3, "no host is called \"h9\""),
            ("pairs", 3, "even number"),
            ("sample:0", 3, "sample:0"),
            ("sample:3", 3, "fewer others"),
            ("sample:1", 3, "must be even"),
            ("groups", 1, "no group in common"),
        ] {
            let pattern: Pattern = text.parse().expect("a pattern");
            assert_eq!(pattern.to_string(), text);
            let error = pattern
                .rounds(&samples::full(hosts).hosts, 7)
                .expect_err(text);
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
