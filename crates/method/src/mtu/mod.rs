//! `tapeline mtu`: the largest packet that a path carries in each direction.
//!
//! | The other end | Up | Down |
//! |---|---|---|
//! | tapeline | probes that it answers ([`native`]) | probes that this end answers |
//! | iperf 2 | short flows, by its reports ([`flows`]) | not known |
//! | iperf3 | short flows, by its results | not known: it does not forbid fragmentation |

mod basis;
mod direction;
mod flows;
mod native;
mod plan;
mod tcp_view;

pub(crate) use basis::planned;
pub(crate) use direction::measure_direction;
pub use plan::MtuPlan;
