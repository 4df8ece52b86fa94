//! JSON messages behind their length.

use super::error::DecodeError;

/// Bytes of the length in front of a message.
pub const LENGTH_PREFIX: usize = 4;

/// Reads the length in front of a message of at most `max` bytes.
///
/// # Errors
/// [`DecodeError::Length`] for zero and for more than `max`.
pub fn announced_length(prefix: [u8; LENGTH_PREFIX], max: usize) -> Result<usize, DecodeError> {
    let length = u32::from_be_bytes(prefix);
    match usize::try_from(length) {
        Ok(bytes @ 1..) if bytes <= max => Ok(bytes),
        _ => Err(DecodeError::Length { length, max }),
    }
}

/// Appends a message with its length.
pub(crate) fn write(message: &impl serde::Serialize, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_PREFIX]);
    // Structures with string keys, written to memory, cannot fail.
    if serde_json::to_writer(&mut *out, message).is_err() {
        out.truncate(start + LENGTH_PREFIX);
    }
    let length = out.len() - start - LENGTH_PREFIX;
    let prefix = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    out[start..start + LENGTH_PREFIX].copy_from_slice(&prefix);
}

/// A name that moves no cursor: other letters than those of names are shown as `?`.
pub(crate) fn shown_name(said: &str) -> String {
    said.replace(|letter: char| !letter.is_ascii_graphic(), "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_bounded() {
        assert_eq!(announced_length([0, 0, 0, 1], 10), Ok(1));
        assert_eq!(announced_length([0, 0, 0, 10], 10), Ok(10));
        for prefix in [[0, 0, 0, 0], [0, 0, 0, 11], [0xff; 4]] {
            assert!(announced_length(prefix, 10).is_err(), "{prefix:?}");
        }
    }
}
