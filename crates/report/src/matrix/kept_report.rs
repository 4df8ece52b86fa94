//! The report of a test as a mesh keeps it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Members of a report that are large, and not shown.
const DROPPED: [&str; 2] = ["command", "quantiles_ms"];

/// A report without what is large or not known: as text, because thousands of them are held.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transparent))]
pub struct KeptReport(
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))] String,
);

impl KeptReport {
    /// Of a whole report.
    #[must_use]
    pub fn new(document: Value) -> Self {
        Self(trimmed(document).to_string())
    }

    /// What is left of it.
    #[must_use]
    pub fn document(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl Serialize for KeptReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for KeptReport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::new)
    }
}

fn trimmed(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let is_kept =
                |name: &str, member: &Value| !member.is_null() && !DROPPED.contains(&name);
            let kept = members
                .into_iter()
                .filter(|(name, member)| is_kept(name, member));
            Value::Object(kept.map(|(name, member)| (name, trimmed(member))).collect())
        }
        Value::Array(members) => Value::Array(members.into_iter().map(trimmed).collect()),
        other => other,
    }
}
