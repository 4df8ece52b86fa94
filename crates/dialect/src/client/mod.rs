//! Who connects: a client's run, from its plan to the end of its test.
//!
//! ```text
//!  iperf2 ─► target ─► tcp ─► connector, tcp_start ─► iperf2 (flows)
//!                  └─► udp ─────────────────────────► iperf2 (flows)
//!  method_session                                   a session with orders, without a test of its own
//!  flows ─► iperf2 (several at once), flow_events
//!  iperf3 ──────────────────────────────────────────► iperf3 (control connection, streams)
//! ```

pub(crate) mod connect_only;
pub(crate) mod connector;
pub(crate) mod dual_listener;
pub(crate) mod flow_events;
pub(crate) mod flows;
pub(crate) mod iperf2;
pub(crate) mod iperf3;
pub(crate) mod method_session;
pub(crate) mod target;
pub(crate) mod tcp;
pub(crate) mod tcp_start;
pub(crate) mod udp;
pub(crate) mod working_load;

pub use flow_events::FlowEvents;
pub use flows::run_flows;
pub use iperf2::run_client;
pub use iperf3::run_iperf3_client;
pub use method_session::{MethodSession, ProbeRow, SessionError, SessionEvent};
