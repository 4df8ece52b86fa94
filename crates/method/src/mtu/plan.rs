//! What is asked of `tapeline mtu`, and which way it takes.

use tapeline_dialect::SessionError;
use tapeline_report::method::{Direction, MtuDirection, MtuResult, PlannedPhase};

use super::basis::{PACKETS, planned};
use super::{flows, native};
use crate::common::Common;
use crate::error::{MethodError, RunError};
use crate::procedure::Procedure;
use crate::run::Run;
use crate::session_slot::{NoSession, knows};

/// Payload that a direction moves at most: packets of any size, and those that count the loss.
const MOST_BYTES: u64 = 1 << 20;

/// `tapeline mtu`.
#[derive(Clone, Debug, PartialEq)]
pub struct MtuPlan {
    /// What all methods are asked for alike; `length` is the largest packet to try.
    pub common: Common,
}

impl MtuPlan {
    /// Whether the server is a tapeline that knows the method. Of a plain peer the answer is perhaps
    /// why there is no TCP connection: an iperf 2 server may serve UDP alone.
    fn orders(run: &mut Run<'_>) -> Result<Result<(), Option<RunError>>, MethodError> {
        if let Some(session) = run.session() {
            return Ok(knows(session, "mtu").then_some(()).ok_or(None));
        }
        let Some(NoSession::Failed(error)) = run.no_session() else {
            return Ok(Err(None));
        };
        match error {
            SessionError::NotTapeline | SessionError::NoMethods => Ok(Err(None)),
            SessionError::Connect { .. } => Ok(Err(Some(run.session_failure(error)))),
            _ => Err(run.session_failure(error)),
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
        match Self::orders(run)? {
            Ok(()) => {
                run.deviate(
                    "answers are awaited for 0.2 to 2 s (RFC 8899 asks for at least 1 s, and 15 s \
                     for confirmations)",
                );
                run.lend_session(|run, session| match session {
                    Some(session) => native::measure(&self.common, run, session, result),
                    None => Ok(()),
                })?;
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
