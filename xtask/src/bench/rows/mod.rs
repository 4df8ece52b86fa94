//! The rows of the targets, one after the other, and one for each technique.

mod exchanges;
mod parts;
mod program;
mod table;
mod tcp;
mod techniques;
mod udp;

pub(crate) use table::all;
