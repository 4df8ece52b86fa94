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

mod burst_intake;
mod cell;
mod counters;
mod delay_recorder;
mod drain;
mod frame_receive;
mod frames;
mod histogram;
mod l4s_send;
mod length_chain;
mod low_water;
mod pacer;
mod payload_source;
mod pool;
mod prague;
mod requester;
mod responder;
mod schedule;
mod spacing;
mod stop;
mod stream_content;
mod tcp_receive;
mod tcp_send;
mod technique;
mod timing;
mod udp_receive;
mod udp_send;
mod udp_traffic;
mod variable_rate;
mod work;
mod write_times;
mod yield_spin;

pub use burst_intake::{
    BurstFormat, BurstHead, BurstIntake, BurstPlan, BurstRecord, LatencyFrom, Preamble,
};
pub use cell::SnapshotCell;
pub use counters::{
    ArrivalPattern, BurstCell, BurstCounters, BurstPublisher, Closed, DatagramCell,
    DatagramCounters, DatagramPublisher, DelayCell, DelayCounters, DelayPublisher, DelaySeries,
    ExchangeCell, ExchangeCounters, ExchangePublisher, Extremes, FlowCell, FrameArrivals,
    Intervals, LinkFaults, OneWayDelays, Publisher, ReceiveCell, ReceiveCounters, ReceivePublisher,
    SendCell, SendCounters, SendPublisher, Words,
};
pub use delay_recorder::{DelayRecorder, RecordedDelays};
pub use frame_receive::ArrivedFrame;
pub use frames::{Frame, FrameClock, FrameCounts, FrameSizes};
pub use histogram::{HistogramCell, HistogramReader, HistogramRecorder};
pub use l4s_send::{L4sProtocol, L4sSendEnd, L4sSendPlan, run_l4s_sender};
pub use length_chain::LengthChain;
pub use pacer::{Pacer, Precision};
pub use payload_source::{Filled, PayloadSource};
pub use pool::{OnEnd, Pool, THREADED_FLOWS};
pub use prague::{L4sFeedback, L4sMark, Prague};
pub use requester::{
    ExchangeHistograms, RequestBurst, RequestPlan, RequestStamp, Requester, ServerTimes,
};
pub use responder::{Answer, Respond, Responder, ResponsePlan};
pub use schedule::Schedule;
pub use spacing::Spacing;
pub use stop::{Stop, WeakStop};
pub use stream_content::{Blocks, BurstStamp, BurstStart, Spliced, StreamContent};
pub use tcp_receive::{ByteIntake, Intake, NextRead, TcpReceivePlan, TcpReceiver};
pub use tcp_send::{AnswerSink, SendEnd, TcpSendPlan, TcpSender};
pub use technique::{Technique, Techniques};
pub use timing::{KernelPacing, Rest, Timing};
pub use udp_receive::{
    ArrivedDatagram, DatagramReceiver, Followers, FrameRecord, ReceiverHistograms,
};
pub use udp_send::{Content, DatagramStamp, Destination, UdpSendEnd, UdpSendPlan, run_udp_sender};
pub use udp_traffic::{FramePart, FrameTraffic, LengthPace, LengthTraffic, UdpTraffic};
pub use variable_rate::VariableRate;
pub use work::{
    Call, Cause, Ending, RECEIVE_LIMIT, SEND_LIMIT, Stage, Step, TcpWork, ThreadUse, run_blocking,
};
pub use write_times::WriteTimes;
