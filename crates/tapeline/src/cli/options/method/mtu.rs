//! `tapeline mtu`.

use tapeline_method::{Common, MethodPlan, MtuPlan};

use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::Settings;
use crate::cli::spec::OptionSpec;

/// It has no option of its own: `-l` is the largest packet that it tries.
pub(crate) const OPTIONS: &[OptionSpec] = &[];

/// Bytes of the largest packet that it tries: what each IPv4 host receives, and what a packet can have.
const LARGEST: std::ops::RangeInclusive<u32> = 576..=65_535;

pub(crate) fn plan(
    _settings: &Settings,
    common: Common,
    log: &mut Diagnostics,
) -> Result<MethodPlan, Exit> {
    let without_effect = [
        ("-t", common.time.is_some()),
        ("-P", common.parallel.is_some()),
        ("-w", common.window.is_some()),
        ("-Z", common.congestion.is_some()),
    ];
    if let Some((option, _)) = without_effect.iter().find(|(_, given)| *given) {
        return Err(log.fatal("", format!("{option} does not apply to mtu")));
    }
    if common.length.is_some_and(|bytes| !LARGEST.contains(&bytes)) {
        let range = format!(
            "-l of mtu is the largest packet that it tries: {} to {} bytes",
            LARGEST.start(),
            LARGEST.end()
        );
        return Err(log.fatal("", range));
    }
    Ok(MtuPlan { common }.into())
}
