//! Whose connections and datagrams a listening socket takes.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::native::TestFlows;
use crate::policy::Policy;
use crate::reporter::GroupKey;

/// Who may connect and what for.
#[derive(Clone, Debug)]
pub(super) enum Admission {
    /// Anybody, or one address; connections begin with a first message.
    Server {
        /// Only from this address.
        only_from: Option<IpAddr>,
    },
    /// The connections that a dual test's server opens: no first message.
    ConnectBack {
        /// The server.
        from: IpAddr,
        /// Longest time of each flow; `None` without.
        limit: Option<Duration>,
        /// Sum group of the client's test.
        group: GroupKey,
        /// The test, when its server may be tapeline.
        test: Arc<OnceLock<TestFlows>>,
    },
}

impl Admission {
    /// Whether `peer` is taken, where `policy` says which addresses are served.
    pub(super) fn admits(&self, peer: IpAddr, policy: &Policy) -> bool {
        match self {
            Self::Server { only_from } => {
                only_from.is_none_or(|only| only == peer) && policy.serves(peer)
            }
            Self::ConnectBack { from, .. } => *from == peer,
        }
    }
}
