//! What lines are made of: numbers with their units, headlines, and colours.

use tapeline_base::FormatLetter;

/// A closing line: what it is about, its number, and phrases of detail.
pub(crate) type Headline = (&'static str, String, Vec<String>);

/// A unit that is chosen once and then kept, and the number of decimals that go with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// As the column header shows it: `Mbit/s`.
    pub label: &'static str,
    /// How much one unit is, in bits per second or bytes.
    scale: f64,
    decimals: usize,
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
        Self {
            label,
            scale,
            decimals: decimals(value / scale, index == 0),
        }
    }

    /// The number, without unit. A value that the decimals would hide says so.
    pub(crate) fn number(self, value: f64) -> String {
        let decimals = self.decimals;
        let shown = value / self.scale;
        let least = 10f64.powi(-i32::try_from(decimals).unwrap_or(0));
        if shown > 0.0 && shown < least / 2.0 {
            return format!("<{least:.decimals$}");
        }
        format!("{shown:.decimals$}")
    }

    /// The number with its unit.
    pub(crate) fn with_label(self, value: f64) -> String {
        format!("{} {}", self.number(value), self.label)
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
    table.map(|(label, scale)| Unit {
        label,
        scale,
        decimals: 0,
    })
}

/// Decimals that leave four significant digits.
fn decimals(shown: f64, whole: bool) -> usize {
    if whole {
        0
    } else if shown < 10.0 {
        3
    } else if shown < 100.0 {
        2
    } else {
        1
    }
}

/// A rate with the unit that suits it alone.
pub(crate) fn rate(bits_per_second: f64, format: FormatLetter) -> String {
    Unit::for_rate(bits_per_second, format).with_label(bits_per_second)
}

/// A size with the unit that suits it alone: `16 KiB`, `1.26 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    let value = bytes as f64;
    let (label, scale) = SIZES
        .into_iter()
        .rev()
        .find(|(_, scale)| value >= *scale)
        .unwrap_or(SIZES[0]);
    let shown = value / scale;
    if shown.fract() == 0.0 {
        format!("{shown} {label}")
    } else {
        let decimals = if shown < 10.0 {
            2
        } else {
            usize::from(shown < 100.0)
        };
        format!("{shown:.decimals$} {label}")
    }
}

/// A share of one, in percent, with the digits that it needs.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 {
        "0 %".to_owned()
    } else if percent < 0.001 {
        "<0.001 %".to_owned()
    } else if percent < 0.1 {
        format!("{percent:.3} %")
    } else if percent < 10.0 {
        format!("{percent:.2} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// Milliseconds with microseconds behind the point.
pub(crate) fn millis(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e3)
}

/// Puts ANSI escape sequences around text when the terminal wants them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    pub(crate) fn new(on: bool) -> Self {
        Self { on }
    }

    /// For what frames the numbers.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// For totals and headlines.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// For what can be relied on.
    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// For what deserves attention.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// For what failed.
    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
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

    #[test]
    fn a_unit_stays_and_admits_what_it_hides() {
        let unit = Unit::for_rate(25e9, FormatLetter::BITS);
        assert_eq!(unit.number(25e9), "25.00");
        assert_eq!(unit.number(1e9), "1.00");
        assert_eq!(unit.number(1e3), "<0.01");
        assert_eq!(unit.number(0.0), "0.00");
    }

    #[test]
    fn sizes_and_shares_of_their_own() {
        assert_eq!(size(16_384), "16 KiB");
        assert_eq!(size(131_072), "128 KiB");
        assert_eq!(size(1_353_000_000), "1.26 GiB");
        assert_eq!(size(1470), "1.44 KiB");
        assert_eq!(size(0), "0 B");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0055), "0.55 %");
        assert_eq!(percent(0.47), "47.0 %");
        assert_eq!(percent(1e-9), "<0.001 %");
    }
}
