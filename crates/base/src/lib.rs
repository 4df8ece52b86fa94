//! Units, clocks, identifiers and number formats that every tapeline crate shares.
//!
//! Nothing here does IO. Time is a value that is passed in: [`MonoTime`] for
//! durations, deadlines and pacing, [`WallTime`] only for stamps that cross hosts
//! or are shown to people. A [`Clock`] reads both.

mod clock;
mod endpoint;
mod exit;
mod flow;
mod number;
mod placement;
mod random;
mod sync;
mod tos;
mod units;

pub use clock::{Clock, MonoTime, WallTime, whole_nanos};
pub use endpoint::{Endpoint, with_port};
pub use exit::ExitCode;
pub use flow::{Direction, Family, FlowId, FlowTag, Role, Transport};
pub use number::{
    Amount, FormatLetter, NumberError, Pace, counted, format_quantity, parse_amount,
    parse_bit_or_byte_rate, parse_decimal, parse_pace, parse_rate, parse_seconds,
};
pub use placement::Placement;
pub use random::{SplitMix64, fnv1a};
pub use sync::MutexExt;
pub use tos::{Tos, TosError};
pub use units::{BitRate, Bytes, PacketRate};
