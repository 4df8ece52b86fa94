//! Who listens: one server for the clients of all protocols.
//!
//! ```text
//!  serve ─► listener ─► tcp (pending: first messages) ─► tcp_test ─► iperf2, native
//!                   │                             └────► iperf3 (its service)
//!                   └─► udp (flow_branch) ─► flow_intake (flow_table) ─► udp_test ─► iperf2
//! ```

pub(crate) mod flow_branch;
pub(crate) mod flow_intake;
pub(crate) mod flow_table;
pub(crate) mod listener;
pub(crate) mod pending;
pub(crate) mod serve;
pub(crate) mod shared;
pub(crate) mod tcp;
pub(crate) mod tcp_test;
pub(crate) mod udp;
pub(crate) mod udp_socket;
pub(crate) mod udp_test;

pub use serve::{Server, ServerError, ServerLimits, ServerStopper};
