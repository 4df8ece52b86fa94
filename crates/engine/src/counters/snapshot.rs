//! A cell that one worker publishes counters through and anybody reads, without locks.
//!
//! A sequence lock over plain atomics: the version is odd while the words change. The
//! writer never waits; a reader repeats until it saw one version on both sides.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// `N` words that are always read as one consistent set.
///
/// There must be one writer at a time; a second one would mix its words in.
#[derive(Debug)]
pub struct SnapshotCell<const N: usize> {
    version: AtomicU64,
    words: [AtomicU64; N],
}

impl<const N: usize> Default for SnapshotCell<N> {
    fn default() -> Self {
        Self::new(&[0; N])
    }
}

impl<const N: usize> SnapshotCell<N> {
    /// A cell that holds these words.
    #[must_use]
    pub fn new(words: &[u64; N]) -> Self {
        Self {
            version: AtomicU64::new(0),
            words: words.map(AtomicU64::new),
        }
    }

    /// Publishes a new set.
    #[inline]
    pub fn publish(&self, words: &[u64; N]) {
        let version = self.version.load(Ordering::Relaxed);
        self.version
            .store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        for (slot, word) in self.words.iter().zip(words) {
            slot.store(*word, Ordering::Relaxed);
        }
        self.version
            .store(version.wrapping_add(2), Ordering::Release);
    }

    /// The newest complete set.
    #[must_use]
    pub fn read(&self) -> [u64; N] {
        loop {
            let before = self.version.load(Ordering::Acquire);
            if before & 1 == 0 {
                let words = std::array::from_fn(|i| self.words[i].load(Ordering::Relaxed));
                fence(Ordering::Acquire);
                if self.version.load(Ordering::Relaxed) == before {
                    return words;
                }
            }
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn readers_never_see_a_torn_set() {
        let cell = Arc::new(SnapshotCell::<8>::default());
        let stop = Arc::new(AtomicBool::new(false));
        let writer = {
            let (cell, stop) = (Arc::clone(&cell), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut n = 0;
                while !stop.load(Ordering::Relaxed) {
                    n += 1;
                    cell.publish(&[n; 8]);
                }
                n
            })
        };
        let mut last = 0;
        for _ in 0..50_000 {
            let words = cell.read();
            assert!(words.iter().all(|w| *w == words[0]), "{words:?}");
            assert!(words[0] >= last);
            last = words[0];
        }
        stop.store(true, Ordering::Relaxed);
        let written = writer.join().expect("writer");
        assert_eq!(cell.read(), [written; 8]);
    }
}
