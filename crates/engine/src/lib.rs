//! Traffic: workers, pacing, workloads, published counters.
//!
//! ```text
//!  plan ─► TcpSender / TcpReceiver / Requester / Responder ─┐ TcpWork: one call a step
//!                                                          ▼
//!                       Pool: a thread each, or polled workers above 64 flows
//!                                                          │ owned counters
//!  plan ─► run_udp_sender ── Schedule, Pacer ──────────────┤
//!  datagrams ─► DatagramReceiver ──────────────────────────┤
//!                                                          ▼
//!                                   FlowCell (sequence lock) ─► sampler, elsewhere
//! ```
//!
//! A worker owns its counters and publishes them; whoever reads never makes it wait.
//! The packet loops allocate, lock and format nothing. Nothing here knows a wire
//! format: the protocol supplies stamps as type parameters.

mod counters;
mod delay_recorder;
mod histogram;
mod pacing;
mod payload_source;
mod pool;
mod request_response;
mod stop;
mod tcp;
mod technique;
mod udp;
mod work;

pub use counters::{
    ArrivalPattern, BurstCell, BurstCounters, BurstPublisher, Closed, Counters, DatagramCell,
    DatagramCounters, DatagramPublisher, DelayCell, DelayCounters, DelayPublisher, DelaySeries,
    FlowCell, FrameArrivals, Intervals, LinkFaults, OneWayDelays, Publisher, ReceiveCell,
    ReceiveCounters, ReceivePublisher, RequestResponseCell, RequestResponseCounters,
    RequestResponsePublisher, SendCell, SendCounters, SendPublisher, SnapshotCell,
};
pub use delay_recorder::{DelayRecorder, RecordedDelays};
pub use histogram::{HistogramCell, HistogramReader, HistogramRecorder};
pub use pacing::{
    Frame, FrameClock, FrameCounts, FrameSizes, KernelPacing, Pacer, PacketGaps, Precision,
    RateOrder, Rest, Schedule, SteeredRate, Timing, VariableRate,
};
pub use payload_source::{Filled, PayloadSource};
pub use pool::{OnEnd, Pool, THREADED_FLOWS};
pub use request_response::{
    Answer, RequestBurst, RequestPlan, RequestResponseHistograms, RequestStamp, Requester, Respond,
    Responder, ResponsePlan, ServerTimes,
};
pub use stop::{Place, Stop, WeakStop};
pub use tapeline_sys::WaitMode;
pub use tcp::{
    AnswerSink, Blocks, BurstFormat, BurstHead, BurstIntake, BurstPlan, BurstRecord, BurstStamp,
    BurstStart, ByteIntake, HeldWindow, Intake, LatencyFrom, NextRead, Preamble, SendEnd, Spliced,
    StreamContent, TcpReceivePlan, TcpReceiver, TcpSendPlan, TcpSender, WriteTimes,
};
pub use technique::{Technique, Techniques};
pub use udp::{
    ArrivedDatagram, ArrivedFrame, Content, DatagramReceiver, DatagramStamp, Destination,
    Followers, FramePart, FrameRecord, FrameTraffic, L4sFeedback, L4sMark, L4sProtocol, L4sSendEnd,
    L4sSendPlan, LengthChain, LengthPace, LengthTraffic, Prague, ReceiverHistograms, RefusingPort,
    UdpSendEnd, UdpSendPlan, UdpTraffic, run_l4s_sender, run_udp_sender,
};
pub use work::{
    Call, Cause, Ending, FailedOperation, RECEIVE_LIMIT, SEND_LIMIT, Step, TcpWork, ThreadUse,
    run_blocking, run_waiting,
};
