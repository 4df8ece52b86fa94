//! A captured message with its recorded fields.

use serde_json::Value;
use tapeline_wire::iperf2::*;

/// One captured message.
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) message: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) decoded: Value,
}

impl Vector {
    pub(crate) fn from_json(value: &Value) -> Self {
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

    pub(crate) fn has(&self, pointer: &str) -> bool {
        self.decoded.pointer(pointer).is_some()
    }

    /// A recorded number, written in decimal or as hexadecimal text.
    pub(crate) fn number(&self, pointer: &str) -> i64 {
        let value = self.decoded.pointer(pointer);
        let value = value.unwrap_or_else(|| panic!("{} has no {pointer}", self.name));
        match value.as_str() {
            Some(text) => i64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap(),
            None => value.as_i64().unwrap(),
        }
    }

    pub(crate) fn word(&self, pointer: &str) -> u32 {
        u32::try_from(self.number(pointer)).unwrap()
    }

    pub(crate) fn stamp(&self, prefix: &str, seconds: &str, micros: &str) -> Timestamp {
        Timestamp {
            seconds: self.word(&format!("{prefix}/{seconds}")),
            micros: self.word(&format!("{prefix}/{micros}")),
        }
    }

    pub(crate) fn pair(&self, pointer: &str) -> (i64, i64) {
        (
            self.number(&format!("{pointer}/0")),
            self.number(&format!("{pointer}/1")),
        )
    }

    pub(crate) fn version(&self, prefix: &str) -> Option<PeerVersion> {
        let word = |name: &str| self.word(&format!("{prefix}/{name}"));
        PeerVersion::from_words(word("version_u"), word("version_l"))
    }

    pub(crate) fn check_mode(&self, mode: TestMode, prefix: &str) {
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

    /// Compares the settings; in TCP headers the last ones may be cut off.
    pub(crate) fn check_isochronous_settings(
        &self,
        settings: &IsochronousSettings,
        prefix: &str,
        tail: &str,
    ) {
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
}

/// The fields of a base header, of either transport.
pub(crate) struct Base {
    pub(crate) threads: u32,
    pub(crate) transfer_id: Option<TransferId>,
    pub(crate) port: u16,
    pub(crate) buffer_length: Option<u32>,
    pub(crate) window_or_rate: u64,
    pub(crate) amount: Amount,
}

impl Base {
    pub(crate) fn check(&self, vector: &Vector, prefix: &str) {
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
