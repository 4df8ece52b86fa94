//! What is ordered.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Version of orders and replies.
pub const PROTOCOL_VERSION: u32 = 1;
/// Longest line of an order or a reply, bytes.
pub const MAX_LINE: usize = 4 << 20;
/// How long a server that is ordered listens, unless the order says otherwise, seconds.
const SERVING: f64 = 300.0;

/// An order and its number, which the replies to it bear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderLine {
    /// Chosen by whoever orders.
    pub id: u64,
    /// What is to be done.
    #[serde(flatten)]
    pub order: Order,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Order {
    /// Say who is there.
    Hello {
        /// The version that is spoken.
        v: u32,
    },
    /// Serve.
    Serve {
        /// Options of the server.
        #[serde(default)]
        options: Vec<GivenOption>,
        /// How many tests.
        #[serde(default)]
        tests: ServedTests,
        /// Networks that may use it; nobody else may. Of a server of any tests its options say that.
        #[serde(default)]
        allow: Vec<String>,
        /// How long it waits for one test, and takes, seconds.
        #[serde(default = "serving")]
        seconds: f64,
        /// Beside which others.
        #[serde(default)]
        class: Class,
    },
    /// Run a client's test.
    Run {
        /// Its options; `client` among them.
        options: Vec<GivenOption>,
        /// Its events are wanted while it runs, not its end alone.
        #[serde(default)]
        live: bool,
        /// Beside which others.
        #[serde(default)]
        class: Class,
    },
    /// End what an earlier order started, in order: its totals come.
    Stop {
        /// The number of that order.
        which: u64,
    },
    /// Say what time it is.
    Clock {
        /// The time at the other end, seconds since 1970.
        t1: f64,
    },
}

fn serving() -> f64 {
    SERVING
}

/// Which tests a server that is ordered serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServedTests {
    /// One, on a free port; then it ends.
    #[default]
    One,
    /// Any, on the ports that its options say, until it is stopped.
    Any,
}

/// Which tests may run at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// One at a time.
    #[default]
    Exclusive,
    /// Beside others, up to four.
    Background,
}

impl FromStr for Class {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "exclusive" => Ok(Self::Exclusive),
            "background" => Ok(Self::Background),
            _ => Err("exclusive or background"),
        }
    }
}

/// An option by its identifier: `["time", "10"]`, or `["udp"]` without a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct GivenOption {
    /// Its long name, or its letter where it has none.
    pub name: String,
    /// Its value, if it has one.
    pub value: Option<String>,
}

impl GivenOption {
    /// An option with its value.
    #[must_use]
    pub fn new(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: Some(value.to_owned()),
        }
    }
}

impl TryFrom<Vec<String>> for GivenOption {
    type Error = &'static str;

    fn try_from(words: Vec<String>) -> Result<Self, Self::Error> {
        let mut words = words.into_iter();
        match (words.next(), words.next(), words.next()) {
            (Some(name), value, None) => Ok(Self { name, value }),
            _ => Err("an option is a name, or a name and a value"),
        }
    }
}

impl From<GivenOption> for Vec<String> {
    fn from(option: GivenOption) -> Self {
        std::iter::once(option.name).chain(option.value).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn read(line: serde_json::Value) -> Order {
        let read: OrderLine = serde_json::from_value(line.clone()).expect("an order");
        let again = serde_json::to_value(&read).expect("JSON");
        let again: OrderLine = serde_json::from_value(again).expect("an order");
        assert_eq!(again, read, "{line}");
        read.order
    }

    #[test]
    fn orders_are_lines_of_json() {
        assert_eq!(
            read(json!({"id": 1, "do": "hello", "v": 1})),
            Order::Hello { v: 1 }
        );
        assert_eq!(
            read(json!({"id": 3, "do": "run", "options": [["client", "h:5"], ["udp"]]})),
            Order::Run {
                options: vec![
                    GivenOption::new("client", "h:5"),
                    GivenOption {
                        name: "udp".to_owned(),
                        value: None
                    }
                ],
                live: false,
                class: Class::Exclusive,
            }
        );
        assert_eq!(
            read(json!({"id": 2, "do": "serve", "allow": ["192.0.2.9"], "class": "background"})),
            Order::Serve {
                options: Vec::new(),
                tests: ServedTests::One,
                allow: vec!["192.0.2.9".to_owned()],
                seconds: SERVING,
                class: Class::Background,
            }
        );
        assert_eq!(
            read(json!({"id": 2, "do": "serve", "tests": "any", "options": [["port", "5002"]]})),
            Order::Serve {
                options: vec![GivenOption::new("port", "5002")],
                tests: ServedTests::Any,
                allow: Vec::new(),
                seconds: SERVING,
                class: Class::Exclusive,
            }
        );
        assert_eq!(
            read(json!({"id": 4, "do": "stop", "which": 3})),
            Order::Stop { which: 3 }
        );
        assert_eq!(
            read(json!({"id": 5, "do": "clock", "t1": 1.5})),
            Order::Clock { t1: 1.5 }
        );
    }

    #[test]
    fn what_is_no_order_is_refused() {
        for line in [
            json!({"id": 1}),
            json!({"id": 1, "do": "shell"}),
            json!({"id": -1, "do": "hello", "v": 1}),
            json!({"id": 1, "do": "run", "options": [[]]}),
            json!({"id": 1, "do": "run", "options": [["a", "b", "c"]]}),
            json!({"id": 1, "do": "serve", "tests": "two"}),
        ] {
            assert!(
                serde_json::from_value::<OrderLine>(line.clone()).is_err(),
                "{line}"
            );
        }
    }
}
