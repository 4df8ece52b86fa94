//! Lengths in bra-ket form: `<256|0.1,0.9<1470|0.5,0.5`, where each length says how likely
//! every length is to be the next one.

use std::fmt;

use tapeline_base::parse_seconds;
use tapeline_dialect::MarkovChain;

use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{Mode, Settings};
use crate::cli::spec::Section::Both;
use crate::cli::spec::{Given, Group, OptionId as Id, OptionSpec, Remote, ValueKind};
use crate::cli::values::{bad_value, lenient_amount, strict_amount};

/// Longest read or write, bytes: more would be memory without any use.
pub(crate) const MAX_LENGTH: u32 = 1 << 28;
/// Largest UDP payload over IPv4: 65535 less 20 bytes IP and 8 bytes UDP header.
const MAX_DATAGRAM: u32 = 65_507;
/// Most lengths of a chain: more would be no model but a recording.
const MAX_LENGTHS: usize = 256;
/// How far from 1 a row may add up, since decimals are not exact.
const TOLERANCE: f64 = 1e-6;

pub(crate) const OPTIONS: &[OptionSpec] = &[OptionSpec::new(
    Id::Len,
    Some('l'),
    "len",
    Remote::Yes(ValueKind::Bytes),
)
.every_method()
.value("BYTES")
.apply(len)
.variable(9, "IPERF_LEN")
.help(
    Group::Amount,
    "bytes per write or read; for UDP the datagram",
)
.details(
    "Default: 1M for TCP, or 128K where a column or a rate depends on it; 1470 for UDP, \
             1450 over IPv6. A chain of lengths begins with <.",
)
.listed(&[(
    Both,
    "#[kmKM]",
    "bytes per read or write (Defaults: TCP=128K, v4 UDP=1470, v6 UDP=1450)",
)])];

/// `-l`. iperf crashes on negative and huge lengths and does nothing useful with 0.
fn len(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    if let Mode::Method(_) = settings.mode {
        // Some methods take more than a number.
        settings.method.length = Some(given.text());
        return Ok(());
    }
    if is_chain(&given.text()) {
        settings.shape.chain = Some(chain(given, log)?);
        settings.length = None;
        return Ok(());
    }
    let bytes = if settings.iperf() {
        lenient_amount(&given.text())
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(0)
    } else {
        strict_amount(given, log)?
    };
    match u32::try_from(bytes) {
        Ok(bytes @ 1..=MAX_LENGTH) => {
            settings.length = Some(bytes);
            settings.shape.chain = None;
            Ok(())
        }
        _ => {
            let text = given.text();
            Err(log.fatal(
                format!("ERROR: -l value of '{text}' is not between 1 and {MAX_LENGTH} bytes"),
                bad_value(given, &format!("is not between 1 and {MAX_LENGTH} bytes")),
            ))
        }
    }
}

/// A datagram has a largest size.
pub(crate) fn datagram_fits_udp(settings: &mut Settings, log: &mut Diagnostics) {
    let length = effective_length(settings);
    if settings.udp && length > MAX_DATAGRAM {
        let sentence =
            format!("option -l: {length} bytes do not fit a UDP datagram (at most {MAX_DATAGRAM})");
        log.error(format!("ERROR: {sentence}"), sentence);
    }
}

/// Whether the text is meant as a chain.
fn is_chain(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

/// Reads a chain.
///
/// # Errors
/// [`Exit`] with the first thing that is wrong.
fn chain(given: &Given, log: &mut Diagnostics) -> Result<MarkovChain, Exit> {
    let text: String = given.text().split_whitespace().collect();
    read(&text).map_err(|fault| log.fatal(fault.iperf(), format!("{}: {fault}", given.named())))
}

/// What is wrong with a chain; iperf's words for it are [`Fault::iperf`].
#[derive(Clone, Debug, PartialEq)]
enum Fault {
    NotANumber(String),
    Length(i64),
    Probability(f64),
    RowAbove(usize, f64),
    RowBelow(usize, f64),
    Columns {
        size: usize,
        row: String,
        count: usize,
    },
    TooMany(usize),
}

impl Fault {
    fn iperf(&self) -> String {
        match self {
            Self::NotANumber(text) => format!("Invalid value of '{text}'"),
            Self::Probability(value) => {
                format!("Probability must be between 0 and 1 but is {value:.6}")
            }
            Self::RowAbove(row, sum) => format!(
                "Cummulative probability for row {row} can't be greater than 1 but is {sum:.6}"
            ),
            Self::RowBelow(row, sum) => {
                format!("Cummulative probability for row {row} less than 1 and is {sum:.6}")
            }
            Self::Columns { size, row, count } => {
                format!("malformed: row column expected {size}x{size} with '{row}' row of {count}")
            }
            Self::Length(_) | Self::TooMany(_) => format!("ERROR: option -l: {self}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber(text) => write!(f, "'{text}' is not a number"),
            Self::Length(length) => {
                write!(f, "a length of {length} is not between 1 and {MAX_LENGTH}")
            }
            Self::Probability(value) => {
                write!(f, "a probability of {value} is not between 0 and 1")
            }
            Self::RowAbove(row, sum) | Self::RowBelow(row, sum) => {
                let row = row + 1;
                write!(
                    f,
                    "the probabilities behind length {row} add up to {sum:.6}, not to 1"
                )
            }
            Self::Columns { size, row, count } => {
                write!(f, "'{row}' has {count} probabilities for {size} lengths")
            }
            Self::TooMany(size) => write!(f, "{size} lengths are more than {MAX_LENGTHS}"),
        }
    }
}

fn read(text: &str) -> Result<MarkovChain, Fault> {
    let rows: Vec<&str> = text.split('<').skip(1).collect();
    let size = rows.len();
    if size > MAX_LENGTHS {
        return Err(Fault::TooMany(size));
    }
    let mut lengths = Vec::with_capacity(size);
    let mut transitions = Vec::with_capacity(size);
    for (index, row) in rows.iter().enumerate() {
        let (length, probabilities) = row.split_once('|').unwrap_or((row, ""));
        lengths.push(read_length(length)?);
        let cells: Vec<&str> = probabilities.split(',').collect();
        if cells.len() != size {
            return Err(Fault::Columns {
                size,
                row: (*row).to_owned(),
                count: cells.len(),
            });
        }
        transitions.push(read_row(index, &cells)?);
    }
    Ok(MarkovChain {
        text: text.to_owned(),
        lengths,
        transitions,
    })
}

fn read_length(text: &str) -> Result<u32, Fault> {
    let length = lenient_amount(text).ok_or_else(|| Fault::NotANumber(text.to_owned()))?;
    u32::try_from(length)
        .ok()
        .filter(|length| (1..=MAX_LENGTH).contains(length))
        .ok_or(Fault::Length(length))
}

/// The probabilities of one row.
fn read_row(index: usize, cells: &[&str]) -> Result<Vec<f64>, Fault> {
    let mut row = Vec::with_capacity(cells.len());
    for cell in cells {
        let value = parse_seconds(cell).map_err(|_| Fault::NotANumber((*cell).to_owned()))?;
        if !(0.0..=1.0).contains(&value) {
            return Err(Fault::Probability(value));
        }
        row.push(value);
    }
    let sum: f64 = row.iter().sum();
    if sum > 1.0 + TOLERANCE {
        return Err(Fault::RowAbove(index, sum));
    }
    if sum < 1.0 - TOLERANCE {
        return Err(Fault::RowBelow(index, sum));
    }
    Ok(row)
}

/// The datagram or write length in bytes, with the default of the transport; of a chain
/// of lengths the largest.
pub(crate) fn effective_length(settings: &Settings) -> u32 {
    let chain = settings.shape.chain.as_ref();
    let largest = chain.and_then(|chain| chain.lengths.iter().copied().max());
    settings
        .length
        .or(largest)
        .unwrap_or(match (settings.udp, settings.v6) {
            (false, _) => 131_072,
            (true, false) => 1470,
            (true, true) => 1450,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_has_lengths_and_what_follows_them() {
        let chain = read("<256|0.1,0.7,0.2<1K|0.2,0.5,0.3<1470|0.4,0.4,0.2").expect("a chain");
        assert_eq!(chain.lengths, [256, 1024, 1470]);
        assert_eq!(chain.transitions[1], [0.2, 0.5, 0.3]);
        assert_eq!(read("<100|1").expect("one length").transitions, [[1.0]]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, fault) in [
            ("<", "Invalid value of ''"),
            ("<x|1", "Invalid value of 'x'"),
            (
                "<0|1",
                "ERROR: option -l: a length of 0 is not between 1 and 268435456",
            ),
            ("<5|x", "Invalid value of 'x'"),
            (
                "<5|1.5",
                "Probability must be between 0 and 1 but is 1.500000",
            ),
            (
                "<5|-1",
                "Probability must be between 0 and 1 but is -1.000000",
            ),
            (
                "<5|0.5,0.6<6|0,1",
                "Cummulative probability for row 0 can't be greater than 1 but is 1.100000",
            ),
            (
                "<5|0,1<6|0.5,0.4",
                "Cummulative probability for row 1 less than 1 and is 0.900000",
            ),
            (
                "<5|0.5,0.5<6|1",
                "malformed: row column expected 2x2 with '6|1' row of 1",
            ),
            ("<5", "Invalid value of ''"),
        ] {
            assert_eq!(
                read(text).map_err(|f| f.iperf()),
                Err(fault.to_owned()),
                "{text}"
            );
        }
    }
}
