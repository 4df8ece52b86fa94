//! What really arrived, by a third party's word.

use std::collections::HashSet;

use crate::{DatagramFigures, Packet, Program};

/// The fate of a flow's datagrams, counted from a capture at the receiver's interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Datagrams of data that arrived, repetitions included.
    pub arrived: u64,
    /// Those that had arrived before.
    pub duplicates: u64,
    /// Those that came after a later one and were no repetition.
    pub reordered: u64,
    /// The numbers below the end marker's that never arrived.
    pub lost: u64,
}

impl Arrivals {
    /// Counts a flow's datagrams: numbers from 0 or 1, and an end marker whose negated number is
    /// one more than the last datagram's. The end marker itself is not counted here, though iperf
    /// 2 takes it for a datagram like the others.
    #[must_use]
    pub fn from_packets(packets: &[Packet]) -> Self {
        Self::from_numbers(packets.iter().filter_map(Packet::datagram_id))
    }

    /// The same from the numbers alone, in the order of arrival.
    #[must_use]
    pub fn from_numbers(numbers: impl IntoIterator<Item = i32>) -> Self {
        let mut counts = Self::default();
        let mut seen = HashSet::new();
        let mut highest = 0;
        let mut end = None;
        for id in numbers {
            if id < 0 {
                end.get_or_insert(id.unsigned_abs());
                continue;
            }
            counts.arrived += 1;
            if !seen.insert(id) {
                counts.duplicates += 1;
            } else if id < highest {
                counts.reordered += 1;
            }
            highest = highest.max(id);
        }
        let first = seen.iter().min().copied().unwrap_or(0).min(1);
        let sent = end.unwrap_or(highest.unsigned_abs() + 1) - first.unsigned_abs();
        counts.lost = u64::from(sent).saturating_sub(seen.len() as u64);
        counts
    }

    /// What a server of this program must say of datagrams of `length` bytes. tapeline's own
    /// layout shows repetitions apart and counts their bytes as it pleases: `bytes`.
    #[must_use]
    pub fn as_reported_by(&self, program: Program, length: u64, bytes: u64) -> DatagramFigures {
        // The end marker counts as a datagram.
        let distinct = self.arrived - self.duplicates + 1;
        let total = distinct + self.lost;
        match program {
            Program::Tapeline => DatagramFigures {
                lost: self.lost,
                total,
                bytes,
                late_or_twice: (self.reordered, self.duplicates),
            },
            // The old layout has one count for what came late or twice, and its bytes are those
            // of all arrivals.
            _ => DatagramFigures {
                lost: self.lost,
                total,
                bytes: (self.arrived + 1) * length,
                late_or_twice: (self.reordered + self.duplicates, 0),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fates_are_distinguished() {
        let packets = [1, 2, 4, 3, 4, 6, -8, -8].map(|id: i32| {
            let mut bytes = vec![0; 28];
            bytes.extend(id.to_be_bytes());
            Packet {
                time: 0,
                length: 60,
                bytes,
            }
        });
        let expected = Arrivals {
            arrived: 6,
            duplicates: 1,
            reordered: 1,
            lost: 2,
        };
        assert_eq!(Arrivals::from_packets(&packets), expected);
    }
}
