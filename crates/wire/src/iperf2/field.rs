//! Big-endian fields at fixed offsets of a buffer that may be too short.

/// The 32-bit word at `at`; zero when the buffer ends before the word does.
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    checked_word(bytes, at).unwrap_or(0)
}

/// The 32-bit word at `at`; `None` when the buffer ends before the word does.
pub(crate) fn checked_word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .copied()
        .map(u32::from_be_bytes)
}

/// The 16-bit half word at `at`; zero when the buffer ends before it does.
pub(crate) fn half(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk().copied())
        .map_or(0, u16::from_be_bytes)
}

/// Writes a 32-bit word, or as much of it as the buffer holds.
pub(crate) fn put_word(bytes: &mut [u8], at: usize, value: u32) {
    put(bytes, at, &value.to_be_bytes());
}

/// Writes a 16-bit half word, or as much of it as the buffer holds.
pub(crate) fn put_half(bytes: &mut [u8], at: usize, value: u16) {
    put(bytes, at, &value.to_be_bytes());
}

/// Writes bytes at an offset, or as many of them as the buffer holds.
pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(room) = bytes.get_mut(at..) {
        let count = room.len().min(value.len());
        room[..count].copy_from_slice(&value[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_and_cut_words_read_as_zero() {
        assert_eq!(word(&[1, 2, 3, 4, 5], 1), 0x0203_0405);
        assert_eq!(word(&[1, 2, 3, 4, 5], 2), 0);
        assert_eq!(word(&[], 7), 0);
        assert_eq!(half(&[1, 2, 3], 1), 0x0203);
        assert_eq!(half(&[1, 2, 3], 2), 0);
    }

    #[test]
    fn a_short_buffer_takes_the_front_of_a_word() {
        let mut bytes = [0; 6];
        put_word(&mut bytes, 4, 0xa1b2_c3d4);
        put_word(&mut bytes, 9, 1);
        assert_eq!(bytes, [0, 0, 0, 0, 0xa1, 0xb2]);
    }
}
