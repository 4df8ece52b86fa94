//! Stamps for the engine's packet loops.

use tapeline_base::WallTime;
use tapeline_engine::{DatagramStamp as EngineStamp, FramePart};
use tapeline_wire::iperf2::{
    DatagramStamp, IsochronousFrame, ShortTripTimes, Timestamp, UdpClientHeader,
};

/// Number and time of a 16-byte datagram header; settings stay as in the template.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp16;

impl EngineStamp for Stamp16 {
    #[inline]
    fn stamp(&mut self, datagram: &mut [u8], sequence: u64, wall: WallTime) {
        data_stamp(sequence, wall).write_16(datagram);
    }
}

/// Number and time of a 12-byte datagram header, for peers up to 2.0.5.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp12;

impl EngineStamp for Stamp12 {
    #[inline]
    fn stamp(&mut self, datagram: &mut [u8], sequence: u64, wall: WallTime) {
        data_stamp(sequence, wall).write_12(datagram);
    }
}

/// As [`Stamp16`], and the frame that the datagram belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameStamp {
    pub(super) period_micros: u32,
    /// When the first frame was due.
    pub(super) start: Timestamp,
}

impl EngineStamp for FrameStamp {
    #[inline]
    fn stamp(&mut self, datagram: &mut [u8], sequence: u64, wall: WallTime) {
        Stamp16.stamp(datagram, sequence, wall);
    }

    #[inline]
    fn frame(&mut self, datagram: &mut [u8], part: &FramePart) {
        IsochronousFrame {
            period_micros: self.period_micros,
            start: self.start,
            previous_id: part.frame.previous as u32,
            id: part.frame.id as u32,
            size: part.size,
            remaining: part.remaining,
        }
        .write(datagram);
    }
}

/// What stands behind number and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settings {
    /// Nothing.
    None,
    /// All settings.
    Header(UdpClientHeader),
    /// Of small datagrams only that the clocks agree.
    Short(ShortTripTimes),
}

impl Settings {
    /// Bytes that the first datagram must have.
    pub(super) fn required_length(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Header(header) => header.required_length(),
            Self::Short(_) => ShortTripTimes::END,
        }
    }
}

/// Either header, chosen per flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StampForm {
    /// 12 bytes.
    Narrow,
    /// 16 bytes.
    Wide,
}

impl StampForm {
    /// Writes the final datagram's stamp: the negative of the next number.
    pub(super) fn write_final(self, datagram: &mut [u8], next: u64, wall: WallTime) {
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
    pub(super) fn first_sequence(self) -> u64 {
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
pub(super) fn datagram_template(length: usize, settings: &Settings) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
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
}
