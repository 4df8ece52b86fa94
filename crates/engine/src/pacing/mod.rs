//! When something is to be sent, and waiting for that.

mod frames;
mod pacer;
mod packet_gaps;
mod schedule;
mod steered_rate;
mod timing;
mod variable_rate;
mod yield_spin;

pub use frames::{Frame, FrameClock, FrameCounts, FrameSizes};
pub use pacer::{Pacer, Precision};
pub use packet_gaps::PacketGaps;
pub use schedule::Schedule;
pub use steered_rate::{RateOrder, SteeredRate};
pub use timing::{KernelPacing, Rest, Timing};
pub use variable_rate::VariableRate;
pub(crate) use yield_spin::YieldSpin;
