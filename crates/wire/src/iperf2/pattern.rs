//! What fills the payload.

/// Fill of TCP buffers in trip-times tests.
pub const TRIP_TIMES_FILL: u8 = 0xa5;

const DIGITS: [u8; 10] = *b"0123456789";

/// Fills a payload buffer with the repeating ASCII digits `0123456789`, counted from
/// the start of the buffer. Receivers never check it.
pub fn fill_pattern(buffer: &mut [u8]) {
    for chunk in buffer.chunks_mut(DIGITS.len()) {
        chunk.copy_from_slice(&DIGITS[..chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_count_from_the_buffer_start() {
        let mut buffer = [0; 23];
        fill_pattern(&mut buffer);
        assert_eq!(&buffer, b"01234567890123456789012");
    }
}
