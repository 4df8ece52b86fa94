//! A link that carries bytes in order.

use std::collections::VecDeque;

use tapeline_base::{MonoTime, SplitMix64};

use super::link::up_to;
use super::profile::{Side, StreamProfile};

/// A byte stream in both directions, as an established TCP connection is one: nothing
/// is lost or reordered, but bytes arrive late and in pieces of any size.
#[derive(Clone, Debug)]
pub struct StreamLink {
    random: SplitMix64,
    /// By the writing side.
    lanes: [Lane; 2],
    reset: Option<MonoTime>,
}

/// What a read found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamRead {
    /// Bytes, at least one.
    Data(Vec<u8>),
    /// Nothing yet.
    Pending,
    /// The other side closed and everything was read.
    End,
    /// The connection was reset.
    Reset,
}

#[derive(Clone, Debug)]
struct Lane {
    profile: StreamProfile,
    /// Pieces under way or waiting to be read, with the time of arrival.
    pieces: VecDeque<(MonoTime, Vec<u8>)>,
    unread: usize,
    idle_at: MonoTime,
    last_due: MonoTime,
    /// When the end of the stream arrives.
    end: Option<MonoTime>,
}

impl StreamLink {
    /// A connection that is the same in both directions.
    #[must_use]
    pub fn new(seed: u64, profile: StreamProfile) -> Self {
        Self::asymmetric(seed, profile.clone(), profile)
    }

    /// A connection with a profile for each writing side.
    #[must_use]
    pub fn asymmetric(seed: u64, from_client: StreamProfile, from_server: StreamProfile) -> Self {
        Self {
            random: SplitMix64::new(seed),
            lanes: [Lane::new(from_client), Lane::new(from_server)],
            reset: None,
        }
    }

    /// Writes bytes towards the other side and returns how many fitted into the
    /// window. After [`close`](Self::close) or [`reset`](Self::reset) none do.
    pub fn write(&mut self, now: MonoTime, from: Side, bytes: &[u8]) -> usize {
        let lane = &mut self.lanes[from.index()];
        if lane.end.is_some() || self.reset.is_some() {
            return 0;
        }
        let room = lane.profile.window.unwrap_or(usize::MAX) - lane.unread;
        let accepted = &bytes[..bytes.len().min(room)];
        let mut rest = accepted;
        while !rest.is_empty() {
            let length = match lane.profile.piece {
                Some(max) => 1 + self.random.below(max.min(rest.len()).max(1) as u64) as usize,
                None => rest.len(),
            };
            let (piece, after) = rest.split_at(length.min(rest.len()));
            lane.send(now, piece, &mut self.random);
            rest = after;
        }
        accepted.len()
    }

    /// Takes what has arrived at a side by `now`: at most `max` bytes of one piece.
    pub fn read(&mut self, now: MonoTime, at: Side, max: usize) -> StreamRead {
        if self.reset.is_some_and(|due| due <= now) {
            return StreamRead::Reset;
        }
        let lane = &mut self.lanes[at.other().index()];
        match lane.pieces.front_mut() {
            Some((due, piece)) if *due <= now && max > 0 => {
                let rest = piece.split_off(max.min(piece.len()));
                let bytes = std::mem::replace(piece, rest);
                if piece.is_empty() {
                    lane.pieces.pop_front();
                }
                lane.unread -= bytes.len();
                StreamRead::Data(bytes)
            }
            None if lane.end.is_some_and(|due| due <= now) => StreamRead::End,
            _ => StreamRead::Pending,
        }
    }

    /// Ends the writing of a side (TCP's FIN); it can still read.
    pub fn close(&mut self, now: MonoTime, from: Side) {
        let lane = &mut self.lanes[from.index()];
        if lane.end.is_none() {
            lane.end = Some(lane.arrival(now, &mut self.random));
        }
    }

    /// Breaks the connection for both sides at once (TCP's RST); what was not read is
    /// gone.
    pub fn reset(&mut self, now: MonoTime) {
        self.reset.get_or_insert(now);
    }

    /// When a side has next something to read, an end or a reset; possibly in the past
    /// when it has not read what is there.
    #[must_use]
    pub fn next_due(&self, at: Side) -> Option<MonoTime> {
        let lane = &self.lanes[at.other().index()];
        let data = lane.pieces.front().map(|(due, _)| *due).or(lane.end);
        match (self.reset, data) {
            (Some(reset), Some(data)) => Some(reset.min(data)),
            (reset, data) => reset.or(data),
        }
    }

    /// Bytes that a side wrote and the other has not read.
    #[must_use]
    pub fn unread(&self, from: Side) -> usize {
        self.lanes[from.index()].unread
    }
}

impl Lane {
    fn new(profile: StreamProfile) -> Self {
        Self {
            profile,
            pieces: VecDeque::new(),
            unread: 0,
            idle_at: MonoTime::ZERO,
            last_due: MonoTime::ZERO,
            end: None,
        }
    }

    fn send(&mut self, now: MonoTime, piece: &[u8], random: &mut SplitMix64) {
        let mut left = now;
        if let Some(rate) = self.profile.rate {
            let transmission = rate.gap(piece.len() as u64);
            // A rate of 0 never sends.
            left = transmission.map_or(MonoTime::FAR, |time| self.idle_at.max(now) + time);
            self.idle_at = left;
        }
        let due = self.arrival(left, random);
        self.unread += piece.len();
        self.pieces.push_back((due, piece.to_vec()));
    }

    /// When something that leaves the bottleneck at `left` arrives: after all before
    /// it, and not while the link is cut.
    fn arrival(&mut self, left: MonoTime, random: &mut SplitMix64) -> MonoTime {
        let due = left + self.profile.delay + up_to(self.profile.jitter, random);
        let mut due = due.max(self.last_due);
        // Cuts may follow one another in any order.
        while let Some(cut) = self.profile.cuts.iter().find(|cut| cut.covers(due)) {
            due = cut.until;
        }
        self.last_due = due;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Cut;
    use std::time::Duration;
    use tapeline_base::BitRate;

    fn at(milliseconds: u64) -> MonoTime {
        MonoTime::from_nanos(milliseconds * 1_000_000)
    }

    /// Reads everything that the server can ever get: time of each read and its bytes.
    fn drain(link: &mut StreamLink) -> Vec<(MonoTime, Vec<u8>)> {
        let mut reads = Vec::new();
        while let Some(due) = link.next_due(Side::Server) {
            match link.read(due, Side::Server, usize::MAX) {
                StreamRead::Data(bytes) => reads.push((due, bytes)),
                _ => break,
            }
        }
        reads
    }

    #[test]
    fn bytes_arrive_whole_in_order_and_in_pieces() {
        let profile = StreamProfile {
            delay: Duration::from_millis(5),
            jitter: Duration::from_millis(5),
            piece: Some(7),
            ..StreamProfile::default()
        };
        let mut link = StreamLink::new(2, profile);
        let sent: Vec<u8> = (0..=255).collect();
        assert_eq!(link.write(at(0), Side::Client, &sent), 256);
        link.close(at(0), Side::Client);
        assert_eq!(link.read(at(4), Side::Server, 10), StreamRead::Pending);
        let reads = drain(&mut link);
        assert!(
            reads
                .iter()
                .all(|(_, bytes)| (1..=7).contains(&bytes.len()))
        );
        assert!(
            reads
                .iter()
                .any(|(_, bytes)| bytes.len() != reads[0].1.len())
        );
        assert!(reads.is_sorted_by_key(|(due, _)| *due));
        let all: Vec<u8> = reads.into_iter().flat_map(|(_, bytes)| bytes).collect();
        assert_eq!(all, sent);
        assert_eq!(link.read(at(10), Side::Server, 1), StreamRead::End);
        assert_eq!(link.read(at(10), Side::Client, 1), StreamRead::Pending);
    }

    #[test]
    fn a_short_read_leaves_the_rest() {
        let mut link = StreamLink::new(0, StreamProfile::default());
        link.write(at(0), Side::Server, b"abc");
        assert_eq!(link.read(at(0), Side::Client, 0), StreamRead::Pending);
        assert_eq!(
            link.read(at(0), Side::Client, 2),
            StreamRead::Data(b"ab".to_vec())
        );
        assert_eq!(
            link.read(at(0), Side::Client, 2),
            StreamRead::Data(b"c".to_vec())
        );
        assert_eq!(link.read(at(0), Side::Client, 2), StreamRead::Pending);
    }

    #[test]
    fn the_window_limits_what_is_unread() {
        let profile = StreamProfile {
            window: Some(4),
            ..StreamProfile::default()
        };
        let mut link = StreamLink::new(0, profile);
        assert_eq!(link.write(at(0), Side::Client, b"abcdef"), 4);
        assert_eq!(link.write(at(0), Side::Client, b"ef"), 0);
        assert_eq!(link.unread(Side::Client), 4);
        link.read(at(0), Side::Server, 3);
        assert_eq!(link.write(at(0), Side::Client, b"efgh"), 3);
    }

    #[test]
    fn a_bottleneck_and_a_cut_delay() {
        let profile = StreamProfile {
            // 1000 bytes take 8 ms.
            rate: Some(BitRate(1_000_000)),
            cuts: vec![Cut {
                from: at(10),
                until: at(50),
            }],
            ..StreamProfile::default()
        };
        let mut link = StreamLink::new(0, profile);
        link.write(at(0), Side::Client, &[0; 1_000]);
        link.write(at(0), Side::Client, &[0; 1_000]);
        link.write(at(60), Side::Client, &[0; 1_000]);
        let times: Vec<MonoTime> = drain(&mut link).into_iter().map(|(due, _)| due).collect();
        assert_eq!(times, [at(8), at(50), at(68)]);
    }

    #[test]
    fn a_reset_ends_both_directions() {
        let mut link = StreamLink::new(0, StreamProfile::default());
        link.write(at(0), Side::Client, b"abc");
        link.reset(at(3));
        assert_eq!(link.next_due(Side::Client), Some(at(3)));
        assert_eq!(link.read(at(3), Side::Server, 9), StreamRead::Reset);
        assert_eq!(link.read(at(3), Side::Client, 9), StreamRead::Reset);
        assert_eq!(link.write(at(4), Side::Client, b"x"), 0);
    }

    #[test]
    fn a_link_cut_for_good_never_delivers() {
        let profile = StreamProfile {
            cuts: vec![Cut {
                from: at(1),
                until: MonoTime::FAR,
            }],
            ..StreamProfile::default()
        };
        let mut link = StreamLink::new(0, profile);
        link.write(at(2), Side::Client, b"abc");
        assert_eq!(link.next_due(Side::Server), Some(MonoTime::FAR));
        assert_eq!(
            link.read(at(1_000_000), Side::Server, 3),
            StreamRead::Pending
        );
    }
}
