//! A network of known delay, loss, duplication and reordering, for tests on Linux.
//!
//! ```text
//! namespace of the client                                    namespace of the server
//!        TunDevice ──► thread: Path, heap of due times, record ──► TunDevice
//!                  ◄── thread: Path, heap of due times, record ◄──
//! ```
//!
//! A [`Relay`] carries the packets of one interface to another and back, one thread each way. A
//! [`Path`] says what happens on the way; a [`Passage`] is what did happen to one packet: when it
//! came in and when it went out, once, twice or never. The record is the truth that tests compare
//! a measurement with.
//!
//! Needs root (namespaces, `/dev/net/tun`). Not shipped: this is a tool of the tests, and the one
//! crate next to `tapeline-sys` that may use `unsafe` (in `device.rs` and `priority.rs` alone).

mod device;
mod fate;
mod link;
mod packet;
mod path;
mod priority;
mod thread;
mod transfer;

pub use device::TunDevice;
pub use link::{Link, Policer};
pub use packet::{Head, Passage};
pub use path::{Jitter, Path, Selection};
pub use transfer::{Record, Relay};
