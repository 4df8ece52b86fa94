//! `try HOST` on the command line.

use tapeline_method::{Common, MethodPlan, TryPlan};

use super::common::within;
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::Settings;

/// The plan; a load that is too short has no grade.
///
/// # Errors
/// [`Exit`] when a value is outside of its range.
pub(crate) fn plan(
    _: &Settings,
    common: Common,
    log: &mut Diagnostics,
) -> Result<MethodPlan, Exit> {
    let (least, most) = TryPlan::LOADS;
    let time = common.time.map(|time| time.as_secs_f64());
    within("-t", time, least..=most, " s", log)?;
    within("-P", common.parallel, 1..=TryPlan::MOST_FLOWS, "", log)?;
    Ok(TryPlan { common }.into())
}
