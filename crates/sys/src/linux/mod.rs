//! Linux and Android.

#[path = "../unix/clock.rs"]
pub(crate) mod clock;
pub(crate) mod control;
mod control_group;
pub(crate) mod datagrams;
pub(crate) mod device_tap;
#[path = "../unix/error_text.rs"]
pub(crate) mod error_text;
#[path = "../unix/file_lock.rs"]
pub(crate) mod file_lock;
pub(crate) mod file_system;
pub(crate) mod host;
#[path = "../unix/interrupts.rs"]
pub(crate) mod interrupts;
#[path = "../unix/multicast.rs"]
pub(crate) mod multicast;
pub(crate) mod options;
pub(crate) mod poller;
pub(crate) mod process;
#[path = "../unix/readiness.rs"]
pub(crate) mod readiness;
pub(crate) mod receive_batch;
#[path = "../unix/resolver.rs"]
pub(crate) mod resolver;
pub(crate) mod returned;
pub(crate) mod segments;
#[path = "../unix/service.rs"]
pub(crate) mod service;
pub(crate) mod sleep;
#[path = "../unix/sockopt.rs"]
pub(crate) mod sockopt;
pub(crate) mod spliced_payload;
#[path = "../unix/stream.rs"]
pub(crate) mod stream;
pub(crate) mod tcp;
pub(crate) mod tcp_info;
#[path = "../unix/terminal.rs"]
pub(crate) mod terminal;
#[path = "../unix/usage.rs"]
mod usage;
mod variant;
pub(crate) mod waker;

// Tests hold what other systems use against what Linux does.
#[cfg(test)]
#[path = "../fallback/poller.rs"]
mod fallback_poller;
#[cfg(test)]
#[path = "../fallback/receive_batch.rs"]
mod fallback_receive_batch;
#[cfg(test)]
#[path = "../fallback/sleep.rs"]
mod fallback_sleep;
#[cfg(test)]
#[allow(dead_code, reason = "the rest differs by its values alone")]
#[path = "../fallback/tcp.rs"]
mod fallback_tcp;
#[cfg(test)]
#[path = "../bsd/waker.rs"]
mod fallback_waker;
#[cfg(test)]
#[path = "../unix/receive_one.rs"]
mod receive_one;
