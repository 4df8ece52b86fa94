//! Settings of the four roles.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent::{LIMIT_KEYS, Limits};
use crate::controller::Link;
use crate::names::HostName;
use crate::rights::Holder;
use crate::schedule::Enrolled;
use crate::site::access::Access;
use crate::site::registry::{self, Registry, check_address};
use crate::site::toml_file::{Located, SettingsError, TomlFile};

/// Where results wait for the collector, unless the settings say otherwise.
pub(crate) const SPOOL: &str = "/var/lib/tapeline/spool";

/// Settings of an agent: `agent.toml`.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSettings {
    /// The way to the server.
    pub access: Access,
    /// Its host.
    pub host: HostName,
    /// What others test towards.
    pub address: String,
    /// The folder with what waits for the collector.
    pub spool: PathBuf,
    /// What the owner allows.
    pub limits: Limits,
}

/// Settings of a controller: `controller.toml`.
#[derive(Clone, Debug)]
pub struct ControllerSettings {
    /// The way to the server.
    pub access: Access,
    /// What hosts share.
    pub links: Vec<Link>,
}

/// Settings of the collector: `collector.toml`.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectorSettings {
    /// The way to the server.
    pub access: Access,
}

/// Settings of a person with `tapeline fleet`: `operator.toml`.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorSettings {
    /// The way to the server.
    pub access: Access,
    /// The hosts of `enrolled.toml` beside it, if that is there.
    pub enrolled: Vec<Enrolled>,
}

/// The settings of a role without `--config`: those of the site in this folder, else those of this host.
#[must_use]
pub fn default_settings(role: &str) -> PathBuf {
    let here = Path::new("fleet").join(format!("{role}.toml"));
    match here.exists() {
        true => here,
        false => Path::new("/etc/tapeline").join(format!("{role}.toml")),
    }
}

impl AgentSettings {
    /// Reads them.
    ///
    /// # Errors
    /// What is wrong, where, and what to do.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let mut file = TomlFile::open(path)?;
        let host: HostName = file.parsed("host", "\"fra1\"")?;
        let access = Access::take(&mut file, &Holder::Agent(host.clone()))?;
        let address = file.text("address")?;
        let address = address.ok_or_else(|| file.missing("address", "\"192.0.2.7\""))?;
        let text = address.value.as_str().unwrap_or_default();
        check_address(text).map_err(|why| file.wrong(&address, &why))?;
        let spool = file.text("spool")?;
        let spool = spool.as_ref().and_then(|spool| spool.value.as_str());
        Ok(Self {
            access,
            host,
            address: text.to_owned(),
            spool: file.beside(spool.unwrap_or(SPOOL)),
            limits: limits(file)?,
        })
    }
}

/// What is left of the file.
fn limits(file: TomlFile) -> Result<Limits, SettingsError> {
    let reader = file.clone();
    let rest = file.rest(&LIMIT_KEYS)?;
    let of = |keys: &[Located]| {
        let keys = keys.iter().map(|key| (key.name.clone(), key.value.clone()));
        serde_json::from_value::<Limits>(Value::Object(keys.collect()))
    };
    for key in &rest {
        if let Err(error) = of(std::slice::from_ref(key)) {
            return Err(reader.wrong(key, &why(key, &error.to_string())));
        }
    }
    of(&rest).map_err(|error| reader.missing("limits", &error.to_string()))
}

/// The reason alone, without the key and the value that stand before it.
fn why(key: &Located, error: &str) -> String {
    let before = format!("{} = ", key.name);
    match error.starts_with(&before) {
        true => error
            .rsplit_once("\": ")
            .map_or(error, |(_, why)| why)
            .to_owned(),
        false => error.to_owned(),
    }
}

impl ControllerSettings {
    /// Reads them.
    ///
    /// # Errors
    /// What is wrong, where, and what to do.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let mut file = TomlFile::open(path)?;
        let access = Access::take(&mut file, &Holder::Controller)?;
        let mut links = Vec::new();
        if let Some(shared) = file.take("shared") {
            const FORM: &str =
                "a shared link is [[shared]] with hosts = [NAMES] and at_once = NUMBER";
            let entries = shared.value.as_array();
            for entry in entries.ok_or_else(|| file.wrong_table(&shared, FORM))? {
                links.push(link(entry).map_err(|why| {
                    let why = why.unwrap_or_else(|| FORM.to_owned());
                    file.wrong_table(&shared, &why)
                })?);
            }
        }
        file.rest(&[])?;
        Ok(Self { access, links })
    }
}

/// A shared link; else why it is none.
fn link(entry: &Value) -> Result<Link, Option<String>> {
    let entry = entry.as_object().ok_or(None)?;
    if entry.keys().any(|key| key != "hosts" && key != "at_once") {
        return Err(None);
    }
    let hosts = entry.get("hosts").and_then(Value::as_array).ok_or(None)?;
    let hosts = hosts.iter().map(|host| {
        let host = host.as_str().ok_or(None)?;
        host.parse().map_err(|error| Some(format!("{error}")))
    });
    let hosts: Vec<HostName> = hosts.collect::<Result<_, Option<String>>>()?;
    let one = json!("1");
    let at_once = entry.get("at_once").unwrap_or(&one).as_str();
    let at_once: usize = at_once.and_then(|number| number.parse().ok()).ok_or(None)?;
    match at_once > 0 && !hosts.is_empty() {
        true => Ok(Link { hosts, at_once }),
        false => Err(None),
    }
}

impl CollectorSettings {
    /// Reads them.
    ///
    /// # Errors
    /// What is wrong, where, and what to do.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let mut file = TomlFile::open(path)?;
        let access = Access::take(&mut file, &Holder::Collector)?;
        file.rest(&[])?;
        Ok(Self { access })
    }
}

impl OperatorSettings {
    /// Reads them.
    ///
    /// # Errors
    /// What is wrong, where, and what to do.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let mut file = TomlFile::open(path)?;
        let access = Access::take(&mut file, &Holder::Operator)?;
        let registry = file.beside(registry::FILE);
        file.rest(&[])?;
        let enrolled = match registry.exists() {
            true => Registry::read(&registry)?.enrolled(),
            false => Vec::new(),
        };
        Ok(Self { access, enrolled })
    }
}
