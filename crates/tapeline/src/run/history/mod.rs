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
#[cfg(feature = "web")]
pub(crate) use place::{Found, FoundSide, Place, courses, documents};
#[cfg(feature = "web")]
pub(crate) use say::{Fault, note};
pub(crate) use tasks::history;
#[cfg(feature = "web")]
pub(crate) use tasks::{export, import_content};
