//! The times between the datagrams of a paced flow, as a third party saw them.

use interop::Packet;

/// Ethernet, IPv4 and UDP headers in bytes.
const HEADERS: u32 = 14 + 20 + 8;
/// A gap below this part of the intended one counts as back to back.
const BACK_TO_BACK: f64 = 0.2;
/// Share of the rate by which it may be off.
const ALLOWED: f64 = 0.005 / 100.0;

/// A flow's datagrams in time. Those of one segmented send are seen as one packet.
#[derive(Debug)]
pub(crate) struct Gaps {
    /// Intended time between two datagrams, seconds.
    intended: f64,
    /// Time until the next packet, and how many datagrams this one holds.
    gaps: Vec<(f64, f64)>,
}

impl Gaps {
    /// The gaps between the datagrams of `length` bytes that carry data; nothing when there are
    /// hardly any. `numbered` datagrams begin with iperf 2's number, which is negative when the
    /// test is over.
    pub(crate) fn from_packets(
        packets: &[Packet],
        length: u32,
        rate: f64,
        numbered: bool,
    ) -> Option<Self> {
        let carries_data = |packet: &&Packet| {
            let over = numbered && packet.datagram_id().is_some_and(|id| id < 0);
            packet.length >= length + HEADERS && !over
        };
        let seen: Vec<&Packet> = packets.iter().filter(carries_data).collect();
        let gaps: Vec<(f64, f64)> = seen
            .windows(2)
            .map(|pair| {
                let time = pair[1].time.saturating_sub(pair[0].time) as f64 / 1e9;
                (time, f64::from((pair[0].length - HEADERS) / length))
            })
            .collect();
        let intended = f64::from(length) * 8.0 / rate;
        (gaps.len() >= 10).then_some(Self { intended, gaps })
    }

    /// Quantile of the gaps' distance from the intended one, seconds.
    pub(crate) fn error(&self, quantile: f64) -> f64 {
        let mut errors: Vec<f64> = self
            .gaps
            .iter()
            .map(|(gap, count)| (gap - count * self.intended).abs())
            .collect();
        errors.sort_by(f64::total_cmp);
        errors[((errors.len() - 1) as f64 * quantile).round() as usize]
    }

    /// Share of the gaps that hardly exist.
    pub(crate) fn back_to_back(&self) -> f64 {
        let hardly = |(gap, count): &&(f64, f64)| *gap < count * self.intended * BACK_TO_BACK;
        self.gaps.iter().filter(hardly).count() as f64 / self.gaps.len() as f64
    }

    /// Datagrams, without those of the last packet.
    pub(crate) fn datagrams(&self) -> f64 {
        self.gaps.iter().map(|(_, count)| count).sum()
    }

    /// How far the rate between first and last datagram is from the one asked for, as a share.
    pub(crate) fn rate_error(&self) -> f64 {
        let time: f64 = self.gaps.iter().map(|(gap, _)| gap).sum();
        (self.datagrams() * self.intended / time - 1.0).abs()
    }

    /// The same by what is allowed: a small share, or one datagram if that is more.
    pub(crate) fn rate_error_by_allowance(&self) -> f64 {
        self.rate_error() / ALLOWED.max(1.0 / self.datagrams())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(microseconds: u64, id: i32, datagrams: u32) -> Packet {
        let mut bytes = vec![0; 28];
        bytes.extend(id.to_be_bytes());
        Packet {
            time: microseconds * 1000,
            length: 1470 * datagrams + HEADERS,
            bytes,
        }
    }

    #[test]
    fn gaps_are_judged_against_the_intended_rate() {
        // 11.76 Mbit/s is one datagram of 1470 bytes in 1 ms; one of them is 900 us late.
        let mut packets: Vec<Packet> = (0..100)
            .map(|n| packet(u64::from(n as u32) * 1000, n, 1))
            .collect();
        packets[50].time += 900_000;
        packets.push(packet(99_001, -100, 1));
        packets.push(Packet {
            length: 60,
            ..packet(99_002, 7, 1)
        });
        let gaps = Gaps::from_packets(&packets, 1470, 11.76e6, true).expect("enough packets");
        assert_eq!(gaps.gaps.len(), 99);
        assert!((gaps.error(1.0) - 900e-6).abs() < 1e-9);
        assert!(gaps.error(0.5) < 1e-9);
        assert!((gaps.back_to_back() - 1.0 / 99.0).abs() < 1e-9);
        assert!(gaps.rate_error() < 1e-9);
        assert!(Gaps::from_packets(&packets[..5], 1470, 1e6, true).is_none());
    }

    #[test]
    fn a_segmented_send_is_as_many_datagrams_as_it_holds() {
        let packets: Vec<Packet> = (0..50)
            .map(|n| packet(u64::from(n as u32) * 4000, n * 4, 4))
            .collect();
        let gaps = Gaps::from_packets(&packets, 1470, 11.76e6, true).expect("enough packets");
        assert_eq!(gaps.datagrams(), 196.0);
        assert!(gaps.rate_error() < 1e-9 && gaps.error(1.0) < 1e-9);
        assert_eq!(gaps.back_to_back(), 0.0);
    }

    #[test]
    fn one_datagram_is_allowed() {
        let mut packets: Vec<Packet> = (0..101)
            .map(|n| packet(u64::from(n as u32) * 1000, n, 1))
            .collect();
        // One datagram's time too long.
        packets[100].time += 1_000_000;
        let gaps = Gaps::from_packets(&packets, 1470, 11.76e6, true).expect("enough packets");
        assert!((gaps.rate_error_by_allowance() - 100.0 / 101.0).abs() < 1e-6);
    }
}
