//! `enrolled.toml`: who has which key at a site. Rights in the server are made of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::names::{HostName, SiteName};
use crate::rights::Holder;
use crate::schedule::Enrolled;
use crate::site::access::servers;
use crate::site::folder::{quoted, quoted_list};
use crate::site::key;
use crate::site::toml_file::{Located, SettingsError, TomlFile};

/// Its name.
pub(crate) const FILE: &str = "enrolled.toml";

/// The roles with a key for each site.
pub(crate) const ROLES: [(&str, Holder); 3] = [
    ("controller", Holder::Controller),
    ("collector", Holder::Collector),
    ("operator", Holder::Operator),
];

/// Who has which key at a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Registry {
    pub(crate) site: SiteName,
    pub(crate) servers: Vec<String>,
    pub(crate) is_plain: bool,
    /// Public keys of `ROLES`, in their order.
    pub(crate) roles: [String; 3],
    pub(crate) hosts: BTreeMap<HostName, HostEntry>,
}

/// A host's key and place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostEntry {
    /// The public key.
    pub(crate) key: String,
    /// What others test towards.
    pub(crate) address: String,
    pub(crate) groups: Vec<String>,
}

/// Whether a text may be what others test towards: an address or a name.
///
/// # Errors
/// What is wrong with it.
pub fn check_address(text: &str) -> Result<(), String> {
    let is_plain =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | ':' | '-' | '_' | '%');
    match !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        true => Ok(()),
        false => Err("an address or a name that other hosts reach, as 192.0.2.7".to_owned()),
    }
}

/// Whether a text may be the name of a group.
///
/// # Errors
/// What is wrong with it.
pub fn check_group(text: &str) -> Result<(), String> {
    match text.parse::<HostName>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "\"{text}\" is no name of a group: up to 63 of a-z A-Z 0-9 - _, first a letter or digit"
        )),
    }
}

impl Registry {
    /// Reads the file.
    pub(crate) fn read(path: &Path) -> Result<Self, SettingsError> {
        let mut file = TomlFile::open(path)?;
        let site = file.parsed("site", "\"lab\"")?;
        let is_plain = file.switch("plain")?;
        let servers = servers(&mut file, is_plain)?;
        let mut roles: [String; 3] = Default::default();
        let keys = file.take("keys");
        let keys = keys.ok_or_else(|| file.missing("keys", "a table of the roles' public keys"))?;
        for (place, (name, _)) in ROLES.iter().enumerate() {
            roles[place] = public_key(&file, &keys, &keys.value[name], name)?;
        }
        let mut hosts = BTreeMap::new();
        if let Some(table) = file.take("hosts") {
            let entries = table.value.as_object();
            let entries =
                entries.ok_or_else(|| file.wrong_table(&table, "a table [hosts.NAME]"))?;
            for (name, entry) in entries {
                let host: HostName = name
                    .parse()
                    .map_err(|error| file.wrong_table(&table, &format!("{error}")))?;
                let address = entry["address"].as_str().unwrap_or(name);
                check_address(address)
                    .map_err(|why| file.wrong_table(&table, &format!("{name}: address: {why}")))?;
                let groups = entry["groups"].as_array().into_iter().flatten();
                let groups = groups.filter_map(|group| group.as_str().map(str::to_owned));
                let entry = HostEntry {
                    key: public_key(&file, &table, &entry["key"], name)?,
                    address: address.to_owned(),
                    groups: groups.collect(),
                };
                hosts.insert(host, entry);
            }
        }
        file.rest(&[])?;
        Ok(Self {
            site,
            servers,
            is_plain,
            roles,
            hosts,
        })
    }

    /// The text of the file.
    pub(crate) fn render(&self) -> String {
        let mut text = format!(
            "# Who has which key at the site \"{}\": public keys, no secrets.\n\
             # A host that is removed here has no rights after the next `tapeline fleet enrol` and a \
             reload of the server.\n",
            self.site
        );
        text += &self.head();
        text += "\n[keys]\n";
        for ((name, _), key) in ROLES.iter().zip(&self.roles) {
            let _ = writeln!(text, "{name} = {}", quoted(key));
        }
        for (host, entry) in &self.hosts {
            let _ = write!(
                text,
                "\n[hosts.{host}]\nkey = {}\naddress = {}\ngroups = {}\n",
                quoted(&entry.key),
                quoted(&entry.address),
                quoted_list(&entry.groups)
            );
        }
        text
    }

    /// What all files of the site begin with.
    pub(crate) fn head(&self) -> String {
        let plain = if self.is_plain { "plain = true\n" } else { "" };
        format!(
            "site = {}\nservers = {}\n{plain}",
            quoted(self.site.as_str()),
            quoted_list(&self.servers)
        )
    }

    /// All who have a key.
    pub(crate) fn holders(&self) -> impl Iterator<Item = (&str, Holder)> {
        let roles = self.roles.iter().zip(ROLES);
        let roles = roles.map(|(key, (_, holder))| (key.as_str(), holder));
        let agents = self.hosts.iter();
        let agents = agents.map(|(host, entry)| (entry.key.as_str(), Holder::Agent(host.clone())));
        roles.chain(agents)
    }

    /// The hosts, for schedules.
    pub(crate) fn enrolled(&self) -> Vec<Enrolled> {
        let enrolled = |(host, entry): (&HostName, &HostEntry)| Enrolled {
            name: host.clone(),
            groups: entry.groups.clone(),
        };
        self.hosts.iter().map(enrolled).collect()
    }
}

fn public_key(
    file: &TomlFile,
    table: &Located,
    value: &serde_json::Value,
    name: &str,
) -> Result<String, SettingsError> {
    let key = value.as_str().filter(|key| key::is_public(key));
    let key = key.ok_or_else(|| {
        let why = format!("{name} needs the public key of an nkey, U...");
        file.wrong_table(table, &why)
    })?;
    Ok(key.to_owned())
}
