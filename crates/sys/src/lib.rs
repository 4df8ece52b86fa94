//! Sockets, clocks and processes of the operating systems, behind one safe interface.
//!
//! The only crate that may use `unsafe`, and the only one that knows platforms: callers see
//! the same types everywhere and ask for *capabilities* ([`ReceiveFeatures`],
//! [`UdpSocket::supports_segmentation`], the `Option`s of [`TcpInfo`]), never for an
//! operating system.
//!
//! ```text
//!  SocketOptions ─► TcpConn / TcpListener / UdpSocket ─► Poller ◄─ Waker, Interrupts
//!                        │            │
//!                     TcpInfo    ReceiveBatch ─► Datagram ─► segments
//! ```
//!
//! Each Linux fast path (`recvmmsg`, segmentation offload, `epoll`, `MSG_TRUNC`, absolute
//! sleeps) has a portable twin; which one is compiled is decided in `platform.rs` alone.
//! Everything on the packet path works in memory that was allocated at construction.
//! Nothing here knows a test protocol.

mod account;
mod address;
mod clock;
mod daemon;
mod datagram;
mod device_tap;
mod error;
mod host;
mod inherited;
mod interrupts;
#[cfg(test)]
mod loopback;
mod multicast;
mod options;
mod platform;
mod poller;
mod process;
mod quiet_input;
mod realtime;
mod receive_batch;
mod resolve;
mod secret;
mod service_manager;
mod socket_call;
mod spliced_payload;
mod tcp_conn;
mod tcp_info;
mod tcp_listener;
mod tcp_probe;
mod udp_socket;
mod waker;
mod zeroed;

pub use account::Account;
pub use address::{interface_index, needs_zone, outgoing_device, unmapped};
#[cfg(debug_assertions)]
pub use clock::displace_wall_clock;
pub use clock::{SystemClock, set_timer_slack_minimal, sleep_until, yield_now};
pub use daemon::Daemon;
pub use datagram::{Datagram, Segments};
pub use device_tap::{DeviceFrame, DeviceTap, LinkHeader};
pub use error::{Operation, SocketError, reason};
pub use host::{HostCounters, HostFacts, system_information};
pub use inherited::InheritedSockets;
pub use interrupts::{Interrupts, Signal, ignore_sigpipe};
pub use multicast::MulticastGroup;
pub use options::{OptionFailure, SocketOption, SocketOptions, StreamProtocol};
pub use poller::{Event, Events, Handle, Interest, Pollable, Poller, Wait};
pub use process::{
    CpuTime, ThreadTime, cpu_time_of, exit_now, is_running, peak_memory, process_cpu_time,
    raise_descriptor_limit, release_free_memory, run_on_processor, share_one_heap, thread_cpu_time,
    thread_run_delay,
};
pub use quiet_input::QuietInput;
pub use realtime::Realtime;
pub use receive_batch::ReceiveBatch;
pub use resolve::{ResolveError, ResolveFailure, resolve};
pub use secret::ask_secret;
pub use service_manager::{tell_descriptor, tell_service_manager};
pub use spliced_payload::SplicedPayload;
pub use tcp_conn::{Connected, TcpConn};
pub use tcp_info::TcpInfo;
pub use tcp_listener::TcpListener;
pub use tcp_probe::TcpProbe;
pub use udp_socket::{Marks, Opened, ReceiveFeatures, Returned, UdpSocket};
pub use waker::Waker;
pub use zeroed::zeroed_counters;
