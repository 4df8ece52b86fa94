//! What is asked of `tapeline mtu`, and which way it takes.

use tapeline_base::Transport;
use tapeline_dialect::{Interruption, MethodSession, SessionError};
use tapeline_report::method::{Direction, MtuDirection, MtuResult, PlannedPhase};

use super::basis::{PACKETS, planned, session_failure};
use super::{flows, native};
use crate::common::{Common, PeerKind};
use crate::error::{MethodError, RunError};
use crate::procedure::Procedure;
use crate::run::Run;

/// Payload that a direction moves at most: packets of any size, and those that count the loss.
const MOST_BYTES: u64 = 1 << 20;

/// `tapeline mtu`.
#[derive(Clone, Debug, PartialEq)]
pub struct MtuPlan {
    /// What all methods are asked for alike; `length` is the largest packet to try.
    pub common: Common,
}

impl MtuPlan {
    /// A session with a tapeline that knows the method. Of a plain peer there is none, and perhaps
    /// the reason why there is no TCP connection either: an iperf 2 server may serve UDP alone.
    fn session(
        &self,
        run: &Run<'_>,
        stop: &Interruption,
    ) -> Result<Result<MethodSession, Option<RunError>>, MethodError> {
        if self.common.peer == PeerKind::Iperf3 || !self.common.control {
            return Ok(Err(None));
        }
        let plan = run.client_plan(Transport::Tcp, Direction::Up);
        match MethodSession::open(&plan, stop) {
            Ok(session) if session.methods().version("mtu").is_some() => Ok(Ok(session)),
            Ok(_) | Err(SessionError::NotTapeline | SessionError::NoMethods) => Ok(Err(None)),
            Err(error @ SessionError::Connect { .. }) => {
                Ok(Err(Some(session_failure(&error, &self.common))))
            }
            Err(error) => Err(session_failure(&error, &self.common)),
        }
    }
}

impl Procedure for MtuPlan {
    const WORD: &'static str = "mtu";
    const STANDARD: &'static str = "RFC 8899";
    const ABOUT: &'static str = "the largest packet that the path carries in each direction";

    type Result = MtuResult;

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn phases(&self) -> Vec<PlannedPhase> {
        let seconds = planned(&self.common);
        let directions = self.common.direction.directions().iter();
        let phase = |&direction: &Direction| {
            PlannedPhase::new(PACKETS, Some(direction), seconds.as_secs_f64()).moving(MOST_BYTES)
        };
        directions.map(phase).collect()
    }

    fn run(&self, run: &mut Run<'_>, result: &mut MtuResult) -> Result<(), MethodError> {
        let server = self.common.address()?;
        result.ipv6 = server.is_ipv6();
        for &direction in self.common.direction.directions() {
            *result.direction_mut(direction) = Some(MtuDirection::default());
        }
        let stop = Interruption::new()
            .map_err(|error| RunError::failed("out-of-resources", error.to_string()))?;
        let _ends = run.ends(&stop);
        match self.session(run, &stop)? {
            Ok(mut session) => {
                run.runs().know_server(&self.common.host, &session);
                run.deviate(
                    "answers are awaited for 0.2 to 2 s (RFC 8899 asks for at least 1 s, and 15 s \
                     for confirmations)",
                );
                native::measure(&self.common, run, &mut session, result)?;
            }
            Err(without_tcp) => {
                run.deviate("each size is a short test, of which the server reports what arrived");
                flows::measure(&self.common, run, result, without_tcp)?;
            }
        }
        result.conclude();
        Ok(())
    }
}
