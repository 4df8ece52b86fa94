//! Why a test, or a method, did not run to its end.

use tapeline_dialect::SessionError;
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

    /// Nobody serves at a port of a host.
    pub(crate) fn unconnected(host: &str, port: u16, reason: &str) -> Self {
        let reason = reason.to_lowercase();
        let text = format!("cannot connect to {host} port {port}: {reason}");
        Self::failed("connect-failed", text)
            .hinting("is \"tapeline -s\" running there? Another port: -p")
    }

    /// Nobody serves there any more.
    pub(crate) fn gone(host: &str, port: u16) -> Self {
        let text = format!("the server has gone: {host} port {port} refuses connections now");
        Self::failed("peer-lost", text)
    }

    /// Why a session with a host came to nothing.
    pub(crate) fn of_session(error: &SessionError, host: &str) -> Self {
        match error {
            SessionError::Interrupted => Self::Interrupted,
            SessionError::Unresolvable { text, hint } => Self::Failed {
                id: "unknown-host",
                text: text.clone(),
                hint: hint.clone(),
            },
            SessionError::Connect { peer, reason } => Self::unconnected(host, peer.port(), reason),
            SessionError::NotTapeline
            | SessionError::NoMethods
            | SessionError::Refused(_)
            | SessionError::Declined(_) => Self::failed("test-refused", error.to_string()),
            SessionError::UdpBlocked => {
                Self::failed("no-reply", error.to_string()).hinting("a firewall drops UDP")
            }
            _ => Self::failed("peer-lost", error.to_string()),
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
