//! Byte codecs of the iperf protocols: pure, bounded, without IO.
//!
//! A codec turns received bytes into a typed message, or says why it cannot, and
//! turns a typed message into the bytes that the reference program would send.
//! It reads no clock, opens nothing, and never panics, whatever the bytes are:
//! absent fields read as zero where the protocol says so, every received length
//! and count is bounded by a constant in the protocol's `limits`.
//!
//! - [`iperf2`]: iperf 1.7, 2.0.x, 2.1.x and 2.2.x over TCP and UDP.
//! - [`iperf3`]: iperf3 3.1 to 3.22, control connection and data.
//! - [`native`]: what two tapelines say to each other in addition to them.
//! - [`UdpPacket`]: what carries a datagram, for receivers below the sockets.

#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod iperf2;
pub mod iperf3;
pub mod native;
#[cfg(test)]
mod tests;
mod udp_packet;

pub use udp_packet::{PacketFault, UdpPacket};
