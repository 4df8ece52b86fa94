//! Numbers as iperf3 reads them.

/// A text whose number or suffix iperf3 does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadUnit;

/// A size: suffixes are multiples of 1024.
pub(crate) fn size(text: &str) -> Result<f64, BadUnit> {
    scaled(text, 1024.0)
}

/// A rate: suffixes are multiples of 1000.
pub(crate) fn rate(text: &str) -> Result<f64, BadUnit> {
    scaled(text, 1000.0)
}

/// A decimal number and one suffix letter; what follows the letter is ignored.
fn scaled(text: &str, base: f64) -> Result<f64, BadUnit> {
    let (number, rest) = decimal(text).ok_or(BadUnit)?;
    let power = match rest
        .chars()
        .next()
        .map(|letter| letter.to_ascii_lowercase())
    {
        None => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some(_) => return Err(BadUnit),
    };
    let value = number * f64::powi(base, power);
    if value.is_finite() {
        Ok(value)
    } else {
        Err(BadUnit)
    }
}

/// C's `atof`: no number is 0.
pub(crate) fn seconds(text: &str) -> f64 {
    decimal(text).map_or(0.0, |(number, _)| number)
}

/// The number at the start of a text, and what follows it.
fn decimal(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let digits = bytes
            .iter()
            .skip(from)
            .take_while(|byte| byte.is_ascii_digit());
        from + digits.count()
    };
    let start = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let mut end = digits(start);
    let mut some = end > start;
    if bytes.get(end) == Some(&b'.') {
        let after = digits(end + 1);
        some |= after > end + 1;
        if some {
            end = after;
        }
    }
    if !some {
        return None;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let after = digits(end + 1 + sign);
        if after > end + 1 + sign {
            end = after;
        }
    }
    let number = text.get(..end)?.parse().ok()?;
    Some((number, text.get(end..)?))
}

/// C's `strtol` with any base: decimal, `0x` hexadecimal, `0` octal; what follows is ignored.
/// `None` without a digit.
pub(crate) fn any_base(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (radix, digits) = match hexadecimal {
        Some(rest) if rest.starts_with(|letter: char| letter.is_ascii_hexdigit()) => (16, rest),
        _ if text.starts_with('0') => (8, text),
        _ => (10, text),
    };
    let mut value = None;
    for digit in digits.chars().map_while(|letter| letter.to_digit(radix)) {
        let before: i64 = value.unwrap_or(0);
        value = Some(
            before
                .saturating_mul(radix.into())
                .saturating_add(digit.into()),
        );
    }
    value.map(|value| if negative { -value } else { value })
}

/// The type of service byte of a DSCP, by number or name.
pub(crate) fn dscp(text: &str) -> Option<u8> {
    let name = text.to_ascii_lowercase();
    if let Some((_, tos)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Some(*tos);
    }
    let class = |prefix: &str, most: u8| {
        let digit = name.strip_prefix(prefix)?.parse::<u8>().ok()?;
        (name.len() == prefix.len() + 1 && digit <= most).then_some(digit)
    };
    if let Some(class) = class("cs", 7) {
        return Some(class << 5);
    }
    if let Some([kind @ b'1'..=b'4', drop @ b'1'..=b'3']) =
        name.strip_prefix("af").map(str::as_bytes)
    {
        return Some((kind - b'0') << 5 | (drop - b'0') << 3);
    }
    let number = any_base(text).filter(|number| (0..64).contains(number))?;
    u8::try_from(number << 2).ok()
}

/// Names beside the classes; the last three stand for the byte itself.
const NAMES: &[(&str, u8)] = &[
    ("ef", 46 << 2),
    ("va", 44 << 2),
    ("lowdelay", 16),
    ("throughput", 8),
    ("reliability", 4),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_rates_have_suffixes_of_their_own() {
        for (text, bytes, bits) in [
            ("10", 10.0, 10.0),
            ("1k", 1024.0, 1e3),
            ("1.5M", 1_572_864.0, 1.5e6),
            ("2Gbit", 2_147_483_648.0, 2e9),
            ("1t", 1_099_511_627_776.0, 1e12),
            (" -5", -5.0, -5.0),
            ("1e3", 1000.0, 1000.0),
            (".5K", 512.0, 500.0),
        ] {
            assert_eq!((size(text), rate(text)), (Ok(bytes), Ok(bits)), "{text}");
        }
        for text in ["", "x", "10X", "10 M", "-", ".", "k", "nan", "inf"] {
            assert_eq!(size(text), Err(BadUnit), "{text}");
        }
    }

    #[test]
    fn plain_numbers_ignore_what_follows() {
        assert_eq!(seconds("0.5s"), 0.5);
        assert_eq!(seconds("abc"), 0.0);
        assert_eq!(any_base("0x1fz"), Some(31));
        assert_eq!(any_base("064"), Some(52));
        assert_eq!(any_base("-7"), Some(-7));
        assert_eq!(any_base("0"), Some(0));
        assert_eq!(any_base("foo"), None);
        assert_eq!(any_base("99999999999999999999"), Some(i64::MAX));
    }

    #[test]
    fn code_points_have_names() {
        for (text, tos) in [
            ("af11", 0x28),
            ("AF43", 0x98),
            ("cs0", 0),
            ("cs7", 0xe0),
            ("ef", 0xb8),
            ("va", 0xb0),
            ("lowdelay", 16),
            ("Throughput", 8),
            ("reliability", 4),
            ("46", 0xb8),
            ("0x2e", 0xb8),
            ("063", 51 << 2),
        ] {
            assert_eq!(dscp(text), Some(tos), "{text}");
        }
        for text in ["64", "-1", "zz", "cs8", "cs", "af44", "af1", "af111", ""] {
            assert_eq!(dscp(text), None, "{text}");
        }
    }
}
