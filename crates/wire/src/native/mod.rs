//! What two tapelines say to each other beside iperf 2's protocol (`docs/protocol.md`).
//!
//! ```text
//!  client ── header with a Mark ─► server     on a flow of the test
//!         ◄── answer with a Mark ──            or a Refusal
//!         ── PREAMBLE, Hello ────►            on the control connection
//!         ◄────────── Welcome ──
//!         ── ClockRequest ───────►            and so on, each a Message
//! ```

mod error;
mod granted;
mod mark;
mod message;
mod probe;
mod refusal;
mod results;

pub use error::DecodeError;
pub use granted::Granted;
pub use mark::{Mark, VERSIONS};
pub use message::{
    ClockReply, FRAME_HEADER, Hello, MAX_BODY, MOST_FROM_CLIENT, Message, PREAMBLE, Program,
    Progress,
};
pub use probe::{ProbeReply, ProbeRequest};
pub use refusal::{Refusal, RefusalReason};
pub use results::{
    FlowResult, HostResult, LimitsResult, MOST_DELAYS, Results, SliceResult, TcpResult,
    TransitResult, WarningResult, Way,
};
