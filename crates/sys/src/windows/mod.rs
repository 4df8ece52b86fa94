//! Windows.

#[path = "../fallback/absent.rs"]
mod absent;
pub(crate) mod clock;
pub(crate) mod datagrams;
pub(crate) mod error_text;
pub(crate) mod file_lock;
pub(crate) mod file_system;
pub(crate) mod interrupts;
#[path = "../fallback/largest_buffer.rs"]
mod largest_buffer;
pub(crate) mod multicast;
pub(crate) mod options;
#[path = "../fallback/poller.rs"]
pub(crate) mod poller;
pub(crate) mod process;
pub(crate) mod readiness;
#[path = "../fallback/receive_batch.rs"]
pub(crate) mod receive_batch;
mod receive_one;
pub(crate) mod resolver;
pub(crate) mod service;
#[path = "../fallback/sleep.rs"]
pub(crate) mod sleep;
pub(crate) mod stream;
#[path = "../fallback/tcp.rs"]
pub(crate) mod tcp;
pub(crate) mod tcp_info;
pub(crate) mod terminal;
pub(crate) mod waker;

pub(crate) use absent::{device_tap, host, returned, segments, spliced_payload};
