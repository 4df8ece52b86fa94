//! macOS, FreeBSD and their kin.

#[path = "../fallback/absent.rs"]
mod absent;
#[path = "../unix/clock.rs"]
pub(crate) mod clock;
pub(crate) mod datagrams;
#[path = "../unix/error_text.rs"]
pub(crate) mod error_text;
#[path = "../unix/file_lock.rs"]
pub(crate) mod file_lock;
pub(crate) mod file_system;
#[path = "../unix/interrupts.rs"]
pub(crate) mod interrupts;
#[path = "../fallback/largest_buffer.rs"]
mod largest_buffer;
#[path = "../unix/multicast.rs"]
pub(crate) mod multicast;
pub(crate) mod options;
#[path = "../fallback/poller.rs"]
pub(crate) mod poller;
pub(crate) mod process;
#[path = "../unix/readiness.rs"]
pub(crate) mod readiness;
#[path = "../fallback/receive_batch.rs"]
pub(crate) mod receive_batch;
#[path = "../unix/receive_one.rs"]
mod receive_one;
#[path = "../unix/resolver.rs"]
pub(crate) mod resolver;
#[path = "../unix/service.rs"]
pub(crate) mod service;
#[path = "../fallback/sleep.rs"]
pub(crate) mod sleep;
#[path = "../unix/sockopt.rs"]
pub(crate) mod sockopt;
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

pub(crate) use absent::{device_tap, host, returned, segments, spliced_payload};
