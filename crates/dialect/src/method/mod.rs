//! Measurement methods that need a tapeline at the other end (`docs/dev/protocol.md`, section 5).
//!
//! ```text
//!  client                                    server
//!  Order ── control connection ────────────► MethodService ─► Terms (what is granted), Desk (who has which key)
//!  open  ── datagram with the key ─────────►      │ the first one gives the order its socket
//!                                                 ▼
//!        ◄── datagrams of the method ──────►  Job (a thread): one of the tasks, within a Leash
//! ```
//!
//! `terms`, `desk`, `leash` and what a load is counted by decide without clock and IO.

mod capacity;
pub(crate) mod desk;
pub(crate) mod flow;
pub(crate) mod job;
pub(crate) mod leash;
pub(crate) mod load;
pub(crate) mod load_receiver;
mod mtu;
mod path_mtu;
pub(crate) mod samples;
pub(crate) mod service;
mod tasks;
pub(crate) mod terms;

pub use flow::{MethodFlow, Received, Sent};
pub use load::{
    LoadReceived, LoadSent, LoadStep, ReceiveLoad, SendLoad, load_status, receive_load, send_load,
};
pub use load_receiver::LoadReceiver;
pub use mtu::FlowProbes;
pub use path_mtu::{
    IcmpOutcome, PathMtuFinding, PathMtuRequest, ProbeFormat, is_path_mtu_search, measure_path_mtu,
};
