//! Dates as people read them.

use std::env::{self, VarError};
use std::fs;
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tapeline_base::WallTime;

/// Prints wall times in one time zone.
#[derive(Clone, Debug)]
pub struct Calendar {
    zone: TimeZone,
    /// Name that replaces the zone's abbreviation.
    name: Option<&'static str>,
}

impl Calendar {
    /// Local time, or UTC under the name that iperf 2 gives it with `--utc`.
    #[must_use]
    pub fn new(utc: bool) -> Self {
        if utc {
            return Self {
                zone: TimeZone::UTC,
                name: Some("GMT"),
            };
        }
        let zone = local_zone();
        if zone.is_unknown() {
            return Self {
                zone: TimeZone::UTC,
                name: Some("UTC"),
            };
        }
        Self { zone, name: None }
    }

    /// A calendar of a zone that a test names.
    #[cfg(test)]
    pub(crate) fn in_zone(zone: TimeZone) -> Self {
        Self { zone, name: None }
    }

    /// `2026-11-20 23:05:56 (UTC)`, with `.108` after the seconds when `millis`.
    #[must_use]
    pub fn date(&self, at: WallTime, millis: bool) -> String {
        let zoned = self.zoned(at);
        let date = zoned.strftime(if millis {
            "%Y-%m-%d %H:%M:%S%.3f"
        } else {
            "%Y-%m-%d %H:%M:%S"
        });
        match self.name {
            Some(name) => format!("{date} ({name})"),
            None => format!("{date} ({})", zoned.strftime("%Z")),
        }
    }

    /// The time in a format of strftime(3), with C's names of days and months; `None` when the
    /// format is none.
    #[must_use]
    pub fn formatted(&self, at: WallTime, format: &str) -> Option<String> {
        use std::fmt::Write as _;
        // Dates of the locale are C's here.
        let format = format
            .replace("%c", "%a %b %e %H:%M:%S %Y")
            .replace("%x", "%m/%d/%y")
            .replace("%X", "%H:%M:%S")
            .replace("%r", "%I:%M:%S %p");
        let mut text = String::new();
        let written = write!(text, "{}", self.zoned(at).strftime(&format));
        written.is_ok().then_some(text)
    }

    /// `2026-11-20 23:05:56`.
    pub(crate) fn bare_date(&self, at: WallTime) -> String {
        self.zoned(at).strftime("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// `23:05:56`.
    pub(crate) fn time_of_day(&self, at: WallTime) -> String {
        self.zoned(at).strftime("%H:%M:%S").to_string()
    }

    /// `Fri, 20 Nov 2026 23:12:25 GMT` (RFC 9110, 5.6.7); the zone is to be UTC.
    pub(crate) fn internet_date(&self, at: WallTime) -> String {
        let date = self.zoned(at).strftime("%a, %d %b %Y %H:%M:%S GMT");
        date.to_string()
    }

    /// `2026-11-20T23:05:56.108899Z` (RFC 3339); the zone is to be UTC.
    #[must_use]
    pub fn rfc3339(&self, at: WallTime) -> String {
        self.zoned(at)
            .strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
            .to_string()
    }

    /// `20261120231132`, or with zone and microseconds
    /// `+0000:20261120231221.088775`.
    pub(crate) fn compact(&self, at: WallTime, precise: bool) -> String {
        let zoned = self.zoned(at);
        zoned
            .strftime(if precise {
                "%z:%Y%m%d%H%M%S%.6f"
            } else {
                "%Y%m%d%H%M%S"
            })
            .to_string()
    }

    fn zoned(&self, at: WallTime) -> jiff::Zoned {
        // Every 64-bit count of nanoseconds lies within the years 1677 to 2262.
        Timestamp::from_nanosecond(i128::from(at.as_nanos()))
            .unwrap_or(Timestamp::UNIX_EPOCH)
            .to_zoned(self.zone.clone())
    }
}

/// Universal time, or local time.
pub(crate) fn zone(utc: bool) -> TimeZone {
    if utc { TimeZone::UTC } else { local_zone() }
}

/// The zone of local time: that of `TZ`, else the system's (`tzset(3)`).
///
/// Its file is read where that is plain. [`TimeZone::system`] first looks at the names of all zones that there are,
/// some hundred, which a program of a millisecond feels.
fn local_zone() -> TimeZone {
    let file = match (env::var("TZ"), env::var_os("TZDIR")) {
        (Err(VarError::NotPresent), _) => Some("/etc/localtime".into()),
        (Ok(name), None) => zone_file(&name),
        _ => None,
    };
    let zone = file.and_then(|file| TimeZone::tzif("local", &fs::read(file).ok()?).ok());
    zone.unwrap_or_else(TimeZone::system)
}

/// The file of a zone by its name, as `Europe/Oslo`.
fn zone_file(name: &str) -> Option<PathBuf> {
    let mut parts = Path::new(name).components();
    let is_name = !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)));
    is_name.then(|| Path::new("/usr/share/zoneinfo").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_time_is_that_of_the_library() {
        let (own, full) = (local_zone(), TimeZone::system());
        for seconds in [
            0,
            1_000_000_000,
            1_795_215_956,
            1_800_000_000,
            4_000_000_000,
        ] {
            let at = Timestamp::from_second(seconds).expect("a time");
            assert_eq!(own.to_offset(at), full.to_offset(at), "{seconds}");
        }
    }

    #[test]
    fn a_zones_file_has_its_name_below_one_folder() {
        let oslo = Path::new("/usr/share/zoneinfo/Europe/Oslo");
        assert_eq!(zone_file("Europe/Oslo").as_deref(), Some(oslo));
        for other in ["", "/etc/passwd", "../../../etc/passwd", ":UTC/../x"] {
            assert_eq!(zone_file(other), None, "{other}");
        }
    }

    const AT: WallTime = WallTime::from_nanos(1_795_215_956_108_899_000);

    #[test]
    fn utc_is_called_gmt() {
        let calendar = Calendar::new(true);
        assert_eq!(calendar.date(AT, true), "2026-11-20 23:05:56.108 (GMT)");
        assert_eq!(calendar.date(AT, false), "2026-11-20 23:05:56 (GMT)");
        assert_eq!(calendar.compact(AT, false), "20261120230556");
        assert_eq!(calendar.compact(AT, true), "+0000:20261120230556.108899");
    }

    #[test]
    fn other_zones_show_their_own_name_and_offset() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a POSIX zone");
        let calendar = Calendar::in_zone(zone);
        assert_eq!(calendar.date(AT, false), "2026-11-21 00:05:56 (CET)");
        assert_eq!(calendar.compact(AT, true), "+0100:20261121000556.108899");
        assert_eq!(calendar.time_of_day(AT), "00:05:56");
    }

    #[test]
    fn the_ends_of_time_do_not_panic() {
        let calendar = Calendar::new(true);
        for nanos in [i64::MIN, -1, 0, i64::MAX] {
            assert!(!calendar.date(WallTime::from_nanos(nanos), true).is_empty());
        }
    }

    #[test]
    fn formats_are_those_of_c() {
        let at = WallTime::from_nanos(1_795_215_956_108_899_000);
        let utc = Calendar::new(true);
        let shown = |format| utc.formatted(at, format);
        assert_eq!(shown("%c ").as_deref(), Some("Fri Nov 20 23:05:56 2026 "));
        assert_eq!(shown("%F %X: ").as_deref(), Some("2026-11-20 23:05:56: "));
        assert_eq!(shown("plain").as_deref(), Some("plain"));
        // C shows what it does not know as it is.
        assert_eq!(shown("%!").as_deref(), Some("%!"));
    }
}
