//! The session of a run with a tapeline: opened when it is first wanted.

use tapeline_base::Transport;
use tapeline_dialect::{Interruption, MethodSession, SessionError};
use tapeline_report::method::Direction;

use crate::client_runs::ClientRuns;
use crate::common::{Common, PeerKind};
use crate::phase_guard::{PhaseGuard, Registration};

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
    Missing(String),
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
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Missing(why) => Some(why),
            Self::Unopened | Self::Open { .. } => None,
        }
    }

    fn open(common: &Common, guard: &'a PhaseGuard<'a>, runs: &ClientRuns<'_>) -> Self {
        if common.peer == PeerKind::Iperf3 {
            return Self::Missing("the server is iperf3".to_owned());
        }
        if !common.control {
            return Self::Missing("the command line wants none".to_owned());
        }
        let interruption = match Interruption::new() {
            Ok(interruption) => interruption,
            Err(error) => return Self::Missing(tapeline_sys::reason(&error)),
        };
        let ends = guard.register(&interruption);
        let plan = common.client_plan(Transport::Tcp, Direction::Up);
        match MethodSession::open(&plan, &interruption) {
            Ok(session) => {
                runs.know_server(&common.host, &session);
                Self::Open {
                    session: Box::new(session),
                    _ends: ends,
                }
            }
            Err(SessionError::NotTapeline) => Self::Missing("the server is no tapeline".to_owned()),
            Err(error) => Self::Missing(error.to_string()),
        }
    }
}
