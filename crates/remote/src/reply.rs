//! What is answered.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A reply to the order of that number; to none if what came was no order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The order's.
    pub id: Option<u64>,
    /// What is said.
    #[serde(flatten)]
    pub body: Body,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Body {
    /// Who is there.
    Hello {
        /// The rest.
        hello: Hello,
    },
    /// A server listens.
    Listening {
        /// Where.
        listening: Listening,
    },
    /// Something happened in a test: a line of `--json-stream`.
    Event {
        /// The line.
        event: Value,
    },
    /// A test is over, and its process gone.
    End {
        /// The document: of a report, or of a series.
        end: Value,
        /// The exit code; none of a process that was killed.
        code: Option<i32>,
    },
    /// The order to stop was carried out; the test's end follows.
    Stopped {
        /// Always.
        stopped: bool,
    },
    /// What time it is, seconds since 1970: when the order came, and when this left.
    Clock {
        /// When the order came.
        t2: f64,
        /// When this left.
        t3: f64,
    },
    /// An order was not carried out, or not to its end.
    Error {
        /// Why.
        error: ReplyError,
    },
}

/// Who is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the program.
    pub version: String,
    /// Version of orders and replies.
    pub v: u32,
    /// Operating system and architecture.
    pub system: String,
    /// Addresses of this host, loopback left out.
    pub addresses: Vec<String>,
    /// Processors.
    pub cpus: usize,
    /// Seconds since 1970.
    pub time: f64,
}

/// Where a server listens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// TCP port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<u16>,
    /// UDP port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp: Option<u16>,
}

/// Why an order was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyError {
    /// `busy`, `usage`, `unknown-order`, `version`, `not-running` or `test-failed`.
    pub id: String,
    /// In words.
    pub text: String,
}

impl Reply {
    /// A reply that says why not.
    #[must_use]
    pub fn error(order: Option<u64>, id: &str, text: impl Into<String>) -> Self {
        let error = ReplyError {
            id: id.to_owned(),
            text: text.into(),
        };
        Self {
            id: order,
            body: Body::Error { error },
        }
    }
}

/// The time as replies have it: seconds since 1970; 0 where the clock is before that.
#[must_use]
pub fn unix_time() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replies_are_lines_of_json() {
        for line in [
            json!({"id": 2, "listening": {"tcp": 41877, "udp": 41877}}),
            json!({"id": 3, "event": {"event": "interval", "data": {}}}),
            json!({"id": 3, "end": {"schema": "tapeline-report/1"}, "code": 0}),
            json!({"id": 4, "stopped": true}),
            json!({"id": 5, "t2": 1.5, "t3": 2.5}),
            json!({"id": null, "error": {"id": "unknown-order", "text": "no JSON"}}),
            json!({"id": 1, "hello": {"version": "0.1.0", "v": 1, "system": "Linux x86_64",
                "addresses": ["192.0.2.7"], "cpus": 8, "time": 1.5}}),
        ] {
            let reply: Reply = serde_json::from_value(line.clone()).expect("a reply");
            assert_eq!(serde_json::to_value(reply).expect("JSON"), line);
        }
    }
}
