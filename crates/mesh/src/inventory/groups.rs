//! Hosts, groups and variables of an inventory, whichever form it was in.

use std::collections::{BTreeMap, BTreeSet};

/// Variables by name.
pub(crate) type Variables = BTreeMap<String, String>;

/// The hosts of an inventory, and the groups that hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostGroups {
    /// In the order of the file.
    hosts: Vec<String>,
    variables: BTreeMap<String, Variables>,
    pub(crate) groups: BTreeMap<String, Group>,
}

/// What a group holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) hosts: BTreeSet<String>,
    pub(crate) children: BTreeSet<String>,
    pub(crate) variables: Variables,
}

/// The groups that every inventory has.
pub(crate) const ALL: &str = "all";
pub(crate) const UNGROUPED: &str = "ungrouped";

impl HostGroups {
    /// The hosts, in the order of the file.
    pub(crate) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// A host belongs to a group; each is made with its first mention.
    pub(crate) fn add(&mut self, group: &str, host: &str) {
        if !self.variables.contains_key(host) {
            self.hosts.push(host.to_owned());
            self.variables.insert(host.to_owned(), Variables::new());
        }
        self.group(group).hosts.insert(host.to_owned());
    }

    /// A variable of a host that was mentioned.
    pub(crate) fn set(&mut self, host: &str, name: &str, value: String) {
        if let Some(variables) = self.variables.get_mut(host) {
            variables.insert(name.to_owned(), value);
        }
    }

    pub(crate) fn group(&mut self, name: &str) -> &mut Group {
        self.groups.entry(name.to_owned()).or_default()
    }

    /// What holds for a host: variables of outer groups give way to those of inner ones, groups beside each
    /// other to the last by name, and all to the host's own.
    pub(crate) fn variables_of(&self, host: &str) -> Variables {
        let mut holding: Vec<(usize, &str)> = Vec::new();
        for (name, group) in &self.groups {
            if name == ALL || self.holds(group, host, 0) {
                holding.push((self.depth(name, 0), name));
            }
        }
        holding.sort_unstable();
        let mut all = Variables::new();
        for (_, name) in holding {
            all.extend(self.groups[name].variables.clone());
        }
        all.extend(self.variables.get(host).cloned().unwrap_or_default());
        all
    }

    fn holds(&self, group: &Group, host: &str, depth: usize) -> bool {
        let mut children = group.children.iter();
        group.hosts.contains(host)
            || (depth <= self.groups.len()
                && children.any(|child| {
                    let child = self.groups.get(child);
                    child.is_some_and(|child| self.holds(child, host, depth + 1))
                }))
    }

    /// How far inside a group is; what holds itself is found when `hosts.toml` is read.
    fn depth(&self, name: &str, steps: usize) -> usize {
        if name == ALL || steps > self.groups.len() {
            return 0;
        }
        let parents = self
            .groups
            .iter()
            .filter(|(_, group)| group.children.contains(name));
        let outer = parents.map(|(parent, _)| self.depth(parent, steps + 1));
        1 + outer.max().unwrap_or(0)
    }
}
