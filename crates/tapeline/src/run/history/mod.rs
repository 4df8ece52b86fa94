//! `tapeline history`, `compare` and `gate`: what is done with results that stay.

mod compare;
mod gate;
mod gate_file;
mod measure;
mod place;
mod say;
mod tasks;

pub(crate) use compare::compare;
pub(crate) use gate::gate;
pub(crate) use tasks::history;
