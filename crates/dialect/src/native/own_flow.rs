//! A flow of this end, and how the other end names it.

use std::net::SocketAddr;
use std::num::NonZeroU32;

use tapeline_base::FlowTag;
use tapeline_wire::native::{FlowResult, Way};

/// A connection or a pair of addresses over which data goes in one direction or in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnFlow {
    /// Number that the server answered the flow's mark with. None while no answer was heard, and for
    /// flows that the server opens.
    pub(crate) token: Option<NonZeroU32>,
    /// What this end sends.
    pub(crate) sends: Option<FlowTag>,
    /// What it receives.
    pub(crate) receives: Option<FlowTag>,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    /// Congestion control of this end (TCP).
    pub(crate) congestion: Option<String>,
}

impl OwnFlow {
    /// Its directions.
    pub(super) fn tags(&self) -> impl Iterator<Item = FlowTag> {
        self.receives.into_iter().chain(self.sends)
    }

    /// The direction of this end that a direction of the other end is.
    pub(super) fn counterpart(&self, way: Way) -> Option<FlowTag> {
        match way {
            Way::Send => self.receives,
            Way::Receive => self.sends,
        }
    }
}

/// The flow that the other end speaks of: by its token, or by its ports where it has none (a
/// translation of addresses may have changed those).
pub(super) fn find<'a>(told: &FlowResult, own: &'a [OwnFlow]) -> Option<&'a OwnFlow> {
    let by_token = own
        .iter()
        .find(|one| one.token.is_some_and(|token| token.get() == told.token));
    by_token.or_else(|| {
        own.iter().find(|one| {
            let unnamed = one.token.is_none() || told.token == 0;
            unnamed && (one.peer.port(), one.local.port()) == (told.local_port, told.remote_port)
        })
    })
}

#[cfg(test)]
mod tests {
    use tapeline_base::FlowId;

    use super::*;

    fn flow(token: u32, port: u16) -> OwnFlow {
        let tag = |reversed| FlowTag {
            id: FlowId(u32::from(port)),
            reversed,
        };
        OwnFlow {
            token: NonZeroU32::new(token),
            sends: Some(tag(false)),
            receives: Some(tag(true)),
            local: SocketAddr::from(([10, 0, 0, 1], port)),
            peer: SocketAddr::from(([10, 0, 0, 2], 5001)),
            congestion: None,
        }
    }

    #[test]
    fn a_flow_is_found_by_its_token_and_else_by_its_ports() {
        let own = [flow(7, 1), flow(0, 2), flow(9, 3)];
        let told = |token, remote_port| FlowResult {
            token,
            local_port: 5001,
            remote_port,
            ..FlowResult::default()
        };
        let found = |token, port| find(&told(token, port), &own).map(|one| one.local.port());
        // A translated port does not matter where there is a token.
        assert_eq!(found(7, 60_000), Some(1));
        assert_eq!(found(8, 2), Some(2));
        assert_eq!(found(0, 3), Some(3));
        // Two tokens that differ are two flows.
        assert_eq!(found(8, 3), None);
        let found = find(&told(7, 1), &own).expect("a flow");
        assert_eq!(found.counterpart(Way::Send), own[0].receives);
        assert_eq!(found.counterpart(Way::Receive), own[0].sends);
    }
}
