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
pub(crate) use place::{Found, documents};
#[cfg(feature = "web")]
pub(crate) use place::{FoundSide, Place, courses};
pub(crate) use say::Fault;
#[cfg(any(feature = "mesh", feature = "web"))]
pub(crate) use say::note;
#[cfg(feature = "mesh")]
pub(crate) use say::{deliver, json, print, write};
pub(crate) use tasks::history;
#[cfg(feature = "web")]
pub(crate) use tasks::{export, import_content};
