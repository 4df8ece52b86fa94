//! A file of settings, read key by key; whatever is wrong is named with its line.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::Value;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong with settings.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// There are none, or they cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// Something in them.
    #[error("{}:{line}: {text}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// The key, what is wrong with it, and what to do.
        text: String,
    },
}

/// A key or a table of the file, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) name: String,
    pub(crate) value: Value,
    /// Where in the file, bytes.
    at: usize,
}

/// The keys of a file, or of a table in it, that were not taken yet.
#[derive(Clone, Debug)]
pub(crate) struct TomlFile {
    path: PathBuf,
    /// Where each line ends, bytes.
    lines: Vec<usize>,
    keys: Vec<Located>,
    /// What was asked for: the keys that there may be.
    known: Vec<&'static str>,
}

impl TomlFile {
    /// Reads a file.
    pub(crate) fn open(path: &Path) -> Result<Self, SettingsError> {
        let text = std::fs::read_to_string(path).map_err(|cause| SettingsError::Read {
            path: path.to_owned(),
            cause,
        })?;
        Self::parse(path, &text)
    }

    /// Reads the text of a file.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, SettingsError> {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let mut file = Self {
            path: path.to_owned(),
            lines: ends.map(|(at, _)| at).collect(),
            keys: Vec::new(),
            known: Vec::new(),
        };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            file.fault(at, error.message())
        })?;
        for (key, value) in table.get_ref() {
            let located = file.located(key, value)?;
            file.keys.push(located);
        }
        file.keys.sort_by_key(|key| key.at);
        Ok(file)
    }

    fn located(
        &self,
        key: &Spanned<Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Located, SettingsError> {
        Ok(Located {
            name: key.get_ref().to_string(),
            value: self.json(value)?,
            at: key.span().start,
        })
    }

    fn json(&self, value: &Spanned<DeValue<'_>>) -> Result<Value, SettingsError> {
        Ok(match value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(is_so) => Value::Bool(*is_so),
            // Limits are texts: 60 is as good as "60".
            DeValue::Integer(number) => Value::String(number.as_str().to_owned()),
            DeValue::Float(number) => Value::String(number.as_str().to_owned()),
            DeValue::Array(values) => {
                let values: Result<_, _> = values.iter().map(|value| self.json(value)).collect();
                Value::Array(values?)
            }
            DeValue::Table(table) => {
                let entries = table.iter().map(|(key, value)| {
                    let value = self.json(value)?;
                    Ok((key.get_ref().to_string(), value))
                });
                Value::Object(entries.collect::<Result<_, SettingsError>>()?)
            }
            DeValue::Datetime(_) => {
                let text = "a date has no meaning here: a text stands in quotation marks";
                return Err(self.fault(value.span().start, text));
            }
        })
    }

    fn fault(&self, at: usize, text: &str) -> SettingsError {
        SettingsError::Content {
            path: self.path.clone(),
            line: 1 + self.lines.partition_point(|end| *end < at),
            text: text.lines().collect::<Vec<_>>().join(" "),
        }
    }

    /// What is wrong with a value.
    pub(crate) fn wrong(&self, key: &Located, why: &str) -> SettingsError {
        self.fault(key.at, &format!("{} = {}: {why}", key.name, key.value))
    }

    /// What is wrong with a table.
    pub(crate) fn wrong_table(&self, table: &Located, why: &str) -> SettingsError {
        self.fault(table.at, &format!("{}: {why}", table.name))
    }

    /// A key that has to be there is missing.
    pub(crate) fn missing(&self, name: &str, example: &str) -> SettingsError {
        let last = self.lines.last().copied().unwrap_or(0);
        self.fault(last, &format!("{name} is missing: {name} = {example}"))
    }

    /// The file beside this one, or where its absolute name says.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(name)
    }

    /// Takes a key.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Located> {
        self.known.push(name);
        let place = self.keys.iter().position(|key| key.name == name)?;
        Some(self.keys.remove(place))
    }

    /// Takes a text.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<Located>, SettingsError> {
        let Some(key) = self.take(name) else {
            return Ok(None);
        };
        match key.value.as_str() {
            Some(_) => Ok(Some(key)),
            None => Err(self.wrong(&key, "a text stands in quotation marks")),
        }
    }

    /// Takes a text that has to be there and to be something.
    pub(crate) fn parsed<T: FromStr<Err: std::fmt::Display>>(
        &mut self,
        name: &'static str,
        example: &str,
    ) -> Result<T, SettingsError> {
        let key = self.text(name)?;
        let key = key.ok_or_else(|| self.missing(name, example))?;
        let text = key.value.as_str().unwrap_or_default();
        text.parse()
            .map_err(|error: T::Err| self.wrong(&key, &error.to_string()))
    }

    /// Takes a switch; off without it.
    pub(crate) fn switch(&mut self, name: &'static str) -> Result<bool, SettingsError> {
        match self.take(name) {
            None => Ok(false),
            Some(key) => match key.value.as_bool() {
                Some(is_on) => Ok(is_on),
                None => Err(self.wrong(&key, "true or false")),
            },
        }
    }

    /// Takes all that is left, whose names must be among these.
    pub(crate) fn rest(mut self, names: &[&'static str]) -> Result<Vec<Located>, SettingsError> {
        self.known.extend(names);
        let unknown = self.keys.iter().find(|key| !names.contains(&&*key.name));
        match unknown {
            None => Ok(self.keys),
            Some(key) => {
                let known = self.known.join(", ");
                let text = format!("there is no key \"{}\"; there are {known}", key.name);
                Err(self.fault(key.at, &text))
            }
        }
    }
}
