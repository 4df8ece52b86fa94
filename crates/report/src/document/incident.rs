//! Whom a condition is about that belongs to no test.

use crate::iperf2::tame;
use crate::model::Notice;
use crate::native;
use crate::style::Style;

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
    pub(super) fn of(notice: &Notice, style: &Style) -> Option<Self> {
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
