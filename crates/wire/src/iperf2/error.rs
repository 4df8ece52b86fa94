//! Why received bytes are not the message they should be.

/// Why received bytes could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Fewer bytes than the message needs.
    #[error("the message is cut: {needed} bytes needed, {found} found")]
    Truncated {
        /// Bytes that the message needs.
        needed: usize,
        /// Bytes that were given.
        found: usize,
    },
    /// The first word opens no client header.
    #[error("no client header: the first word is {0:#010x}")]
    NoHeader(u32),
    /// The announced header length is below the 24 bytes of the base header, or too
    /// small for the fields that the flags announce.
    #[error("a header of {0} bytes is too short for its flags")]
    HeaderLength(usize),
    /// The message type or flag word is another one.
    #[error("not this message: type or flags {0:#010x}")]
    MessageType(u32),
    /// An acknowledgement that is neither 28 nor 52 bytes.
    #[error("an acknowledgement cannot have {0} bytes")]
    AckLength(u32),
    /// A permit key outside 4 to 128 bytes.
    #[error("a permit key cannot have {0} bytes, only 4 to 128")]
    PermitKeyLength(usize),
    /// A congestion control name that is empty, longer than 31 bytes, or holds
    /// something besides lower-case letters, digits, `_` and `-`.
    #[error("not the name of a congestion control")]
    CongestionControl,
    /// A burst below its own header's 92 bytes, or absurdly large.
    #[error("a burst of {0} bytes is out of range")]
    BurstSize(u32),
    /// A bounce-back request or reply size out of range.
    #[error("a bounce-back message of {0} bytes is out of range")]
    BouncebackSize(u32),
}

impl DecodeError {
    /// [`DecodeError::Truncated`] unless `bytes` holds `needed` bytes.
    pub(crate) fn unless_length(bytes: &[u8], needed: usize) -> Result<(), Self> {
        let found = bytes.len();
        if found < needed {
            Err(Self::Truncated { needed, found })
        } else {
            Ok(())
        }
    }
}
