//! Lengths in bra-ket form: `<256|0.1,0.9<1470|0.5,0.5`, where each length says how likely
//! every length is to be the next one.

use tapeline_base::parse_seconds;
use tapeline_dialect::MarkovChain;

use crate::raw::Given;
use crate::values::lenient_amount;

use super::log::{Log, Stop};
use super::quantity::MAX_LENGTH;

/// Most lengths of a chain: more would be no model but a recording.
const MAX_LENGTHS: usize = 256;
/// How far from 1 a row may add up, since decimals are not exact.
const TOLERANCE: f64 = 1e-6;

/// Whether the text is meant as a chain.
pub(super) fn is_chain(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

/// Reads a chain.
///
/// # Errors
/// [`Stop`] with the first thing that is wrong.
pub(super) fn chain(given: &Given, log: &mut Log) -> Result<MarkovChain, Stop> {
    let text: String = given.text().split_whitespace().collect();
    read(&text).map_err(|fault| log.fatal(fault.clone(), format!("{}: {fault}", given.named())))
}

fn read(text: &str) -> Result<MarkovChain, String> {
    let rows: Vec<&str> = text.split('<').skip(1).collect();
    let size = rows.len();
    if size > MAX_LENGTHS {
        return Err(format!("malformed: {size} lengths, at most {MAX_LENGTHS}"));
    }
    let mut lengths = Vec::with_capacity(size);
    let mut transitions = Vec::with_capacity(size);
    for (index, row) in rows.iter().enumerate() {
        let (length, probabilities) = row.split_once('|').unwrap_or((row, ""));
        lengths.push(read_length(length)?);
        let cells: Vec<&str> = probabilities.split(',').collect();
        if cells.len() != size {
            let count = cells.len();
            return Err(format!(
                "malformed: row column expected {size}x{size} with '{row}' row of {count}"
            ));
        }
        transitions.push(read_row(index, &cells)?);
    }
    Ok(MarkovChain {
        text: text.to_owned(),
        lengths,
        transitions,
    })
}

fn read_length(text: &str) -> Result<u32, String> {
    let length = lenient_amount(text).ok_or_else(|| format!("Invalid value of '{text}'"))?;
    u32::try_from(length)
        .ok()
        .filter(|length| (1..=MAX_LENGTH).contains(length))
        .ok_or_else(|| format!("Length must be between 1 and {MAX_LENGTH} but is {length}"))
}

/// The probabilities of one row.
fn read_row(index: usize, cells: &[&str]) -> Result<Vec<f64>, String> {
    let mut row = Vec::with_capacity(cells.len());
    for cell in cells {
        let value = parse_seconds(cell).map_err(|_| format!("Invalid value of '{cell}'"))?;
        if !(0.0..=1.0).contains(&value) {
            return Err(format!(
                "Probability must be between 0 and 1 but is {value:.6}"
            ));
        }
        row.push(value);
    }
    let sum: f64 = row.iter().sum();
    if sum > 1.0 + TOLERANCE {
        return Err(format!(
            "Cummulative probability for row {index} can't be greater than 1 but is {sum:.6}"
        ));
    }
    if sum < 1.0 - TOLERANCE {
        return Err(format!(
            "Cummulative probability for row {index} less than 1 and is {sum:.6}"
        ));
    }
    Ok(row)
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
            ("<0|1", "Length must be between 1 and 268435456 but is 0"),
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
            assert_eq!(read(text), Err(fault.to_owned()), "{text}");
        }
    }
}
