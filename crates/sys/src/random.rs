//! Numbers that nobody can guess.

use std::io;

use crate::platform::random as system;

/// Fills `bytes` from the system's random source.
///
/// # Errors
/// Where there is none, e.g. in a root directory without `/dev/urandom`.
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    system::fill(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_fillings_are_equal() {
        let (mut one, mut other) = ([0; 32], [0; 32]);
        fill_random(&mut one).unwrap();
        fill_random(&mut other).unwrap();
        assert_ne!(one, other);
        assert_ne!(one, [0; 32]);
    }
}
