//! What must hold for any bytes in the place of orders. The fuzz target and the replay of its corpus share it.

mod order_world;
mod orders;

pub use order_world::is_allowed;
pub use orders::orders;
