//! The key of the page, and how often a wrong one may be tried.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tapeline_base::MutexExt;

/// Wrong keys that are taken each second; further ones are not looked at.
const MAX_WRONG: u32 = 5;

/// What whoever opens the page must know: 128 bits as 32 hexadecimal digits, or what a file says.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Fewest characters of a key that somebody chose.
    pub const LEAST: usize = 16;

    /// A new one. The digits come from the hash keys that the system draws at random.
    #[must_use]
    pub fn random() -> Self {
        let half = |number: u64| RandomState::new().hash_one(number);
        Self(format!("{:016x}{:016x}", half(0), half(1)))
    }

    /// One that somebody chose: letters, digits, `-` and `_`, so that it stands in an address as it is.
    ///
    /// # Errors
    /// A sentence about what it lacks.
    pub fn chosen(text: &str) -> Result<Self, String> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        match text {
            _ if text.len() < Self::LEAST => {
                Err(format!("the key has fewer than {} characters", Self::LEAST))
            }
            _ if !text.chars().all(fits) => {
                Err("the key has other characters than letters, digits, - and _".to_owned())
            }
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// As it is typed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether a text is the key; the time that takes does not say how much of it is right.
    pub(crate) fn is(&self, text: &str) -> bool {
        let differing = self.0.bytes().zip(text.bytes()).map(|(a, b)| a ^ b);
        self.0.len() == text.len() && differing.fold(0, |all, one| all | one) == 0
    }
}

/// It is a secret.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Wrong keys of the running second.
#[derive(Debug, Default)]
pub(crate) struct Attempts(Mutex<Option<(Instant, u32)>>);

impl Attempts {
    /// Whether a key is looked at now.
    pub(crate) fn are_open(&self, now: Instant) -> bool {
        match *self.0.lock_unpoisoned() {
            Some((since, wrong)) => {
                now.duration_since(since) >= Duration::from_secs(1) || wrong < MAX_WRONG
            }
            None => true,
        }
    }

    /// Counts a wrong one.
    pub(crate) fn count(&self, now: Instant) {
        let mut state = self.0.lock_unpoisoned();
        match state.as_mut() {
            Some((since, wrong)) if now.duration_since(*since) < Duration::from_secs(1) => {
                *wrong += 1;
            }
            _ => *state = Some((now, 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_and_are_compared_whole() {
        let key = Key::random();
        assert_eq!(key.text().len(), 32);
        assert_ne!(key, Key::random());
        assert!(key.is(key.text()));
        assert!(!key.is(&key.text()[..31]) && !key.is("") && !key.is(&format!("{}0", key.text())));
        let mut wrong = key.text().to_owned();
        wrong.replace_range(31.., if wrong.ends_with('0') { "1" } else { "0" });
        assert!(!key.is(&wrong));
        assert_eq!(format!("{key:?}"), "Key(…)");
    }

    #[test]
    fn chosen_keys_are_long_and_plain() {
        assert!(Key::chosen("a-long_key_0123456").is_ok());
        assert!(Key::chosen("short").is_err());
        assert!(Key::chosen("a long key with spaces").is_err());
    }

    #[test]
    fn five_wrong_keys_close_the_second() {
        let (attempts, start) = (Attempts::default(), Instant::now());
        for _ in 0..MAX_WRONG {
            assert!(attempts.are_open(start));
            attempts.count(start);
        }
        assert!(!attempts.are_open(start + Duration::from_millis(999)));
        assert!(attempts.are_open(start + Duration::from_secs(1)));
        attempts.count(start + Duration::from_secs(1));
        assert!(attempts.are_open(start + Duration::from_secs(1)));
    }
}
