//! Checks of the messages over UDP.

use tapeline_base::{BitRate, Tos};
use tapeline_wire::iperf2::*;

use super::vector::{Base, Vector};

impl Vector {
    pub(crate) fn check_datagram(&self) {
        let layout = UdpLayout::detect(&self.bytes);
        let legacy = self.message == "udp_v1_datagram_12byte";
        assert_eq!(layout, self.recorded_layout(), "{}", self.name);
        let stamp = self.check_stamp(legacy);
        let mut encoded = vec![0; self.bytes.len()];
        fill_pattern(&mut encoded);
        match layout {
            UdpLayout::Extended16 | UdpLayout::Legacy12 => {
                let header = UdpClientHeader::parse(&self.bytes).unwrap();
                self.check_udp_header(&header);
                header.write(&mut encoded);
            }
            UdpLayout::ShortTripTimes => {
                let header = ShortTripTimes::read(&self.bytes).unwrap();
                assert_eq!(
                    header.start_seconds,
                    self.word("/start_sec"),
                    "{}",
                    self.name
                );
                header.write(&mut encoded);
            }
            UdpLayout::Headerless if self.name.starts_with("x2013c") => {
                encoded.copy_from_slice(&self.bytes);
            }
            UdpLayout::Headerless | UdpLayout::TooShort => {}
        }
        if let Some(frame) = self.check_frame() {
            frame.write(&mut encoded);
        }
        if legacy || self.name.starts_with("x2013c") {
            stamp.write_12(&mut encoded);
        } else {
            stamp.write_16(&mut encoded);
        }
        assert_eq!(encoded, self.bytes, "{}", self.name);
    }

    pub(crate) fn recorded_layout(&self) -> UdpLayout {
        let by_pattern = self.has("/base/flags") && self.word("/base/flags") == 0x3637_3839;
        if self.has("/base_at_12") {
            UdpLayout::Legacy12
        } else if self.has("/small_flags16") {
            UdpLayout::ShortTripTimes
        } else if self.has("/base/flags") && !by_pattern {
            UdpLayout::Extended16
        } else if self.bytes.len() < 16 {
            UdpLayout::TooShort
        } else {
            UdpLayout::Headerless
        }
    }

    pub(crate) fn check_stamp(&self, legacy: bool) -> DatagramStamp {
        let headerless = self.name.starts_with("x2013c");
        let stamp = if legacy {
            DatagramStamp::read_12(&self.bytes)
        } else {
            DatagramStamp::read_16(&self.bytes, !headerless)
        };
        let stamp = stamp.unwrap();
        let id = if legacy {
            self.number("/id")
        } else if self.has("/id64") && !headerless {
            self.number("/id64")
        } else {
            self.number("/id32")
        };
        assert_eq!(stamp.id, id, "{}", self.name);
        let time = Timestamp {
            seconds: stamp.seconds,
            micros: stamp.micros,
        };
        assert_eq!(time, self.stamp("", "sec", "usec"), "{}", self.name);
        if self.has("/sign_magnitude_id") {
            let number = self.number("/sign_magnitude_id") as u64;
            assert_eq!(stamp.fin_number(number - 1), Some(number), "{}", self.name);
        }
        stamp
    }

    pub(crate) fn check_udp_header(&self, header: &UdpClientHeader) {
        let name = &self.name;
        let legacy = header.form == UdpForm::Legacy12;
        let rate = header.rate.bits(1);
        let base = Base {
            threads: header.threads,
            transfer_id: header.transfer_id,
            port: header.port,
            buffer_length: header.buffer_length,
            window_or_rate: if legacy { rate.0 } else { 0 },
            amount: header.amount,
        };
        base.check(self, if legacy { "/base_at_12" } else { "/base" });
        assert_eq!(header.wide_ids, !legacy, "{name}");
        if legacy || !self.has("/extend/rate") {
            return;
        }
        assert_eq!(
            header.announced_length(),
            self.word("/base/header_len") as usize,
            "{name}"
        );
        self.check_mode(header.mode, "/extend");
        assert_eq!(header.version, self.version("/extend"), "{name}");
        assert_eq!(header.tos, Tos(self.word("/extend/tos") as u8), "{name}");
        assert_eq!(
            header.rate,
            Rate::Bits(BitRate(self.number("/extend/rate") as u64)),
            "{name}"
        );
        if self.has("/start_fq") {
            let start = self.stamp("/start_fq", "start_sec", "start_usec");
            assert_eq!(header.start_time.unwrap_or_default(), start, "{name}");
            let fq_rate = header.fq_rate.map_or(0, |rate| rate.0);
            assert_eq!(fq_rate, self.number("/start_fq/fqrate") as u64, "{name}");
        }
        if self.has("/isoch_settings") {
            let Workload::Isochronous(Some(settings)) = header.workload else {
                panic!("{name}: no settings")
            };
            self.check_isochronous_settings(&settings, "/isoch_settings", "");
        }
    }

    /// The frame of an isochronous datagram; the block of any other is zero or fill.
    pub(crate) fn check_frame(&self) -> Option<IsochronousFrame> {
        if !self.name.contains("isoch") || self.word("/isoch/burst_size") == 0 {
            return None;
        }
        let frame = IsochronousFrame::read(&self.bytes).unwrap();
        let recorded = IsochronousFrame {
            period_micros: self.word("/isoch/burst_period_us"),
            start: self.stamp("/isoch", "start_sec", "start_usec"),
            previous_id: self.word("/isoch/prev_frame_id"),
            id: self.word("/isoch/frame_id"),
            size: self.word("/isoch/burst_size"),
            remaining: self.word("/isoch/remaining"),
        };
        assert_eq!(frame, recorded, "{}", self.name);
        Some(frame)
    }

    pub(crate) fn check_report_front(&self, report: &ServerReport) {
        let name = &self.name;
        let micros = |seconds: &str, micros: &str| {
            Micros(self.number(seconds) * 1_000_000 + self.number(micros))
        };
        let count = |field: &str| {
            let upper = format!("/{field}_upper");
            let upper = if self.has(&upper) {
                self.number(&upper) as u64
            } else {
                0
            };
            upper << 32 | self.number(&format!("/{field}_lower")) as u64
        };
        assert_eq!(report.bytes.0, self.number("/total_len") as u64, "{name}");
        assert_eq!(report.duration, micros("/stop_sec", "/stop_usec"), "{name}");
        assert_eq!(
            report.jitter,
            micros("/jitter_sec", "/jitter_usec"),
            "{name}"
        );
        assert_eq!(report.lost, count("error_cnt"), "{name}");
        assert_eq!(report.out_of_order, count("outorder_cnt"), "{name}");
        assert_eq!(report.datagrams, count("datagrams"), "{name}");
    }

    pub(crate) fn check_report(&self) {
        let name = &self.name;
        let report = ServerReport::accept(&self.bytes).unwrap();
        let flags = Flags(self.word("/flags"));
        let wide = flags.contains(Flags::SEQUENCE_64);
        let layout = if wide {
            ReportLayout::Wide16
        } else {
            ReportLayout::Narrow16
        };
        assert_eq!(report.layout, layout, "{name}");
        assert_eq!(
            report.transit_valid,
            flags.contains(Flags::EXTEND),
            "{name}"
        );
        self.check_report_front(&report);
        let micros = |pointer: &str| {
            let (seconds, micros) = self.pair(pointer);
            Micros(seconds * 1_000_000 + micros)
        };
        let (whole, millionths) = self.pair("/transit_m2");
        let recorded = TransitTimes {
            min: micros("/transit_min"),
            max: micros("/transit_max"),
            sum: micros("/transit_sum"),
            mean: micros("/transit_mean"),
            m2: Millionths(whole as u64 * 1_000_000 + millionths as u64),
            last_difference: micros("/transit_vd"),
            count: self.word("/cnt_transit"),
            packets_per_second: self.word("/cnt_ipg"),
        };
        assert_eq!(report.transit, recorded, "{name}");
        let mut encoded = report.encode_16();
        DatagramStamp::read_16(&self.bytes, true)
            .unwrap()
            .write_16(&mut encoded);
        assert_eq!(encoded[..], self.bytes[..encoded.len()], "{name}");
    }

    pub(crate) fn check_legacy_report(&self) {
        let report = ServerReport::accept(&self.bytes).unwrap();
        assert_eq!(report.layout, ReportLayout::Legacy12, "{}", self.name);
        assert!(!report.transit_valid, "{}", self.name);
        self.check_report_front(&report);
        let fin = DatagramStamp::read_12(&self.bytes).unwrap();
        assert_eq!(
            fin.id as u32,
            self.word("/datagram/id_lower"),
            "{}",
            self.name
        );
        assert_eq!(report.encode_12(fin)[..], self.bytes[..52], "{}", self.name);
    }

    /// 2.1 and 2.2 servers repeat a report as an echo of the client's datagram.
    pub(crate) fn check_echoed_report(&self) {
        assert_eq!(ServerReport::accept(&self.bytes), None, "{}", self.name);
        assert_eq!(
            UdpLayout::detect(&self.bytes),
            UdpLayout::Extended16,
            "{}",
            self.name
        );
    }

    pub(crate) fn check_l4s_data(&self) {
        let header = UdpClientHeader::parse(&self.bytes).unwrap();
        assert!(header.l4s, "{}", self.name);
        self.check_udp_header(&header);
        let stamp = L4sStamp::read(&self.bytes).unwrap();
        let recorded = L4sStamp {
            time: self.word("/sender_ts_us") as i32,
            echoed_time: self.word("/echoed_ts_us") as i32,
            sequence: self.word("/sender_seqno"),
        };
        assert_eq!(stamp, recorded, "{}", self.name);
        let mut encoded = vec![0; self.bytes.len()];
        header.write(&mut encoded);
        stamp.write(&mut encoded);
        self.check_stamp(false).write_16(&mut encoded);
        assert_eq!(encoded, self.bytes, "{}", self.name);
    }

    pub(crate) fn check_l4s_ack(&self) {
        let ack = L4sAck::parse(&self.bytes).unwrap();
        let recorded = L4sAck {
            ecn_error: self.word("/flags") == 1,
            time: self.word("/rx_ts_us") as i32,
            echoed_time: self.word("/echoed_ts_us") as i32,
            received: self.word("/rx_cnt"),
            marked: self.word("/ce_cnt"),
            lost: self.word("/lost_cnt"),
        };
        assert_eq!(ack, recorded, "{}", self.name);
        assert_eq!(ack.encode()[..], self.bytes, "{}", self.name);
        assert_eq!(ServerReport::accept(&self.bytes), None, "{}", self.name);
    }
}
