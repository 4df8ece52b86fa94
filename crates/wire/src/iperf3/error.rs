//! Why received bytes are no message.

use thiserror::Error;

/// A message that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// No cookie.
    #[error("no iperf3 cookie")]
    Cookie,
    /// A state byte that nobody sends.
    #[error("unknown iperf3 state {}", .0.cast_signed())]
    State(u8),
    /// A length of zero, or more than the bound for this message.
    #[error("iperf3 message of {length} bytes (1 to {most} are allowed)")]
    Length {
        /// Announced length, bytes.
        length: u32,
        /// Largest length allowed, bytes.
        most: usize,
    },
    /// No JSON object.
    #[error("iperf3 message is no JSON object: {0}")]
    Json(String),
    /// A key that must be there is missing or of a wrong type.
    #[error("iperf3 results without a usable '{0}'")]
    Missing(&'static str),
    /// A number outside its range; the code says which, as the server tells it.
    #[error("{0}")]
    Refused(super::ErrorCode),
}
