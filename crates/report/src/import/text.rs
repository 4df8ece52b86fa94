//! Lines of the text of iperf 1.7 to 2.2.1 and of iperf3: rows, and what stands above them.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use tapeline_base::WallTime;

use crate::document::Resolution;

/// A quantity as it was told, and one unit of its last digit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantity {
    pub(crate) value: f64,
    pub(crate) step: f64,
}

/// A number with its decimals.
fn number(word: &str) -> Option<Quantity> {
    let plain = word
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = word.parse().ok().filter(|_| plain && word.len() <= 24)?;
    let decimals = word
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len() as i32);
    let step = 10_f64.powi(-decimals);
    Some(Quantity { value, step })
}

/// `1.26` and `GBytes`, or `10.8` and `Gbits/sec`, in bytes, or in bits per second.
fn quantity(word: &str, unit: &str) -> Option<Quantity> {
    let Quantity { value, step } = number(word)?;
    let rate = unit.strip_suffix("/sec");
    let name = rate.unwrap_or(unit);
    let power = name.chars().next().and_then(|first| "KMGTP".find(first));
    let name = if power.is_some() { &name[1..] } else { name };
    let (base, eight) = match name {
        "Byte" | "Bytes" => (1024_f64, 8.0),
        "bit" | "bits" => (1000.0, 1.0),
        _ => return None,
    };
    let bits = if rate.is_some() { eight } else { eight / 8.0 };
    let multiple = base.powi(power.map_or(0, |power| power as i32 + 1)) * bits;
    Some(Quantity {
        value: value * multiple,
        step: step * multiple,
    })
}

/// Whom a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Stream(u32),
    /// All streams.
    Sum,
}

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct TextRow<'a> {
    pub(crate) subject: Subject,
    /// 2.2.1 marks the way back with a star.
    pub(crate) starred: bool,
    /// iperf3's `TX-C`, `RX-C`, `TX-S` or `RX-S`.
    pub(crate) part: Option<&'a str>,
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) bytes: Quantity,
    pub(crate) rate: Quantity,
    pub(crate) resolution: Resolution,
    /// What stands behind the rate.
    pub(crate) rest: Vec<&'a str>,
}

/// `[  3]`: what is in the brackets, and what follows.
pub(crate) fn bracket(line: &str) -> Option<(&str, &str)> {
    let (inner, rest) = line.strip_prefix('[')?.split_once(']')?;
    Some((inner.trim(), rest))
}

/// A line as a row.
pub(crate) fn row(line: &str) -> Option<TextRow<'_>> {
    let (inner, rest) = bracket(line)?;
    let id = inner.trim_start_matches('*');
    let subject = match id.parse() {
        Ok(id) => Subject::Stream(id),
        Err(_) if inner.starts_with("SUM") => Subject::Sum,
        Err(_) => return None,
    };
    let (part, rest) = bracket(rest).map_or((None, rest), |(part, rest)| (Some(part), rest));
    let (start, rest) = rest.trim_start().split_once('-')?;
    let mut words = rest.split_whitespace();
    let (start, end) = (number(start)?, number(words.next()?)?);
    if words.next()? != "sec" {
        return None;
    }
    let bytes = quantity(words.next()?, words.next()?)?;
    let rate = quantity(words.next()?, words.next()?)?;
    Some(TextRow {
        subject,
        starred: id != inner,
        part,
        start: start.value,
        end: end.value,
        bytes,
        rate,
        resolution: Resolution {
            seconds: Some(end.step),
            bytes: Some(bytes.step),
            bits_per_second: Some(rate.step),
            milliseconds: None,
        },
        rest: words.collect(),
    })
}

/// Jitter and losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Losses {
    pub(crate) jitter: Quantity,
    pub(crate) lost: u64,
    pub(crate) all: u64,
}

/// A sender's row of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TcpState {
    pub(crate) retransmits: Option<u64>,
    pub(crate) cwnd_bytes: Option<u64>,
    pub(crate) in_flight_bytes: Option<u64>,
    pub(crate) rtt_micros: Option<f64>,
    pub(crate) rtt_variance_micros: Option<f64>,
}

impl TextRow<'_> {
    /// `0.002 ms    0/   91 (0%)`.
    pub(crate) fn losses(&self) -> Option<Losses> {
        let [jitter, "ms", counts, more @ ..] = &self.rest[..] else {
            return None;
        };
        let (lost, all) = counts.split_once('/')?;
        let all = if all.is_empty() { *more.first()? } else { all };
        Some(Losses {
            jitter: number(jitter)?,
            lost: lost.parse().ok()?,
            all: all.parse().ok()?,
        })
    }

    /// `0.016/0.007/0.050/0.005 ms`: mean, least and largest delay; and how many where that stands before.
    pub(crate) fn delays(&self) -> Option<(Option<u64>, [f64; 3])> {
        let joined = self.rest.join(" ").replace("/ ", "/");
        let words: Vec<&str> = joined.split(' ').collect();
        let at = words
            .windows(2)
            .position(|two| two[1] == "ms" && two[0].matches('/').count() == 3)?;
        let (count, values) = match words[at].split_once('=') {
            Some((count, values)) => (count.parse().ok(), values),
            None => (None, words[at]),
        };
        let mut values = values
            .split('/')
            .map(|value| number(value).map(|one| one.value));
        let mut next = || values.next().flatten();
        Some((count, [next()?, next()?, next()?]))
    }

    /// Whether requests and responses were counted.
    pub(crate) fn is_of_requests(&self) -> bool {
        self.rest.iter().any(|word| word.starts_with("RPS="))
    }

    /// `RPS=23753`, `Tx=1000 Byte`.
    pub(crate) fn named(&self, name: &str) -> Option<Quantity> {
        let at = self.rest.iter().position(|word| word.starts_with(name))?;
        let value = self.rest[at].strip_prefix(name)?;
        let unit = self.rest.get(at + 1);
        unit.and_then(|unit| quantity(value, unit))
            .or_else(|| number(value))
    }

    /// Datagrams that left: `500` of iperf3, `90/0/0      90 pps` of iperf 2.
    pub(crate) fn datagrams(&self) -> Option<u64> {
        match &self.rest[..] {
            [count] | [count, "(omitted)"] => count.parse().ok(),
            [counts, _, "pps", ..] => counts.split('/').next()?.parse().ok(),
            _ => None,
        }
    }

    /// What a sender over TCP tells: `0   1.12 MBytes` of iperf3, and of iperf 2
    /// `13344/0  2  28K(20)/2635K(1864)/821(1090) us`, or without the first part.
    pub(crate) fn tcp_state(&self) -> TcpState {
        let whole = |quantity: Quantity| Some(quantity.value.round() as u64);
        match &self.rest[..] {
            [writes, retransmits, state, ..] if writes.contains('/') => {
                let mut parts = state.split('/').rev();
                let (rtt, cwnd, in_flight) = (parts.next(), parts.next(), parts.next());
                let window = |part: Option<&str>| {
                    let part = part?.split('(').next()?;
                    let kilo: u64 = part.strip_suffix('K')?.parse().ok()?;
                    kilo.checked_mul(1024).filter(|bytes| *bytes > 0)
                };
                let (rtt, variance) = rtt.map_or((None, None), |rtt| {
                    let (rtt, variance) = rtt.split_once('(').unwrap_or((rtt, ""));
                    (number(rtt), number(variance.trim_end_matches(')')))
                });
                let rtt = rtt.filter(|rtt| rtt.value > 0.0 && self.rest.get(3) == Some(&"us"));
                TcpState {
                    retransmits: retransmits.parse().ok(),
                    cwnd_bytes: window(cwnd),
                    in_flight_bytes: window(in_flight),
                    rtt_micros: rtt.map(|rtt| rtt.value),
                    rtt_variance_micros: rtt.and(variance).map(|variance| variance.value),
                }
            }
            [writes, retransmits] if writes.contains('/') => TcpState {
                retransmits: retransmits.parse().ok(),
                ..TcpState::default()
            },
            [retransmits, word, unit, ..] => TcpState {
                retransmits: retransmits.parse().ok(),
                cwnd_bytes: quantity(word, unit).and_then(whole),
                ..TcpState::default()
            },
            [retransmits] | [retransmits, "sender"] => TcpState {
                retransmits: retransmits.parse().ok(),
                ..TcpState::default()
            },
            _ => TcpState::default(),
        }
    }
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Connection<'a> {
    pub(crate) id: u32,
    pub(crate) local: (&'a str, u16),
    pub(crate) remote: (&'a str, u16),
    /// What iperf 2 says behind.
    pub(crate) remarks: &'a str,
}

/// `[  3] local 127.0.0.1 port 52242 connected with 127.0.0.1 port 23406`; iperf3 says `to`.
pub(crate) fn connection(line: &str) -> Option<Connection<'_>> {
    let (id, rest) = bracket(line)?;
    let (local, rest) = rest
        .trim_start()
        .strip_prefix("local ")?
        .split_once(" port ")?;
    let (local_port, rest) = rest.split_once(" connected ")?;
    let rest = rest
        .strip_prefix("with ")
        .or_else(|| rest.strip_prefix("to "))?;
    let (remote, rest) = rest.split_once(" port ")?;
    let (remote_port, remarks) = rest.split_once(' ').unwrap_or((rest, ""));
    Some(Connection {
        id: id.trim_start_matches('*').parse().ok()?,
        local: (
            local.split('%').next().unwrap_or_default(),
            local_port.parse().ok()?,
        ),
        remote: (
            remote.split('%').next().unwrap_or_default(),
            remote_port.parse().ok()?,
        ),
        remarks,
    })
}

/// The date that remarks end with, where its zone is told: `on 2026-11-20 23:06:41.347 (UTC)`.
pub(crate) fn date(remarks: &str) -> Option<WallTime> {
    let (_, date) = remarks.rsplit_once("on ")?;
    let text = date
        .strip_suffix(" (UTC)")
        .or_else(|| date.strip_suffix(" (GMT)"))?;
    let date: DateTime = text.replace(' ', "T").parse().ok()?;
    let stamp = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
    i64::try_from(stamp.as_nanosecond())
        .ok()
        .map(WallTime::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_a_step() {
        let of = |word, unit| quantity(word, unit).map(|one| (one.value, one.step));
        assert_eq!(of("1.5", "KBytes"), Some((1536.0, 102.4)));
        assert_eq!(of("10.8", "Gbits/sec"), Some((10.8e9, 1e8)));
        assert_eq!(of("2", "KBytes/sec"), Some((16_384.0, 8192.0)));
        for (word, unit) in [
            ("-1", "Bytes"),
            ("nan", "Bytes"),
            ("1", "Bots"),
            ("1", "éits"),
            ("", "K"),
        ] {
            assert_eq!(of(word, unit), None, "{word} {unit}");
        }
    }

    #[test]
    fn rows_of_all_ages() {
        let row = |line| row(line).expect(line);
        let old = row("[  3]  0.0- 1.0 sec   112 MBytes   940 Mbits/sec");
        assert_eq!(
            (old.subject, old.start, old.end),
            (Subject::Stream(3), 0.0, 1.0)
        );
        assert_eq!((old.bytes.value, old.rate.step), (112.0 * 1048576.0, 1e6));
        let losses =
            row("[  3] 0.0-1.0 sec  129 KBytes  1.06 Mbits/sec   0.002 ms    0/   91 (0%)");
        let losses = losses.losses().expect("losses");
        assert_eq!(
            (losses.lost, losses.all, losses.jitter.value),
            (0, 91, 0.002)
        );
        let state = row("[  2] 0.00-1.00 sec  1.63 GBytes  14.0 Gbits/sec  13344/0         2       28K(20)/2635K(1864)/821(1090) us  2130199").tcp_state();
        assert_eq!(
            (state.retransmits, state.in_flight_bytes),
            (Some(2), Some(28 * 1024))
        );
        assert_eq!(
            (state.cwnd_bytes, state.rtt_micros),
            (Some(2635 * 1024), Some(821.0))
        );
        assert_eq!(state.rtt_variance_micros, Some(1090.0));
        let state = row("[  3] 0.0000-1.0000 sec  2.36 GBytes  20.3 Gbits/sec  19341/0          0      895K/67 us  37834814.03").tcp_state();
        assert_eq!(
            (state.cwnd_bytes, state.rtt_micros),
            (Some(895 * 1024), Some(67.0))
        );
        let state = row("[  4]   0.00-1.00   sec  4.88 MBytes  40.8 Mbits/sec    3   1.50 MBytes")
            .tcp_state();
        assert_eq!(
            (state.retransmits, state.cwnd_bytes),
            (Some(3), Some(1_572_864))
        );
        let delays = row("[  3] 0.0-1.0 sec   129 KBytes  1.06 Mbits/sec   0.003 ms    0/   91 (0%)  0.014/ 0.003/ 0.026/ 0.005 ms   91 pps").delays();
        assert_eq!(delays, Some((None, [0.014, 0.003, 0.026])));
    }

    #[test]
    fn connections_and_dates() {
        let line = "[  1] local ::1%lo port 5 connected with fe80::1%eth0 port 6 (peer 2.1.8) on 2026-11-25 18:38:03 (UTC)";
        let found = connection(line).expect("a connection");
        assert_eq!(
            (found.id, found.local, found.remote),
            (1, ("::1", 5), ("fe80::1", 6))
        );
        let at = date(found.remarks).expect("a date");
        assert_eq!(at.as_nanos(), 1_795_631_883_000_000_000);
        assert_eq!(date("on 2026-11-25 18:38:03 (CET)"), None);
    }
}
