//! Large tables of counters that cost memory only where they are used.

use std::alloc::{Layout, alloc_zeroed};
use std::ptr;
use std::sync::atomic::AtomicU64;

/// `length` counters, all 0, in memory that the system supplies page by page when it is
/// first written: a table of a million counters of which ten are used costs a few pages.
///
/// # Panics
/// When the table exceeds the address space, or the memory cannot be had.
#[must_use]
pub fn zeroed_counters(length: usize) -> Box<[AtomicU64]> {
    if length == 0 {
        return Box::default();
    }
    let layout = Layout::array::<AtomicU64>(length).expect("a table within the address space");
    // SAFETY: the layout is not empty, and all bytes 0 are a valid `AtomicU64`. The box takes
    // the only pointer, and frees it with the same layout.
    unsafe {
        let first = alloc_zeroed(layout).cast::<AtomicU64>();
        if first.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        Box::from_raw(ptr::slice_from_raw_parts_mut(first, length))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn a_table_is_all_zero_and_can_be_written() {
        for length in [0, 1, 100_000] {
            let table = zeroed_counters(length);
            assert_eq!(table.len(), length);
            assert!(table.iter().all(|slot| slot.load(Ordering::Relaxed) == 0));
            if let Some(last) = table.last() {
                last.store(7, Ordering::Relaxed);
                assert_eq!(last.load(Ordering::Relaxed), 7);
            }
        }
    }
}
