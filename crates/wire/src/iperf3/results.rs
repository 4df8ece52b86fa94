//! The results message: what one end counted, in JSON.

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::error::DecodeError;
use super::message;

/// What an end knows of retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmitKnowledge {
    /// It only receives.
    Receiver,
    /// It sends and cannot know (UDP).
    Unknown,
    /// It sends and counts them.
    Counted,
}

/// A server's own output, where the client asked for it.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerOutput {
    /// Lines of text.
    Text(String),
    /// A JSON document, as it was written: the order of its keys counts for readers.
    Json(String),
}

/// The server's document, letter for letter.
fn written_document(json: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Written<'a> {
        #[serde(borrow)]
        server_output_json: &'a RawValue,
    }
    let written: Written<'_> = serde_json::from_slice(json).ok()?;
    Some(written.server_output_json.get().to_owned())
}

/// One end's results.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Processor use of the whole process, percent of one core.
    pub cpu_total: f64,
    /// In user mode.
    pub cpu_user: f64,
    /// In the kernel.
    pub cpu_system: f64,
    /// What this end knows of retransmissions.
    pub retransmits: RetransmitKnowledge,
    /// Congestion control of the data connections (TCP).
    pub congestion: Option<String>,
    /// What a server printed.
    pub server_output: Option<ServerOutput>,
    /// Version of a server that is tapeline, for a client that said so of itself.
    pub tapeline: Option<String>,
    /// Streams in the order of their numbers.
    pub streams: Vec<StreamResults>,
}

/// One stream's results.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamResults {
    /// Number: 1, 3, 4, 5, ... in the order of connection; see [`stream_id`].
    pub id: i64,
    /// Bytes sent or received, without those of the omitted start.
    pub bytes: u64,
    /// Retransmitted segments (TCP senders).
    pub retransmits: Option<u64>,
    /// RFC 3550 jitter, seconds (UDP receivers).
    pub jitter: f64,
    /// Datagrams lost, the omitted start included; may be negative in the reference.
    pub errors: i64,
    /// Of those, in the omitted start (3.14 and later).
    pub omitted_errors: Option<i64>,
    /// Datagrams sent, or the highest number received, the omitted start included.
    pub packets: i64,
    /// Of those, in the omitted start (3.14 and later).
    pub omitted_packets: Option<i64>,
    /// Seconds from the start to the last sample of this end.
    pub end_time: Option<f64>,
}

/// The number of the `index`-th stream of a test, from 0: the reference never gives the 2.
#[must_use]
pub fn stream_id(index: usize) -> i64 {
    let index = i64::try_from(index).unwrap_or(i64::MAX - 2);
    if index == 0 { 1 } else { index + 2 }
}

impl Results {
    /// Appends the message with its length, keys in the order of the reference.
    pub fn encode(&self, out: &mut Vec<u8>) {
        message::write(self, out);
    }

    /// Reads the message behind its length. Keys that only some versions send may be missing;
    /// negative counters may come as 2^64 minus their size (3.12 to 3.16).
    ///
    /// # Errors
    /// [`DecodeError::Json`] when it is no object, [`DecodeError::Missing`] without a key that
    /// every version sends.
    pub fn parse(json: &[u8]) -> Result<Self, DecodeError> {
        let mut value: Value =
            serde_json::from_slice(json).map_err(|error| DecodeError::Json(error.to_string()))?;
        let output = value.as_object_mut().and_then(|object| {
            let text = object.remove("server_output_text");
            let text = text.and_then(|text| text.as_str().map(str::to_owned));
            object.remove("server_output_json");
            text.map(ServerOutput::Text)
                .or_else(|| written_document(json).map(ServerOutput::Json))
        });
        let Value::Object(object) = &value else {
            return Err(DecodeError::Json("not an object".into()));
        };
        let streams = object.get("streams").and_then(Value::as_array);
        let streams = streams.ok_or(DecodeError::Missing("streams"))?;
        Ok(Self {
            cpu_total: float(object, "cpu_util_total")?,
            cpu_user: float(object, "cpu_util_user")?,
            cpu_system: float(object, "cpu_util_system")?,
            retransmits: match integer(object, "sender_has_retransmits")? {
                ..0 => RetransmitKnowledge::Receiver,
                0 => RetransmitKnowledge::Unknown,
                1.. => RetransmitKnowledge::Counted,
            },
            congestion: object
                .get("congestion_used")
                .and_then(Value::as_str)
                .map(message::shown_name),
            server_output: output,
            tapeline: object
                .get("tapeline")
                .and_then(Value::as_str)
                .map(str::to_owned),
            streams: streams
                .iter()
                .map(|stream| {
                    stream
                        .as_object()
                        .map_or(Err(DecodeError::Missing("streams")), read_stream)
                })
                .collect::<Result<_, _>>()?,
        })
    }
}

fn read_stream(object: &Map<String, Value>) -> Result<StreamResults, DecodeError> {
    let optional = |key: &'static str| integer(object, key).ok();
    Ok(StreamResults {
        id: integer(object, "id")?,
        bytes: u64::try_from(integer(object, "bytes")?).unwrap_or(0),
        retransmits: u64::try_from(integer(object, "retransmits")?).ok(),
        jitter: float(object, "jitter")?,
        errors: integer(object, "errors")?,
        omitted_errors: optional("omitted_errors"),
        packets: integer(object, "packets")?,
        omitted_packets: optional("omitted_packets"),
        end_time: float(object, "end_time").ok(),
    })
}

/// A number; what is not one was no finite number at the sender (`null`).
fn float(object: &Map<String, Value>, key: &'static str) -> Result<f64, DecodeError> {
    match object.get(key) {
        Some(Value::Null) => Ok(0.0),
        value => value
            .and_then(Value::as_f64)
            .ok_or(DecodeError::Missing(key)),
    }
}

/// An integer; the upper half of 64 bits stands for negative numbers.
fn integer(object: &Map<String, Value>, key: &'static str) -> Result<i64, DecodeError> {
    let value = object.get(key).ok_or(DecodeError::Missing(key))?;
    if let Some(exact) = value.as_i64() {
        return Ok(exact);
    }
    if let Some(large) = value.as_u64() {
        return Ok(large.cast_signed());
    }
    match value.as_f64() {
        // 2^63 and more, rounded to a double by the sender.
        Some(number) if number >= 9_223_372_036_854_775_808.0 => {
            Ok((number - 18_446_744_073_709_551_616.0).min(-1.0) as i64)
        }
        Some(number) => Ok(number as i64),
        None => Err(DecodeError::Missing(key)),
    }
}

impl Serialize for Results {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("cpu_util_total", &self.cpu_total)?;
        map.serialize_entry("cpu_util_user", &self.cpu_user)?;
        map.serialize_entry("cpu_util_system", &self.cpu_system)?;
        let knowledge = match self.retransmits {
            RetransmitKnowledge::Receiver => -1,
            RetransmitKnowledge::Unknown => 0,
            RetransmitKnowledge::Counted => 1,
        };
        map.serialize_entry("sender_has_retransmits", &knowledge)?;
        if let Some(congestion) = &self.congestion {
            map.serialize_entry("congestion_used", congestion)?;
        }
        match &self.server_output {
            Some(ServerOutput::Text(text)) => map.serialize_entry("server_output_text", text)?,
            Some(ServerOutput::Json(json)) => match RawValue::from_string(json.clone()) {
                Ok(json) => map.serialize_entry("server_output_json", &json)?,
                Err(_) => map.serialize_entry("server_output_text", json)?,
            },
            None => {}
        }
        if let Some(version) = &self.tapeline {
            map.serialize_entry("tapeline", version)?;
        }
        map.serialize_entry("streams", &self.streams)?;
        map.end()
    }
}

impl Serialize for StreamResults {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("bytes", &self.bytes)?;
        let retransmits = self.retransmits.and_then(|count| i64::try_from(count).ok());
        map.serialize_entry("retransmits", &retransmits.unwrap_or(-1))?;
        map.serialize_entry("jitter", &self.jitter)?;
        map.serialize_entry("errors", &self.errors)?;
        if let Some(omitted) = self.omitted_errors {
            map.serialize_entry("omitted_errors", &omitted)?;
        }
        map.serialize_entry("packets", &self.packets)?;
        if let Some(omitted) = self.omitted_packets {
            map.serialize_entry("omitted_packets", &omitted)?;
        }
        if let Some(end) = self.end_time {
            map.serialize_entry("start_time", &0)?;
            map.serialize_entry("end_time", &end)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str =
        r#"{"id":1,"bytes":100,"retransmits":-1,"jitter":0,"errors":0,"packets":7}"#;

    fn parse(retransmits: &str, stream: &str) -> Result<Results, DecodeError> {
        let json = format!(
            r#"{{"cpu_util_total":1.5,"cpu_util_user":0,"cpu_util_system":null,
            "sender_has_retransmits":{retransmits},"streams":[{stream}]}}"#
        );
        Results::parse(json.as_bytes())
    }

    #[test]
    fn minus_one_may_be_a_huge_number() {
        for minus_one in ["-1", "18446744073709551615", "1.8446744073709552e19"] {
            let results = parse(minus_one, STREAM).expect("valid");
            assert_eq!(
                results.retransmits,
                RetransmitKnowledge::Receiver,
                "{minus_one}"
            );
            let stream = STREAM.replace("-1", minus_one);
            let results = parse("1", &stream).expect("valid");
            assert_eq!(results.streams[0].retransmits, None, "{minus_one}");
        }
    }

    #[test]
    fn a_servers_document_keeps_its_order() {
        const DOCUMENT: &str = r#"{"start": {"z":1,"a":2}, "end":{}}"#;
        let json = format!(
            r#"{{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,
            "sender_has_retransmits":0,"streams":[],"server_output_json":{DOCUMENT}}}"#
        );
        let results = Results::parse(json.as_bytes()).expect("valid");
        let document = Some(ServerOutput::Json(DOCUMENT.to_owned()));
        assert_eq!(results.server_output, document);
        let mut message = Vec::new();
        results.encode(&mut message);
        let sent = String::from_utf8_lossy(&message);
        assert!(sent.contains(DOCUMENT), "{sent}");
    }

    #[test]
    fn every_key_that_all_versions_send_must_be_there() {
        for key in ["id", "bytes", "retransmits", "jitter", "errors", "packets"] {
            let without = STREAM.replace(&format!("\"{key}\""), "\"x\"");
            assert_eq!(parse("0", &without), Err(DecodeError::Missing(key)));
        }
        assert!(Results::parse(b"{}").is_err());
        assert!(parse("0", STREAM).is_ok());
        assert!(parse("0", "3").is_err());
    }

    #[test]
    fn a_name_moves_no_cursor() {
        let results = r#"{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,
            "sender_has_retransmits":0,"congestion_used":"bb\r\u001b[2J","streams":[]}"#;
        let results = Results::parse(results.as_bytes()).expect("valid");
        assert_eq!(results.congestion.as_deref(), Some("bb??[2J"));
    }

    #[test]
    fn the_number_two_is_never_given() {
        let ids: Vec<i64> = (0..4).map(stream_id).collect();
        assert_eq!(ids, [1, 3, 4, 5]);
    }
}
