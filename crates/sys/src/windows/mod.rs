//! Windows.

pub(crate) mod clock;
pub(crate) mod daemon;
pub(crate) mod datagrams;
#[path = "../portable/device_tap.rs"]
pub(crate) mod device_tap;
#[path = "../portable/host.rs"]
pub(crate) mod host;
pub(crate) mod interfaces;
pub(crate) mod interrupts;
pub(crate) mod multicast;
pub(crate) mod options;
#[path = "../portable/poller.rs"]
pub(crate) mod poller;
pub(crate) mod process;
pub(crate) mod readiness;
pub(crate) mod realtime;
#[path = "../portable/receive_batch.rs"]
pub(crate) mod receive_batch;
pub(crate) mod receive_one;
pub(crate) mod resolver;
pub(crate) mod secret;
#[path = "../portable/segments.rs"]
pub(crate) mod segments;
pub(crate) mod stream;
pub(crate) mod tcp_info;
pub(crate) mod waker;
