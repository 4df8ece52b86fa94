//! What the roles of a fleet share that run for good.

use std::path::Path;

use tapeline_base::{Clock, ExitCode, WallTime};
use tapeline_fleet::{
    BusError, MachineClock, Operator, OperatorSettings, SettingsError, Stop, StopSwitch, UnixTime,
};
use tapeline_report::Calendar;
use tapeline_sys::{SystemClock, exit_now, reason};

use crate::message::{self, CliMessage};
use crate::run::history::Fault;
use crate::run::signals::on_interrupt;

impl From<BusError> for Fault {
    fn from(error: BusError) -> Self {
        Self::Failure(error.to_string())
    }
}

impl From<SettingsError> for Fault {
    fn from(error: SettingsError) -> Self {
        Self::Usage(error.to_string())
    }
}

/// A person's connection to the fleet.
pub(crate) fn operator(settings: &Path) -> Result<Operator, Fault> {
    let settings = OperatorSettings::read(settings)?;
    Ok(Operator::connect(&settings)?)
}

/// This host's clocks.
pub(crate) fn clock() -> MachineClock {
    MachineClock::new(utc_offset)
}

fn utc_offset(at: UnixTime) -> i32 {
    let at = WallTime::from_nanos(at.0.saturating_mul(1_000_000_000));
    let text = Calendar::new(false).formatted(at, "%z");
    let text = text.unwrap_or_default();
    let (sign, digits) = match text.split_at_checked(1) {
        Some(("-", digits)) => (-1, digits),
        Some((_, digits)) => (1, digits),
        None => return 0,
    };
    let number: i32 = digits.parse().unwrap_or_default();
    sign * (number / 100 * 3600 + number % 100 * 60)
}

/// A time of today, or with its day: `14:02`, `26 Nov 14:02`.
pub(crate) fn time(at: UnixTime) -> String {
    let calendar = Calendar::new(false);
    let wall = |at: UnixTime| WallTime::from_nanos(at.0.saturating_mul(1_000_000_000));
    let day = |at| calendar.formatted(at, "%F");
    let format = match day(wall(at)) == day(SystemClock.wall()) {
        true => "%H:%M",
        false => "%e %b %H:%M",
    };
    let text = calendar.formatted(wall(at), format).unwrap_or_default();
    text.trim_start().to_owned()
}

/// Says on standard error what a role does, with the time.
pub(crate) fn log(who: &str, what: &str) {
    let time = Calendar::new(false).formatted(SystemClock.wall(), "%F %H:%M:%S%.3f");
    let line = format!("{} {who}: {what}", time.unwrap_or_default());
    // Without standard error nobody reads it.
    let _ = message::print(&[CliMessage::err(line)]);
}

/// What the first interrupt ends in order; the second one ends the process.
pub(crate) fn until_interrupted() -> Result<Stop, Fault> {
    let (switch, stop) = StopSwitch::new();
    let wished = on_interrupt(
        move || switch.stop(),
        || exit_now(ExitCode::Failure.code().into()),
    );
    wished.map_err(|error| Fault::Failure(format!("no thread: {}", reason(&error))))?;
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_that_of_the_zone() {
        // The zone of tests is theirs; it is a whole number of minutes, and less than a day.
        let offset = utc_offset(UnixTime(1_795_000_000));
        assert_eq!(offset % 60, 0);
        assert!(offset.abs() < 86_400);
    }
}
