//! Why bytes of a control connection are no message.

/// A control connection that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The connection does not begin as a control connection.
    #[error("not a control connection")]
    Preamble,
    /// A kind below 64 that no version knows.
    #[error("unknown control message {0}")]
    Kind(u8),
    /// A body of a length that its kind cannot have.
    #[error("a control message {kind} cannot have {length} bytes")]
    Length {
        /// Kind of the message.
        kind: u8,
        /// Announced length of its body, bytes.
        length: usize,
    },
    /// A body that does not hold what its kind must hold.
    #[error("a control message {kind} cannot be read: {why}")]
    Body {
        /// Kind of the message.
        kind: u8,
        /// What is wrong, in words.
        why: String,
    },
}
