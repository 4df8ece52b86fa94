//! Clients and servers of this crate against each other, and against peers of raw
//! sockets, on loopback.

mod access;
mod addresses;
mod connect_only;
mod evidence;
mod exchange;
mod grants;
mod harness;
mod hostile;
mod iperf3;
mod iperf3_refusals;
mod iperf3_servers;
mod methods;
mod old_peers;
mod scheduling;
mod serving;
mod silence;
mod stopping;
mod tcp;
mod tcp_shapes;
mod udp;
#[cfg(target_os = "linux")]
mod udp_branches;
mod udp_endings;
mod udp_shapes;
mod working_load;
mod wrong_protocol;
