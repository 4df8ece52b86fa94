//! What a host's owner allows: the last word, whatever is ordered.

use std::net::IpAddr;

use serde::Deserialize;
use tapeline_base::{BitRate, parse_decimal, parse_rate, parse_seconds};
use tapeline_remote::{Class, GivenOption};
use thiserror::Error;

use crate::clock::{Minute, Now};

/// What an owner can limit, as it stands in `agent.toml`.
pub(crate) const LIMIT_KEYS: [&str; 6] = [
    "peers",
    "max-time",
    "max-rate",
    "bytes-per-day",
    "hours",
    "class",
];
/// Length of a test without the option `time`, seconds.
const DEFAULT_TIME: f64 = 10.0;

/// What the owner of a host allows, from `agent.toml`. What is not there is not limited.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "LimitsText")]
pub struct Limits {
    /// Networks of the hosts that it may test with.
    peers: Vec<Network>,
    /// Longest test, seconds.
    max_time: Option<f64>,
    /// Fastest test.
    max_rate: Option<BitRate>,
    /// Bytes of all tests of a day.
    bytes_per_day: Option<u64>,
    /// From when to when tests may run; over midnight if the second is earlier.
    hours: Option<(Minute, Minute)>,
    /// This class only.
    class: Option<Class>,
}

/// What is wrong with the limits.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key} = \"{value}\": {form}")]
pub struct LimitsError {
    key: &'static str,
    value: String,
    form: &'static str,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LimitsText {
    #[serde(default)]
    peers: Vec<String>,
    max_time: Option<String>,
    max_rate: Option<String>,
    bytes_per_day: Option<String>,
    hours: Option<String>,
    class: Option<Class>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u8,
}

/// A test that somebody wants.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The addresses of the hosts that it tests with.
    pub peers: &'a [&'a str],
    /// Its options.
    pub options: &'a [GivenOption],
    /// Its length as it is announced, seconds.
    pub seconds: u32,
    /// Beside which others.
    pub class: Class,
}

impl TryFrom<LimitsText> for Limits {
    type Error = LimitsError;

    fn try_from(text: LimitsText) -> Result<Self, LimitsError> {
        fn read<T>(
            key: &'static str,
            value: Option<String>,
            form: &'static str,
            read: impl Fn(&str) -> Option<T>,
        ) -> Result<Option<T>, LimitsError> {
            let Some(value) = value else {
                return Ok(None);
            };
            let found = read(&value);
            found.map(Some).ok_or(LimitsError { key, value, form })
        }
        let mut peers = Vec::new();
        for peer in text.peers {
            peers.extend(read(
                "peers",
                Some(peer),
                "a network, as 198.51.100.0/24",
                Network::parse,
            )?);
        }
        let hours = |text: &str| {
            let (from, to) = text.split_once('-')?;
            Some((Minute::parse(from)?, Minute::parse(to)?))
        };
        Ok(Self {
            peers,
            max_time: read("max-time", text.max_time, "seconds, as 60", |t| {
                parse_seconds(t).ok()
            })?,
            max_rate: read("max-rate", text.max_rate, "bits a second, as 100m", |t| {
                parse_rate(t).ok()
            })?,
            bytes_per_day: read("bytes-per-day", text.bytes_per_day, "bytes, as 20G", |t| {
                parse_decimal(t).ok()?.strict(t).ok()
            })?,
            hours: read("hours", text.hours, "times of day, as 22:00-06:00", hours)?,
            class: text.class,
        })
    }
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
        (bits <= most).then_some(Self { address, bits })
    }

    fn holds(self, other: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 4),
            IpAddr::V6(address) => (u128::from(address), 6),
        };
        let ((own, family), (other, others)) = (bits(self.address), bits(other.to_canonical()));
        let shift = 128 - u32::from(self.bits);
        family == others && (own ^ other).checked_shr(shift).unwrap_or(0) == 0
    }
}

impl Limits {
    /// The longest time for which a slot is granted, seconds.
    #[must_use]
    pub fn longest_slot(&self) -> Option<f64> {
        self.max_time
    }

    /// Whether a test may run now, after so many bytes of other tests today.
    ///
    /// # Errors
    /// Why not: a sentence without the host.
    pub fn check(&self, wanted: &Wanted<'_>, now: Now, bytes_today: u64) -> Result<(), String> {
        // Of an option that is given twice, which one counts is not for this to know.
        let values = |name: &'static str| {
            let options = wanted.options.iter();
            let named = options.filter(move |option| option.name == name);
            named.filter_map(|option| option.value.as_deref())
        };
        if !self.peers.is_empty() {
            if wanted.peers.is_empty() {
                return Err("its owner wants to know with whom it tests".to_owned());
            }
            for peer in wanted.peers {
                let address: Option<IpAddr> = peer.parse().ok();
                let holds = |address| self.peers.iter().any(|network| network.holds(address));
                if !address.is_some_and(holds) {
                    return Err(format!("its owner allows no tests with {peer}"));
                }
            }
        }
        if let Some(class) = self.class
            && class != wanted.class
        {
            return Err(match class {
                Class::Exclusive => "its owner allows exclusive tests only".to_owned(),
                Class::Background => "its owner allows background tests only".to_owned(),
            });
        }
        if let Some((from, to)) = self.hours {
            let minute = now.minute();
            let is_open = if from <= to {
                from <= minute && minute < to
            } else {
                from <= minute || minute < to
            };
            if !is_open {
                return Err(format!("its owner allows tests from {from} to {to} only"));
            }
        }
        let mut time = f64::from(wanted.seconds);
        let mut times = values("time").peekable();
        if times.peek().is_none() {
            time = time.max(DEFAULT_TIME);
        }
        for text in times {
            let given = parse_seconds(text).map_err(|_| "time: no number of seconds".to_owned())?;
            // No end is longer than any.
            time = time.max(if given > 0.0 { given } else { f64::INFINITY });
        }
        if let Some(most) = self.max_time
            && time > most
        {
            return Err(format!(
                "its owner allows tests of {most} s, not of {time} s"
            ));
        }
        let streams = values("parallel").filter_map(|text| text.parse::<u64>().ok());
        let streams = streams.max().unwrap_or(1).max(1);
        let rates: Result<Vec<BitRate>, _> = values("bandwidth").map(parse_rate).collect();
        let rates = rates.map_err(|_| "bandwidth: no rate".to_owned())?;
        // 0 is as fast as it can, as is no rate.
        let is_limited = rates.iter().all(|rate| rate.0 > 0);
        let fastest = rates.iter().map(|rate| rate.0).max();
        let rate = fastest.filter(|_| is_limited);
        let rate = rate.map(|rate| rate.saturating_mul(streams));
        if let Some(BitRate(most)) = self.max_rate
            && rate.is_none_or(|rate| rate > most)
        {
            let most = most as f64 / 1e6;
            return Err(format!(
                "its owner allows {most} Mbit/s: set bandwidth to that or less"
            ));
        }
        if let Some(most) = self.bytes_per_day {
            let expected = rate.map_or(1.0, |rate| rate as f64 / 8.0 * time);
            if bytes_today as f64 + expected > most as f64 {
                let most = most as f64 / 1e9;
                return Err(format!(
                    "its owner allows {most} GB a day, and that would be more"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tapeline_base::MonoTime;

    use super::*;
    use crate::clock::UnixTime;

    fn limits(text: serde_json::Value) -> Limits {
        serde_json::from_value(text).expect("limits")
    }

    fn at(hour: i64) -> Now {
        Now {
            mono: MonoTime::ZERO,
            wall: UnixTime(hour * 3600),
            utc_offset: 0,
        }
    }

    fn check(limits: &Limits, peer: &str, options: &[(&str, &str)]) -> Result<(), String> {
        let options: Vec<GivenOption> = options
            .iter()
            .map(|(name, value)| GivenOption::new(name, value))
            .collect();
        let wanted = Wanted {
            peers: &[peer],
            options: &options,
            seconds: 10,
            class: Class::Exclusive,
        };
        limits.check(&wanted, at(12), 0)
    }

    #[test]
    fn peers_are_networks() {
        let limits = limits(json!({"peers": ["198.51.100.0/24", "2001:db8::/32", "192.0.2.7"]}));
        for good in [
            "198.51.100.255",
            "2001:db8:1::1",
            "192.0.2.7",
            "::ffff:192.0.2.7",
        ] {
            assert_eq!(check(&limits, good, &[]), Ok(()), "{good}");
        }
        for bad in ["198.51.101.1", "2001:db9::1", "192.0.2.8", "host", ""] {
            let refused = format!("its owner allows no tests with {bad}");
            assert_eq!(check(&limits, bad, &[]), Err(refused));
        }
        assert_eq!(check(&Limits::default(), "host", &[]), Ok(()));
        let unknown = Wanted {
            peers: &[],
            options: &[],
            seconds: 10,
            class: Class::Exclusive,
        };
        assert!(limits.check(&unknown, at(12), 0).is_err());
        assert!(Limits::default().check(&unknown, at(12), 0).is_ok());
    }

    #[test]
    fn lengths_and_rates_are_bounded() {
        let limits = limits(json!({"max-time": "60", "max-rate": "100m"}));
        let check = |options: &[(&str, &str)]| check(&limits, "192.0.2.7", options).is_ok();
        assert!(check(&[("bandwidth", "100m"), ("time", "60")]));
        assert!(!check(&[("bandwidth", "100m"), ("time", "61")]));
        assert!(!check(&[("bandwidth", "100m"), ("time", "x")]));
        assert!(!check(&[("bandwidth", "100m"), ("time", "0")]));
        assert!(!check(&[("bandwidth", "0")]));
        assert!(!check(&[("bandwidth", "101m")]));
        assert!(!check(&[("bandwidth", "60m"), ("parallel", "2")]));
        assert!(!check(&[]), "without a rate it is as fast as it can");
        for twice in [["time", "10", "61"], ["bandwidth", "10m", "101m"]] {
            let [name, small, great] = twice;
            let rate = ("bandwidth", "10m");
            assert!(!check(&[rate, (name, small), (name, great)]), "{name}");
            assert!(!check(&[(name, great), (name, small), rate]), "{name}");
            assert!(check(&[rate, (name, small), (name, small)]), "{name}");
        }
    }

    #[test]
    fn bytes_of_a_day_are_bounded() {
        let limits = limits(json!({"bytes-per-day": "1G"}));
        let options = [GivenOption::new("bandwidth", "80m")];
        let wanted = Wanted {
            peers: &["192.0.2.7"],
            options: &options,
            seconds: 10,
            class: Class::Exclusive,
        };
        assert!(limits.check(&wanted, at(0), 900_000_000).is_ok());
        assert!(limits.check(&wanted, at(0), 1_000_000_000).is_err());
        assert!(limits.check(&wanted, at(0), 2_000_000_000).is_err());
    }

    #[test]
    fn hours_may_go_over_midnight() {
        let open = |hours: &str, hour| {
            let wanted = Wanted {
                peers: &["192.0.2.7"],
                options: &[],
                seconds: 10,
                class: Class::Exclusive,
            };
            limits(json!({"hours": hours}))
                .check(&wanted, at(hour), 0)
                .is_ok()
        };
        let hours = |text: &str| -> Vec<i64> { (0..24).filter(|hour| open(text, *hour)).collect() };
        assert_eq!(hours("22:00-02:00"), [0, 1, 22, 23]);
        assert_eq!(hours("09:00-12:00"), [9, 10, 11]);
    }

    #[test]
    fn classes_are_chosen() {
        let limits = limits(json!({"class": "background"}));
        let refused = "its owner allows background tests only".to_owned();
        assert_eq!(check(&limits, "192.0.2.7", &[]), Err(refused));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            (
                json!({"peers": ["198.51.100.0/33"]}),
                "peers = \"198.51.100.0/33\"",
            ),
            (json!({"hours": "22-6"}), "hours = \"22-6\": times of day"),
            (json!({"max-rate": "fast"}), "max-rate"),
            (json!({"max-speed": "1"}), "max-speed"),
        ] {
            let error = serde_json::from_value::<Limits>(text).expect_err("a mistake");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
