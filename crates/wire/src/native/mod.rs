//! What two tapelines say to each other in addition to iperf 2's protocol (`docs/dev/protocol.md`).
//!
//! ```text
//!  client ── header with a Mark ─► server     on a flow of the test
//!         ◄── answer with a Mark ──            or a Refusal
//!         ── PREAMBLE, Hello ────►            on the control connection
//!         ◄────────── Welcome ──
//!         ── ClockRequest ───────►            and so on, each a Message
//! ```

mod mark;
mod message;
mod method;
mod probe;
mod refusal;
mod results;
mod sentence;

pub use mark::{Mark, VERSIONS};
pub use message::{
    About, ClockReply, DecodeError, FRAME_HEADER, Granted, Hello, MAX_BODY, MAX_FROM_CLIENT,
    Message, PREAMBLE, Program, Progress,
};
pub use method::{
    Done, LoadDone, LoadEcho, LoadParameters, MAX_METHODS, MAX_ORDER_SECONDS, MAX_ROWS,
    MethodDatagram, MethodKind, Methods, Order, OrderDirection, OrderEnd, PathMtuDone, Ready,
    RowChange, Sample, Status, is_method_datagram,
};
pub use probe::{ProbeReply, ProbeRequest};
pub use refusal::{Refusal, RefusalReason};
pub use results::{
    FlowResult, HostResult, LimitsResult, MAX_DELAYS, MAX_ROUND_TRIPS, PlacementResult, Results,
    SliceResult, TcpResult, TransitResult, WarningResult, Way,
};
