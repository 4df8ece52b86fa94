//! Reading a UDP flow's datagrams: which layout, which number, data or end.

use tapeline_base::WallTime;
use tapeline_engine::{ArrivedFrame, Followers};
use tapeline_wire::iperf2::{
    DatagramStamp, IsochronousFrame, ShortTripTimes, Timestamp, UdpClientHeader, UdpForm,
    UdpLayout, Workload, limits,
};

/// What a datagram means for its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Data.
    Data,
    /// The end.
    End,
    /// The first datagram of another test from the same source.
    NewTest,
}

/// One datagram of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its number; of a final datagram, the number after the last data.
    pub(crate) sequence: u64,
    /// What it means.
    pub(crate) meaning: Meaning,
    /// The sender's stamp.
    pub(crate) sent: WallTime,
    /// The frame that it belongs to, where there are frames.
    pub(crate) frame: Option<ArrivedFrame>,
}

/// What the first datagram of a flow says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    /// Nothing.
    Nothing,
    /// All settings.
    Header(UdpClientHeader),
    /// That the clocks agree, no more.
    Short(ShortTripTimes),
}

impl Announced {
    fn from_datagram(datagram: &[u8]) -> Self {
        match UdpClientHeader::parse(datagram) {
            Ok(header) => Self::Header(header),
            Err(_) => ShortTripTimes::read(datagram).map_or(Self::Nothing, Self::Short),
        }
    }

    /// The settings, if there are any.
    pub(crate) fn header(self) -> Option<UdpClientHeader> {
        match self {
            Self::Header(header) => Some(header),
            Self::Nothing | Self::Short(_) => None,
        }
    }
}

/// Reads the datagrams of one flow in the layout that its first datagram showed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowReader {
    narrow: bool,
    wide_ids: bool,
    first: u64,
    highest: u64,
    /// The newest of the sender's stamps.
    newest: WallTime,
    /// The flow began with settings, so that a new beginning can be recognised.
    settings: bool,
    /// How datagrams say to which frame they belong, if they do.
    frames: Option<FrameLayout>,
}

/// Where the frame stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameLayout {
    /// As in 2.2.
    Current,
    /// As in 2.1.
    Before,
    /// In one of these ways: the first datagram with a frame will show.
    Either,
}

impl FlowReader {
    /// For the datagrams that a 2.1 or later end sends in reverse, frames or not.
    pub(crate) fn reverse(frames: bool) -> Self {
        Self {
            narrow: false,
            wide_ids: true,
            first: 1,
            highest: 0,
            newest: WallTime::default(),
            settings: false,
            frames: frames.then_some(FrameLayout::Either),
        }
    }

    /// From the first datagram of a new flow; `None` when it cannot open one.
    pub(crate) fn open(datagram: &[u8]) -> Option<(Self, Announced)> {
        let layout = UdpLayout::detect(datagram);
        let announced = Announced::from_datagram(datagram);
        let header = announced.header();
        let mut reader = Self {
            narrow: matches!(layout, UdpLayout::Legacy12),
            wide_ids: header.is_some_and(|header| header.wide_ids),
            first: 1,
            highest: 0,
            newest: WallTime::default(),
            settings: announced != Announced::Nothing,
            frames: header
                .filter(|header| matches!(header.workload, Workload::Isochronous(_)))
                .map(|header| match header.form {
                    UdpForm::Extended36 => FrameLayout::Before,
                    UdpForm::Extended40 | UdpForm::Legacy12 => FrameLayout::Current,
                }),
        };
        if header.is_none() && layout == UdpLayout::Headerless {
            // 64-bit numbers show by an upper half of zero.
            reader.wide_ids = datagram.get(12..16) == Some(&[0; 4]);
        }
        let stamp = reader.stamp(datagram)?;
        if stamp.is_fin() {
            return None;
        }
        if stamp.id == 0 {
            if !reader.narrow && layout == UdpLayout::Extended16 {
                return None;
            }
            reader.first = 0;
        } else if reader.narrow {
            reader.first = 0;
        }
        Some((reader, announced))
    }

    /// Whether a datagram begins a flow: it opens one, and is one of its datagrams.
    pub(crate) fn begins(datagram: &[u8]) -> bool {
        Self::open(datagram).is_some_and(|(mut reader, _)| reader.read(datagram).is_some())
    }

    /// Datagrams say to which frame they belong.
    pub(crate) fn has_frames(&self) -> bool {
        self.frames.is_some()
    }

    /// The frame that a datagram belongs to.
    fn frame(&mut self, datagram: &[u8]) -> Option<IsochronousFrame> {
        match self.frames? {
            FrameLayout::Current => IsochronousFrame::read(datagram),
            FrameLayout::Before => IsochronousFrame::read_2_1(datagram),
            FrameLayout::Either => {
                let current = IsochronousFrame::read(datagram);
                if current.is_some() {
                    self.frames = Some(FrameLayout::Current);
                    return current;
                }
                let before = IsochronousFrame::read_2_1(datagram)?;
                self.frames = Some(FrameLayout::Before);
                Some(before)
            }
        }
    }

    /// Number that the flow's first datagram has.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The flow has the 12-byte layout of 2.0.5 and before.
    pub(crate) fn is_narrow(&self) -> bool {
        self.narrow
    }

    #[inline]
    fn stamp(&self, datagram: &[u8]) -> Option<DatagramStamp> {
        if self.narrow {
            DatagramStamp::read_12(datagram)
        } else {
            DatagramStamp::read_16(datagram, self.wide_ids)
        }
    }

    /// The newest of the sender's stamps so far.
    pub(crate) fn newest(&self) -> WallTime {
        self.newest
    }

    /// Reads a datagram; `None` for one that cannot belong to the flow.
    #[inline]
    pub(crate) fn read(&mut self, datagram: &[u8]) -> Option<Seen> {
        let stamp = self.stamp(datagram)?;
        let sent = WallTime::from_wire(stamp.seconds, stamp.micros);
        let fin = stamp.is_fin();
        let sequence = if fin {
            stamp.fin_number(self.highest)?
        } else {
            stamp.id.unsigned_abs()
        };
        let jump = sequence.saturating_sub(self.highest);
        if sequence < self.first || jump > limits::MAX_ID_JUMP {
            return None;
        }
        let meaning = if fin {
            Meaning::End
        } else if self.begins_anew(sequence, sent) {
            return Some(Seen {
                sequence,
                meaning: Meaning::NewTest,
                sent,
                frame: None,
            });
        } else {
            Meaning::Data
        };
        self.highest = self.highest.max(sequence);
        self.newest = self.newest.max(sent);
        let frame = if fin || self.frames.is_none() {
            None
        } else {
            self.frame(datagram)
        };
        Some(Seen {
            sequence,
            meaning,
            sent,
            frame: frame.map(arrived_frame),
        })
    }

    /// How many of the datagrams behind `seen` count on from it. The next one is to be
    /// [`read`](Self::read).
    #[inline]
    pub(crate) fn followers<'a>(
        &mut self,
        seen: &Seen,
        datagrams: impl Iterator<Item = &'a [u8]>,
    ) -> Followers {
        let mut followers = Followers::default();
        if seen.meaning != Meaning::Data || self.frames.is_some() {
            return followers;
        }
        let (seconds, micros) = seen.sent.to_wire();
        let mut expected = DatagramStamp {
            id: seen.sequence as i64,
            seconds,
            micros,
        };
        for datagram in datagrams {
            expected.id += 1;
            if self.stamp(datagram) != Some(expected) {
                break;
            }
            followers.count += 1;
            followers.bytes += datagram.len() as u64;
        }
        self.highest = self.highest.max(seen.sequence + followers.count);
        followers
    }
}

/// A frame's place in time: its slot began so many periods behind the start.
fn arrived_frame(frame: IsochronousFrame) -> ArrivedFrame {
    let slots = i64::from(frame.id.saturating_sub(1));
    let offset = slots
        .saturating_mul(i64::from(frame.period_micros))
        .saturating_mul(1000);
    let start = WallTime::from(frame.start);
    ArrivedFrame {
        id: frame.id,
        previous: frame.previous_id,
        size: frame.size,
        due: (frame.start != Timestamp::ZERO)
            .then(|| WallTime::from_nanos(start.as_nanos().saturating_add(offset))),
    }
}

impl FlowReader {
    /// The first number again, sent after numbers that follow it: no copy and no latecomer.
    #[inline]
    fn begins_anew(&self, sequence: u64, sent: WallTime) -> bool {
        sequence == self.first && self.settings && self.highest > self.first && sent > self.newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf2::stamps::{Settings, StampForm, datagram_template};

    fn stamped(id: i64) -> Vec<u8> {
        let mut datagram = datagram_template(100, &Settings::Header(UdpClientHeader::default()));
        DatagramStamp {
            id,
            seconds: 7,
            micros: 8,
        }
        .write_16(&mut datagram);
        datagram
    }

    #[test]
    fn a_flow_opens_with_data_only() {
        assert!(FlowReader::open(&stamped(1)).is_some());
        assert!(FlowReader::open(&stamped(0)).is_none());
        assert!(FlowReader::open(&stamped(-3)).is_none());
        assert!(FlowReader::open(&[]).is_none());
    }

    #[test]
    fn data_and_end_have_numbers() {
        let (mut reader, announced) = FlowReader::open(&stamped(1)).expect("a flow");
        assert!(announced.header().is_some());
        let seen = reader.read(&stamped(4)).expect("data");
        assert_eq!((seen.sequence, seen.meaning), (4, Meaning::Data));
        let mut last = stamped(0);
        StampForm::Wide.write_final(&mut last, 5, WallTime::default());
        let seen = reader.read(&last).expect("the end");
        assert_eq!((seen.sequence, seen.meaning), (5, Meaning::End));
    }

    #[test]
    fn a_new_test_is_distinguished_from_copies_and_latecomers() {
        let at = |id, second| {
            let mut datagram = stamped(id);
            DatagramStamp {
                id,
                seconds: second,
                micros: 0,
            }
            .write_16(&mut datagram);
            datagram
        };
        let (mut reader, _) = FlowReader::open(&at(1, 10)).expect("a flow");
        let mut meaning = |id, second| reader.read(&at(id, second)).map(|seen| seen.meaning);
        assert_eq!(meaning(1, 10), Some(Meaning::Data));
        assert_eq!(meaning(1, 10), Some(Meaning::Data), "a copy");
        assert_eq!(meaning(2, 11), Some(Meaning::Data));
        assert_eq!(meaning(1, 10), Some(Meaning::Data), "a late copy");
        assert_eq!(meaning(1, 12), Some(Meaning::NewTest));
    }

    #[test]
    fn frames_of_both_versions_are_found_and_absurd_ones_harm_nothing() {
        let frame = IsochronousFrame {
            period_micros: 100_000,
            start: Timestamp {
                seconds: 10,
                micros: 0,
            },
            previous_id: 2,
            id: 3,
            size: 500,
            remaining: 200,
        };
        let datagram = |write: &dyn Fn(&mut [u8])| {
            let mut bytes = vec![0; 200];
            DatagramStamp {
                id: 1,
                seconds: 10,
                micros: 0,
            }
            .write_16(&mut bytes);
            write(&mut bytes);
            bytes
        };
        let current = datagram(&|bytes| frame.write(bytes));
        let before = datagram(&|bytes| frame.write_2_1(bytes));
        for bytes in [&current, &before] {
            let seen = FlowReader::reverse(true).read(bytes).expect("data");
            let arrived = seen.frame.expect("a frame");
            assert_eq!((arrived.id, arrived.previous, arrived.size), (3, 2, 500));
            assert_eq!(arrived.due, Some(WallTime::from_nanos(10_200_000_000)));
        }
        assert_eq!(
            FlowReader::reverse(false)
                .read(&current)
                .expect("data")
                .frame,
            None
        );
        let absurd = IsochronousFrame {
            period_micros: u32::MAX,
            id: u32::MAX,
            ..frame
        };
        let bytes = datagram(&|bytes| absurd.write(bytes));
        let seen = FlowReader::reverse(true).read(&bytes).expect("data");
        assert!(seen.frame.is_some_and(|frame| frame.due.is_some()));
    }

    #[test]
    fn datagrams_that_count_on_are_followers_until_something_changes() {
        let at = |id, micros| {
            let mut datagram = stamped(id);
            DatagramStamp {
                id,
                seconds: 7,
                micros,
            }
            .write_16(&mut datagram);
            datagram
        };
        let followers = |behind: &[Vec<u8>]| {
            let (mut reader, _) = FlowReader::open(&at(1, 8)).expect("a flow");
            let seen = reader.read(&at(1, 8)).expect("data");
            let found = reader.followers(&seen, behind.iter().map(Vec::as_slice));
            let (count, bytes) = (found.count, found.bytes);
            (count, bytes, reader.highest)
        };
        let short = at(3, 8)[..40].to_vec();
        assert_eq!(followers(&[at(2, 8), short]), (2, 140, 3));
        // A gap, another time, a repetition, the end, and what has no stamp.
        for other in [at(4, 8), at(3, 9), at(2, 8), at(-3, 8), vec![0; 3]] {
            assert_eq!(followers(&[at(2, 8), other, at(4, 8)]), (1, 100, 2));
        }
        let mut frames = FlowReader::reverse(true);
        let seen = frames.read(&at(1, 8)).expect("data");
        let next = at(2, 8);
        let found = frames.followers(&seen, [next.as_slice()].into_iter());
        assert_eq!(found, Followers::default(), "each has a place in its frame");
    }

    #[test]
    fn absurd_jumps_do_not_belong() {
        let (mut reader, _) = FlowReader::open(&stamped(1)).expect("a flow");
        assert!(reader.read(&stamped(1 << 40)).is_none());
        assert!(reader.read(&stamped(2)).is_some());
    }

    #[test]
    fn legacy_numbers_start_at_zero() {
        let header = UdpClientHeader {
            form: tapeline_wire::iperf2::UdpForm::Legacy12,
            wide_ids: false,
            ..UdpClientHeader::default()
        };
        let mut datagram = datagram_template(200, &Settings::Header(header));
        DatagramStamp::default().write_12(&mut datagram);
        let (reader, _) = FlowReader::open(&datagram).expect("a flow");
        assert!(reader.is_narrow());
        assert_eq!(reader.first(), 0);
    }
}
