//! Recordings of real programs, and the seeds of the fuzz targets that are made of them.
//!
//! The files stand in `captures/` of this crate; [`vectors`] and [`Session`] read them.

pub mod seeds;
mod sessions;
pub mod vectors;

pub use sessions::{End, Message, Session};
