//! What must hold for any bytes of a peer. The fuzz target and the replay of its corpus share it.

mod replies;

pub use replies::replies;
