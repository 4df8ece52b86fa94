//! Protocol personalities: how a test is agreed, run and ended with a peer.
//!
//! ```text
//!  client/ ──► server/          who connects; who listens, for all protocols
//!    │           │
//!  iperf3/    iperf2/           messages, state machines and flows of a test, both ends
//!    └────┬──────┘
//!      method/                  orders of measurement methods, their datagrams
//!        │
//!      native/                  two tapelines: recognition, control connection, clocks, probes
//!    policy/   run/             what clients may do; context, addresses, ends of flows
//!  sampler/  plan/              counters to rows; what is to be done
//! ```
//!
//! Imports go down only, and the two protocols do not know each other. A protocol's decisions are pure
//! state machines, bound to sockets and workers by thin drivers. Nothing here prints: whatever a reader
//! should know is an event.

mod client;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod iperf2;
mod iperf3;
mod method;
mod native;
mod plan;
mod policy;
mod run;
mod sampler;
mod server;
#[cfg(test)]
mod tests;

pub use client::{
    FlowEvents, MethodSession, ProbeRow, SessionError, SessionEvent, run_client, run_flows,
    run_iperf3_client,
};
pub use method::{
    FlowProbes, IcmpOutcome, LoadReceived, LoadReceiver, LoadSent, LoadStep, MethodFlow,
    PathMtuFinding, PathMtuRequest, ProbeFormat, ReceiveLoad, Received, SendLoad, Sent,
    is_path_mtu_search, load_status, measure_path_mtu, receive_load, send_load,
};
pub use plan::{
    AccountName, AddressSteps, AffinityPlan, AllowedMethods, Arrangement, BindPlan,
    CONNECT_TIMEOUT, ClientPlan, ClientWorkload, FairQueuePlan, FlowGrowth, FrameMean,
    HistogramPlan, Iperf3Authentication, Iperf3Client, Iperf3Credentials, Iperf3Server,
    Iperf3Timeouts, IsochronousPlan, Keepalive, LatencyPlan, Limit, Limits, LoadDirection, METHODS,
    MarkovChain, MaxTests, Network, Networks, Payload, Personality, RequestResponsePlan, RetryPlan,
    RsaPadding, ServedProtocols, ServedTransports, ServerKey, ServerPlan, Shape, ShortBuffers,
    SocketPlan, StartTime, WorkingLoad,
};
pub use run::address::look_up;
pub use run::context::Interruption;
pub use sampler::{Reporter, ReporterHandle, ReporterSettings, SingleSums};
pub use server::{Server, ServerError, ServerLimits, ServerStopper};
pub use tapeline_engine::{HeldWindow, Precision, Technique, Techniques, WaitMode};
pub use tapeline_wire::iperf2::PermitKey;
pub use tapeline_wire::native::{
    Done, LoadDone, LoadEcho, LoadParameters, MethodDatagram, MethodKind, Methods, Order,
    OrderDirection, OrderEnd, PathMtuDone, Ready, Sample, Status,
};
