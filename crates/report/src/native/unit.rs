//! Units of rates and sizes, chosen once for a column or a sentence.

use tapeline_base::FormatLetter;

/// A unit that is chosen once and then kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// As the column header shows it: `Mbit/s`.
    pub label: &'static str,
    /// How much one unit is, in bits per second or bytes.
    scale: f64,
}

/// Multiples of bits per second.
const BIT_RATES: [(&str, f64); 5] = [
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("Tbit/s", 1e12),
];

/// Multiples of bytes per second, as bits per second.
const BYTE_RATES: [(&str, f64); 5] = [
    ("B/s", 8.0),
    ("KiB/s", 8.0 * 1024.0),
    ("MiB/s", 8.0 * 1_048_576.0),
    ("GiB/s", 8.0 * 1_073_741_824.0),
    ("TiB/s", 8.0 * 1_099_511_627_776.0),
];

/// Multiples of bytes.
const SIZES: [(&str, f64); 5] = [
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// Largest number in front of a unit before the next multiple is taken, when the unit
/// is free: Mbit/s serves from 1 Mbit/s to 10 Gbit/s, the range of most tests.
const LARGEST: f64 = 10_000.0;

impl Unit {
    /// For rates around `bits_per_second`, in the multiple of `-f` when it names one.
    #[must_use]
    pub fn for_rate(bits_per_second: f64, format: FormatLetter) -> Self {
        let table = if format.is_bits() {
            BIT_RATES
        } else {
            BYTE_RATES
        };
        Self::choose(table, bits_per_second, format)
    }

    /// For amounts around `bytes`; `-f` names the multiple of bytes too.
    #[must_use]
    pub fn for_size(bytes: f64, format: FormatLetter) -> Self {
        Self::choose(SIZES, bytes, format)
    }

    /// The place of the multiple that `-f` names, if it names one.
    pub(crate) fn named(format: FormatLetter) -> Option<usize> {
        match format.letter().to_ascii_lowercase() {
            'b' => Some(0),
            'k' => Some(1),
            'm' => Some(2),
            'g' => Some(3),
            't' | 'p' => Some(4),
            _ => None,
        }
    }

    /// Whether it counts single bits or bytes, which have no fractions.
    pub(crate) fn is_single(self) -> bool {
        matches!(self.label, "B" | "bit/s")
    }

    /// How many of it a value is.
    #[must_use]
    pub fn of(self, value: f64) -> f64 {
        value / self.scale
    }

    fn choose(table: [(&'static str, f64); 5], value: f64, format: FormatLetter) -> Self {
        let index = Self::named(format).unwrap_or_else(|| {
            let step = table[1].1 / table[0].1;
            (1..table.len())
                .take_while(|index| {
                    let shown = value / table[*index].1;
                    // The step to the next multiple waits beyond the middle ones.
                    if *index >= 3 {
                        shown * step >= LARGEST
                    } else {
                        shown >= 1.0
                    }
                })
                .last()
                .unwrap_or(0)
        });
        let (label, scale) = table[index];
        Self { label, scale }
    }
}

/// Multiples of a rate.
pub(crate) fn rate_units(format: FormatLetter) -> [Unit; 5] {
    let table = if format.is_bits() {
        BIT_RATES
    } else {
        BYTE_RATES
    };
    units(table)
}

/// Multiples of bytes.
pub(crate) fn size_units() -> [Unit; 5] {
    units(SIZES)
}

fn units(table: [(&'static str, f64); 5]) -> [Unit; 5] {
    table.map(|(label, scale)| Unit { label, scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mbit_serves_most_tests() {
        let label = |rate| Unit::for_rate(rate, FormatLetter::BITS).label;
        assert_eq!(label(0.0), "bit/s");
        assert_eq!(label(64e3), "kbit/s");
        assert_eq!(label(1.05e6), "Mbit/s");
        assert_eq!(label(941e6), "Mbit/s");
        assert_eq!(label(9.4e9), "Mbit/s");
        assert_eq!(label(25e9), "Gbit/s");
        assert_eq!(label(25e12), "Tbit/s");
        assert_eq!(Unit::for_rate(25e9, FormatLetter::new('m')).label, "Mbit/s");
        assert_eq!(Unit::for_rate(25e9, FormatLetter::new('G')).label, "GiB/s");
        assert_eq!(Unit::for_size(5e9, FormatLetter::BITS).label, "MiB");
    }
}
