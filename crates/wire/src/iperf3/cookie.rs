//! The cookie: what ties a test's connections together.

use super::error::DecodeError;

/// Names a test; the first bytes on its control connection and on each TCP data connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cookie([u8; Cookie::LENGTH]);

/// Characters of a cookie: base32 in lower case (RFC 4648).
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

impl Cookie {
    /// Bytes on the wire: 36 characters and a NUL.
    pub const LENGTH: usize = 37;
    const CHARACTERS: usize = Self::LENGTH - 1;

    /// From random bytes, which must be unpredictable: who knows a cookie can join the test.
    #[must_use]
    pub fn from_random(random: [u8; 36]) -> Self {
        let mut bytes = [0; Self::LENGTH];
        for (byte, random) in bytes.iter_mut().zip(random) {
            *byte = ALPHABET[usize::from(random % 32)];
        }
        Self(bytes)
    }

    /// Reads a cookie.
    ///
    /// Servers of iperf3 look at the length alone; this is as lenient as clients seen so far
    /// allow: printable characters, then a NUL.
    ///
    /// # Errors
    /// [`DecodeError::Cookie`] when it is something else, such as another protocol's greeting.
    pub fn parse(bytes: &[u8; Self::LENGTH]) -> Result<Self, DecodeError> {
        let (text, end) = bytes.split_at(Self::CHARACTERS);
        if end == [0] && Self::could_begin(text) {
            Ok(Self(*bytes))
        } else {
            Err(DecodeError::Cookie)
        }
    }

    /// Whether `bytes`, the first ones of a connection, can be those of a cookie. iperf 2's
    /// first words hold bytes that no cookie has.
    #[must_use]
    pub fn could_begin(bytes: &[u8]) -> bool {
        let mut text = bytes.iter().take(Self::CHARACTERS);
        text.all(u8::is_ascii_alphanumeric)
            && bytes.get(Self::CHARACTERS).is_none_or(|byte| *byte == 0)
    }

    /// The bytes to send.
    #[must_use]
    pub fn bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }

    /// The characters, as JSON documents show them.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.0[..Self::CHARACTERS]).unwrap_or_default()
    }
}

/// A secret while the test lasts: only its beginning is shown.
impl std::fmt::Debug for Cookie {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cookie({}...)", self.text().get(..4).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_become_characters_of_the_alphabet() {
        let mut random = [0; 36];
        for (i, byte) in random.iter_mut().enumerate() {
            *byte = i as u8 * 7;
        }
        let cookie = Cookie::from_random(random);
        assert_eq!(cookie.bytes()[36], 0);
        assert!(cookie.text().bytes().all(|byte| ALPHABET.contains(&byte)));
        assert_eq!(Cookie::parse(cookie.bytes()), Ok(cookie));
    }

    #[test]
    fn the_first_words_of_iperf_2_are_no_cookie() {
        assert!(!Cookie::could_begin(&[0x40, 0x01, 0x00, 0x80]));
        assert!(!Cookie::could_begin(&[0, 0x80, 0, 0]));
        assert!(Cookie::could_begin(b"xvre"));
        assert!(Cookie::parse(&[b'a'; 37]).is_err());
    }

    #[test]
    fn debug_output_keeps_the_secret() {
        let shown = format!("{:?}", Cookie::from_random([1; 36]));
        assert_eq!(shown, "Cookie(bbbb...)");
    }
}
