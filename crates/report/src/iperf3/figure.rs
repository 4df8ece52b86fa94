//! Numbers as iperf3's text shows them.

use tapeline_base::FormatLetter;

use super::amounts::{Amount, Loss};
use super::json::general;
use crate::model::Span;

/// Four characters, a blank, and the unit in the singular.
fn scaled(mut value: f64, base: f64, steps: Option<usize>, unit: &str) -> String {
    const MULTIPLES: [&str; 5] = ["", "K", "M", "G", "T"];
    let mut taken = 0;
    while taken + 1 < MULTIPLES.len() && steps.map_or(value >= base, |steps| taken < steps) {
        value /= base;
        taken += 1;
    }
    let digits = if value < 9.995 {
        2
    } else {
        usize::from(value < 99.95)
    };
    format!("{value:4.digits$} {}{unit}", MULTIPLES[taken])
}

/// `4.88 MByte`.
pub(crate) fn volume(bytes: u64) -> String {
    scaled(bytes as f64, 1024.0, None, "Byte")
}

/// `40.7 Mbit`, or in the unit that was asked for.
pub(crate) fn rate(amount: Amount, format: FormatLetter) -> String {
    let steps = match format.letter().to_ascii_lowercase() {
        'k' => Some(1),
        'm' => Some(2),
        'g' => Some(3),
        't' => Some(4),
        _ => None,
    };
    if format.is_bits() || steps.is_none() {
        scaled(amount.rate(), 1000.0, steps, "bit")
    } else {
        scaled(amount.rate() / 8.0, 1024.0, steps, "Byte")
    }
}

/// `  0.00-1.00   sec`.
pub(crate) fn span(span: Span) -> String {
    let (start, end) = (span.start.as_secs_f64(), span.end.as_secs_f64());
    format!("{start:6.2}-{end:<6.2} sec")
}

/// `0.063 ms  0/1501 (0%)`.
pub(crate) fn loss(loss: Loss) -> String {
    let percent = general(loss.percent(), 2);
    let Loss { lost, packets, .. } = loss;
    format!(
        "{:5.3} ms  {lost}/{packets} ({percent}%)",
        loss.jitter * 1e3
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_step_as_the_reference_does() {
        for (bytes, text) in [
            (0, "0.00 Byte"),
            (1000, "1000 Byte"),
            (1023, "1023 Byte"),
            (1024, "1.00 KByte"),
            (50_176, "49.0 KByte"),
            (5_111_808, "4.88 MByte"),
            (1 << 50, "1024 TByte"),
        ] {
            assert_eq!(volume(bytes), text);
        }
    }

    #[test]
    fn rates_are_bits_by_thousands_or_bytes_by_1024() {
        let amount = Amount {
            seconds: 1.0,
            bytes: 5_103_616,
        };
        for (letter, text) in [
            ('a', "40.8 Mbit"),
            ('k', "40829 Kbit"),
            ('m', "40.8 Mbit"),
            ('g', "0.04 Gbit"),
            ('t', "0.00 Tbit"),
            ('K', "4984 KByte"),
            ('M', "4.87 MByte"),
            ('G', "0.00 GByte"),
            ('T', "0.00 TByte"),
        ] {
            assert_eq!(rate(amount, FormatLetter::new(letter)), text, "{letter}");
        }
        assert_eq!(rate(Amount::default(), FormatLetter::default()), "0.00 bit");
    }
}
