//! iperf 2, from 1.7 to 2.2.1, in both roles.
//!
//! ```text
//!  ClientPlan ─► order ─► tcp_client / udp_client ─► flows ─► engine
//!                                ▲ closing (FIN and report)
//!  ServerPlan ─► tcp_server (opening) / udp_server (udp_flow) ─► flows ─► engine
//!                                │ connect_back (-d, -r)
//! ```
//!
//! `order`, `opening`, `closing`, `incoming`, `ended` and `udp_flow` hold the protocol's decisions and do no
//! IO; the others bind them to sockets and threads.

mod admission;
mod banner;
mod beside;
mod client;
mod closing;
mod connect_back;
mod connect_only;
mod doorway;
mod ended;
mod exchange;
mod flow_table;
mod flows;
mod groups;
mod incoming;
mod l4s;
#[cfg(any(test, fuzzing))]
pub(crate) mod l4s_checks;
mod listening;
mod opening;
mod order;
mod other_family;
mod recognition;
mod reserve;
mod server;
#[cfg(test)]
mod simulation;
mod stamps;
mod start;
#[cfg(any(test, fuzzing))]
pub(crate) mod tcp_checks;
mod tcp_client;
mod tcp_connector;
mod tcp_greeting;
mod tcp_parts;
mod tcp_server;
mod tcp_session;
mod traffic;
mod turned_away;
mod udp_admission;
#[cfg(any(test, fuzzing))]
pub(crate) mod udp_checks;
mod udp_client;
mod udp_ending;
mod udp_flow;
mod udp_frames;
mod udp_newcomers;
mod udp_receive;
mod udp_refusals;
mod udp_sending;
mod udp_server;
mod udp_session;
mod udp_start;
mod udp_traffic;
mod udp_watch;
mod working_load;

pub use client::run_client;
pub(crate) use client::{add_zone, look_up};
pub(crate) use flows::tell_ending;
pub use server::{Server, ServerError, ServerLimits, ServerStopper};
pub(crate) use start::Now;
