//! `try HOST`: the page for everybody.

mod advice;
mod forms;
mod page;
mod result;
#[cfg(test)]
mod tests;

pub use result::{TryDatagrams, TryDirection, TryIdle, TryMtu, TryResult, TryUses};
