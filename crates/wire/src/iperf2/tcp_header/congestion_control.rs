//! The name of a TCP congestion control.

use std::fmt;

use crate::iperf2::error::DecodeError;
use crate::iperf2::limits::MAX_CONGESTION_CONTROL;

/// A congestion control name as a client may ask for it: 1 to 31 bytes out of
/// `a-z`, `0-9`, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CongestionControl(String);

impl CongestionControl {
    /// A checked name.
    ///
    /// # Errors
    /// [`DecodeError::CongestionControl`] when it is none.
    pub fn new(name: &[u8]) -> Result<Self, DecodeError> {
        let length_fits = (1..=MAX_CONGESTION_CONTROL).contains(&name.len());
        let allowed = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        match std::str::from_utf8(name) {
            Ok(text) if length_fits && name.iter().all(allowed) => Ok(Self(text.to_owned())),
            _ => Err(DecodeError::CongestionControl),
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_pass() {
        assert_eq!(
            CongestionControl::new(b"dctcp-2_x").unwrap().as_str(),
            "dctcp-2_x"
        );
        for bad in [
            &b""[..],
            b"Cubic",
            b"a b",
            b"../x",
            b"ren\0",
            &[b'a'; 32],
            &[0xff, b'a'],
        ] {
            assert_eq!(
                CongestionControl::new(bad),
                Err(DecodeError::CongestionControl)
            );
        }
    }
}
