//! The header at the front of a TCP connection.

use tapeline_base::{BitRate, Tos};

use crate::native::Mark;

use super::base_header::BaseHeader;
use super::congestion_control::CongestionControl;
use super::extended_header::ExtendedHeader;
use super::permit_key::PermitKey;
use crate::iperf2::error::DecodeError;
use crate::iperf2::field::{half, put_word, word};
use crate::iperf2::first_word::header_length;
use crate::iperf2::flags::{Flags, LowerFlags, UpperFlags};
use crate::iperf2::limits;
use crate::iperf2::settings::IsochronousSettings;
use crate::iperf2::settings::{
    Amount, ByteRate, HeaderForm, Millionths, TestMode, Timestamp, TransferId, Workload,
};
use crate::iperf2::version::PeerVersion;

const EXTENDED_AT: usize = 24;
const START_AT: usize = 64;
const FQ_RATE_AT: usize = 72;
const ISOCHRONOUS_AT: usize = 80;
const CONGESTION_CONTROL_AT: usize = 112;

/// What a TCP client orders, sent once directly after the connection is open. A server
/// that sends data puts one in front of its own stream when trip-times or periodic bursts
/// are on.
///
/// | Offset | Bytes | Block | Since |
/// |---|---|---|---|
/// | 0 | 24 | base header | 1.7 |
/// | 24 | 40 | extended header (36 before 2.2) | 2.0.13 |
/// | 64 | 8 | start time | 2.1 |
/// | 72 | 8 | fair-queue rate in bytes/s, low word first | 2.1 |
/// | 80 | 32 | isochronous or burst settings | 2.1 |
/// | 112 | 2 + n | congestion control: length, name | 2.1 |
/// | last 2 | 2 + k | permit key: length, then the key behind the header | 2.1 |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpClientHeader {
    /// Base header alone, or with which extended header. Fields of the extended header
    /// are only sent with one.
    pub form: HeaderForm,
    /// Number of parallel streams (`-P`); nothing depends on it.
    pub threads: u32,
    /// Transfer id shared with the server (`--sync-transfer-id`).
    pub transfer_id: Option<TransferId>,
    /// Port for the connections of a dual or tradeoff test; 0 when the peer's word is
    /// no port. Connect to it only at the peer's own address.
    pub port: u16,
    /// Read and write size, at most [`limits::MAX_TCP_LENGTH`]; `None` when the client
    /// leaves it to the server.
    pub buffer_length: Option<u32>,
    /// TCP window (`-w`) of clients up to 2.0.5, 0 later.
    pub window: u32,
    /// How much to transfer.
    pub amount: Amount,
    /// Who sends to whom.
    pub mode: TestMode,
    /// The client blocks until it gets the acknowledgement (`-X`).
    pub peer_detect: bool,
    /// The client's version.
    pub version: Option<PeerVersion>,
    /// Type of service for the server's packets.
    pub tos: Tos,
    /// Rate limit; `None` without one.
    pub rate: Option<BitRate>,
    /// `TCP_NOTSENT_LOWAT` for a sending server, in bytes.
    pub write_prefetch: Option<u32>,
    /// How long this stream waited for its siblings, in microseconds (2.2).
    pub barrier_micros: Option<u32>,
    /// Header write time, or the start time of `--txstart-time`. Clients send it with
    /// trip-times, a fair-queue rate, isochronous traffic, a start time or a congestion control.
    pub start_time: Option<Timestamp>,
    /// The start time is absolute: traffic begins then.
    pub epoch_start: bool,
    /// One-way delays are wanted; the client says that its clock is synchronised.
    pub trip_times: bool,
    /// Fair-queue pacing rate.
    pub fq_rate: Option<ByteRate>,
    /// Shape of the traffic.
    pub workload: Workload,
    /// The receiver should set `TCP_QUICKACK`.
    pub quickack: bool,
    /// Congestion control (`-Z`).
    pub congestion_control: Option<CongestionControl>,
    /// Permit key (`--permit-key`).
    pub permit_key: Option<PermitKey>,
    /// The client is tapeline.
    pub mark: Option<Mark>,
}

/// A plain test of a 2.2.1 client without any option.
impl Default for TcpClientHeader {
    fn default() -> Self {
        Self {
            form: HeaderForm::default(),
            threads: 1,
            transfer_id: None,
            port: limits::DEFAULT_PORT,
            buffer_length: None,
            window: 0,
            amount: Amount::default(),
            mode: TestMode::default(),
            peer_detect: false,
            version: Some(PeerVersion::IPERF_2_2_1),
            tos: Tos::default(),
            rate: None,
            write_prefetch: None,
            barrier_micros: None,
            start_time: None,
            epoch_start: false,
            trip_times: false,
            fq_rate: None,
            workload: Workload::default(),
            quickack: false,
            congestion_control: None,
            permit_key: None,
            mark: None,
        }
    }
}

impl TcpClientHeader {
    /// Bytes of the permit key that follow a header of which the announced length has been
    /// read; 0 without key.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are no header, are cut, or announce a key that cannot be.
    pub fn permit_key_length(header: &[u8]) -> Result<usize, DecodeError> {
        let (flags, length) = announced(header)?;
        if !flags.contains(Flags::KEY_CHECK) {
            return Ok(0);
        }
        if length < limits::BASE_HEADER + 2 {
            return Err(DecodeError::HeaderLength(length));
        }
        let key_length = usize::from(half(header, length - 2));
        if (limits::MIN_PERMIT_KEY..=limits::MAX_PERMIT_KEY).contains(&key_length) {
            Ok(key_length)
        } else {
            Err(DecodeError::PermitKeyLength(key_length))
        }
    }

    /// Whether the words that every client leaves empty are empty, the version is a 2.x,
    /// and threads and port can be: payload that happens to begin with a header's flag word
    /// fails this. Give the announced length of bytes.
    #[must_use]
    pub fn looks_consistent(bytes: &[u8]) -> bool {
        let Ok((flags, length)) = announced(bytes) else {
            return false;
        };
        let bytes = &bytes[..length];
        let base = BaseHeader::read(bytes, 0);
        let sized = flags.header_length().is_some();
        if flags.contains(Flags::EXTEND) {
            length >= limits::TCP_HEADER_2_1
                && ExtendedHeader::is_plausible(bytes, EXTENDED_AT, !sized)
                && (!sized || base.is_plausible())
        } else {
            let known = flags == Flags::VERSION1 || flags == Flags::VERSION1 | Flags::RUN_NOW;
            known && base.is_plausible()
        }
    }

    /// Decodes a header and its permit key. Bytes behind it are ignored.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are no header, are cut, or hold an impossible permit key or
    /// congestion control name. Whether the header is one by accident is for
    /// [`TcpClientHeader::looks_consistent`] to decide.
    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (flags, length) = announced(bytes)?;
        let key_length = Self::permit_key_length(bytes)?;
        DecodeError::unless_length(bytes, length + key_length)?;
        let permit_key = match key_length {
            0 => None,
            _ => Some(PermitKey::new(&bytes[length..length + key_length])?),
        };
        let blocks = &bytes[..if key_length == 0 { length } else { length - 2 }];
        let mut header = Self::from_base(blocks, flags);
        if flags.contains(Flags::EXTEND) {
            header.read_extended(blocks)?;
        }
        header.permit_key = permit_key;
        Ok(header)
    }

    /// The base header that clients up to 2.0.5 send for a plain test. Its flag word is 0, hence
    /// it counts as payload and asks for nothing; what it says is only good to show.
    /// `None` when the bytes are cut or say something else.
    #[must_use]
    pub fn peek_base(bytes: &[u8]) -> Option<Self> {
        let blocks = bytes.get(..limits::BASE_HEADER)?;
        let base = BaseHeader::read(blocks, 0);
        let plain = base.flags == Flags::NONE && base.is_plausible();
        plain.then(|| Self::from_base(blocks, base.flags))
    }

    /// The fields of the base header. A 2.0.13 client leaves it unset: recognised by the
    /// missing length, then used only as far as it makes sense.
    fn from_base(blocks: &[u8], flags: Flags) -> Self {
        let mut base = BaseHeader::read(blocks, 0);
        if flags.header_length().is_none() && flags.contains(Flags::EXTEND) && !base.is_plausible()
        {
            base = BaseHeader {
                flags,
                ..BaseHeader::default()
            };
        }
        Self {
            form: HeaderForm::Base,
            threads: base.threads,
            transfer_id: base.transfer_id,
            port: base.port_number(),
            buffer_length: base.buffer_length(limits::MAX_TCP_LENGTH),
            window: base.window_or_rate,
            amount: base.amount,
            mode: base.legacy_mode().unwrap_or_default(),
            peer_detect: flags.contains(Flags::PEER_DETECT),
            version: None,
            ..Self::default()
        }
    }

    fn read_extended(&mut self, blocks: &[u8]) -> Result<(), DecodeError> {
        let extended = ExtendedHeader::read(blocks, EXTENDED_AT);
        let upper = extended.upper;
        self.form = if blocks.len() < limits::TCP_HEADER_2_2 {
            HeaderForm::Extended36
        } else {
            HeaderForm::Extended40
        };
        self.mode = extended.mode().unwrap_or(self.mode);
        self.version = extended.version;
        self.mark = extended.mark;
        self.tos = extended.tos;
        self.rate = extended.rate();
        self.write_prefetch = upper
            .contains(UpperFlags::WRITE_PREFETCH)
            .then_some(extended.write_prefetch);
        self.barrier_micros = extended
            .lower
            .contains(LowerFlags::BARRIER_TIME)
            .then_some(extended.barrier);
        self.start_time = Timestamp::read(blocks, START_AT).present();
        self.epoch_start = upper.contains(UpperFlags::EPOCH_START);
        self.trip_times = upper.contains(UpperFlags::TRIP_TIMES);
        self.fq_rate = upper
            .contains(UpperFlags::FQ_RATE_SET)
            .then(|| read_fq_rate(blocks));
        self.workload = read_workload(blocks, upper);
        self.quickack = upper.contains(UpperFlags::TCP_QUICKACK);
        if extended.lower.contains(LowerFlags::CONGESTION_CONTROL) {
            self.congestion_control = Some(read_congestion_control(blocks)?);
        }
        Ok(())
    }

    /// Appends the bytes that 2.2.1 would send (2.1 or 2.0.5 for the shorter forms), permit
    /// key included.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let blocks_end = start + self.blocks_length();
        out.resize(blocks_end, 0);
        self.write_blocks(&mut out[start..]);
        if let Some(name) = self.sent_congestion_control() {
            out.truncate(start + CONGESTION_CONTROL_AT);
            out.extend_from_slice(&(name.as_str().len() as u16).to_be_bytes());
            out.extend_from_slice(name.as_str().as_bytes());
        }
        if let Some(key) = &self.permit_key {
            out.extend_from_slice(&(key.as_bytes().len() as u16).to_be_bytes());
        }
        let flags = self.flags(out.len() - start);
        put_word(out, start, flags.0);
        if let Some(key) = &self.permit_key {
            out.extend_from_slice(key.as_bytes());
        }
    }

    /// The header that a server puts in front of its own stream when it answers this one: with
    /// trip-times or periodic bursts, as 2.1 and 2.2 servers do, and for reverse isochronous
    /// traffic towards clients since 2.2, which find the frames only behind a header. `None` when
    /// the stream begins with data. `start` is when the server's traffic begins.
    #[must_use]
    pub fn answer(&self, version: PeerVersion, start: Timestamp) -> Option<Self> {
        let mode = match self.mode {
            TestMode::Reverse => TestMode::Normal,
            TestMode::FullDuplex => TestMode::FullDuplex,
            TestMode::Normal | TestMode::Dual | TestMode::Tradeoff => return None,
        };
        let knows_frames = self
            .version
            .is_some_and(|version| version.number() >= (2, 2, 0));
        let workload = match self.workload {
            Workload::PeriodicBurst(settings) => Workload::PeriodicBurst(IsochronousSettings {
                mean: Millionths(0),
                ..settings
            }),
            Workload::Isochronous(_)
                if self.trip_times || (mode == TestMode::Normal && knows_frames) =>
            {
                Workload::Isochronous(None)
            }
            Workload::Stream if self.trip_times => Workload::Stream,
            Workload::Isochronous(_) | Workload::Stream => return None,
        };
        Some(Self {
            threads: self.threads,
            port: self.port,
            buffer_length: self.buffer_length,
            amount: self.amount,
            version: Some(version),
            start_time: self.trip_times.then_some(start),
            trip_times: self.trip_times,
            mode,
            workload,
            ..Self::default()
        })
    }

    /// Bytes that the client counts as transferred for this header: all but the permit key.
    #[must_use]
    pub fn counted_length(&self) -> usize {
        let name = self
            .sent_congestion_control()
            .map_or(0, |name| 2 + name.as_str().len());
        self.blocks_length() + name + self.permit_key.as_ref().map_or(0, |_| 2)
    }

    fn has_extended(&self) -> bool {
        self.form != HeaderForm::Base
    }

    fn sent_congestion_control(&self) -> Option<&CongestionControl> {
        self.congestion_control
            .as_ref()
            .filter(|_| self.has_extended())
    }

    fn isochronous_settings(&self) -> Option<IsochronousSettings> {
        match self.workload {
            Workload::Stream => None,
            Workload::Isochronous(settings) => settings,
            Workload::PeriodicBurst(settings) => Some(settings),
        }
    }

    /// Bytes of the blocks before the congestion control. The length is the sum of the
    /// blocks even where an absent one leaves a hole: 2.2.1 cuts the last block then.
    fn blocks_length(&self) -> usize {
        if !self.has_extended() {
            return limits::BASE_HEADER;
        }
        if self.congestion_control.is_some() {
            return CONGESTION_CONTROL_AT;
        }
        // A burst's settings may be cut, an isochronous frame's may not.
        let with_start = self.start_time.is_some()
            || self.trip_times
            || self.fq_rate.is_some()
            || matches!(self.workload, Workload::Isochronous(Some(_)));
        let with_settings = self.isochronous_settings().is_some();
        let plain = if self.form == HeaderForm::Extended36 && !with_start && !with_settings {
            limits::TCP_HEADER_2_1
        } else {
            limits::TCP_HEADER_2_2
        };
        let start_block = if with_start {
            ISOCHRONOUS_AT - START_AT
        } else {
            0
        };
        let settings_block = if with_settings {
            IsochronousSettings::LENGTH
        } else {
            0
        };
        plain + start_block + settings_block
    }

    fn write_blocks(&self, bytes: &mut [u8]) {
        BaseHeader {
            flags: Flags::NONE,
            threads: self.threads,
            transfer_id: self.transfer_id,
            port: u32::from(self.port),
            buffer_length: self.buffer_length.unwrap_or(0),
            window_or_rate: self.window,
            amount: self.amount,
        }
        .write(bytes, 0);
        if !self.has_extended() {
            return;
        }
        ExtendedHeader {
            upper: self.upper_flags(),
            lower: self.lower_flags(),
            version: self.version,
            tos: self.tos,
            rate: self.rate.map_or(0, |rate| rate.0),
            write_prefetch: self.write_prefetch.unwrap_or(0),
            barrier: self.barrier_micros.unwrap_or(0),
            mark: self.mark,
        }
        .write(bytes, EXTENDED_AT);
        self.start_time.unwrap_or_default().write(bytes, START_AT);
        if let Some(ByteRate(rate)) = self.fq_rate {
            put_word(bytes, FQ_RATE_AT, rate as u32);
            put_word(bytes, FQ_RATE_AT + 4, (rate >> 32) as u32);
        }
        if let Some(settings) = self.isochronous_settings() {
            settings.write(bytes, ISOCHRONOUS_AT);
        }
    }

    fn flags(&self, length: usize) -> Flags {
        let mode = BaseHeader::legacy_flags(self.mode);
        if !self.has_extended() {
            return mode;
        }
        let answering = matches!(self.mode, TestMode::Reverse | TestMode::FullDuplex);
        (mode | Flags::EXTEND)
            .with_if(self.transfer_id.is_some(), Flags::VERSION1)
            .with_if(answering || self.peer_detect, Flags::VERSION2)
            .with_if(self.peer_detect, Flags::PEER_DETECT)
            .with_if(self.permit_key.is_some(), Flags::KEY_CHECK)
            .with_header_length(length)
    }

    fn upper_flags(&self) -> UpperFlags {
        let isochronous = matches!(self.workload, Workload::Isochronous(_));
        let bursts = matches!(self.workload, Workload::PeriodicBurst(_));
        ExtendedHeader::mode_flags(self.mode)
            .with_if(isochronous, UpperFlags::ISOCHRONOUS)
            .with_if(bursts, UpperFlags::PERIODIC_BURST)
            .with_if(self.trip_times, UpperFlags::TRIP_TIMES)
            .with_if(self.epoch_start, UpperFlags::EPOCH_START)
            .with_if(self.fq_rate.is_some(), UpperFlags::FQ_RATE_SET)
            .with_if(self.write_prefetch.is_some(), UpperFlags::WRITE_PREFETCH)
            .with_if(self.quickack, UpperFlags::TCP_QUICKACK)
    }

    fn lower_flags(&self) -> LowerFlags {
        LowerFlags::NONE
            .with_if(
                self.congestion_control.is_some(),
                LowerFlags::CONGESTION_CONTROL,
            )
            .with_if(self.barrier_micros.is_some(), LowerFlags::BARRIER_TIME)
    }
}

/// Flag word and announced length of a header that is there in full.
fn announced(bytes: &[u8]) -> Result<(Flags, usize), DecodeError> {
    DecodeError::unless_length(bytes, 4)?;
    let flags = Flags(word(bytes, 0));
    let length = header_length(flags).ok_or(DecodeError::NoHeader(flags.0))?;
    DecodeError::unless_length(bytes, length)?;
    Ok((flags, length))
}

fn read_fq_rate(blocks: &[u8]) -> ByteRate {
    let low = u64::from(word(blocks, FQ_RATE_AT));
    let high = u64::from(word(blocks, FQ_RATE_AT + 4));
    ByteRate((high << 32 | low).min(limits::MAX_FQ_RATE))
}

fn read_workload(blocks: &[u8], upper: UpperFlags) -> Workload {
    let settings = IsochronousSettings::read(blocks, ISOCHRONOUS_AT);
    if upper.contains(UpperFlags::ISOCHRONOUS) {
        Workload::Isochronous((settings != IsochronousSettings::default()).then_some(settings))
    } else if upper.contains(UpperFlags::PERIODIC_BURST) {
        let unused = Millionths(0);
        Workload::PeriodicBurst(IsochronousSettings {
            variance: unused,
            burst_gap: unused,
            ..settings
        })
    } else {
        Workload::Stream
    }
}

fn read_congestion_control(blocks: &[u8]) -> Result<CongestionControl, DecodeError> {
    let length = usize::from(half(blocks, CONGESTION_CONTROL_AT));
    let name = blocks
        .get(CONGESTION_CONTROL_AT + 2..)
        .and_then(|rest| rest.get(..length));
    CongestionControl::new(name.ok_or(DecodeError::CongestionControl)?)
}

#[cfg(test)]
mod tests;
