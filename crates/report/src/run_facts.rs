//! What a run's document says of it, as far as runs are kept, found and compared by it.

use jiff::Timestamp;
use serde_json::Value;
use tapeline_stats::{Certainty, LimitedBy};

use crate::quantity::{Measurement, measurements};

/// One run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFacts {
    /// Its name where it is kept: `r42`.
    pub name: Option<String>,
    /// When it began, milliseconds since 1970.
    pub started: Option<i64>,
    /// Version of the program that wrote it.
    pub version: String,
    /// The peer as it was typed.
    pub host: Option<String>,
    /// The peer's address.
    pub address: Option<String>,
    /// `client` or `server`.
    pub role: String,
    /// `iperf2` or `iperf3`.
    pub protocol: Option<String>,
    /// `tcp`, `udp`, `sctp`.
    pub transport: Option<String>,
    /// `forward`, `reverse`, `bidirectional`.
    pub direction: Option<String>,
    /// `stream`, `request_response`, `connect_only`.
    pub workload: Option<String>,
    /// Streams in each direction.
    pub streams: Option<u64>,
    /// Rate that each stream was to keep, bits per second.
    pub target_bps: Option<f64>,
    /// How long it was to last, else how long it lasted.
    pub seconds: Option<f64>,
    /// How much each stream was to send.
    pub requested_bytes: Option<u64>,
    /// Bytes of a write or datagram.
    pub length: Option<u64>,
    /// Socket buffer.
    pub window: Option<u64>,
    /// Congestion control.
    pub congestion: Option<String>,
    /// Type of service.
    pub tos: Option<u64>,
    /// It ran to its end.
    pub complete: bool,
    /// Why it did not take place.
    pub error: Option<String>,
    /// What limited it.
    pub limited_by: Option<String>,
    /// How sure that is.
    pub confidence: Option<String>,
    /// Why it does not count in its series.
    pub left_out: Option<String>,
    /// Its numbers.
    pub measurements: Vec<Measurement>,
}

impl RunFacts {
    /// Of a report of tapeline.
    #[must_use]
    pub fn from_document(document: &Value) -> Self {
        let test = &document["test"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let started = test["started"]
            .as_str()
            .and_then(|text| text.parse::<Timestamp>().ok());
        let measured = |end: &str| document["sum"][end]["seconds"].as_f64();
        let interrupted = test["interrupted"] == true;
        Self {
            name: None,
            started: started.map(Timestamp::as_millisecond),
            version: text(&document["version"]).unwrap_or_default(),
            host: text(&document["peer"]["host"]),
            address: text(&document["peer"]["address"]),
            role: text(&test["role"]).unwrap_or_default(),
            protocol: text(&test["protocol"]),
            transport: text(&test["transport"]),
            direction: text(&test["direction"]),
            workload: text(&test["workload"]),
            streams: test["streams"].as_u64(),
            target_bps: test["requested_bits_per_second"].as_f64(),
            seconds: test["requested_seconds"]
                .as_f64()
                .or_else(|| measured("sender"))
                .or_else(|| measured("receiver")),
            requested_bytes: test["requested_bytes"].as_u64(),
            length: test["length_bytes"].as_u64(),
            window: test["socket_buffer_bytes"].as_u64(),
            congestion: text(&test["congestion_control"]),
            tos: test["tos"].as_u64(),
            complete: test["complete"] == true && !interrupted,
            error: text(&document["error"]["text"]),
            limited_by: text(&document["verdict"]["limited_by"]),
            confidence: text(&document["verdict"]["confidence"]),
            left_out: None,
            measurements: measurements(document),
        }
    }

    /// Whether its numbers count.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.complete && self.error.is_none() && self.left_out.is_none()
    }

    /// Whether a host limited it, surely or likely.
    #[must_use]
    pub fn blames_a_host(&self) -> bool {
        let limit = LimitedBy::ALL
            .into_iter()
            .find(|limit| self.limited_by.as_deref() == Some(limit.id()));
        limit.is_some_and(LimitedBy::is_host)
            && self.confidence.as_deref() != Some(Certainty::Low.id())
    }

    /// One of its numbers.
    #[must_use]
    pub fn value(&self, quantity: &str, direction: &str) -> Option<f64> {
        let is = |one: &&Measurement| one.quantity == quantity && one.direction == direction;
        self.measurements.iter().find(is).map(|one| one.value)
    }

    /// What was wanted of the test, each with its name: what makes two tests the same test.
    #[must_use]
    pub fn shape(&self) -> Vec<(&'static str, String)> {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let number = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
        // Durations within a factor of about 1.4 are one class.
        let class = self.seconds.filter(|seconds| *seconds > 0.0);
        let class = class.map_or_else(String::new, |seconds| {
            format!("{} s", seconds.log2().round().exp2())
        });
        let amount = number(self.requested_bytes);
        vec![
            ("protocol", text(&self.protocol)),
            ("transport", text(&self.transport)),
            ("direction", text(&self.direction)),
            ("workload", text(&self.workload)),
            ("streams", number(self.streams)),
            (
                "target rate",
                self.target_bps
                    .map_or_else(String::new, |rate| format!("{rate}")),
            ),
            ("length", number(self.length)),
            ("socket buffer", number(self.window)),
            ("congestion control", text(&self.congestion)),
            ("type of service", number(self.tos.filter(|tos| *tos != 0))),
            ("bytes", amount.clone()),
            (
                "duration",
                if amount.is_empty() {
                    class
                } else {
                    String::new()
                },
            ),
        ]
    }
}
