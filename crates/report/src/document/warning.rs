//! Conditions in documents, and whom those are about that belong to no test.

pub(crate) use crate::model::WarningId;
use crate::model::{Notice, Severity, Warning};
use crate::native;
use crate::render::tame;
use crate::style::Style;

/// A condition with its sentence.
pub(crate) fn warning(id: WarningId, (severity, text): (Severity, String)) -> Warning {
    Warning {
        id: id.name().to_owned(),
        severity,
        text,
    }
}

/// A notice with its sentence.
pub(crate) fn warning_for(notice: &Notice, style: &Style) -> Warning {
    warning(
        WarningId::from_notice(notice),
        native::sentence(notice, style),
    )
}

/// A peer with whom a server has no test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// Address and port.
    pub peer: String,
    /// Why it was refused, where that is not the condition itself.
    pub reason: Option<String>,
}

impl Incident {
    /// The peer that a notice is about, if there is one.
    pub(crate) fn from_notice(notice: &Notice, style: &Style) -> Option<Self> {
        let (peer, reason) = match notice {
            Notice::PeerRefused { peer, reason } => (peer, Some(tame(reason))),
            Notice::InternalFault { peer } => (peer, None),
            _ => return None,
        };
        Some(Self {
            peer: native::shown(*peer, style),
            reason,
        })
    }
}
