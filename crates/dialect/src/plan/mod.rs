//! What is to be done: the command line, resolved and cross-checked.
//!
//! A plan is immutable and complete; everything below the binary reads plans, never
//! options.

pub(crate) mod client;
pub(crate) mod iperf3;
pub(crate) mod latency;
pub(crate) mod limits;
pub(crate) mod methods;
pub(crate) mod server;
pub(crate) mod shape;
pub(crate) mod socket;

pub use client::{
    Arrangement, CONNECT_TIMEOUT, ClientPlan, ClientWorkload, FlowGrowth, Limit, Personality,
    RetryPlan,
};
pub use iperf3::{
    Iperf3Authentication, Iperf3Client, Iperf3Credentials, Iperf3Server, Iperf3Timeouts, Keepalive,
    MaxTests, RsaPadding, ShortBuffers,
};
pub use latency::{HistogramPlan, LatencyPlan, LoadDirection, RequestResponsePlan, WorkingLoad};
pub use limits::{Limits, Network, Networks};
pub use methods::{AllowedMethods, METHODS};
pub use server::{AccountName, ServedProtocols, ServedTransports, ServerKey, ServerPlan};
pub use shape::{FrameMean, IsochronousPlan, MarkovChain, Payload, Shape, StartTime};
pub use socket::{AddressSteps, AffinityPlan, BindPlan, FairQueuePlan, SocketPlan};
