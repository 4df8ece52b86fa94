//! RFC 6349: how well TCP fills a path, and why not.
//!
//! ```text
//! mtu ─► baseline ─► bottleneck ─► light load ─► windows ─► full window ─► connections ─► both at once
//!  │        │            │             │            └──────────┬──────────────┴───────────────┘
//! packet  round trip    rate     loss without load         Transfer: one run of TCP, counted behind its ramp
//! ```

mod bottleneck;
mod buffers;
mod connects;
mod course;
mod light_load;
mod path;
mod plan;
mod procedure;
mod samples;
mod transfer;

pub use plan::{GivenBottleneck, Rfc6349Plan, WindowShare};
