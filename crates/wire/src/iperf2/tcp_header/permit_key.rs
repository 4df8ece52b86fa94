//! The permit key, iperf's clear-text admission ticket.

use std::fmt;

use crate::iperf2::error::DecodeError;
use crate::iperf2::limits::{MAX_PERMIT_KEY, MIN_PERMIT_KEY};

/// A permit key of 4 to 128 bytes (TCP, 2.1 and later). It crosses the network in
/// clear text; its debug form hides it all the same.
#[derive(Clone, Eq)]
pub struct PermitKey(Vec<u8>);

impl PermitKey {
    /// A key from its bytes.
    ///
    /// # Errors
    /// [`DecodeError::PermitKeyLength`] outside 4 to 128 bytes.
    pub fn new(key: &[u8]) -> Result<Self, DecodeError> {
        if (MIN_PERMIT_KEY..=MAX_PERMIT_KEY).contains(&key.len()) {
            Ok(Self(key.to_vec()))
        } else {
            Err(DecodeError::PermitKeyLength(key.len()))
        }
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Keys compare in a time that depends on their lengths alone.
impl PartialEq for PermitKey {
    fn eq(&self, other: &Self) -> bool {
        let difference = self
            .0
            .iter()
            .zip(&other.0)
            .fold(0, |bits, (a, b)| bits | (a ^ b));
        self.0.len() == other.0.len() && std::hint::black_box(difference) == 0
    }
}

impl fmt::Debug for PermitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PermitKey({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_bounded() {
        assert_eq!(PermitKey::new(b"abc"), Err(DecodeError::PermitKeyLength(3)));
        assert!(PermitKey::new(&[0; 128]).is_ok());
        assert_eq!(
            PermitKey::new(&[0; 129]),
            Err(DecodeError::PermitKeyLength(129))
        );
    }

    #[test]
    fn equal_only_when_every_byte_is() {
        let key = PermitKey::new(b"abcd").unwrap();
        assert_eq!(key, PermitKey::new(b"abcd").unwrap());
        assert_ne!(key, PermitKey::new(b"abce").unwrap());
        assert_ne!(key, PermitKey::new(b"abcde").unwrap());
    }

    #[test]
    fn debug_hides_the_key() {
        let key = PermitKey::new(b"hunter22").unwrap();
        assert_eq!(format!("{key:?}"), "PermitKey(8 bytes)");
    }
}
