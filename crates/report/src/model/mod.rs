//! What can be said about a test.

mod banner;
mod connection;
mod event;
mod latency;
mod notice;
mod peer_results;
mod repetition;
mod row;
mod test_events;
mod timing;
mod trust;
mod verdict;
mod warning_id;

pub use banner::{
    BufferSize, ClientBanner, CongestionControl, FairQueue, PermitKeyLife, RequestPlan,
    SegmentSize, ServerBanner, TargetGap, TrafficShape,
};
pub use connection::{
    ClientTest, Connected, ConnectionFlavour, InitialTcp, SegmentFormat, TosNote,
};
pub use event::{Event, FlowEvent, MethodEvent};
pub use latency::{LoadedLatency, ProbeDelays, ProbeSeries};
pub use notice::{Notice, Severity, Silence, TrafficOperation, Warning};
pub use peer_results::{
    ClockEstimate, DelayClock, FlowEvidence, HostDrops, NoPeerResults, OneWayDelay, PeerFlow,
    PeerLimits, PeerProgram, PeerProgress, PeerResults, PeerWarning,
};
pub use repetition::{
    DirectedQuantity, ExcludedRun, ExclusionReason, FlowDirection, Quantity, Repetition, RunResult,
    RunValue, Series, Spread,
};
pub use row::{
    BurstKind, BurstsReceived, Endpoints, FramesReceived, FramesSent, InProgress, IntervalPattern,
    LinkErrors, LossPattern, Measure, OneWayTimes, Outage, Phase, RequestResponse, Row, Span,
    Subject, TcpReceive, TcpSend, TcpState, TcpTotals, UdpReceive, UdpSend,
};
pub use test_events::{
    ControlConnected, ControlPeer, CpuUse, PeerOutput, ProcessorUse, TestDirection, TestEnd,
    TestFailure, TestFile, TestLimit, TestRequest, TestStart, TestTransport,
};
pub use timing::{
    ClockCheck, ConnectTimes, GapErrors, HistogramKind, HistogramRow, MarkovReport, ScheduleErrors,
    SendTiming, StartDelay,
};
pub use trust::{CountedBy, PeerKind, Trust, TrustFacts, TrustLevel, TrustReason};
pub use verdict::LimitVerdict;
pub use warning_id::WARNING_IDS;
pub(crate) use warning_id::WarningId;
