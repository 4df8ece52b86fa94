//! Conditions as documents tell them.

use serde::Serialize;

/// How grave a condition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something to know; the numbers hold.
    Note,
    /// The numbers say less than they seem to.
    Warning,
    /// Something did not take place.
    Error,
}

impl Severity {
    /// The word before a sentence, and the name in documents.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A condition with a name that does not change between versions. The other end may send
/// names that this one does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Its name, lower case with hyphens; `tapeline explain` knows it.
    pub id: String,
    /// How grave.
    pub severity: Severity,
    /// One sentence with the numbers of this run.
    pub text: String,
}
