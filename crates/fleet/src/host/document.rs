//! The document of a test on its way to the collector.

use serde_json::Value;

/// Longest document of a result, bytes: with its key it passes the stream's bound.
const LONGEST: usize = 880_000;
/// Fewer intervals than this are no course in time.
const FEW: usize = 16;

/// The document as text, and as short as a message must be: intervals are thinned, then left out. Its own
/// count of intervals that are missing says so.
pub(crate) fn fitted(mut document: Value) -> String {
    loop {
        let text = document.to_string();
        let Some(intervals) = document["intervals"].as_array_mut() else {
            return text;
        };
        if text.len() <= LONGEST || intervals.is_empty() {
            return text;
        }
        let before = intervals.len();
        if before < FEW {
            intervals.clear();
        } else {
            let mut place = 0;
            intervals.retain(|_| {
                place += 1;
                place % 2 == 1
            });
        }
        let gone = (before - intervals.len()) as u64;
        let dropped = &mut document["test"]["intervals_dropped"];
        *dropped = (dropped.as_u64().unwrap_or_default() + gone).into();
    }
}

/// Bytes that a test sent and received, as whoever counted more says.
pub(crate) fn bytes(document: &Value) -> u64 {
    let streams = document["streams"].as_array();
    let counted = |stream: &Value| {
        let of = |end: &str| stream[end]["bytes"].as_u64().unwrap_or_default();
        of("sender").max(of("receiver"))
    };
    streams.map_or(0, |streams| streams.iter().map(counted).sum())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_documents_lose_intervals_and_say_so() {
        let interval = json!({"bytes": 1, "filling": "x".repeat(500)});
        let document = |count: usize| json!({"test": {"intervals_dropped": 3}, "intervals": vec![interval.clone(); count]});
        let short = document(100);
        assert_eq!(fitted(short.clone()), short.to_string());
        let text = fitted(document(10_000));
        assert!(text.len() <= LONGEST);
        let fitted: Value = serde_json::from_str(&text).expect("JSON");
        let left = fitted["intervals"].as_array().expect("a list").len();
        assert!(left >= 1000, "{left}");
        assert_eq!(fitted["test"]["intervals_dropped"], 10_000 - left + 3);
    }

    #[test]
    fn bytes_are_those_of_all_streams() {
        let document = json!({"streams": [
            {"sender": {"bytes": 5}, "receiver": {"bytes": 4}},
            {"sender": null, "receiver": {"bytes": 7}},
        ]});
        assert_eq!(bytes(&document), 12);
        assert_eq!(bytes(&json!({})), 0);
    }
}
