//! What must hold for any bytes of a file. The fuzz target and the replay of its corpus share it.

mod imported;

pub use imported::import;
