//! One direction, as a phase of another method.

use tapeline_dialect::MethodSession;
use tapeline_report::method::{Direction, MtuResult};

use super::{flows, native};
use crate::error::RunError;
use crate::run::Run;

/// Whether the server of a session takes orders for the method.
pub(crate) fn knows(session: &MethodSession) -> bool {
    session.methods().version("mtu").is_some()
}

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
    let measured = run.lend_session(|run, session| match session.filter(|one| knows(one)) {
        Some(session) => {
            native::measure_one(run, session, direction, result);
            Ok(())
        }
        None => flows::measure_one(run, direction, result),
    });
    run.check()?;
    match measured {
        Err(RunError::Failed { .. }) => {}
        other => other?,
    }
    result.conclude();
    Ok(())
}
