//! The settings that UDP datagrams carry behind their number and time.

use tapeline_base::{BitRate, PacketRate, Tos};

use crate::native::Mark;

use super::error::DecodeError;
use super::field::{put_word, word};
use super::flags::{Flags, UpperFlags};
use super::limits;
use super::settings::IsochronousSettings;
use super::settings::{Amount, ByteRate, Rate, TestMode, Timestamp, TransferId, Workload};
use super::tcp_header::BaseHeader;
use super::tcp_header::ExtendedHeader;
use super::udp_layout::UdpLayout;
use super::version::PeerVersion;

const BASE_AT: usize = 16;
const LEGACY_BASE_AT: usize = 12;
const EXTENDED_AT: usize = 40;
const START_AT: usize = 112;
const FQ_RATE_AT: usize = 120;
const ISOCHRONOUS_AT: usize = 128;

/// Which header a UDP client writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UdpForm {
    /// Base header at 12 (1.7, 2.0.5).
    Legacy12,
    /// Base and 36-byte extended header at 16 (2.1.x).
    Extended36,
    /// Base and 40-byte extended header at 16 (2.2.x).
    #[default]
    Extended40,
}

/// What a UDP client orders. Clients since 2.1 write it into every datagram, as far as it
/// reaches; only the first is at least as long as the header.
///
/// | Offset | Bytes | Block | Since |
/// |---|---|---|---|
/// | 16 (12) | 24 | base header | 1.7 |
/// | 40 | 40 | extended header (36 before 2.2) | 2.1 |
/// | 80 | 32 | [`super::IsochronousFrame`] | 2.1 |
/// | 112 | 8 | start time | 2.1 |
/// | 120 | 8 | fair-queue rate in bytes/s, low word first | 2.1 |
/// | 128 | 32 | isochronous settings | 2.1 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpClientHeader {
    /// Which header. Everything behind `rate` needs an extended one.
    pub form: UdpForm,
    /// Number of parallel flows (`-P`); nothing depends on it.
    pub threads: u32,
    /// Transfer id (`--sync-transfer-id`); 2.2.1 servers ignore it over UDP.
    pub transfer_id: Option<TransferId>,
    /// Port for the flows of a dual or tradeoff test; 0 when the peer's word is no port.
    /// Send to it only at the peer's own address.
    pub port: u16,
    /// Datagram size, at most [`limits::MAX_UDP_LENGTH`]; `None` when the client leaves
    /// it to the server.
    pub buffer_length: Option<u32>,
    /// How much to transfer.
    pub amount: Amount,
    /// Who sends to whom.
    pub mode: TestMode,
    /// Rate of the sender; zero when the client gave none.
    pub rate: Rate,
    /// Ids have 64 bits.
    pub wide_ids: bool,
    /// The client's version; L4S datagrams carry none.
    pub version: Option<PeerVersion>,
    /// Type of service for the server's packets; L4S datagrams carry none.
    pub tos: Tos,
    /// Start time of trip-times, or of `--txstart-time`.
    pub start_time: Option<Timestamp>,
    /// The start time is absolute: traffic begins then.
    pub epoch_start: bool,
    /// One-way delays are wanted; the client says that its clock is synchronised.
    pub trip_times: bool,
    /// Fair-queue pacing rate.
    pub fq_rate: Option<ByteRate>,
    /// Shape of the traffic; periodic bursts are not announced over UDP.
    pub workload: Workload,
    /// No final exchange: one ending datagram, no report. Always so in full-duplex.
    pub no_fin: bool,
    /// The client asks for layer 2 length checks (opt-in on the server).
    pub l2_length_check: bool,
    /// IPv6 is in effect for the layer 2 checks.
    pub l2_ipv6: bool,
    /// L4S traffic: an [`super::L4sStamp`] overlays part of the extended header.
    pub l4s: bool,
    /// The client is tapeline.
    pub mark: Option<Mark>,
}

/// A plain test of a 2.2.1 client without any option.
impl Default for UdpClientHeader {
    fn default() -> Self {
        Self {
            form: UdpForm::default(),
            threads: 1,
            transfer_id: None,
            port: limits::DEFAULT_PORT,
            buffer_length: None,
            amount: Amount::default(),
            mode: TestMode::default(),
            rate: Rate::Bits(BitRate(limits::DEFAULT_UDP_RATE)),
            wide_ids: true,
            version: Some(PeerVersion::IPERF_2_2_1),
            tos: Tos::default(),
            start_time: None,
            epoch_start: false,
            trip_times: false,
            fq_rate: None,
            workload: Workload::default(),
            no_fin: false,
            l2_length_check: false,
            l2_ipv6: false,
            l4s: false,
            mark: None,
        }
    }
}

impl UdpClientHeader {
    /// Decodes the settings of a whole datagram, stamp included, in the layout that
    /// [`UdpLayout::detect`] finds. Blocks that a short datagram lacks read as absent.
    ///
    /// # Errors
    /// [`DecodeError::NoHeader`] when the datagram carries no settings, [`DecodeError::Truncated`] when it ends
    /// within the base header.
    pub fn parse(datagram: &[u8]) -> Result<Self, DecodeError> {
        match UdpLayout::detect(datagram) {
            UdpLayout::Extended16 => {
                DecodeError::unless_length(datagram, BASE_AT + limits::BASE_HEADER)?;
                Ok(Self::parse_16(datagram))
            }
            UdpLayout::Legacy12 => {
                DecodeError::unless_length(datagram, LEGACY_BASE_AT + limits::BASE_HEADER)?;
                Ok(Self::parse_12(datagram))
            }
            UdpLayout::ShortTripTimes | UdpLayout::Headerless => {
                Err(DecodeError::NoHeader(word(datagram, BASE_AT)))
            }
            UdpLayout::TooShort => Err(DecodeError::Truncated {
                needed: BASE_AT + limits::BASE_HEADER,
                found: datagram.len(),
            }),
        }
    }

    fn parse_12(datagram: &[u8]) -> Self {
        let base = BaseHeader::read(datagram, LEGACY_BASE_AT);
        Self {
            form: UdpForm::Legacy12,
            rate: Rate::Bits(BitRate(u64::from(base.window_or_rate))),
            wide_ids: false,
            version: None,
            ..Self::from_base(&base)
        }
    }

    fn parse_16(datagram: &[u8]) -> Self {
        let base = BaseHeader::read(datagram, BASE_AT);
        let extended = ExtendedHeader::read(datagram, EXTENDED_AT);
        // Without UDPTESTS the upper flags are not meant.
        let upper = if base.flags.contains(Flags::UDP_TESTS) {
            extended.upper
        } else {
            UpperFlags::NONE
        };
        let l4s = upper.contains(UpperFlags::UDP_L4S);
        let settled = Self::from_base(&base);
        let announced = base.flags.header_length().unwrap_or(0);
        Self {
            form: if matches!(announced, 76 | 108 | 140) {
                UdpForm::Extended36
            } else {
                UdpForm::Extended40
            },
            mode: mode_of(upper).unwrap_or(settled.mode),
            rate: if upper.contains(UpperFlags::UNITS_PPS) {
                Rate::Packets(PacketRate(extended.rate))
            } else {
                Rate::Bits(BitRate(extended.rate))
            },
            wide_ids: base.flags.contains(Flags::SEQUENCE_64),
            // An L4S stamp overlays version and type of service.
            version: extended.version.filter(|_| !l4s),
            tos: if l4s { Tos::default() } else { extended.tos },
            start_time: Timestamp::read(datagram, START_AT).present(),
            epoch_start: upper.contains(UpperFlags::EPOCH_START),
            trip_times: upper.contains(UpperFlags::TRIP_TIMES),
            fq_rate: upper
                .contains(UpperFlags::FQ_RATE_SET)
                .then(|| read_fq_rate(datagram)),
            workload: read_workload(datagram, upper),
            no_fin: upper.intersects(UpperFlags::NO_UDP_FIN | UpperFlags::FULL_DUPLEX),
            l2_length_check: upper.contains(UpperFlags::L2_LENGTH_CHECK),
            l2_ipv6: upper.contains(UpperFlags::L2_IPV6),
            l4s,
            mark: extended.mark,
            ..settled
        }
    }

    fn from_base(base: &BaseHeader) -> Self {
        Self {
            threads: base.threads,
            transfer_id: base.transfer_id,
            port: base.port_number(),
            buffer_length: base.buffer_length(limits::MAX_UDP_LENGTH),
            amount: base.amount,
            mode: base.legacy_mode().unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Writes the settings into a datagram behind its stamp, as far as it reaches. Extended forms
    /// zero bytes 16..160 first, as clients do; the frame of an isochronous datagram
    /// goes in afterwards.
    pub fn write(&self, datagram: &mut [u8]) {
        if self.form == UdpForm::Legacy12 {
            self.base(BaseHeader::legacy_flags(self.mode))
                .write(datagram, LEGACY_BASE_AT);
            return;
        }
        let room = datagram.len().min(limits::UDP_HEADER_ROOM);
        if let Some(blocks) = datagram.get_mut(BASE_AT..room) {
            blocks.fill(0);
        }
        self.base(self.flags()).write(datagram, BASE_AT);
        ExtendedHeader {
            upper: self.upper_flags(),
            version: self.version,
            tos: self.tos,
            rate: match self.rate {
                Rate::Bits(BitRate(rate)) | Rate::Packets(PacketRate(rate)) => rate,
            },
            mark: self.mark,
            ..ExtendedHeader::default()
        }
        .write(datagram, EXTENDED_AT);
        self.start_time
            .unwrap_or_default()
            .write(datagram, START_AT);
        if let Some(ByteRate(rate)) = self.fq_rate {
            put_word(datagram, FQ_RATE_AT, rate as u32);
            put_word(datagram, FQ_RATE_AT + 4, (rate >> 32) as u32);
        }
        if let Some(settings) = self.isochronous_settings() {
            settings.write(datagram, ISOCHRONOUS_AT);
        }
    }

    /// The settings that a server puts into its own datagrams when it answers these: with
    /// trip-times, as 2.1 and 2.2 servers do. `None` when its datagrams carry none. `start` is
    /// when the server's traffic begins.
    #[must_use]
    pub fn answer(&self, version: PeerVersion, start: Timestamp) -> Option<Self> {
        let mode = match self.mode {
            TestMode::Reverse => TestMode::Normal,
            TestMode::FullDuplex => TestMode::FullDuplex,
            TestMode::Normal | TestMode::Dual | TestMode::Tradeoff => return None,
        };
        self.trip_times.then(|| Self {
            threads: self.threads,
            port: self.port,
            buffer_length: self.buffer_length,
            amount: self.amount,
            version: Some(version),
            start_time: Some(start),
            trip_times: true,
            no_fin: true,
            mode,
            ..Self::default()
        })
    }

    /// Bytes that the first datagram must have at least, stamp included: the announced header.
    #[must_use]
    pub fn announced_length(&self) -> usize {
        let plain = match self.form {
            UdpForm::Legacy12 => return LEGACY_BASE_AT + limits::BASE_HEADER,
            UdpForm::Extended36 => 76,
            UdpForm::Extended40 => 80,
        };
        let isochronous = matches!(self.workload, Workload::Isochronous(_));
        // A start time alone (--txstart-time) is written but not announced.
        let with_start = self.trip_times || self.fq_rate.is_some() || isochronous;
        let start_block = if with_start { 32 } else { 0 };
        let settings_block = if self.isochronous_settings().is_some() {
            32
        } else {
            0
        };
        plain + start_block + settings_block
    }

    /// Bytes that a datagram must have to carry every block that is set. The announced length
    /// leaves out the end of the last ones.
    #[must_use]
    pub fn required_length(&self) -> usize {
        let last = if self.isochronous_settings().is_some() {
            ISOCHRONOUS_AT + IsochronousSettings::LENGTH
        } else if self.fq_rate.is_some() {
            ISOCHRONOUS_AT
        } else if self.start_time.is_some() {
            FQ_RATE_AT
        } else {
            0
        };
        last.max(self.announced_length())
    }

    fn base(&self, flags: Flags) -> BaseHeader {
        let window_or_rate = match (self.form, self.rate) {
            (UdpForm::Legacy12, Rate::Bits(rate)) => u32::try_from(rate.0).unwrap_or(u32::MAX),
            _ => 0,
        };
        BaseHeader {
            flags,
            threads: self.threads,
            transfer_id: self.transfer_id,
            port: u32::from(self.port),
            buffer_length: self.buffer_length.unwrap_or(0),
            window_or_rate,
            amount: self.amount,
        }
    }

    fn isochronous_settings(&self) -> Option<IsochronousSettings> {
        match self.workload {
            Workload::Isochronous(settings) => settings,
            Workload::Stream | Workload::PeriodicBurst(_) => None,
        }
    }

    fn flags(&self) -> Flags {
        let tests = self.upper_flags() != UpperFlags::NONE || self.start_time.is_some();
        let answering = matches!(self.mode, TestMode::Reverse | TestMode::FullDuplex);
        (BaseHeader::legacy_flags(self.mode) | Flags::EXTEND)
            .with_if(tests, Flags::UDP_TESTS)
            .with_if(self.wide_ids, Flags::SEQUENCE_64)
            .with_if(answering, Flags::VERSION2)
            .with_header_length(self.announced_length())
    }

    fn upper_flags(&self) -> UpperFlags {
        let isochronous = matches!(self.workload, Workload::Isochronous(_));
        let no_fin = self.no_fin || self.mode == TestMode::FullDuplex;
        ExtendedHeader::mode_flags(self.mode)
            .with_if(isochronous, UpperFlags::ISOCHRONOUS)
            .with_if(
                self.isochronous_settings().is_some(),
                UpperFlags::ISOCHRONOUS_SETTINGS,
            )
            .with_if(self.l2_ipv6, UpperFlags::L2_IPV6)
            .with_if(self.l2_length_check, UpperFlags::L2_LENGTH_CHECK)
            .with_if(no_fin, UpperFlags::NO_UDP_FIN)
            .with_if(self.trip_times, UpperFlags::TRIP_TIMES)
            .with_if(matches!(self.rate, Rate::Packets(_)), UpperFlags::UNITS_PPS)
            .with_if(self.fq_rate.is_some(), UpperFlags::FQ_RATE_SET)
            .with_if(self.epoch_start, UpperFlags::EPOCH_START)
            .with_if(self.l4s, UpperFlags::UDP_L4S)
    }
}

/// The short header of trip-times datagrams of 92 to 127 bytes (2.1 and later): the datagram's own time
/// is the start time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShortTripTimes {
    /// Start time in seconds if the client asked for one (`--txstart-time`), else 0. The
    /// microseconds behind it are never written.
    pub start_seconds: u32,
}

impl ShortTripTimes {
    /// Offset behind the header.
    pub const END: usize = 28;

    /// Reads the header of a datagram of that layout; `None` for any other.
    #[must_use]
    pub fn read(datagram: &[u8]) -> Option<Self> {
        (UdpLayout::detect(datagram) == UdpLayout::ShortTripTimes).then(|| Self {
            start_seconds: word(datagram, 20),
        })
    }

    /// Writes bytes 16..28 of a datagram, as far as it reaches.
    pub fn write(&self, datagram: &mut [u8]) {
        put_word(datagram, 16, Flags::SMALL_TRIP_TIMES.0);
        put_word(datagram, 20, self.start_seconds);
        put_word(datagram, 24, 0);
    }
}

fn mode_of(upper: UpperFlags) -> Option<TestMode> {
    ExtendedHeader {
        upper,
        ..ExtendedHeader::default()
    }
    .mode()
}

fn read_fq_rate(datagram: &[u8]) -> ByteRate {
    let low = u64::from(word(datagram, FQ_RATE_AT));
    let high = u64::from(word(datagram, FQ_RATE_AT + 4));
    ByteRate((high << 32 | low).min(limits::MAX_FQ_RATE))
}

fn read_workload(datagram: &[u8], upper: UpperFlags) -> Workload {
    let settings = upper
        .contains(UpperFlags::ISOCHRONOUS_SETTINGS)
        .then(|| IsochronousSettings::read(datagram, ISOCHRONOUS_AT));
    if upper.contains(UpperFlags::ISOCHRONOUS) {
        Workload::Isochronous(settings.filter(|read| *read != IsochronousSettings::default()))
    } else {
        Workload::Stream
    }
}

#[cfg(test)]
mod tests;
