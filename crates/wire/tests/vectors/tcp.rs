//! Checks of the messages over TCP.

use tapeline_base::Tos;
use tapeline_wire::iperf2::*;

use super::vector::{Base, Vector};

impl Vector {
    pub(crate) fn check_tcp_header(&self) {
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
    pub(crate) fn check_plain_legacy_header(&self) {
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

    pub(crate) fn check_base(&self, header: &TcpClientHeader) {
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

    pub(crate) fn check_extended(&self, header: &TcpClientHeader) {
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

    pub(crate) fn check_tcp_blocks(&self, header: &TcpClientHeader) {
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

    pub(crate) fn check_headerless_tcp(&self) {
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

    pub(crate) fn check_server_ack(&self) {
        let ack = ServerAck::parse(&self.bytes).unwrap();
        assert!(ServerAck::is_ack(&self.bytes), "{}", self.name);
        assert_eq!(ServerReport::accept(&self.bytes), None, "{}", self.name);
        assert_eq!(ack.version, self.version(""), "{}", self.name);
        assert_eq!(ack.mark, None, "{}", self.name);
        assert_eq!((self.word("/reserved1"), self.word("/reserved2")), (0, 0));
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

    pub(crate) fn check_burst_header(&self) {
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

    pub(crate) fn check_bounceback(&self) {
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
            mark: None,
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
}
