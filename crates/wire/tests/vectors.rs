//! Every captured message decodes to the recorded fields and encodes back to the recorded bytes.
//!
//! The files in `tests/vectors` hold messages that the reference programs sent, with the fields that
//! another decoder read from them. Long datagrams are cut in the files. What a sender leaves to
//! its buffer is no part of a message: the test lays down the same fill first and writes the
//! decoded message over it. Not reproduced in full, because their fill is stale memory:
//! the two headers of 2.0.13 (base header unset) and the tails behind the reports of 2.0.x.

use serde_json::Value;
use tapeline_base::{BitRate, Tos};
use tapeline_wire::iperf2::*;

/// One captured message.
struct Vector {
    name: String,
    message: String,
    bytes: Vec<u8>,
    decoded: Value,
}

impl Vector {
    fn from_json(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap().to_owned();
        let hex = text("hex");
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        Self {
            name: text("name"),
            message: text("message"),
            bytes: (0..hex.len()).step_by(2).map(byte).collect(),
            decoded: value["decoded"].clone(),
        }
    }

    fn has(&self, pointer: &str) -> bool {
        self.decoded.pointer(pointer).is_some()
    }

    /// A recorded number, written in decimal or as hexadecimal text.
    fn number(&self, pointer: &str) -> i64 {
        let value = self.decoded.pointer(pointer);
        let value = value.unwrap_or_else(|| panic!("{} has no {pointer}", self.name));
        match value.as_str() {
            Some(text) => i64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap(),
            None => value.as_i64().unwrap(),
        }
    }

    fn word(&self, pointer: &str) -> u32 {
        u32::try_from(self.number(pointer)).unwrap()
    }

    fn stamp(&self, prefix: &str, seconds: &str, micros: &str) -> Timestamp {
        Timestamp {
            seconds: self.word(&format!("{prefix}/{seconds}")),
            micros: self.word(&format!("{prefix}/{micros}")),
        }
    }

    fn pair(&self, pointer: &str) -> (i64, i64) {
        (
            self.number(&format!("{pointer}/0")),
            self.number(&format!("{pointer}/1")),
        )
    }

    fn version(&self, prefix: &str) -> Option<PeerVersion> {
        let word = |name: &str| self.word(&format!("{prefix}/{name}"));
        PeerVersion::from_words(word("version_u"), word("version_l"))
    }

    fn check(&self) {
        match self.message.as_str() {
            "tcp_client_header" | "tcp_client_header_v1" => self.check_tcp_header(),
            "tcp_no_header" => self.check_headerless_tcp(),
            "client_hdr_ack" => self.check_server_ack(),
            "tcp_burst_header" => self.check_burst_header(),
            "bounceback_request" | "bounceback_reply" => self.check_bounceback(),
            "udp_client_datagram"
            | "udp_reverse_datagram"
            | "udp_fin"
            | "udp_v1_datagram_12byte" => self.check_datagram(),
            "udp_server_report" => self.check_report(),
            "udp_server_report_v1_12byte" => self.check_legacy_report(),
            "udp_server_report_corrupt" => self.check_echoed_report(),
            "udp_l4s_data" => self.check_l4s_data(),
            "udp_l4s_ack" => self.check_l4s_ack(),
            other => panic!("{}: no check for {other}", self.name),
        }
    }

    fn check_tcp_header(&self) {
        let flags = self.word("/flags");
        if flags == 0 {
            return self.check_plain_legacy_header();
        }
        let length = self.bytes.len();
        let key = self.has("/permit_key_len");
        let key_length = if key {
            self.word("/permit_key_len") as usize
        } else {
            0
        };
        assert_eq!(
            FirstWord::inspect(self.bytes.first_chunk().unwrap()),
            FirstWord::Header {
                length: length - key_length,
                key
            },
            "{}",
            self.name
        );
        assert_eq!(
            TcpClientHeader::permit_key_length(&self.bytes),
            Ok(key_length),
            "{}",
            self.name
        );
        assert!(
            TcpClientHeader::looks_consistent(&self.bytes),
            "{}",
            self.name
        );
        let header = TcpClientHeader::parse(&self.bytes).unwrap();
        if self.name == "x2013c_tcp_X" {
            // 2.0.13 leaves the base header unset and numbers the extended one.
            assert_eq!(header.form, HeaderForm::Extended36);
            assert_eq!(header.version.unwrap().to_string(), "2.0.13-dev");
            assert_eq!(
                (header.threads, header.port, header.buffer_length),
                (0, 0, None)
            );
            assert_eq!(
                (header.amount, header.mode),
                (Amount::Unspecified, TestMode::Normal)
            );
            return;
        }
        self.check_base(&header);
        if header.form != HeaderForm::Base {
            self.check_extended(&header);
            self.check_mode(header.mode, "");
        }
        self.check_tcp_blocks(&header);
        let mut encoded = vec![0xee];
        header.encode(&mut encoded);
        assert_eq!(encoded[1..], self.bytes, "{}", self.name);
        assert_eq!(
            header.counted_length() + key_length,
            length,
            "{}",
            self.name
        );
    }

    /// A 2.0.5 client's plain header has an empty flag word, so it is payload.
    fn check_plain_legacy_header(&self) {
        let front = self.bytes.first_chunk().unwrap();
        assert_eq!(
            FirstWord::inspect(front),
            FirstWord::Headerless,
            "{}",
            self.name
        );
        assert_eq!(
            TcpClientHeader::parse(&self.bytes),
            Err(DecodeError::NoHeader(0))
        );
        let header = TcpClientHeader::peek_base(&self.bytes).unwrap();
        self.check_base(&header);
        let mut encoded = Vec::new();
        header.encode(&mut encoded);
        assert_eq!(encoded, self.bytes, "{}", self.name);
    }

    fn check_base(&self, header: &TcpClientHeader) {
        let base = Base {
            threads: header.threads,
            transfer_id: header.transfer_id,
            port: header.port,
            buffer_length: header.buffer_length,
            window_or_rate: u64::from(header.window),
            amount: header.amount,
        };
        base.check(self, "");
    }

    fn check_mode(&self, mode: TestMode, prefix: &str) {
        let upper = UpperFlags(self.word(&format!("{prefix}/upper_flags")) as u16);
        assert_eq!(
            mode == TestMode::Reverse,
            upper.contains(UpperFlags::REVERSE),
            "{}",
            self.name
        );
        assert_eq!(
            mode == TestMode::FullDuplex,
            upper.contains(UpperFlags::FULL_DUPLEX),
            "{}",
            self.name
        );
    }

    fn check_extended(&self, header: &TcpClientHeader) {
        let name = &self.name;
        assert_eq!(header.version, self.version(""), "{name}");
        assert_eq!(header.tos, Tos(self.word("/tos") as u8), "{name}");
        assert_eq!(
            header.rate.map_or(0, |rate| rate.0),
            self.number("/rate") as u64,
            "{name}"
        );
        assert_eq!(
            header.write_prefetch.unwrap_or(0),
            self.word("/write_prefetch"),
            "{name}"
        );
        assert_eq!(
            header.form == HeaderForm::Extended40,
            self.has("/barrier_usecs"),
            "{name}"
        );
        if self.has("/barrier_usecs") {
            assert_eq!(
                header.barrier_micros.unwrap_or(0),
                self.word("/barrier_usecs"),
                "{name}"
            );
        }
        let flags = Flags(self.word("/flags"));
        assert_eq!(
            header.peer_detect,
            flags.contains(Flags::PEER_DETECT),
            "{name}"
        );
        let upper = UpperFlags(self.word("/upper_flags") as u16);
        assert_eq!(
            header.trip_times,
            upper.contains(UpperFlags::TRIP_TIMES),
            "{name}"
        );
        assert_eq!(
            header.epoch_start,
            upper.contains(UpperFlags::EPOCH_START),
            "{name}"
        );
    }

    fn check_tcp_blocks(&self, header: &TcpClientHeader) {
        let name = &self.name;
        if self.has("/start_sec") {
            let start = self.stamp("", "start_sec", "start_usec");
            assert_eq!(header.start_time.unwrap_or_default(), start, "{name}");
            let rate = header.fq_rate.map_or(0, |rate| rate.0);
            assert_eq!(rate, self.number("/fqrate") as u64, "{name}");
        }
        if self.has("/fps_int") {
            let settings = match header.workload {
                Workload::Stream => IsochronousSettings::default(),
                Workload::Isochronous(settings) => settings.unwrap(),
                Workload::PeriodicBurst(settings) => settings,
            };
            self.check_isochronous_settings(&settings, "", "_millionths");
        }
        if self.has("/cca") {
            let wanted = self.decoded["cca"].as_str();
            assert_eq!(
                header
                    .congestion_control
                    .as_ref()
                    .map(CongestionControl::as_str),
                wanted
            );
        }
        if self.has("/permit_key") {
            let wanted = self.decoded["permit_key"].as_str().map(str::as_bytes);
            assert_eq!(
                header.permit_key.as_ref().map(PermitKey::as_bytes),
                wanted,
                "{name}"
            );
        }
    }

    /// Compares the settings; in TCP headers the last ones may be cut off.
    fn check_isochronous_settings(&self, settings: &IsochronousSettings, prefix: &str, tail: &str) {
        let fields = [
            ("fps", settings.frames_per_second),
            ("mean", settings.mean),
            ("variance", settings.variance),
            ("burst_ipg", settings.burst_gap),
        ];
        for (field, value) in fields {
            let whole = format!("{prefix}/{field}_int");
            let recorded = if self.has(&whole) {
                self.number(&whole) * 1_000_000
                    + self.number(&format!("{prefix}/{field}_frac{tail}"))
            } else {
                0
            };
            assert_eq!(value.0, recorded as u64, "{} {field}", self.name);
        }
    }

    fn check_headerless_tcp(&self) {
        let front = self.bytes.first_chunk().unwrap();
        assert_eq!(
            FirstWord::inspect(front),
            FirstWord::Headerless,
            "{}",
            self.name
        );
        assert!(
            !TcpClientHeader::looks_consistent(&self.bytes),
            "{}",
            self.name
        );
        assert_eq!(
            TcpClientHeader::peek_base(&self.bytes),
            None,
            "{}",
            self.name
        );
    }

    fn check_server_ack(&self) {
        let ack = ServerAck::parse(&self.bytes).unwrap();
        assert!(ServerAck::is_ack(&self.bytes), "{}", self.name);
        assert_eq!(ServerReport::accept(&self.bytes), None, "{}", self.name);
        assert_eq!(ack.version, self.version(""), "{}", self.name);
        assert_eq!(
            ack.reserved,
            [self.word("/reserved1"), self.word("/reserved2")]
        );
        let times = self.has("/sent_sec").then(|| AckTimes {
            sent: self.stamp("", "sent_sec", "sent_usec"),
            accepted: self.stamp("", "sentrx_sec", "sentrx_usec"),
            acknowledged: self.stamp("", "ack_sec", "ack_usec"),
        });
        assert_eq!(ack.trip_times, times, "{}", self.name);
        let mut encoded = Vec::new();
        ack.encode(&mut encoded);
        assert_eq!(encoded, self.bytes, "{}", self.name);
    }

    fn check_burst_header(&self) {
        let with_period = self.has("/burst_period_us");
        let burst = BurstHeader::read(self.bytes.first_chunk().unwrap(), with_period).unwrap();
        let sequence = u64::from(self.word("/seqno_upper")) << 32;
        let recorded = BurstHeader {
            report_start: self.stamp("", "start_sec", "start_usec"),
            write_time: self.stamp("", "write_sec", "write_usec"),
            period_micros: with_period.then(|| self.word("/burst_period_us")),
            id: self.word("/burst_id"),
            size: self.word("/burst_size"),
            sequence: sequence | u64::from(self.word("/seqno_lower")),
        };
        assert_eq!(burst, recorded, "{}", self.name);
        let mut encoded = [TRIP_TIMES_FILL; BurstHeader::LENGTH];
        if self.bytes[0] != TRIP_TIMES_FILL {
            fill_pattern(&mut encoded);
        }
        burst.write(&mut encoded);
        assert_eq!(encoded[..], self.bytes, "{}", self.name);
    }

    fn check_bounceback(&self) {
        let message = Bounceback::parse(self.bytes.first_chunk().unwrap()).unwrap();
        let flags = BouncebackFlags(self.word("/bbflags") as u16);
        let wanted = |flag, pointer: &str| flags.contains(flag).then(|| self.word(pointer));
        let stamp = |pointer: &str| Some(self.stamp(pointer, "0", "1"));
        let reply = self.message == "bounceback_reply";
        let recorded = Bounceback {
            request_size: self.word("/bbsize"),
            id: self.word("/bbid"),
            quickack: flags.contains(BouncebackFlags::QUICKACK),
            clock_synchronised: flags.contains(BouncebackFlags::CLOCK_SYNCED),
            stop: false,
            tos: wanted(BouncebackFlags::TOS, "/tos").map(|tos| Tos(tos as u8)),
            run_time: Ticks(self.word("/run_time_10ms")),
            client_send: self.stamp("/client_tx", "0", "1"),
            server_receive: stamp("/server_rx").filter(|_| reply),
            server_send: stamp("/server_tx").filter(|_| reply),
            hold_micros: self.word("/hold_usec"),
            reply_size: wanted(BouncebackFlags::REPLY_SIZE, "/reply_size"),
        };
        assert_eq!(message, recorded, "{}", self.name);
        // A reply longer than its request ends in zeros; 2.1.8 has no reply size.
        let mut encoded = vec![0; self.bytes.len()];
        let filled = encoded.len().min(message.request_size as usize);
        fill_pattern(&mut encoded[..filled]);
        message.write(&mut encoded);
        if self.name.starts_with("x218c") {
            encoded[60..64].copy_from_slice(b"0123");
        }
        assert_eq!(encoded, self.bytes, "{}", self.name);
    }

    fn check_datagram(&self) {
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

    fn recorded_layout(&self) -> UdpLayout {
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

    fn check_stamp(&self, legacy: bool) -> DatagramStamp {
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

    fn check_udp_header(&self, header: &UdpClientHeader) {
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
    fn check_frame(&self) -> Option<IsochronousFrame> {
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

    fn check_report_front(&self, report: &ServerReport) {
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

    fn check_report(&self) {
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

    fn check_legacy_report(&self) {
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
    fn check_echoed_report(&self) {
        assert_eq!(ServerReport::accept(&self.bytes), None, "{}", self.name);
        assert_eq!(
            UdpLayout::detect(&self.bytes),
            UdpLayout::Extended16,
            "{}",
            self.name
        );
    }

    fn check_l4s_data(&self) {
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

    fn check_l4s_ack(&self) {
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

/// The fields of a base header, of either transport.
struct Base {
    threads: u32,
    transfer_id: Option<TransferId>,
    port: u16,
    buffer_length: Option<u32>,
    window_or_rate: u64,
    amount: Amount,
}

impl Base {
    fn check(&self, vector: &Vector, prefix: &str) {
        let name = &vector.name;
        let word = |field: &str| vector.word(&format!("{prefix}/{field}"));
        let id = format!("{prefix}/transfer_id");
        let id = vector.has(&id).then(|| vector.word(&id) as u16);
        assert_eq!(self.transfer_id.map(TransferId::get), id, "{name}");
        assert_eq!(self.threads, word("num_threads"), "{name}");
        assert_eq!(u32::from(self.port), word("port"), "{name}");
        assert_eq!(self.buffer_length.unwrap_or(0), word("buf_len"), "{name}");
        assert_eq!(self.window_or_rate, u64::from(word("win_band")), "{name}");
        let amount = match vector.number(&format!("{prefix}/amount_raw")) {
            0 => Amount::Unspecified,
            bytes if bytes > 0 => Amount::Bytes(bytes as u32),
            ticks => Amount::Time(Ticks(ticks.unsigned_abs() as u32)),
        };
        assert_eq!(self.amount, amount, "{name}");
    }
}

/// Checks every message of a file; returns how many there were.
fn check_file(text: &str) -> usize {
    let values: Vec<Value> = serde_json::from_str(text).unwrap();
    values
        .iter()
        .map(Vector::from_json)
        .for_each(|vector| vector.check());
    values.len()
}

macro_rules! vector_tests {
    ($($test:ident: $file:literal holds $count:literal;)*) => {
        $(#[test]
        fn $test() {
            assert_eq!(check_file(include_str!(concat!("vectors/", $file))), $count);
        })*
    };
}

vector_tests! {
    tcp_client_headers: "iperf2-tcp-client-header.json" holds 38;
    server_acknowledgements: "iperf2-tcp-server-ack.json" holds 12;
    burst_headers: "iperf2-tcp-burst-header.json" holds 17;
    bounceback_messages: "iperf2-bounceback.json" holds 8;
    udp_datagrams: "iperf2-udp-datagram.json" holds 33;
    ends_and_reports: "iperf2-udp-fin-report.json" holds 39;
    older_peers: "iperf2-legacy.json" holds 28;
    l4s_messages: "iperf2-udp-l4s.json" holds 5;
}
