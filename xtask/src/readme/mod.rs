//! The README's commands do what it says, and its sample is a genuine one.

mod commands;
mod sample;

pub(crate) use commands::{check, measure};
