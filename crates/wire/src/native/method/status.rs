//! What an end reports while a method runs: what has arrived of a load, and the state of TCP senders.

use std::num::NonZeroU32;

/// What has arrived of a load: counts since its beginning, delays since the Status before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Since the first datagram arrived, nanoseconds.
    pub elapsed: u64,
    /// Distinct datagrams.
    pub datagrams: u64,
    /// Their payload, bytes.
    pub bytes: u64,
    /// Numbers that are missing below the highest.
    pub lost: u64,
    /// Datagrams that arrived behind later ones.
    pub reordered: u64,
    /// Datagrams that had arrived before.
    pub duplicates: u64,
    /// The highest number.
    pub highest: u64,
    /// Round trip of a Status and the load that repeated it, nanoseconds; 0 where none is known.
    pub round_trip: u64,
    /// Mean of the one-way delays above the smallest of all, nanoseconds.
    pub delay_variation: u64,
    /// Of the lost ones, those for which the receiver's socket had no room; `u64::MAX` where it does
    /// not know.
    pub socket_drops: u64,
}

impl Status {
    /// Its length, bytes.
    pub const LENGTH: usize = 80;

    /// The bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        let words = [
            self.elapsed,
            self.datagrams,
            self.bytes,
            self.lost,
            self.reordered,
            self.duplicates,
            self.highest,
            self.round_trip,
            self.delay_variation,
            self.socket_drops,
        ];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// Reads it from the bytes behind the header of a frame or datagram.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LENGTH] = bytes.try_into().ok()?;
        let [
            elapsed,
            datagrams,
            payload,
            lost,
            reordered,
            duplicates,
            highest,
            round_trip,
            delay_variation,
            socket_drops,
        ] = words(bytes)?;
        Some(Self {
            elapsed,
            datagrams,
            bytes: payload,
            lost,
            reordered,
            duplicates,
            highest,
            round_trip,
            delay_variation,
            socket_drops,
        })
    }
}

/// The state of one of the server's TCP senders at a time. What the system does not know is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Since the samples began, nanoseconds.
    pub elapsed: u64,
    /// Which flow: the token of its answer; absent for flows that the server opened.
    pub token: Option<NonZeroU32>,
    /// Smoothed round trip, microseconds.
    pub round_trip_us: Option<u64>,
    /// Congestion window, bytes.
    pub cwnd_bytes: Option<u64>,
    /// Bytes sent, repeated ones included.
    pub bytes_sent: Option<u64>,
    /// Bytes that were sent again.
    pub bytes_retransmitted: Option<u64>,
    /// Bytes that the client has acknowledged.
    pub bytes_acked: Option<u64>,
}

impl Sample {
    /// Its length, bytes.
    pub const LENGTH: usize = 56;

    /// The bytes. The bits of the word behind the token say which numbers are known, the first the lowest.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        let known = self.optional().map(|value| value.is_some());
        let bits = (0..).zip(known).map(|(bit, known)| u32::from(known) << bit);
        bytes[..8].copy_from_slice(&self.elapsed.to_be_bytes());
        let token = self.token.map_or(0, NonZeroU32::get);
        bytes[8..12].copy_from_slice(&token.to_be_bytes());
        bytes[12..16].copy_from_slice(&bits.sum::<u32>().to_be_bytes());
        for (place, value) in bytes[16..].chunks_exact_mut(8).zip(self.optional()) {
            place.copy_from_slice(&value.unwrap_or(0).to_be_bytes());
        }
        bytes
    }

    /// Reads it from the body of a frame.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LENGTH] = bytes.try_into().ok()?;
        let [elapsed] = words(bytes)?;
        let number = |at: usize| bytes[at..].first_chunk().copied().map(u32::from_be_bytes);
        let known = number(12)?;
        let values: [u64; 5] = words(&bytes[16..])?;
        let value = |bit: usize| (known >> bit & 1 == 1).then(|| values[bit]);
        Some(Self {
            elapsed,
            token: NonZeroU32::new(number(8)?),
            round_trip_us: value(0),
            cwnd_bytes: value(1),
            bytes_sent: value(2),
            bytes_retransmitted: value(3),
            bytes_acked: value(4),
        })
    }

    fn optional(&self) -> [Option<u64>; 5] {
        [
            self.round_trip_us,
            self.cwnd_bytes,
            self.bytes_sent,
            self.bytes_retransmitted,
            self.bytes_acked,
        ]
    }
}

fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let mut words = [0; N];
    for (place, word) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *place = word.first_chunk().copied().map(u64::from_be_bytes)?;
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_bytes_of_the_specification() {
        let status = Status {
            elapsed: 1,
            datagrams: 2,
            bytes: 3,
            lost: 4,
            reordered: 5,
            duplicates: 6,
            highest: 7,
            round_trip: 8,
            delay_variation: 9,
            socket_drops: 0x0102_0304_0506_0708,
        };
        let mut expected: Vec<u8> = (1..=9_u64).flat_map(u64::to_be_bytes).collect();
        expected.extend([1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(status.encode().as_slice(), expected);
        assert_eq!(Status::parse(&expected), Some(status));
        assert_eq!(Status::parse(&expected[1..]), None);
        expected.push(0);
        assert_eq!(Status::parse(&expected), None);
    }

    #[test]
    fn a_sample_has_the_bytes_of_the_specification() {
        let sample = Sample {
            elapsed: 9,
            token: NonZeroU32::new(0x0a0b_0c0d),
            round_trip_us: Some(20_000),
            cwnd_bytes: None,
            bytes_sent: Some(0),
            bytes_retransmitted: None,
            bytes_acked: Some(3),
        };
        let mut expected = vec![0, 0, 0, 0, 0, 0, 0, 9, 0xa, 0xb, 0xc, 0xd, 0, 0, 0, 0b10101];
        expected.extend(
            [20_000_u64, 0, 0, 0, 3]
                .into_iter()
                .flat_map(u64::to_be_bytes),
        );
        assert_eq!(sample.encode().as_slice(), expected);
        assert_eq!(Sample::parse(&expected), Some(sample));
        assert_eq!(Sample::parse(&expected[..55]), None);
    }
}
