//! The report model and its renderers.
//!
//! A test is told as a stream of immutable [`Event`]s, in the order in which they
//! happened. Everything that people or programs read is a pure function of that
//! stream: no renderer owns a socket, a thread or a clock, and no number exists
//! only in a text.
//!
//! ```text
//! sampler ─► Event ─► Renderer ─► text │ CSV
//!                       (one per output)
//! ```

mod model;

pub use model::*;
