//! Protocol personalities: how a test is agreed, run and ended with a peer.
//!
//! ```text
//!  plan ─► run_client / Server ─► iperf2 (sessions) ─► engine (workers)
//!               │                                         │ cells
//!               └────────────► Reporter ◄─────────────────┘
//!                                 │ Event, in order
//!                                 ▼ sink (the binary's renderer)
//! ```
//!
//! A dialect holds the protocol's decisions as pure state machines and binds them to
//! sockets and workers with thin drivers. Nothing here prints: whatever a reader should
//! know is an event.

mod context;
#[cfg(any(test, fuzzing))]
pub mod contracts;
mod departures;
mod iperf2;
mod iperf3;
mod native;
mod plan;
mod policy;
mod reporter;
mod telling;

pub use context::Interruption;
pub use iperf2::{Server, ServerError, ServerLimits, ServerStopper, run_client};
pub use iperf3::{
    Iperf3Authentication, Iperf3Client, Iperf3Credentials, Iperf3Patience, Iperf3Server, Keepalive,
    MostTests, RsaPadding, run_iperf3_client,
};
pub use plan::{
    AccountName, AddressSteps, Arrangement, BindPlan, ClientPlan, ClientWorkload, ExchangePlan,
    FairQueuePlan, FrameMean, HistogramPlan, IsochronousPlan, LatencyPlan, Limit, Limits,
    LoadDirection, MarkovChain, Network, Networks, Payload, Personality, RetryPlan,
    ServedProtocols, ServedTransports, ServerKey, ServerPlan, Shape, SocketPlan, StartTime,
    WorkingLoad,
};
pub use reporter::{Reporter, ReporterHandle, ReporterSettings};
pub use tapeline_engine::{Precision, Technique, Techniques};
pub use tapeline_wire::iperf2::PermitKey;
