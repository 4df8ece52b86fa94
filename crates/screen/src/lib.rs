//! A live view of running tests.
//!
//! ```text
//! Event ─► Board ─► draw ─► Buffer ─► Canvas ─► escape sequences ─► the terminal
//!       (what is shown)  (pure)    (differences to the last frame)
//! ```
//!
//! Nothing here reads a clock or owns a terminal: a board is a function of the events, a picture
//! one of the board and of its size. The program decides when a frame is due and writes it.

mod board;
mod canvas;
mod history;
mod picture;
mod streams;

pub use board::Board;
pub use canvas::{Canvas, ENTER, LEAVE};
pub use picture::{Look, draw};
