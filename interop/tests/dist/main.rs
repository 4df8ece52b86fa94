//! What `cargo xtask dist` makes: static programs with nothing around them, on another processor, on
//! Windows, in an image.

mod archives;
mod every_peer;
mod image;
mod static_program;
mod windows;
