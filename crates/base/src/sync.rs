//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locking where a thread that panicked with the lock leaves nothing half done.
pub trait MutexExt<T: ?Sized> {
    /// The guard, also after a panic of another holder: a fault in one session must not end the others.
    fn lock_unpoisoned(&self) -> MutexGuard<'_, T>;
}

impl<T: ?Sized> MutexExt<T> for Mutex<T> {
    fn lock_unpoisoned(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_a_holder_leaves_the_lock_usable() {
        let held = Mutex::new(1);
        let panicked = std::thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let _guard = held.lock();
                panic!("a fault");
            });
            holder.join().is_err()
        });
        assert!(panicked && held.is_poisoned());
        *held.lock_unpoisoned() += 1;
        assert_eq!(*held.lock_unpoisoned(), 2);
    }
}
