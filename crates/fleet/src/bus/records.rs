//! Values of buckets as messages: writes that compare, reads, and what the server answers.

use async_nats::Message;
use async_nats::header::HeaderMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bus::requests::Reply;
use crate::store::{Bucket, Entry, Expected, Read, Revision, Written};

/// The key's last number must be this one (NATS, ADR-8).
const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
/// A key was deleted (ADR-8).
const OPERATION: &str = "KV-Operation";
/// A message with an id that was stored already is dropped.
const MESSAGE_ID: &str = "Nats-Msg-Id";
/// The number of a message that was asked for.
const SEQUENCE: &str = "Nats-Sequence";
/// The server's word for another last number.
const WRONG_SEQUENCE: u64 = 10_071;
/// Status of what is not there.
const NOT_FOUND: u16 = 404;

/// A value as it is stored and sent.
pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    // Neither a map with keys that are no text nor a failing writer can occur.
    serde_json::to_vec(value).unwrap_or_default()
}

/// The subject of a key.
pub(crate) fn subject(bucket: Bucket, key: &str) -> String {
    format!("$KV.{}.{key}", bucket.name())
}

/// Where a key is read.
pub(crate) fn read_subject(bucket: Bucket, key: &str) -> String {
    format!(
        "$JS.API.DIRECT.GET.{}.{}",
        bucket.stream(),
        subject(bucket, key)
    )
}

/// Headers of a write.
pub(crate) fn expecting(expected: Expected) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let number = match expected {
        Expected::Absent => 0,
        Expected::At(revision) => revision.0,
    };
    headers.insert(EXPECTED, number.to_string());
    headers
}

/// Headers of a deletion.
pub(crate) fn deleting(expected: Expected) -> HeaderMap {
    let mut headers = expecting(expected);
    headers.insert(OPERATION, "DEL");
    headers
}

/// Headers of a message that the stream takes once.
pub(crate) fn identified(id: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(MESSAGE_ID, id);
    headers
}

/// Whether the message says that its key was deleted.
pub(crate) fn is_deletion(message: &Message) -> bool {
    let headers = message.headers.as_ref();
    headers.is_some_and(|headers| headers.get(OPERATION).is_some())
}

/// What a server answers to a write.
#[derive(Deserialize)]
struct Acknowledgement {
    seq: Option<u64>,
    error: Option<Refusal>,
    #[serde(default)]
    duplicate: bool,
}

#[derive(Deserialize)]
struct Refusal {
    err_code: Option<u64>,
}

fn acknowledgement(reply: &Reply) -> Option<Acknowledgement> {
    let Reply::Message(message) = reply else {
        return None;
    };
    serde_json::from_slice(&message.payload).ok()
}

/// What came of a write.
pub(crate) fn written(reply: &Reply) -> Written {
    match acknowledgement(reply) {
        Some(Acknowledgement {
            error: Some(refusal),
            ..
        }) if refusal.err_code == Some(WRONG_SEQUENCE) => Written::Conflict,
        Some(Acknowledgement {
            error: None,
            seq: Some(seq),
            ..
        }) => Written::At(Revision(seq)),
        _ => Written::Unknown,
    }
}

/// Whether the stream has the message, and did not have it before: it delivers it.
pub(crate) fn is_new(reply: &Reply) -> bool {
    acknowledgement(reply).is_some_and(|it| it.error.is_none() && it.seq.is_some() && !it.duplicate)
}

/// What came of a read.
pub(crate) fn read<V: DeserializeOwned>(reply: &Reply) -> Read<V> {
    let Reply::Message(message) = reply else {
        return Read::Unknown;
    };
    let status = message.status.map(|status| status.as_u16());
    if status == Some(NOT_FOUND) || is_deletion(message) {
        return Read::Absent;
    }
    let headers = message.headers.as_ref();
    let sequence = headers.and_then(|headers| headers.get(SEQUENCE));
    let revision = sequence.and_then(|text| text.as_str().parse().ok());
    let value = serde_json::from_slice(&message.payload);
    match (revision, value) {
        (Some(revision), Ok(value)) => Read::There(Entry {
            revision: Revision(revision),
            value,
        }),
        _ => Read::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(payload: &'static str) -> Reply {
        Reply::Message(async_nats::Message {
            subject: "r".into(),
            reply: None,
            payload: payload.into(),
            headers: None,
            status: None,
            description: None,
            length: payload.len(),
        })
    }

    /// As nats-server 2.10.27 answers a publish.
    #[test]
    fn a_repeated_message_is_written_and_known_as_repeated() {
        let new = reply(r#"{"stream":"TL_RESULT", "seq":17}"#);
        let repeated = reply(r#"{"stream":"TL_RESULT","seq":17,"duplicate": true}"#);
        for reply in [&new, &repeated] {
            assert_eq!(written(reply), Written::At(Revision(17)));
        }
        assert!(is_new(&new) && !is_new(&repeated));
        assert!(!is_new(&Reply::Silence));
    }
}
