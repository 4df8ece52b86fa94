//! iperf3, versions 3.1 to 3.22.
//!
//! A test has one control connection and data connections next to it, all opened by the client:
//!
//! ```text
//!  client ── Cookie ─────────────► server     the same cookie begins each TCP data connection
//!         ◄───────────── State ──             one byte each way, whenever it is due
//!         ── Parameters ─────────►            JSON behind a length of four bytes
//!         ══ data: bytes, or datagrams with a DatagramHeader
//!         ── Results ────────────►            JSON, both ways, the client's first
//!         ◄─────────── Results ──
//!         ◄─────── ServerError ──             instead of any state
//! ```
//!
//! Bytes and names of all messages as observed from versions 3.9 to 3.22.

mod cookie;
mod datagram;
mod error;
pub mod limits;
mod message;
mod parameters;
mod results;
mod state;

pub use cookie::Cookie;
pub use datagram::{
    CONNECT, CONNECT_REPLY, CounterWidth, DatagramHeader, LEGACY_CONNECT, LEGACY_REPLY, is_connect,
    is_connect_reply,
};
pub use error::{DecodeError, ErrorCode};
pub use message::{LENGTH_PREFIX, announced_length};
pub use parameters::{Direction, Offload, Parameters, Protocol};
pub use results::{Results, RetransmitKnowledge, ServerOutput, StreamResults, stream_id};
pub use state::{ServerError, State};
