//! A test, or a series of tests, in one line for programs that read no JSON (`--brief`). Keys and their order are
//! an interface.

use std::fmt;

use tapeline_stats::{Certainty, LimitedBy};

use super::number::digits;
use crate::model::TrustLevel;

/// What is known of a test; what is unknown is shown as `-`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BriefLine {
    pub(crate) host: Option<String>,
    pub(crate) proto: &'static str,
    /// `to-server`, `from-server`, `both`, `requests` or `connect`.
    pub(crate) dir: Option<&'static str>,
    /// What was received, bits per second, else what was sent.
    pub(crate) bits_per_second: Option<f64>,
    pub(crate) bytes: Option<f64>,
    pub(crate) seconds: Option<f64>,
    pub(crate) lost_percent: Option<f64>,
    pub(crate) retransmits: Option<f64>,
    /// Median round trip without load, milliseconds.
    pub(crate) rtt_idle: Option<f64>,
    /// Under load.
    pub(crate) rtt_load: Option<f64>,
    pub(crate) limit: Option<(LimitedBy, Certainty)>,
    pub(crate) trust: Option<TrustLevel>,
    /// Of connections without data: mean time to connect, milliseconds.
    pub(crate) connect: Option<f64>,
    /// Of several runs: how many count, and the confidence interval of the rate.
    pub(crate) series: Option<(usize, Option<(f64, f64)>)>,
}

impl BriefLine {
    /// That of several runs, of which the numbers are means.
    pub(crate) fn mean(runs: &[Self]) -> Self {
        let mean = |number: fn(&Self) -> Option<f64>| {
            let known: Vec<f64> = runs.iter().filter_map(number).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        Self {
            bits_per_second: mean(|run| run.bits_per_second),
            bytes: mean(|run| run.bytes),
            seconds: mean(|run| run.seconds),
            lost_percent: mean(|run| run.lost_percent),
            retransmits: mean(|run| run.retransmits),
            rtt_idle: mean(|run| run.rtt_idle),
            rtt_load: mean(|run| run.rtt_load),
            connect: mean(|run| run.connect),
            series: Some((runs.len(), None)),
            ..runs.first().cloned().unwrap_or_default()
        }
    }
}

impl fmt::Display for BriefLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |word: &str| word.to_owned();
        let mut pairs = vec![
            ("host", self.host.clone()),
            ("proto", Some(word(self.proto))),
            ("dir", self.dir.map(word)),
            ("mbps", self.bits_per_second.map(megabits)),
            ("bytes", self.bytes.map(|bytes| format!("{bytes:.0}"))),
            ("seconds", self.seconds.map(|time| format!("{time:.2}"))),
            ("lost_pct", self.lost_percent.map(digits)),
            ("retrans", self.retransmits.map(count)),
            ("rtt_idle_ms", self.rtt_idle.map(digits)),
            ("rtt_load_ms", self.rtt_load.map(digits)),
            ("limited_by", self.limit.map(|(limit, _)| word(limit.id()))),
            (
                "confidence",
                self.limit.map(|(_, certainty)| word(certainty.id())),
            ),
            ("trust", self.trust.map(|level| word(level.word()))),
        ];
        pairs.extend(self.connect.map(|time| ("connect_ms", Some(digits(time)))));
        if let Some((runs, interval)) = self.series {
            let (low, high) = interval.unzip();
            pairs.push(("runs", Some(runs.to_string())));
            pairs.push(("mbps_ci_low", low.map(megabits)));
            pairs.push(("mbps_ci_high", high.map(megabits)));
        }
        f.write_str("tapeline")?;
        for (key, value) in pairs {
            write!(f, " {key}={}", value.as_deref().unwrap_or("-"))?;
        }
        Ok(())
    }
}

/// A number of things, which of several runs need not be whole.
fn count(number: f64) -> String {
    if number.fract() == 0.0 {
        format!("{number}")
    } else {
        digits(number)
    }
}

/// Four significant digits.
fn megabits(bits_per_second: f64) -> String {
    let value = bits_per_second / 1e6;
    let decimals = match value {
        large if large >= 100.0 => 1,
        tens if tens >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}
