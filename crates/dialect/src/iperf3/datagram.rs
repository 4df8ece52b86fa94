//! Datagrams of a stream: stamped as they leave, counted as they arrive.

use tapeline_base::WallTime;
use tapeline_engine::{ArrivedDatagram, DatagramStamp, Followers};
use tapeline_sys::Datagram;
use tapeline_wire::iperf3::{CounterWidth, DatagramHeader};

/// Writes time and number into datagrams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Iperf3Stamp {
    pub(crate) width: CounterWidth,
}

impl DatagramStamp for Iperf3Stamp {
    /// The reference stamps the time since its system started. Its readers look at differences
    /// only, so ours may say the time of day, which two of us could compare.
    #[inline]
    fn stamp(&mut self, datagram: &mut [u8], sequence: u64, wall: WallTime) {
        let (seconds, micros) = wall.to_wire();
        let header = DatagramHeader {
            seconds,
            micros,
            number: sequence,
        };
        header.write(datagram, self.width);
    }
}

/// How many of the datagrams behind one with this header count on from it.
#[inline]
pub(crate) fn followers<'a>(
    header: &DatagramHeader,
    length: usize,
    datagrams: impl Iterator<Item = &'a [u8]>,
    width: CounterWidth,
) -> Followers {
    let mut expected = *header;
    let count = datagrams
        .take_while(|datagram| {
            expected.number += 1;
            datagram.len() == length && DatagramHeader::read(datagram, width) == Some(expected)
        })
        .count() as u64;
    Followers {
        count,
        bytes: count * length as u64,
    }
}

/// What the engine counts of a datagram with this header.
pub(crate) fn arrived(
    header: &DatagramHeader,
    datagram: &Datagram<'_>,
    length: usize,
) -> ArrivedDatagram {
    ArrivedDatagram {
        sequence: header.number,
        sent: WallTime::from_wire(header.seconds, header.micros),
        arrival: datagram.arrival,
        length,
        truncated: datagram.truncated,
        marked: false,
        joined: datagram.segment_size.is_some(),
        frame: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_that_count_on_are_followers_until_something_changes() {
        let header = |number, micros| DatagramHeader {
            seconds: 7,
            micros,
            number,
        };
        for width in [CounterWidth::Narrow, CounterWidth::Wide] {
            let datagram = |number, micros, length| {
                let mut datagram = vec![0xaa; length];
                header(number, micros).write(&mut datagram, width);
                datagram
            };
            let count = |behind: &[Vec<u8>]| {
                let behind = behind.iter().map(Vec::as_slice);
                let found = followers(&header(1, 8), 100, behind, width);
                assert_eq!(found.bytes, found.count * 100);
                found.count
            };
            let next = [datagram(2, 8, 100), datagram(3, 8, 100)];
            assert_eq!(count(&next), 2);
            // A gap, a repetition, another time, another length, and no header.
            for other in [
                datagram(4, 8, 100),
                datagram(2, 8, 100),
                datagram(3, 9, 100),
                datagram(3, 8, 99),
                vec![0; 4],
            ] {
                assert_eq!(count(&[next[0].clone(), other, next[1].clone()]), 1);
            }
        }
    }
}
