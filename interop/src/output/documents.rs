//! What the documents of tapeline say of its streams.

use serde_json::Value;

/// A stream's totals, as far as they are known to whoever wrote the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedStream {
    /// Whether the server sends.
    pub reverse: bool,
    /// Payload bytes that were sent.
    pub sent: Option<u64>,
    /// Datagrams that were sent.
    pub sent_datagrams: Option<u64>,
    /// Payload bytes that were received.
    pub received: Option<u64>,
    /// Datagrams that were received.
    pub datagrams: Option<u64>,
    /// Datagrams that never arrived.
    pub lost: Option<u64>,
    /// Datagrams that came late.
    pub reordered: Option<u64>,
    /// Datagrams that came again.
    pub duplicates: Option<u64>,
}

/// The streams of all documents of `--json`; a document that is still being written has none.
#[must_use]
pub fn counted_streams(text: &str) -> Vec<CountedStream> {
    let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let documents = documents.map_while(Result::ok);
    documents
        .flat_map(|document| of_document(&document))
        .collect()
}

fn of_document(document: &Value) -> Vec<CountedStream> {
    let streams = document["streams"].as_array().into_iter().flatten();
    streams
        .map(|stream| {
            let (sender, receiver) = (&stream["sender"], &stream["receiver"]);
            CountedStream {
                reverse: stream["direction"] == "reverse",
                sent: sender["bytes"].as_u64(),
                sent_datagrams: sender["packets"].as_u64(),
                received: receiver["bytes"].as_u64(),
                datagrams: receiver["packets"].as_u64(),
                lost: receiver["lost"].as_u64(),
                reordered: receiver["reordered"].as_u64(),
                duplicates: receiver["duplicates"].as_u64(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_read_with_what_was_counted() {
        let line = r#"{"test":{"streams":1},"streams":[{"id":1,"sender":{"bytes":null},"receiver":{"bytes":2475480,"packets":1684,"lost":17,"lost_percent":0.99,"duplicates":1,"reordered":2}},{"id":2,"direction":"reverse","sender":{"bytes":5,"packets":6},"receiver":{"bytes":null}}],"intervals":[{"stream":1}]}"#;
        let streams = counted_streams(&format!("{line}\n{line}\n"));
        assert_eq!(streams.len(), 4);
        assert_eq!(
            streams[0],
            CountedStream {
                reverse: false,
                sent: None,
                sent_datagrams: None,
                received: Some(2_475_480),
                datagrams: Some(1684),
                lost: Some(17),
                reordered: Some(2),
                duplicates: Some(1),
            }
        );
        assert!(streams[1].reverse && !streams[0].reverse);
        let second = (
            streams[1].sent,
            streams[1].sent_datagrams,
            streams[1].received,
        );
        assert_eq!(second, (Some(5), Some(6), None));
    }
}
