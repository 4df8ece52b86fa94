//! One direction, as a phase of another method.

use tapeline_dialect::MethodSession;
use tapeline_report::method::{Direction, MtuResult};

use super::{flows, native};
use crate::error::RunError;
use crate::run::Run;

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
    let knows = |session: &MethodSession| session.methods().version("mtu").is_some();
    let orders = run.session().is_some_and(|session| knows(session));
    let measured = if orders {
        run.with_session(|run, session| native::measure_one(run, session, direction, result));
        Ok(())
    } else {
        flows::measure_one(run, direction, result)
    };
    run.check()?;
    match measured {
        Err(RunError::Failed { .. }) => {}
        other => other?,
    }
    result.conclude();
    Ok(())
}
