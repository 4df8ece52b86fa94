//! Numbers as iperf users write them and as iperf prints them.

use std::time::Duration;

use crate::units::{BitRate, PacketRate};

/// A text that is no number of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// No number at the start of the text.
    #[error("'{0}' is not a number")]
    NotANumber(String),
    /// Digits followed by something that is no unit.
    #[error(
        "'{text}' ends in '{rest}', which is no unit (k m g = 1000-multiples, K M G = 1024-multiples)"
    )]
    UnknownUnit {
        /// The whole text.
        text: String,
        /// What follows the number.
        rest: String,
    },
    /// Digits of a rate followed by something that is no unit.
    #[error("unknown unit \"{rest}\" in \"{text}\" (use k, M, G: 10M is 10 Mbit/s)")]
    UnknownRateUnit {
        /// The whole text.
        text: String,
        /// What follows the number.
        rest: String,
    },
    /// The value does not fit the quantity.
    #[error("'{0}' is out of range")]
    OutOfRange(String),
}

/// A number with an optional k/m/g/K/M/G suffix, and what followed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Amount {
    /// The scaled value; may be negative or fractional.
    pub value: f64,
    /// Text behind number and suffix: iperf 2 ignores it, tapeline refuses it.
    pub rest: String,
}

impl Amount {
    /// The value truncated toward zero, when nothing follows the number (one `B` is
    /// allowed) and it is not negative.
    ///
    /// # Errors
    /// [`NumberError`] says what is wrong with `text`, the source of this amount.
    pub fn strict(&self, text: &str) -> Result<u64, NumberError> {
        if !matches!(self.rest.as_str(), "" | "B" | "b") {
            return Err(NumberError::UnknownUnit {
                text: text.to_owned(),
                rest: self.rest.clone(),
            });
        }
        if !self.value.is_finite() || self.value < 0.0 || self.value >= 2f64.powi(63) {
            return Err(NumberError::OutOfRange(text.to_owned()));
        }
        Ok(self.value as u64)
    }
}

/// Reads `%lf` and one suffix letter: k m g = 10^3 10^6 10^9, K M G = 2^10 2^20 2^30
/// (iperf 2.2.1's rule for byte counts and, with the unit bits per second, for rates).
///
/// # Errors
/// [`NumberError::NotANumber`] when the text does not start with a number.
pub fn parse_amount(text: &str) -> Result<Amount, NumberError> {
    scaled(text, |letter| match letter {
        'k' => Some(1e3),
        'm' => Some(1e6),
        'g' => Some(1e9),
        'K' => Some(1024.0),
        'M' => Some(1024.0 * 1024.0),
        'G' => Some(1024.0 * 1024.0 * 1024.0),
        _ => None,
    })
}

/// Reads `%lf` and one suffix letter in either case: k m g = 10^3 10^6 10^9 (tapeline's rule for
/// rates).
///
/// # Errors
/// [`NumberError::NotANumber`] when the text does not start with a number.
pub fn parse_decimal(text: &str) -> Result<Amount, NumberError> {
    scaled(text, |letter| match letter.to_ascii_lowercase() {
        'k' => Some(1e3),
        'm' => Some(1e6),
        'g' => Some(1e9),
        _ => None,
    })
}

/// A number times the factor of the letter behind it, if that has one.
fn scaled(text: &str, factor: fn(char) -> Option<f64>) -> Result<Amount, NumberError> {
    let (value, rest) =
        leading_float(text).ok_or_else(|| NumberError::NotANumber(text.to_owned()))?;
    let mut letters = rest.chars();
    let (factor, rest) = match letters.next().and_then(factor) {
        Some(factor) => (factor, letters.as_str()),
        None => (1.0, rest),
    };
    Ok(Amount {
        value: value * factor,
        rest: rest.to_owned(),
    })
}

/// Reads a rate under the name tapeline: a number with a suffix of [`parse_decimal`], in bits per
/// second.
///
/// # Errors
/// [`NumberError`] for anything else.
pub fn parse_rate(text: &str) -> Result<BitRate, NumberError> {
    whole_rate(text, text).map(BitRate)
}

/// `part` of `text` as a whole number of bits or packets per second.
fn whole_rate(part: &str, text: &str) -> Result<u64, NumberError> {
    parse_decimal(part)?
        .strict(text)
        .map_err(|error| match error {
            NumberError::UnknownUnit { text, rest } => NumberError::UnknownRateUnit { text, rest },
            other => other,
        })
}

/// A target rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Bits per second; 0 is unlimited.
    Bits(BitRate),
    /// Packets per second; 0 is unlimited.
    Packets(PacketRate),
    /// One datagram each so long after the one before (`--ipg`); in frames, within a frame.
    Gap(Duration),
}

impl Pace {
    /// The bit rate of datagrams of `length` payload bytes at this pace; 0 is unlimited.
    #[must_use]
    pub fn bits(self, length: u64) -> BitRate {
        match self {
            Self::Bits(rate) => rate,
            Self::Packets(rate) => rate.bits(length),
            Self::Gap(gap) => {
                let bits = u128::from(length) * 8 * 1_000_000_000;
                let rate = bits.checked_div(gap.as_nanos()).unwrap_or(0);
                BitRate(u64::try_from(rate).unwrap_or(u64::MAX))
            }
        }
    }

    /// Time from one datagram of `length` payload bytes to the next; `None` when unlimited.
    #[must_use]
    pub fn gap(self, length: u64) -> Option<Duration> {
        match self {
            Self::Bits(rate) => rate.gap(length),
            Self::Packets(PacketRate(rate)) => BitRate(rate).gap(1).map(|gap| gap / 8),
            Self::Gap(gap) => (!gap.is_zero()).then_some(gap),
        }
    }
}

/// Reads `-b` under the name tapeline: a number with a suffix of [`parse_decimal`] in bits per
/// second, or with `p`/`pps` behind it in packets per second (`1000pps`, `50kpps`, `50kp`).
///
/// # Errors
/// [`NumberError`] for anything that is not such a rate; `mean,stdev` is not read here.
pub fn parse_pace(text: &str) -> Result<Pace, NumberError> {
    match text.find(['p', 'P']) {
        Some(at) => {
            let tail = &text[at..];
            if !matches!(tail.to_ascii_lowercase().as_str(), "p" | "pps") {
                return Err(NumberError::UnknownRateUnit {
                    text: text.to_owned(),
                    rest: tail.to_owned(),
                });
            }
            let packets = whole_rate(&text[..at], text)?;
            Ok(Pace::Packets(PacketRate(packets)))
        }
        None => parse_rate(text).map(Pace::Bits),
    }
}

/// Reads iperf 2's `--fq-rate` and the sizes of its `--isochronous` into bits per second: k m g
/// are 10^3 10^6 10^9 bits, K M G the same multiples of bytes, nothing is bits.
///
/// # Errors
/// [`NumberError::NotANumber`] when the text does not start with a number.
pub fn parse_bit_or_byte_rate(text: &str) -> Result<Amount, NumberError> {
    scaled(text, |letter| match letter {
        'k' => Some(1e3),
        'm' => Some(1e6),
        'g' => Some(1e9),
        'K' => Some(8e3),
        'M' => Some(8e6),
        'G' => Some(8e9),
        _ => None,
    })
}

/// Reads seconds: the whole text must be one finite number.
///
/// # Errors
/// [`NumberError::NotANumber`].
pub fn parse_seconds(text: &str) -> Result<f64, NumberError> {
    match leading_float(text) {
        Some((value, "")) if value.is_finite() => Ok(value),
        _ => Err(NumberError::NotANumber(text.to_owned())),
    }
}

/// The longest prefix that C's `strtod` reads, without `inf` and `nan`.
fn leading_float(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let negative = bytes.first() == Some(&b'-');
    if bytes.len() > at + 2
        && bytes[at] == b'0'
        && matches!(bytes[at + 1], b'x' | b'X')
        && bytes[at + 2].is_ascii_hexdigit()
    {
        let digits = bytes[at + 2..]
            .iter()
            .take_while(|b| b.is_ascii_hexdigit())
            .count();
        let end = at + 2 + digits;
        let value = bytes[at + 2..end].iter().fold(0.0, |value, digit| {
            value * 16.0 + f64::from(char::from(*digit).to_digit(16).unwrap_or(0))
        });
        return Some((if negative { -value } else { value }, &text[end..]));
    }
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let whole = digits(at);
    at += whole;
    let mut fraction = 0;
    if bytes.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        if whole + fraction > 0 {
            at += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = if at + 1 + sign <= bytes.len() {
            digits(at + 1 + sign)
        } else {
            0
        };
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    text[..at].parse().ok().map(|value| (value, &text[at..]))
}

/// The `-f` letter: lower case prints bits in 1000-multiples, upper case bytes in
/// 1024-multiples; `a`/`A` chooses the multiple by the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatLetter(char);

impl Default for FormatLetter {
    fn default() -> Self {
        Self('a')
    }
}

impl FormatLetter {
    /// Adaptive bytes.
    pub const BYTES: Self = Self('A');
    /// Adaptive bits.
    pub const BITS: Self = Self('a');
    /// Plain bytes, no multiple.
    pub const PLAIN_BYTES: Self = Self('B');

    /// From the first letter of an `-f` value; unknown letters mean adaptive, as in iperf 2.
    #[must_use]
    pub const fn new(letter: char) -> Self {
        match letter.to_ascii_lowercase() {
            'b' | 'k' | 'm' | 'g' | 't' | 'p' | 'a' => Self(letter),
            _ if letter.is_ascii_uppercase() => Self('A'),
            _ => Self('a'),
        }
    }

    /// The letter.
    #[must_use]
    pub const fn letter(self) -> char {
        self.0
    }

    /// The same multiple, in bytes: what the Transfer column uses.
    #[must_use]
    pub const fn in_bytes(self) -> Self {
        Self(self.0.to_ascii_uppercase())
    }

    /// Whether values are printed as bits.
    #[must_use]
    pub const fn is_bits(self) -> bool {
        self.0.is_ascii_lowercase()
    }
}

/// Prints bytes (or bytes per second) as iperf 2 does: three significant digits, at
/// least four wide, one blank, unit label without plural (`15.8 Gbit`, ` 128 KByte`).
#[must_use]
pub fn format_quantity(bytes: f64, format: FormatLetter) -> String {
    const LABELS: [&str; 6] = ["", "K", "M", "G", "T", "P"];
    let (mut value, base, unit) = if format.is_bits() {
        (bytes * 8.0, 1000.0, "bit")
    } else {
        (bytes, 1024.0, "Byte")
    };
    let fixed = match format.letter().to_ascii_lowercase() {
        'b' => Some(0),
        'k' => Some(1),
        'm' => Some(2),
        'g' => Some(3),
        't' => Some(4),
        'p' => Some(5),
        _ => None,
    };
    let exponent = match fixed {
        Some(exponent) => {
            value /= f64::powi(base, exponent);
            exponent as usize
        }
        None => {
            let mut exponent = 0;
            while value.abs() >= base && exponent < 5 {
                value /= base;
                exponent += 1;
            }
            exponent
        }
    };
    let size = value.abs();
    let digits = if size < 0.9995 {
        3
    } else if size < 9.995 {
        2
    } else {
        usize::from(size < 99.95)
    };
    format!("{value:4.digits$} {}{unit}", LABELS[exponent])
}

/// So many of something: `1 host`, `2 hosts`.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_follow_the_suffix_rule() {
        for (text, value, rest) in [
            ("128K", 131_072.0, ""),
            ("10m", 1e7, ""),
            ("0.5M", 524_288.0, ""),
            ("1e6", 1e6, ""),
            ("1MB", 1_048_576.0, "B"),
            ("10x", 10.0, "x"),
            ("5T", 5.0, "T"),
            ("-3", -3.0, ""),
            ("0x10", 16.0, ""),
            (".5k", 500.0, ""),
        ] {
            let amount = parse_amount(text).expect(text);
            assert!((amount.value - value).abs() < 1e-9, "{text}");
            assert_eq!(amount.rest, rest, "{text}");
        }
        for bad in ["", "abc", ".", "-", "e5", "K"] {
            assert!(parse_amount(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paces_in_bits_and_packets() {
        for text in ["10M", "10m", "10000K", "0.01g", "10Mb"] {
            assert_eq!(
                parse_pace(text),
                Ok(Pace::Bits(BitRate(10_000_000))),
                "{text}"
            );
        }
        assert_eq!(parse_rate("1G"), Ok(BitRate(1_000_000_000)));
        assert!(parse_rate("1T").is_err());
        assert_eq!(parse_pace("1000pps"), Ok(Pace::Packets(PacketRate(1000))));
        assert_eq!(parse_pace("50kp"), Ok(Pace::Packets(PacketRate(50_000))));
        assert!(parse_pace("10x").is_err());
        assert!(parse_pace("-5").is_err());
    }

    #[test]
    fn seconds_need_the_whole_text() {
        assert_eq!(parse_seconds("1.5"), Ok(1.5));
        for bad in ["1s", "abc", "", "inf", "nan"] {
            assert!(parse_seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn quantities_match_the_recorded_ones() {
        let bits = FormatLetter::BITS;
        let bytes = FormatLetter::BYTES;
        assert_eq!(format_quantity(0.0, bytes), "0.000 Byte");
        assert_eq!(format_quantity(131_072.0, bytes), " 128 KByte");
        assert_eq!(format_quantity(267_540.0, bytes), " 261 KByte");
        assert_eq!(format_quantity(12.5e9, bits), " 100 Gbit");
        assert_eq!(format_quantity(16384.0, bytes), "16.0 KByte");
        assert_eq!(
            format_quantity(25_034_816.0, FormatLetter::PLAIN_BYTES),
            "25034816 Byte"
        );
        assert_eq!(format_quantity(1023.0 * 1024.0, bytes), "1023 KByte");
    }

    #[test]
    fn capital_suffixes_of_pacing_rates_are_bytes() {
        for (text, bits, rest) in [
            ("20m", 20e6, ""),
            ("1M", 8e6, ""),
            ("1.5K", 12e3, ""),
            ("2g", 2e9, ""),
            ("1G", 8e9, ""),
            ("500", 500.0, ""),
            ("25p", 25.0, "p"),
        ] {
            let amount = parse_bit_or_byte_rate(text).expect(text);
            assert_eq!((amount.value, amount.rest.as_str()), (bits, rest), "{text}");
        }
        assert!(parse_bit_or_byte_rate("m").is_err());
    }
}
