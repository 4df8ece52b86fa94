//! `hosts.toml`: which hosts there are, how they are reached, what they share.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::host::{Host, HostId, SharedLink, Via};

/// Most hosts of a file.
const MOST_HOSTS: usize = 1000;
/// Longest name, bytes.
const LONGEST_NAME: usize = 255;

/// What is wrong with the file, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {text}")]
pub struct HostsError {
    /// The file as it was named.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// A sentence.
    pub text: String,
}

/// A text and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// As it stands there.
    pub text: String,
    /// Counted from 1.
    pub line: usize,
}

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostsFile {
    /// The file as it was named.
    pub file: String,
    /// In the order of the file; two or more.
    pub hosts: Vec<Host>,
    /// Links between them.
    pub shared: Vec<SharedLink>,
    /// The options of one test, if they are there.
    pub test: Option<Located>,
}

impl HostsFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn read(file: &str, text: &str) -> Result<Self, HostsError> {
        let source = Source { file, text };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            source.fault(at, error.message())
        })?;
        let mut reader = Reader::new(source);
        reader.read(table.get_ref())?;
        reader.finish()
    }

    /// What is wrong with a text of the file.
    #[must_use]
    pub fn fault(&self, at: &Located, why: &str) -> HostsError {
        HostsError {
            file: self.file.clone(),
            line: at.line,
            text: why.to_owned(),
        }
    }
}

#[derive(Clone, Copy)]
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn line(self, at: usize) -> usize {
        let before = self.text.as_bytes().iter().take(at);
        1 + before.filter(|byte| **byte == b'\n').count()
    }

    fn fault(self, at: usize, text: &str) -> HostsError {
        HostsError {
            file: self.file.to_owned(),
            line: self.line(at),
            text: text.to_owned(),
        }
    }
}

/// A name and where it stands.
type Named = (usize, String);

/// A host as it stands in the file.
struct HostTable {
    at: usize,
    name: String,
    destination: String,
    via: Option<String>,
    address: Option<Named>,
    groups: Vec<Named>,
}

/// A shared link as it stands in the file.
struct LinkTable {
    names: Vec<Named>,
    at_once: usize,
}

struct Reader<'a> {
    source: Source<'a>,
    via: Option<String>,
    test: Option<Located>,
    hosts: Vec<HostTable>,
    /// What each group is said to hold.
    groups: BTreeMap<String, Vec<Named>>,
    links: Vec<LinkTable>,
}

impl<'a> Reader<'a> {
    fn new(source: Source<'a>) -> Self {
        Self {
            source,
            via: None,
            test: None,
            hosts: Vec::new(),
            groups: BTreeMap::new(),
            links: Vec::new(),
        }
    }

    fn read(&mut self, table: &DeTable<'_>) -> Result<(), HostsError> {
        for (key, value) in in_order(table) {
            let at = key.span().start;
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("defaults", DeValue::Table(defaults)) => self.defaults(defaults)?,
                ("hosts", DeValue::Table(hosts)) => {
                    for (name, host) in in_order(hosts) {
                        self.host(name.span().start, name.get_ref(), host.get_ref())?;
                    }
                }
                ("groups", DeValue::Table(groups)) => {
                    for (name, members) in in_order(groups) {
                        let members = self.names(members, name.get_ref())?;
                        self.groups.insert(name.get_ref().to_string(), members);
                    }
                }
                ("shared", DeValue::Array(links)) => {
                    for link in links {
                        self.link(link)?;
                    }
                }
                ("defaults" | "hosts" | "groups", _) => {
                    let text = format!("{0} is a table: [{0}]", key.get_ref());
                    return Err(self.source.fault(at, &text));
                }
                ("shared", _) => {
                    return Err(self
                        .source
                        .fault(at, "a shared link is a table: [[shared]]"));
                }
                (other, _) => {
                    let known = "defaults, hosts, groups, shared";
                    return Err(self.unknown(at, "the file", other, known));
                }
            }
        }
        Ok(())
    }

    fn defaults(&mut self, table: &DeTable<'_>) -> Result<(), HostsError> {
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "via" => self.via = Some(self.via(value)?),
                "test" => {
                    let (at, text) = self.text(value, "test")?;
                    let line = self.source.line(at);
                    self.test = Some(Located { text, line });
                }
                other => {
                    return Err(self.unknown(key.span().start, "defaults", other, "via, test"));
                }
            }
        }
        Ok(())
    }

    fn host(&mut self, at: usize, name: &str, value: &DeValue<'_>) -> Result<(), HostsError> {
        let DeValue::Table(table) = value else {
            let text = format!("a host is a table: [hosts.{name}]");
            return Err(self.source.fault(at, &text));
        };
        self.check_name(at, name, "a host's name")?;
        let mut host = HostTable {
            at,
            name: name.to_owned(),
            destination: name.to_owned(),
            via: None,
            address: None,
            groups: Vec::new(),
        };
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "ssh" => {
                    let (at, text) = self.text(value, "ssh")?;
                    self.check_name(at, &text, "ssh")?;
                    host.destination = text;
                }
                "via" => host.via = Some(self.via(value)?),
                "address" => {
                    let (at, text) = self.text(value, "address")?;
                    self.check_name(at, &text, "address")?;
                    host.address = Some((at, text));
                }
                "groups" => host.groups = self.names(value, "groups")?,
                other => {
                    let known = "ssh, via, address, groups";
                    return Err(self.unknown(key.span().start, "a host", other, known));
                }
            }
        }
        self.hosts.push(host);
        Ok(())
    }

    fn link(&mut self, link: &Spanned<DeValue<'_>>) -> Result<(), HostsError> {
        let at = link.span().start;
        let DeValue::Table(table) = link.get_ref() else {
            return Err(self
                .source
                .fault(at, "a shared link is a table: [[shared]]"));
        };
        let mut read = LinkTable {
            names: Vec::new(),
            at_once: 1,
        };
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "hosts" => read.names = self.names(value, "hosts")?,
                "at_once" => {
                    let number = match value.get_ref() {
                        DeValue::Integer(number) => number.as_str().parse().ok(),
                        _ => None,
                    };
                    let number = number.filter(|number| (1..=MOST_HOSTS).contains(number));
                    read.at_once = number.ok_or_else(|| {
                        let text = format!("at_once is a number from 1 to {MOST_HOSTS}");
                        self.source.fault(value.span().start, &text)
                    })?;
                }
                other => {
                    let known = "hosts, at_once";
                    return Err(self.unknown(key.span().start, "shared", other, known));
                }
            }
        }
        if read.names.is_empty() {
            return Err(self.source.fault(at, "a shared link needs hosts"));
        }
        self.links.push(read);
        Ok(())
    }

    fn via(&self, value: &Spanned<DeValue<'_>>) -> Result<String, HostsError> {
        let (at, text) = self.text(value, "via")?;
        match text.trim().is_empty() {
            true => Err(self.source.fault(at, "via is \"ssh\" or a command")),
            false => Ok(text),
        }
    }

    fn text(&self, value: &Spanned<DeValue<'_>>, what: &str) -> Result<Named, HostsError> {
        let at = value.span().start;
        match value.get_ref() {
            DeValue::String(text) => Ok((at, text.to_string())),
            _ => Err(self.source.fault(at, &format!("{what} is a text"))),
        }
    }

    fn names(&self, value: &Spanned<DeValue<'_>>, what: &str) -> Result<Vec<Named>, HostsError> {
        let DeValue::Array(names) = value.get_ref() else {
            let text = format!("{what} is a list of names");
            return Err(self.source.fault(value.span().start, &text));
        };
        names.iter().map(|name| self.text(name, "a name")).collect()
    }

    /// Whatever begins with a dash is an option to the programs that are given it.
    fn check_name(&self, at: usize, name: &str, what: &str) -> Result<(), HostsError> {
        let plain = |letter: char| !letter.is_control() && !letter.is_whitespace();
        let why = match name {
            "" => "is empty".to_owned(),
            _ if name.starts_with('-') => format!("\"{name}\" begins with a dash"),
            _ if name.len() > LONGEST_NAME => format!("is longer than {LONGEST_NAME} bytes"),
            _ if !name.chars().all(plain) => format!("{name:?} has a space in it"),
            _ => return Ok(()),
        };
        Err(self.source.fault(at, &format!("{what} {why}")))
    }

    fn unknown(&self, at: usize, place: &str, key: &str, known: &str) -> HostsError {
        let text = format!("{place} has no key \"{key}\"; it may have {known}");
        self.source.fault(at, &text)
    }

    /// Puts names into places.
    fn finish(self) -> Result<HostsFile, HostsError> {
        let fault = |at, text: &str| Err(self.source.fault(at, text));
        match &self.hosts[..] {
            [] => return fault(0, "a mesh needs two hosts or more, as [hosts.NAME]"),
            [only] => {
                return fault(
                    only.at,
                    "a mesh needs two hosts or more; this is the only one",
                );
            }
            hosts if hosts.len() > MOST_HOSTS => {
                return fault(
                    hosts[MOST_HOSTS].at,
                    &format!("more than {MOST_HOSTS} hosts"),
                );
            }
            _ => {}
        }
        let mut addresses = BTreeMap::new();
        for host in &self.hosts {
            if let Some((at, address)) = &host.address
                && let Some(other) = addresses.insert(address.to_ascii_lowercase(), &host.name)
            {
                return fault(*at, &format!("{other} has the address {address} already"));
            }
        }
        let members = self.members()?;
        let shared = self.links.iter().map(|link| {
            let mut hosts = BTreeSet::new();
            for name in &link.names {
                hosts.extend(self.find(name, &members)?);
            }
            Ok(SharedLink {
                hosts: hosts.into_iter().collect(),
                at_once: link.at_once,
            })
        });
        let shared = shared.collect::<Result<_, HostsError>>()?;
        let via = |host: &HostTable| match host.via.as_ref().or(self.via.as_ref()) {
            Some(command) if command != "ssh" => Via::Command(command.clone()),
            _ => Via::Ssh,
        };
        let hosts = self.hosts.iter().enumerate().map(|(place, host)| Host {
            name: host.name.clone(),
            destination: host.destination.clone(),
            via: via(host),
            address: host.address.as_ref().map(|(_, address)| address.clone()),
            groups: members
                .iter()
                .filter(|(_, members)| members.contains(&HostId(place)))
                .map(|(group, _)| (*group).to_owned())
                .collect(),
        });
        Ok(HostsFile {
            file: self.source.file.to_owned(),
            hosts: hosts.collect(),
            shared,
            test: self.test.clone(),
        })
    }

    /// The hosts of each group.
    fn members(&self) -> Result<BTreeMap<&str, BTreeSet<HostId>>, HostsError> {
        let mut members: BTreeMap<&str, BTreeSet<HostId>> = BTreeMap::new();
        for (place, host) in self.hosts.iter().enumerate() {
            for (at, group) in &host.groups {
                self.check_name(*at, group, "a group's name")?;
                members.entry(group).or_default().insert(HostId(place));
            }
        }
        let called = |name: &str| self.hosts.iter().find(|host| host.name == name);
        for group in self
            .groups
            .keys()
            .map(String::as_str)
            .chain(members.keys().copied())
        {
            if let Some(host) = called(group) {
                let text = format!("\"{group}\" is a host and a group");
                return Err(self.source.fault(host.at, &text));
            }
        }
        for group in self.groups.keys() {
            members.entry(group).or_default();
        }
        // What a group holds grows until nothing is added: as often as groups hold groups.
        for _ in 0..=self.groups.len() {
            for (group, held) in &self.groups {
                let mut found = BTreeSet::new();
                for name in held {
                    found.extend(self.find(name, &members)?);
                }
                members.entry(group).or_default().extend(found);
            }
        }
        for (group, held) in &self.groups {
            if let Some(at) = held.iter().find(|name| self.leads_to(&name.1, group, 0)) {
                let text = format!("the group {group} holds itself through {}", at.1);
                return Err(self.source.fault(at.0, &text));
            }
        }
        Ok(members)
    }

    /// Whether what is called so is this group, or holds it.
    fn leads_to(&self, name: &str, group: &str, depth: usize) -> bool {
        let held = self.groups.get(name).filter(|_| depth <= self.groups.len());
        name == group
            || held.is_some_and(|held| {
                let mut held = held.iter();
                held.any(|(_, next)| self.leads_to(next, group, depth + 1))
            })
    }

    /// The hosts that a name stands for.
    fn find(
        &self,
        (at, name): &Named,
        members: &BTreeMap<&str, BTreeSet<HostId>>,
    ) -> Result<BTreeSet<HostId>, HostsError> {
        if let Some(place) = self.hosts.iter().position(|host| host.name == *name) {
            return Ok(BTreeSet::from([HostId(place)]));
        }
        members.get(name.as_str()).cloned().ok_or_else(|| {
            let text = format!("no host and no group is called \"{name}\"");
            self.source.fault(*at, &text)
        })
    }
}

/// The entries of a table, as they follow each other in the file.
fn in_order<'t, 'd>(
    table: &'t DeTable<'d>,
) -> Vec<(
    &'t Spanned<std::borrow::Cow<'d, str>>,
    &'t Spanned<DeValue<'d>>,
)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[defaults]
via = "ssh"
test = "-t 10"

[hosts.fra1]
ssh = "net@fra1.example"
address = "198.51.100.4"
groups = ["eu"]

[hosts.ams1]
via = "ip netns exec {host}"

[hosts.nyc1]
[groups]
west = ["nyc1"]
all = ["west", "eu", "ams1"]
[[shared]]
hosts = ["eu", "ams1"]
at_once = 2
"#;

    #[test]
    fn a_file_is_read() {
        let read = HostsFile::read("hosts.toml", GOOD).expect("a good file");
        let names: Vec<&str> = read.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["fra1", "ams1", "nyc1"]);
        let test = read.test.expect("a test");
        assert_eq!((test.text.as_str(), test.line), ("-t 10", 4));
        let fra1 = &read.hosts[0];
        assert_eq!(fra1.destination, "net@fra1.example");
        assert_eq!(fra1.address.as_deref(), Some("198.51.100.4"));
        assert_eq!(fra1.groups, ["all", "eu"]);
        assert_eq!(fra1.via, Via::Ssh);
        let via = Via::Command("ip netns exec {host}".to_owned());
        assert_eq!(
            (&read.hosts[1].via, read.hosts[1].destination.as_str()),
            (&via, "ams1")
        );
        let link = &read.shared[0];
        assert_eq!(
            (&link.hosts[..], link.at_once),
            (&[HostId(0), HostId(1)][..], 2)
        );
    }

    #[test]
    fn whatever_is_wrong_is_said_with_its_line() {
        let two = "[hosts.a]\n[hosts.b]\n";
        for (text, said) in [
            ("", "1: a mesh needs two hosts"),
            (
                "\n[hosts.a]\n",
                "2: a mesh needs two hosts or more; this is the only one",
            ),
            ("[hosts.a\n", "1: "),
            ("[host.a]\n", "1: the file has no key \"host\""),
            ("defaults = 1\n", "1: defaults is a table"),
            ("shared = 1\n", "1: a shared link is a table"),
            (
                "[defaults]\ntests = \"\"\n",
                "2: defaults has no key \"tests\"",
            ),
            ("[defaults]\nvia = \" \"\n", "2: via is"),
            ("[defaults]\ntest = 5\n", "2: test is a text"),
            ("[hosts]\na = 1\n", "2: a host is a table"),
            ("[hosts.a]\nport = 1\n", "2: a host has no key \"port\""),
            (
                "[hosts.a]\n[hosts.-oProxyCommand]\n",
                "2: a host's name \"-oProxyCommand\" begins",
            ),
            (
                "[hosts.a]\nssh = \"-oProxyCommand=x\"\n",
                "2: ssh \"-oProxyCommand=x\" begins",
            ),
            ("[hosts.a]\naddress = \"-x\"\n", "2: address \"-x\" begins"),
            (
                "[hosts.a]\naddress = \"a b\"\n",
                "2: address \"a b\" has a space",
            ),
            ("[hosts.\"\"]\n", "1: a host's name is empty"),
            (
                "[hosts.a]\naddress = \"192.0.2.1\"\n[hosts.b]\naddress = \"192.0.2.1\"\n",
                "4: a has the address 192.0.2.1 already",
            ),
            (
                &format!("{two}[[shared]]\nat_once = 1\n"),
                "3: a shared link needs hosts",
            ),
            (
                &format!("{two}[[shared]]\nhosts = [\"a\",\n\"c\"]\n"),
                "5: no host and no group",
            ),
            (
                &format!("{two}[[shared]]\nhosts = [\"a\"]\nat_once = 0\n"),
                "5: at_once is",
            ),
            (
                &format!("{two}[groups]\nx = [\"y\"]\n"),
                "4: no host and no group is called \"y\"",
            ),
            (
                &format!("{two}[groups]\na = [\"b\"]\n"),
                "1: \"a\" is a host and a group",
            ),
            (
                &format!("{two}[groups]\nx = [\"x\"]\n"),
                "4: the group x holds itself through x",
            ),
            (
                &format!("{two}[groups]\nx = [\"y\"]\ny = [\"z\", \"a\"]\nz = [\"x\"]\n"),
                "4: the group x holds itself through y",
            ),
        ] {
            let error = HostsFile::read("hosts.toml", text).expect_err(text);
            let whole = error.to_string();
            assert!(
                whole.starts_with(&format!("hosts.toml:{said}")),
                "{text}: {whole}"
            );
        }
    }

    #[test]
    fn groups_may_hold_groups_in_any_order() {
        let text = "[hosts.a]\n[hosts.b]\n[groups]\nx = [\"y\"]\ny = [\"z\"]\nz = [\"b\"]\n";
        let read = HostsFile::read("hosts.toml", text).expect("a good file");
        assert_eq!(read.hosts[1].groups, ["x", "y", "z"]);
        assert!(read.hosts[0].groups.is_empty());
    }
}
