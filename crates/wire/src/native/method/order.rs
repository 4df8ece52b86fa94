//! What a client orders, and what a server grants for it: JSON objects.

use std::collections::BTreeMap;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::native::sentence::tame;

/// Methods that a server announces, at most.
pub const MAX_METHODS: usize = 32;
/// Longest name of one, bytes.
const MAX_NAME: usize = 32;
/// Longest order, seconds.
pub const MAX_ORDER_SECONDS: u64 = 86_400;

/// The methods that a server knows, by name, with the version of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Methods(pub BTreeMap<String, u32>);

impl Methods {
    /// What may be shown of what a peer says.
    pub(crate) fn tamed(self) -> Self {
        let names = self.0.into_iter().filter(|(name, _)| is_name(name));
        Self(names.take(MAX_METHODS).collect())
    }

    /// The version of a method; `None` where it is not known.
    #[must_use]
    pub fn version(&self, name: &str) -> Option<u32> {
        self.0.get(name).copied()
    }
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(fits)
}

/// Which way the datagrams or bytes go that are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderDirection {
    /// From the client to the server.
    #[default]
    Up,
    /// From the server to the client.
    Down,
}

/// A part of a method that the server is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Order {
    /// Which method.
    pub method: String,
    /// Which way.
    pub direction: OrderDirection,
    /// For how long, at most.
    #[serde(with = "seconds")]
    pub seconds: Duration,
    /// The rest; what a method does not know is ignored.
    pub parameters: LoadParameters,
}

impl Order {
    /// The state of the TCP senders of a test, while it runs.
    #[must_use]
    pub fn samples(test: NonZeroU32, seconds: Duration) -> Self {
        Self {
            method: "samples".to_owned(),
            direction: OrderDirection::Down,
            seconds,
            parameters: LoadParameters {
                test: Some(test),
                ..LoadParameters::default()
            },
        }
    }

    /// The same; none of the senders lets more data wait unsent than it delivers in this time, to the
    /// millisecond.
    #[must_use]
    pub fn with_unsent(mut self, time: Duration) -> Self {
        self.parameters.unsent_ms = u32::try_from(time.as_millis()).ok();
        self
    }

    /// What may be shown of what a peer says.
    pub(crate) fn tamed(self) -> Self {
        Self {
            method: tame(&self.method),
            ..self
        }
    }
}

/// Parameters of the methods. What is absent is at the method's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadParameters {
    /// Most bits per second of IP packets that the server is to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits_per_second: Option<NonZeroU64>,
    /// Most payload that it is to send, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<NonZeroU64>,
    /// Payload of a datagram of a load, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u32>,
    /// `mtu`: the largest IP packet that is tried, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<u32>,
    /// `mtu`: a first impression will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick: Option<bool>,
    /// Type of service of what the server sends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tos: Option<u8>,
    /// `samples`: the number in the marks of the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<NonZeroU32>,
    /// `samples`: no sender of the test lets more data wait unsent than it delivers in this time, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsent_ms: Option<u32>,
    /// Time between two Statuses, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback_ms: Option<u32>,
    /// `capacity`: delay variation below which the rate rises, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_ms: Option<u32>,
    /// `capacity`: delay variation above which it falls, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper_ms: Option<u32>,
    /// `capacity`: errors in a Status above which it falls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<u32>,
    /// `capacity`: reports of congestion before the rate moves slowly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_after: Option<u32>,
    /// `capacity`: reordered and repeated datagrams are errors too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_reordering: Option<bool>,
    /// `capacity`: the mean one-way variation counts, not the round trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_way: Option<bool>,
    /// `capacity`: the search of type C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_c: Option<bool>,
}

/// What the server is ready for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ready {
    /// Where datagrams are expected; absent for methods without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp_port: Option<NonZeroU16>,
    /// What they must carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<NonZeroU64>,
    /// For how long, at most.
    #[serde(with = "seconds")]
    pub seconds: Duration,
    /// Most payload that the server sends, bytes; `None` without limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<NonZeroU64>,
    /// Most bits per second of IP packets that it sends; `None` without limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits_per_second: Option<NonZeroU64>,
    /// Largest IP packet of the server's interface towards the client, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface_mtu_bytes: Option<u32>,
    /// Segment size of the control connection at the server, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss_bytes: Option<u32>,
    /// Largest receive buffer that the server's system gives a TCP connection, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_receive_buffer_bytes: Option<u64>,
    /// The same of send buffers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_send_buffer_bytes: Option<u64>,
    /// `samples`: the time of unsent data that the senders keep to, milliseconds; absent where they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsent_ms: Option<u32>,
}

/// Durations as seconds, to the nanosecond.
mod seconds {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::MAX_ORDER_SECONDS;

    pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_secs_f64())
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(from)?;
        let time = Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)?;
        if time > Duration::from_secs(MAX_ORDER_SECONDS) {
            return Err(D::Error::custom("more seconds than a day has"));
        }
        Ok(time)
    }
}
