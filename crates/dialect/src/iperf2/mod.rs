//! iperf 2, from 1.7 to 2.2.1: messages, decisions and flows of a test, for both roles.
//!
//! ```text
//!  ClientPlan ─► test_header ─┐                          ┌─ first_message, udp_reader ◄─ what a peer sent
//!                             ├─► tcp_flow, udp_sender ──┤
//!  header     ─► SendRequest ─┘          │               └─ udp_receiver, udp_fin (FIN and report)
//!                                        ▼ engine
//! ```
//!
//! `test_header`, `first_message`, `start_time`, `stamps`, `udp_reader`, `udp_receiver`, `udp_fin`, `tcp_traffic`, `udp_traffic`
//! and `l4s` hold the protocol's decisions and do no IO; the others bind them to sockets and threads.

pub(crate) mod banner;
pub(crate) mod bounceback;
pub(crate) mod connect_back;
pub(crate) mod first_message;
pub(crate) mod l4s;
pub(crate) mod probe_run;
pub(crate) mod stamps;
pub(crate) mod start_time;
pub(crate) mod tcp_flow;
pub(crate) mod tcp_traffic;
pub(crate) mod test_groups;
pub(crate) mod test_header;
pub(crate) mod udp_fin;
pub(crate) mod udp_reader;
pub(crate) mod udp_receiver;
pub(crate) mod udp_sender;
pub(crate) mod udp_traffic;
pub(crate) mod wrong_protocol;
