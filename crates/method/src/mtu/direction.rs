//! One direction, as a phase of another method.

use tapeline_report::method::{Direction, MtuResult};

use super::{flows, native};
use crate::error::RunError;
use crate::run::Run;
use crate::session_slot::knows;

/// Measures one direction in a phase of another method; what cannot be measured stays unknown.
///
/// # Errors
/// The phase may not go on.
pub(crate) fn measure_direction(
    run: &mut Run<'_>,
    direction: Direction,
    result: &mut MtuResult,
) -> Result<(), RunError> {
    let common = run.common();
    result.ipv6 = common.address()?.is_ipv6();
    let measured = run.lend_session(
        |run, session| match session.filter(|one| knows(one, "mtu")) {
            Some(session) => {
                native::measure_one(run, session, direction, result);
                Ok(())
            }
            None => flows::measure_one(run, direction, result),
        },
    );
    run.check()?;
    match measured {
        Err(RunError::Failed { .. }) => {}
        other => other?,
    }
    result.conclude();
    Ok(())
}
