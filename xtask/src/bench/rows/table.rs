//! All rows.

use super::{exchanges, program, tcp, techniques, udp};
use crate::bench::row::Row;

/// All rows, in the order of the targets.
pub(crate) fn all() -> Vec<Row> {
    let mut rows = tcp::one_stream();
    rows.extend(tcp::shapes());
    rows.extend(tcp::many());
    rows.extend(udp::full_rate());
    rows.extend(udp::paced());
    rows.extend(exchanges::all());
    rows.extend(program::all());
    rows.extend(tcp::paced());
    rows.extend(techniques::all());
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::bench::contender::Contender;
    use crate::bench::row::Against;

    #[test]
    fn every_row_of_the_targets_is_there_once() {
        let rows = all();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), rows.len());
        let numbers: BTreeSet<u32> = rows
            .iter()
            .flat_map(|row| row.bars.iter().map(|bar| bar.number))
            .filter(|number| *number > 0)
            .collect();
        // Row 29 is for programs that offer requests over UDP.
        let expected: BTreeSet<u32> = (1..=35).filter(|number| *number != 29).collect();
        assert_eq!(numbers, expected);
    }

    #[test]
    fn bars_compare_with_contenders_of_their_row() {
        for row in all() {
            for bar in row.bars.iter().chain(&row.system_bars) {
                if let Against::Peer(peer) = bar.against {
                    assert!(row.contenders[1..].contains(&peer), "{}", row.name);
                }
            }
            let labels: BTreeSet<String> = row.contenders.iter().map(Contender::label).collect();
            assert_eq!(labels.len(), row.contenders.len(), "{}", row.name);
        }
    }

    #[test]
    fn rows_are_chosen_by_number_or_name() {
        let named = |word: &str| -> Vec<String> {
            let rows = all().into_iter().filter(|row| row.is_meant(word));
            rows.map(|row| row.name).collect()
        };
        assert_eq!(named("15"), ["udp-1470"]);
        assert_eq!(named("2"), ["tcp-one-stream"]);
        assert_eq!(named("tcp-paced"), ["tcp-paced-100M", "tcp-paced-1G"]);
        assert!(named("nothing").is_empty());
    }
}
