//! Faults of every kind at random times, and what must hold whatever happens.

mod checker;
mod faults;
mod rounds;
mod tiny_disk;
mod watcher;

pub(crate) use watcher::test_processes;
