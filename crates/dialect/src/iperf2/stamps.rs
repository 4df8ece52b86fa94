//! Stamps for the engine's packet loops.

use tapeline_base::WallTime;
use tapeline_engine::{
    BurstFormat, BurstHead, BurstStamp, BurstStart, DatagramStamp as EngineStamp, FramePart,
    Preamble,
};
use tapeline_wire::iperf2::{
    BurstHeader, DatagramStamp, Flags, IsochronousFrame, ShortTripTimes, Timestamp,
    UdpClientHeader, limits,
};

/// Number and time of a 16-byte datagram header; settings stay as in the template.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp16;

impl EngineStamp for Stamp16 {
    #[inline]
    fn stamp(&mut self, datagram: &mut [u8], sequence: u64, wall: WallTime) {
        data_stamp(sequence, wall).write_16(datagram);
    }
}

/// Number and time of a 12-byte datagram header, for peers up to 2.0.5.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp12;

impl EngineStamp for Stamp12 {
    #[inline]
    fn stamp(&mut self, datagram: &mut [u8], sequence: u64, wall: WallTime) {
        data_stamp(sequence, wall).write_12(datagram);
    }
}

/// As [`Stamp16`], and the frame that the datagram belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameStamp {
    pub(crate) period_micros: u32,
    /// When the first frame was due.
    pub(crate) start: Timestamp,
    /// For a receiver of 2.1.
    pub(crate) early: bool,
}

impl EngineStamp for FrameStamp {
    #[inline]
    fn stamp(&mut self, datagram: &mut [u8], sequence: u64, wall: WallTime) {
        Stamp16.stamp(datagram, sequence, wall);
    }

    #[inline]
    fn frame(&mut self, datagram: &mut [u8], part: &FramePart) {
        let frame = IsochronousFrame {
            period_micros: self.period_micros,
            start: self.start,
            previous_id: part.frame.previous as u32,
            id: part.frame.id as u32,
            size: part.size,
            remaining: part.remaining,
        };
        if self.early {
            frame.write_2_1(datagram);
        } else {
            frame.write(datagram);
        }
    }
}

/// What stands behind number and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settings {
    /// Nothing.
    None,
    /// All settings.
    Header(UdpClientHeader),
    /// Of small datagrams only that the clocks agree.
    Short(ShortTripTimes),
}

impl Settings {
    /// Bytes that the first datagram must have.
    pub(crate) fn required_length(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Header(header) => header.required_length(),
            Self::Short(_) => ShortTripTimes::END,
        }
    }
}

/// Either header, chosen per flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StampForm {
    /// 12 bytes.
    Narrow,
    /// 16 bytes.
    Wide,
}

impl StampForm {
    /// Writes the final datagram's stamp: the negative of the next number.
    pub(crate) fn write_final(self, datagram: &mut [u8], next: u64, wall: WallTime) {
        let (seconds, micros) = wall.to_wire();
        let stamp = DatagramStamp {
            id: i64::try_from(next).unwrap_or(i64::MAX).wrapping_neg(),
            seconds,
            micros,
        };
        match self {
            Self::Narrow => stamp.write_12(datagram),
            Self::Wide => stamp.write_16(datagram),
        }
    }

    /// Number of the first datagram.
    pub(crate) fn first_sequence(self) -> u64 {
        match self {
            Self::Narrow => 0,
            Self::Wide => 1,
        }
    }
}

#[inline]
fn data_stamp(sequence: u64, wall: WallTime) -> DatagramStamp {
    let (seconds, micros) = wall.to_wire();
    DatagramStamp {
        id: sequence as i64,
        seconds,
        micros,
    }
}

/// A datagram before it is stamped: digits, and the settings where there are any.
pub(crate) fn datagram_template(length: usize, settings: &Settings) -> Vec<u8> {
    let mut datagram = vec![0; length];
    tapeline_wire::iperf2::fill_pattern(&mut datagram);
    match settings {
        Settings::Short(short) => short.write(&mut datagram),
        Settings::Header(header) => {
            let room = length.min(tapeline_wire::iperf2::limits::UDP_HEADER_ROOM);
            datagram[..room].fill(0);
            header.write(&mut datagram);
        }
        // A headerless datagram must not look like settings to a 2.2.1 server.
        Settings::None => datagram
            .iter_mut()
            .take(20)
            .skip(16)
            .for_each(|byte| *byte = 0),
    }
    datagram
}

/// Writes the headers of bursts in a TCP stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BurstWriter {
    /// When the traffic began.
    pub(crate) start: Timestamp,
    /// Time between bursts, where they follow a clock.
    pub(crate) period_micros: Option<u32>,
}

impl BurstStamp for BurstWriter {
    fn length(&self) -> usize {
        BurstHeader::LENGTH
    }

    fn stamp(&mut self, bytes: &mut [u8], burst: &BurstStart) {
        BurstHeader {
            report_start: self.start,
            write_time: Timestamp::from(burst.wall),
            period_micros: self.period_micros,
            id: burst.id as u32,
            size: burst.size,
            sequence: burst.end + 1,
        }
        .write(bytes);
    }
}

/// Reads the headers of bursts, and the sender's own header where one stands before them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BurstReader;

impl BurstFormat for BurstReader {
    const HEADER: usize = BurstHeader::LENGTH;

    fn head(&self, header: &[u8]) -> Option<BurstHead> {
        let header = BurstHeader::read(header.first_chunk()?, false).ok()?;
        Some(BurstHead {
            id: header.id,
            size: header.size,
            written: WallTime::from(header.write_time),
        })
    }

    fn preamble(&self, bytes: &[u8]) -> Preamble {
        let Some(word) = bytes.first_chunk() else {
            return Preamble::Need(4);
        };
        // 2.0.14 announces its header as one of version 2, later ones as extended.
        let flags = Flags(u32::from_be_bytes(*word));
        let is_header = flags.intersects(Flags::EXTEND | Flags::VERSION2);
        match flags.header_length() {
            Some(length) if is_header && length >= limits::BASE_HEADER => {
                if bytes.len() < length {
                    Preamble::Need(length)
                } else if begins_test(&bytes[..length]) {
                    Preamble::Length(length)
                } else {
                    Preamble::Length(0)
                }
            }
            // Some servers begin with data; a burst's first bytes may look like anything.
            _ => Preamble::Length(0),
        }
    }
}

/// Whether a sending server's header says what such headers say: a port and a version 2.
fn begins_test(header: &[u8]) -> bool {
    let word = |at: usize| {
        let bytes = header.get(at..)?.first_chunk()?;
        Some(u32::from_be_bytes(*bytes))
    };
    word(8).is_some_and(|port| port <= u32::from(u16::MAX))
        && word(36).is_some_and(|version| version >> 16 == 2)
}

#[cfg(test)]
mod tests {
    use tapeline_wire::iperf2::TcpClientHeader;

    use super::*;

    #[test]
    fn the_final_datagram_has_the_negative_next_number() {
        let mut datagram = [0; 16];
        StampForm::Wide.write_final(&mut datagram, 5, WallTime::from_wire(1, 2));
        let stamp = DatagramStamp::read_16(&datagram, true).expect("long enough");
        assert_eq!((stamp.id, stamp.seconds, stamp.micros), (-5, 1, 2));
    }

    #[test]
    fn a_template_without_settings_reads_as_headerless() {
        let template = datagram_template(1470, &Settings::None);
        assert_eq!(
            tapeline_wire::iperf2::UdpLayout::detect(&template),
            tapeline_wire::iperf2::UdpLayout::Headerless
        );
    }

    #[test]
    fn a_server_header_before_the_bursts_is_found_and_a_burst_is_not_one() {
        let mut message = Vec::new();
        TcpClientHeader {
            trip_times: true,
            ..TcpClientHeader::default()
        }
        .encode(&mut message);
        message.resize(200, 0);
        assert_eq!(BurstReader.preamble(&[]), Preamble::Need(4));
        assert_eq!(BurstReader.preamble(&message[..4]), Preamble::Need(80));
        assert_eq!(BurstReader.preamble(&message), Preamble::Length(80));
        // As 2.0.14 begins, which knows no extended header.
        message[..4].copy_from_slice(&0x0c01_00a0_u32.to_be_bytes());
        assert_eq!(BurstReader.preamble(&message), Preamble::Length(80));
        // The fill of the reference's bursts has the flags of a header.
        for fill in [0xa5, b'0', 0, 0xff] {
            let mut burst = vec![fill; 300];
            let mut writer = BurstWriter {
                start: Timestamp::default(),
                period_micros: None,
            };
            writer.stamp(
                &mut burst,
                &BurstStart {
                    id: 1,
                    size: 300,
                    end: 300,
                    wall: WallTime::from_wire(7, 8),
                },
            );
            assert_eq!(BurstReader.preamble(&burst), Preamble::Length(0), "{fill}");
            let head = BurstReader.head(&burst).expect("a burst");
            assert_eq!((head.id, head.size), (1, 300));
            assert_eq!(head.written, WallTime::from_wire(7, 8));
        }
    }
}
