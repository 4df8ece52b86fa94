//! Manual pages, shell completions and the form of a page, made from the option table.
//!
//! Pure: a text follows from the table and the name of the program alone. They are printed
//! on demand (`tapeline --generate man`), so that no copy of them can be out of date.

mod bash;
mod candidates;
pub(crate) mod document;
mod entry;
mod fish;
mod form;
mod man;
mod man_iperf3;
mod roff;
#[cfg(all(test, unix))]
mod tests;
mod zsh;

#[cfg(feature = "web")]
pub(crate) use form::document as form;
