//! Which file uses which.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::crate_map::{CrateMap, Manner};
use super::names::Names;

/// Where an import stands, and what it names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) path: String,
}

/// From a file to the files that it uses, each with the first line that does.
#[derive(Debug, Default)]
pub(crate) struct Arrows {
    from: BTreeMap<String, BTreeMap<String, Place>>,
    /// Paths into this crate whose last part no module defines.
    pub(crate) unknown: BTreeSet<(String, Place)>,
}

impl Arrows {
    /// All uses between the files of a crate; `library` is the crate's name in code.
    pub(crate) fn read(map: &CrateMap, library: &str) -> Self {
        let mut arrows = Self::default();
        let names = Names::new(map);
        for reference in &map.references {
            let from = &map.modules[reference.module].file;
            let segments = &reference.path.segments;
            let place = Place {
                line: reference.path.line,
                path: segments.join("::"),
            };
            if reference.manner == Manner::Macro {
                if let Some(module) = names.resolve_macro(reference.module, &segments[0]) {
                    arrows.add(from, &map.modules[module].file, place);
                }
                continue;
            }
            let mut targets = names.resolve(reference.module, segments);
            if targets.is_empty()
                && let Some(root) = map.lib_root
                && map.modules[reference.module].root != root
                && segments[0] == library
            {
                let mut path = segments.clone();
                "crate".clone_into(&mut path[0]);
                targets = names.resolve(root, &path);
            }
            for target in targets {
                // A module is no value: this is a local name, or a visibility.
                if target.item.is_none() && reference.manner == Manner::Code {
                    continue;
                }
                if !target.found {
                    arrows.unknown.insert((from.clone(), place.clone()));
                }
                arrows.add(from, &map.modules[target.module].file, place.clone());
            }
        }
        arrows
    }

    fn add(&mut self, from: &str, to: &str, place: Place) {
        if from == to {
            return;
        }
        let first = self
            .from
            .entry(from.to_owned())
            .or_default()
            .entry(to.to_owned())
            .or_insert_with(|| place.clone());
        if place < *first {
            *first = place;
        }
    }

    /// All arrows: from, to, where.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str, &Place)> {
        self.from.iter().flat_map(|(from, to)| {
            to.iter()
                .map(move |(to, place)| (from.as_str(), to.as_str(), place))
        })
    }

    /// The place of an arrow.
    pub(crate) fn place(&self, from: &str, to: &str) -> Option<&Place> {
        self.from.get(from)?.get(to)
    }

    fn after(&self, file: &str) -> impl Iterator<Item = &str> {
        self.from
            .get(file)
            .into_iter()
            .flat_map(|to| to.keys().map(String::as_str))
    }

    /// The shortest way along the arrows from one file to another, both included.
    pub(crate) fn way(&self, from: &str, to: &str) -> Option<Vec<&str>> {
        let (from, _) = self.from.get_key_value(from)?;
        let mut before: BTreeMap<&str, &str> = BTreeMap::new();
        let mut next = VecDeque::from([from.as_str()]);
        while let Some(file) = next.pop_front() {
            for other in self.after(file) {
                if other != from.as_str() && !before.contains_key(other) {
                    before.insert(other, file);
                    next.push_back(other);
                }
                if other == to {
                    let mut way = vec![other, file];
                    while let Some(file) = before.get(way[way.len() - 1]) {
                        way.push(file);
                        if *file == from.as_str() {
                            break;
                        }
                    }
                    way.reverse();
                    return Some(way);
                }
            }
        }
        None
    }

    /// Only the arrows that `keep` says, from one file to another.
    pub(crate) fn only(&self, keep: impl Fn(&str, &str) -> bool) -> Self {
        let mut arrows = Self::default();
        for (from, to, place) in self.all().filter(|(from, to, _)| keep(from, to)) {
            arrows.add(from, to, place.clone());
        }
        arrows
    }

    /// Sets of files each of which reaches all others of its set, the largest first.
    pub(crate) fn circles(&self) -> Vec<BTreeSet<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> = self
            .from
            .keys()
            .map(|file| (file.as_str(), self.reachable(file)))
            .collect();
        let mut circles: Vec<BTreeSet<&str>> = Vec::new();
        for (file, others) in &reached {
            if !others.contains(file) || circles.iter().any(|circle| circle.contains(file)) {
                continue;
            }
            let back = |other: &&&str| reached.get(**other).is_some_and(|on| on.contains(file));
            circles.push(others.iter().filter(back).copied().collect());
        }
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }

    fn reachable(&self, file: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&str> = self.after(file).collect();
        while let Some(file) = next.pop() {
            if reached.insert(file) {
                next.extend(self.after(file));
            }
        }
        reached
    }
}
