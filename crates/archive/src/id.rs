//! Names of runs and series.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A run of a history: `r42`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub i64);

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "r{}", self.0)
    }
}

/// A series of a history: `s14`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesId(pub i64);

impl fmt::Display for SeriesId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "s{}", self.0)
    }
}

/// What makes a run the same run in every file (RFC 9562).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// Version 7: of a moment, milliseconds since 1970, and chance.
    #[must_use]
    pub fn at(millis: i64) -> Self {
        let chance = || RandomState::new().hash_one(millis).to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&millis.max(0).to_be_bytes()[2..]);
        bytes[6..8].copy_from_slice(&chance()[..2]);
        bytes[8..].copy_from_slice(&chance());
        Self(bytes).marked(7)
    }

    /// Version 8: of the content of a file and the position of a run in it.
    #[must_use]
    pub fn of_content(content: &[u8], position: u64) -> Self {
        let hash = Sha256::new()
            .chain_update(content)
            .chain_update(position.to_be_bytes())
            .finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        Self(bytes).marked(8)
    }

    /// Its 16 bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    fn marked(mut self, version: u8) -> Self {
        self.0[6] = self.0[6] & 0x0f | version << 4;
        self.0[8] = self.0[8] & 0x3f | 0x80;
        self
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, byte) in self.0.iter().enumerate() {
            if matches!(number, 4 | 6 | 8 | 10) {
                formatter.write_str("-")?;
            }
            write!(formatter, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl From<Uuid> for String {
    fn from(uuid: Uuid) -> Self {
        uuid.to_string()
    }
}

impl TryFrom<String> for Uuid {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
        let mut bytes = [0; 16];
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(format!("{text}: no UUID"));
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let pair = String::from_utf8_lossy(pair);
            *byte = u8::from_str_radix(&pair, 16).map_err(|_| format!("{text}: no UUID"))?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_their_marks_and_survive_text() {
        let moment = Uuid::at(1_795_000_000_123);
        let text = moment.to_string();
        assert_eq!(text.len(), 36);
        assert_eq!(&text[..13], "01a1ee56-5e7b");
        assert_eq!(&text[14..15], "7");
        assert!(
            matches!(text.as_bytes()[19], b'8' | b'9' | b'a' | b'b'),
            "{text}"
        );
        assert_eq!(Uuid::try_from(text), Ok(moment));
        assert_ne!(Uuid::at(5), Uuid::at(5));
        assert!(Uuid::try_from("zz".to_owned()).is_err());
    }

    #[test]
    fn the_same_content_is_the_same_run() {
        let of = |content: &str, position| Uuid::of_content(content.as_bytes(), position);
        assert_eq!(of("a", 0), of("a", 0));
        assert_ne!(of("a", 0), of("a", 1));
        assert_ne!(of("a", 0), of("b", 0));
        assert_eq!(&of("a", 0).to_string()[14..15], "8");
    }
}
