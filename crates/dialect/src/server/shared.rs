//! What everything that begins on one socket of a server shares.

use std::sync::Arc;

use super::listener::PeerFilter;
use crate::iperf2::test_groups::TestGroups;
use crate::iperf3::service::Iperf3Service;
use crate::method::service::MethodService;
use crate::native::server::ControlService;
use crate::plan::ServerPlan;
use crate::policy::Policy;
use crate::run::context::Context;
use crate::run::tasks::Tally;

/// The server as its listeners and tests see it.
#[derive(Clone)]
pub(crate) struct ServerShared {
    pub(crate) plan: Arc<ServerPlan>,
    pub(crate) context: Arc<Context>,
    /// Whose connections and datagrams are taken.
    pub(crate) peer_filter: PeerFilter,
    /// Which tests belong together.
    pub(crate) groups: Arc<TestGroups>,
    /// Running flows; whoever listens is woken when one ends.
    pub(crate) tally: Arc<Tally>,
    /// Recognises other tapelines and serves their control connections, where the plan says so.
    pub(crate) control: Option<Arc<ControlService>>,
    /// Does what they order, where datagrams reach this socket.
    pub(crate) methods: Option<Arc<MethodService>>,
    /// Serves iperf3 clients, where the plan says so.
    pub(crate) iperf3: Option<Arc<Iperf3Service>>,
    /// What clients may do.
    pub(crate) policy: Arc<Policy>,
}
