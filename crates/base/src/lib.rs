//! Units, clocks, identifiers and number formats that every tapeline crate shares.
//!
//! Nothing here does IO. Time is a value that is passed in: [`MonoTime`] for
//! durations, deadlines and pacing, [`WallTime`] only for stamps that cross hosts
//! or are shown to people. A [`Clock`] reads both; tests use [`ManualClock`].

mod clock;
mod exit;
mod flow;
mod number;
mod tos;
mod transport;
mod units;

pub use clock::{Clock, ManualClock, MonoTime, WallTime, whole_nanos};
pub use exit::ExitCode;
pub use flow::{FlowId, FlowTag};
pub use number::{
    Amount, FormatLetter, NumberError, Pace, format_quantity, parse_amount, parse_bit_or_byte_rate,
    parse_pace, parse_seconds,
};
pub use tos::{Tos, TosError};
pub use transport::{Direction, Family, Role, Transport};
pub use units::{BitRate, Bytes, PacketRate};
