//! Why a test, or a method, did not run to its end.

use tapeline_report::document::Failure;
use thiserror::Error;

/// Why a test, or a method, did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// A signal ended it.
    #[error("interrupted")]
    Interrupted,
    /// Its phase took longer than twice its planned time and 30 s.
    #[error("the phase took longer than twice its planned time and 30 s")]
    Overran,
    /// The budget is used up.
    #[error("the budget of {0} bytes is used up")]
    BudgetUsed(u64),
    /// It failed.
    #[error("{text}")]
    Failed {
        /// Its name, as that of a warning: `connect-failed`.
        id: &'static str,
        /// A sentence without a full stop.
        text: String,
        /// What helps.
        hint: Option<String>,
    },
}

/// Why a method did not run to its end.
pub type MethodError = RunError;

impl RunError {
    /// Fails for a reason with a name.
    #[must_use]
    pub fn failed(id: &'static str, text: impl Into<String>) -> Self {
        Self::Failed {
            id,
            text: text.into(),
            hint: None,
        }
    }

    /// The same, with advice.
    #[must_use]
    pub fn hinting(self, advice: impl Into<String>) -> Self {
        match self {
            Self::Failed { id, text, .. } => Self::Failed {
                id,
                text,
                hint: Some(advice.into()),
            },
            other => other,
        }
    }

    /// As a document has it; nothing of an interruption, which a document says elsewhere, and of a
    /// budget, which is a deviation.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        let id = match self {
            Self::Interrupted | Self::BudgetUsed(_) => return None,
            Self::Overran => "method-overran",
            Self::Failed { id, .. } => id,
        };
        Some(Failure {
            id: id.to_owned(),
            text: self.to_string(),
        })
    }
}
