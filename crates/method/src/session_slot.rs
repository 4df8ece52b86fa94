//! The session of a run with a tapeline: opened when it is first wanted.

use std::time::Duration;

use tapeline_base::Transport;
use tapeline_dialect::{ClientPlan, Interruption, MethodSession, SessionError};
use tapeline_report::method::Direction;
use thiserror::Error;

use crate::client_runs::ClientRuns;
use crate::common::{Common, PeerKind};
use crate::phase_guard::{PhaseGuard, Registration};

/// Time for the first connection.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);

/// Why there is no session.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum NoSession {
    /// The other end is an iperf3.
    #[error("the server is iperf3")]
    Iperf3,
    /// `--no-control`.
    #[error("the command line wants none")]
    Unwanted,
    /// The system gives no descriptor to wake by.
    #[error("{0}")]
    NoResources(String),
    /// It could not be opened.
    #[error(transparent)]
    Failed(SessionError),
}

/// What there is of a session.
pub(crate) enum SessionSlot<'a> {
    /// Nobody wanted one yet.
    Unopened,
    /// It is there; a signal, or the time limit of a phase, ends what waits in it.
    Open {
        session: Box<MethodSession>,
        _ends: Registration<'a>,
    },
    /// There is none, and why.
    Missing(NoSession),
}

/// Whether the server of a session takes orders for a method.
pub(crate) fn knows(session: &MethodSession, method: &str) -> bool {
    session.methods().version(method).is_some()
}

impl<'a> SessionSlot<'a> {
    /// The session; it is opened if it can be.
    pub(crate) fn get(
        &mut self,
        common: &Common,
        guard: &'a PhaseGuard<'a>,
        runs: &ClientRuns<'_>,
    ) -> Option<&mut MethodSession> {
        if let Self::Unopened = self {
            *self = Self::open(common, guard, runs);
        }
        self.opened()
    }

    /// The session, if there is one by now.
    pub(crate) fn opened(&mut self) -> Option<&mut MethodSession> {
        match self {
            Self::Open { session, .. } => Some(session),
            Self::Unopened | Self::Missing(_) => None,
        }
    }

    /// Why there is none.
    pub(crate) fn reason(&self) -> Option<&NoSession> {
        match self {
            Self::Missing(why) => Some(why),
            Self::Unopened | Self::Open { .. } => None,
        }
    }

    fn open(common: &Common, guard: &'a PhaseGuard<'a>, runs: &ClientRuns<'_>) -> Self {
        if common.peer == PeerKind::Iperf3 {
            return Self::Missing(NoSession::Iperf3);
        }
        if !common.control {
            return Self::Missing(NoSession::Unwanted);
        }
        let interruption = match Interruption::new() {
            Ok(interruption) => interruption,
            Err(error) => {
                return Self::Missing(NoSession::NoResources(tapeline_sys::reason(&error)));
            }
        };
        let ends = guard.register(&interruption);
        let plan = ClientPlan {
            connect_timeout: CONNECT,
            ..common.client_plan(Transport::Tcp, Direction::Up)
        };
        match MethodSession::open(&plan, &interruption) {
            Ok(session) => {
                runs.know_server(&common.host, &session);
                Self::Open {
                    session: Box::new(session),
                    _ends: ends,
                }
            }
            Err(error) => Self::Missing(NoSession::Failed(error)),
        }
    }
}
