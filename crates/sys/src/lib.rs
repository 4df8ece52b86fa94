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
//! sleeps) has a twin for other systems; which one is compiled is decided in `platform.rs` alone.
//! Everything on the packet path works in memory that was allocated at construction.
//! Nothing here knows a test protocol.

mod address;
mod clock;
mod device_tap;
mod error;
mod file_lock;
mod file_system;
mod host;
#[cfg(test)]
mod loopback;
mod options;
mod platform;
mod poller;
mod process;
mod resolve;
mod socket_call;
mod tcp;
mod udp;
mod wait_mode;
mod waker;
mod zeroed;

pub use address::{
    host_addresses, interface_index, interface_mtu, needs_zone, outgoing_device, unmapped,
};
#[cfg(debug_assertions)]
pub use clock::displace_wall_clock;
pub use clock::{SystemClock, set_timer_slack_minimal, sleep_until};
pub use device_tap::{DeviceFrame, DeviceTap, LinkHeader};
pub use error::{Operation, SocketError, reason};
pub use file_lock::FileLock;
pub use file_system::network_file_system;
pub use host::{HostCounters, HostFacts, system_information};
pub use options::{
    Opened, OptionFailure, PathMtuMode, SocketOption, SocketOptions, StreamProtocol,
};
pub use poller::{Event, Events, Handle, Interest, Pollable, Poller, Wait};
pub use process::{
    Account, CpuTime, Daemon, InheritedSockets, Interrupts, QuietInput, Realtime, Signal,
    ThreadTime, ask_secret, cpu_time_of, current_placement, exit_now, ignore_sigpipe, is_running,
    notify_descriptor, notify_service_manager, peak_memory, process_cpu_time,
    raise_descriptor_limit, release_free_memory, run_on_processor, share_one_heap, thread_cpu_time,
    thread_run_delay,
};
pub use resolve::{ResolveError, ResolveFailure, resolve};
pub use tcp::{Connected, SplicedPayload, TcpConn, TcpInfo, TcpListener, TcpProbe};
pub use udp::{
    Datagram, Marks, MulticastGroup, ReceiveBatch, ReceiveFeatures, Returned, Segments, UdpSocket,
};
pub use wait_mode::WaitMode;
pub use waker::Waker;
pub use zeroed::zeroed_counters;
