//! The report that a UDP server sends when a flow has ended.

use tapeline_base::Bytes;

use super::datagram::DatagramStamp;
use super::field::{put_word, word};
use super::flags::Flags;
use super::limits::{
    MAX_REPORTED_BYTES, MAX_REPORTED_DATAGRAMS, MAX_UDP_LENGTH, REPORT, REPORT_LEGACY,
};
use super::server_ack::ServerAck;
use super::settings::{Micros, Millionths};

/// Where a report's fields stood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportLayout {
    /// At offset 12, 32-bit counters, no transit times (1.7, 2.0.5).
    Legacy12,
    /// At offset 16, 32-bit counters (2.0.13).
    Narrow16,
    /// At offset 16, 64-bit counters (2.1 and later).
    #[default]
    Wide16,
}

/// Transit times (one-way delays) of a flow; the second part of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransitTimes {
    /// Shortest.
    pub min: Micros,
    /// Longest.
    pub max: Micros,
    /// Sum.
    pub sum: Micros,
    /// Mean.
    pub mean: Micros,
    /// Sum of squared differences from the mean, in square microseconds.
    pub m2: Millionths,
    /// Difference between the last two.
    pub last_difference: Micros,
    /// Number of samples.
    pub count: u32,
    /// Datagrams per second, whole.
    pub packets_per_second: u32,
}

impl TransitTimes {
    /// Standard deviation in microseconds; 0 with fewer than two samples.
    #[must_use]
    pub fn deviation_micros(&self) -> f64 {
        if self.count < 2 {
            0.0
        } else {
            (self.m2.as_f64() / f64::from(self.count - 1)).sqrt()
        }
    }
}

/// A UDP server's report. Offsets are those of the 16-byte layout; in the 12-byte layout
/// everything up to the jitter stands four bytes earlier and the rest is absent.
///
/// | Offset | Field |
/// |---|---|
/// | 0 | datagram header: zero, in a repeated report the client's last |
/// | 16 | flags: report filled, transit times valid, 64-bit counters |
/// | 20, 24 | bytes, high word first |
/// | 28, 32 | duration: seconds, microseconds |
/// | 36, 40, 44 | lost, out of order, datagrams: low words |
/// | 48, 52 | jitter: seconds, microseconds |
/// | 56 .. 104 | transit times: min, max, sum, mean, m2, last difference |
/// | 104, 108 | transit samples, datagrams per second |
/// | 112 | 1 |
/// | 116, 120, 124 | lost, out of order, datagrams: high words |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerReport {
    /// Layout, hence width of the counters.
    pub layout: ReportLayout,
    /// Payload bytes received. 2.2.1 reports 0 for tests below 5 ms.
    pub bytes: Bytes,
    /// Duration of the flow as the server saw it.
    pub duration: Micros,
    /// Datagrams lost.
    pub lost: u64,
    /// Datagrams out of order.
    pub out_of_order: u64,
    /// Datagrams in all: the highest id, the ending one included.
    pub datagrams: u64,
    /// Jitter (2.2.1: the mean of it).
    pub jitter: Micros,
    /// Transit times; filled by 2.2.1 even when they mean nothing.
    pub transit: TransitTimes,
    /// The transit times mean something.
    pub transit_valid: bool,
}

impl ServerReport {
    const FLAGS_AT: usize = 16;
    const LEGACY_FLAGS_AT: usize = 12;
    /// Largest value of a microsecond word next to a second word.
    const MICROS_BELOW: u32 = 1_000_000;

    /// Takes a datagram that came from the server after the end of the data for its report, if it
    /// is one: at least 52 bytes, no acknowledgement, and a report's flag word at offset 16,
    /// or at 12 with counters that fit each other. Counters beyond any network's are cut to
    /// [`MAX_REPORTED_DATAGRAMS`] and [`MAX_REPORTED_BYTES`]. Anything else, such as
    /// the echoed datagrams that 2.1 and 2.2 servers send for a repeated report, is `None`.
    #[must_use]
    pub fn accept(datagram: &[u8]) -> Option<Self> {
        if datagram.len() < REPORT_LEGACY || ServerAck::is_ack(datagram) {
            return None;
        }
        let flags = Flags(word(datagram, Self::FLAGS_AT));
        if is_report(flags) && datagram.len() >= Self::FLAGS_AT + 40 {
            return Some(Self::read_16(datagram, flags));
        }
        if Flags(word(datagram, Self::LEGACY_FLAGS_AT)) != Flags::VERSION1 {
            return None;
        }
        legacy_is_plausible(datagram).then(|| Self {
            layout: ReportLayout::Legacy12,
            ..Self::read_front(datagram, Self::LEGACY_FLAGS_AT)
        })
    }

    fn read_16(datagram: &[u8], flags: Flags) -> Self {
        let wide = flags.contains(Flags::SEQUENCE_64);
        let upper = |at| {
            if wide {
                u64::from(word(datagram, at)) << 32
            } else {
                0
            }
        };
        let front = Self::read_front(datagram, Self::FLAGS_AT);
        Self {
            layout: if wide {
                ReportLayout::Wide16
            } else {
                ReportLayout::Narrow16
            },
            lost: (front.lost | upper(116)).min(MAX_REPORTED_DATAGRAMS),
            out_of_order: (front.out_of_order | upper(120)).min(MAX_REPORTED_DATAGRAMS),
            datagrams: (front.datagrams | upper(124)).min(MAX_REPORTED_DATAGRAMS),
            transit: TransitTimes {
                min: Micros::read(datagram, 56),
                max: Micros::read(datagram, 64),
                sum: Micros::read(datagram, 72),
                mean: Micros::read(datagram, 80),
                m2: Millionths::read(datagram, 88),
                last_difference: Micros::read(datagram, 96),
                count: word(datagram, 104),
                packets_per_second: word(datagram, 108),
            },
            transit_valid: flags.contains(Flags::EXTEND),
            ..front
        }
    }

    /// The fields that both layouts have, `at` the flag word.
    fn read_front(datagram: &[u8], at: usize) -> Self {
        let bytes = u64::from(word(datagram, at + 4)) << 32 | u64::from(word(datagram, at + 8));
        Self {
            bytes: Bytes(bytes.min(MAX_REPORTED_BYTES)),
            duration: Micros::read(datagram, at + 12),
            lost: u64::from(word(datagram, at + 20)),
            out_of_order: u64::from(word(datagram, at + 24)),
            datagrams: u64::from(word(datagram, at + 28)),
            jitter: Micros::read(datagram, at + 32),
            ..Self::default()
        }
    }

    fn write_front(&self, datagram: &mut [u8], at: usize) {
        put_word(datagram, at + 4, (self.bytes.0 >> 32) as u32);
        put_word(datagram, at + 8, self.bytes.0 as u32);
        self.duration.write(datagram, at + 12);
        put_word(datagram, at + 20, self.lost as u32);
        put_word(datagram, at + 24, self.out_of_order as u32);
        put_word(datagram, at + 28, self.datagrams as u32);
        self.jitter.write(datagram, at + 32);
    }

    /// The report as 2.1 and 2.2 send it: 128 bytes, the datagram header zero.
    #[must_use]
    pub fn encode_16(&self) -> [u8; REPORT] {
        let mut datagram = [0; REPORT];
        let wide = self.layout != ReportLayout::Narrow16;
        let flags = Flags::VERSION1
            .with_if(self.transit_valid, Flags::EXTEND)
            .with_if(wide, Flags::SEQUENCE_64);
        put_word(&mut datagram, Self::FLAGS_AT, flags.0);
        self.write_front(&mut datagram, Self::FLAGS_AT);
        self.transit.min.write(&mut datagram, 56);
        self.transit.max.write(&mut datagram, 64);
        self.transit.sum.write(&mut datagram, 72);
        self.transit.mean.write(&mut datagram, 80);
        self.transit.m2.write(&mut datagram, 88);
        self.transit.last_difference.write(&mut datagram, 96);
        put_word(&mut datagram, 104, self.transit.count);
        put_word(&mut datagram, 108, self.transit.packets_per_second);
        if wide {
            put_word(&mut datagram, 112, 1);
            put_word(&mut datagram, 116, (self.lost >> 32) as u32);
            put_word(&mut datagram, 120, (self.out_of_order >> 32) as u32);
            put_word(&mut datagram, 124, (self.datagrams >> 32) as u32);
        }
        datagram
    }

    /// The report for clients up to 2.0.5: 52 bytes behind the stamp of the client's ending
    /// datagram, counters cut to 32 bits.
    #[must_use]
    pub fn encode_12(&self, fin: DatagramStamp) -> [u8; REPORT_LEGACY] {
        let mut datagram = [0; REPORT_LEGACY];
        fin.write_12(&mut datagram);
        put_word(&mut datagram, Self::LEGACY_FLAGS_AT, Flags::VERSION1.0);
        self.write_front(&mut datagram, Self::LEGACY_FLAGS_AT);
        datagram
    }
}

/// A flag word that stands in reports and nowhere else.
fn is_report(flags: Flags) -> bool {
    flags.contains(Flags::VERSION1) && flags.0 & !Flags::REPORT.0 == 0
}

/// Whether the numbers of a report at offset 12 fit each other: `80000000` there is also the flag
/// word of a 2.0.5 client's datagrams. What comes twice is out of order, so there may be more of that
/// than ids; each datagram has an id at least.
fn legacy_is_plausible(datagram: &[u8]) -> bool {
    let report = ServerReport::read_front(datagram, ServerReport::LEGACY_FLAGS_AT);
    let least = report.out_of_order.saturating_mul(size_of::<u32>() as u64);
    let most = (report.datagrams.saturating_add(report.out_of_order))
        .saturating_add(1)
        .saturating_mul(u64::from(MAX_UDP_LENGTH));
    let micros_fit = |at| word(datagram, at) < ServerReport::MICROS_BELOW;
    report.lost <= report.datagrams
        && (least..=most).contains(&report.bytes.0)
        && report.duration >= Micros(0)
        && report.jitter >= Micros(0)
        && micros_fit(28)
        && micros_fit(48)
}

#[cfg(test)]
mod tests;
