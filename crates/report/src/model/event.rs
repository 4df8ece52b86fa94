//! One thing that happened.

use std::time::Duration;

use tapeline_base::{FlowTag, WallTime};

use super::{
    ClientBanner, ClockCheck, ClockEstimate, ConnectTimes, Connected, ControlConnected,
    HistogramRow, LimitVerdict, LoadedLatency, MarkovReport, NoPeerResults, Notice, OneWayDelay,
    PeerProgram, PeerProgress, PeerResults, ProbeDelays, ProcessorUse, Repetition, Row,
    ScheduleErrors, SendTiming, ServerBanner, StartDelay, TestEnd, TestStart,
};

/// What a method does, between and beside the tests that it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum MethodEvent {
    /// A phase begins.
    Phase {
        /// Its name, with its direction and number: `3 of 9: window sweep up`.
        title: String,
        /// How long it takes.
        planned: Duration,
        /// When.
        at: WallTime,
    },
    /// A number of the running phase.
    Sample {
        /// What it is, with its unit: `Rate, Mbit/s`.
        curve: &'static str,
        /// It is of data from the server.
        from_server: bool,
        /// The number.
        value: f64,
        /// When.
        at: WallTime,
    },
    /// Something was measured: a line of the table so far.
    Line(String),
}

/// One thing that happened to one of different flows in one test (`--flow`).
#[derive(Clone, Debug, PartialEq)]
pub struct FlowEvent {
    /// Its number, from 1.
    pub flow: u32,
    /// What happened; `None` when its run is over.
    pub event: Option<Box<Event>>,
}

/// One thing that happened, in the order in which it happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A server (or the listener of a dual test) listens.
    Listening(ServerBanner),
    /// A client (or a server that connects back) is about to connect.
    Connecting(ClientBanner),
    /// A flow is connected.
    Connected(Connected),
    /// Numbers of an interval or of the whole test.
    Row(Row),
    /// A UDP sender's own count at its end.
    Sent {
        /// The flow, or `None` for the sum of `flows`.
        tag: Option<FlowTag>,
        /// Flows in the sum (1 for a flow).
        flows: usize,
        /// Datagrams sent, the final one included.
        datagrams: u64,
    },
    /// What the peer says it received: a row of kind
    /// [`Measure::UdpReceive`](super::Measure::UdpReceive) that follows the words "Server Report". `enhanced` as announced by the peer.
    ServerReport {
        /// The peer's numbers.
        row: Row,
        /// The peer sent the latency extension.
        enhanced: bool,
    },
    /// A histogram, behind the row of the same span.
    Histogram(HistogramRow),
    /// Traffic starts later, or was to start earlier.
    StartDelay(StartDelay),
    /// What an exchange of times says of the two clocks.
    ClockCheck(ClockCheck),
    /// The end of a connect-only test.
    ConnectTimes(ConnectTimes),
    /// Lateness of isochronous frames, at a sender's end.
    ScheduleErrors(ScheduleErrors),
    /// How datagrams left, at a UDP sender's end.
    SendTiming(SendTiming),
    /// What limited one direction of a test, behind the totals of its flows.
    LimitVerdict(Box<LimitVerdict>),
    /// Transitions of a bra-ket sender, at its end.
    Markov(MarkovReport),
    /// A connection was dropped because its permit key is wrong or missing.
    Dropped(Connected),
    /// A control connection is made (iperf3).
    ControlConnected(ControlConnected),
    /// Data connections are there, clocks start (iperf3).
    TestStart(Box<TestStart>),
    /// A test has ended, in order or not (iperf3).
    TestEnd(Box<TestEnd>),
    /// Processor use of this process: in front of the rows of an interval, and when no flow runs any more.
    Processor(ProcessorUse),
    /// Round trips of probes since the interval before, where there were any: behind the processor use.
    Probes(ProbeDelays),
    /// The peer has shown that it is tapeline, and takes part in the control connection.
    PeerFound {
        /// What it is.
        program: PeerProgram,
        /// Flows of the test that are known so far; none at a client, which has one test.
        flows: Vec<FlowTag>,
    },
    /// Running counters of the peer.
    PeerProgress(PeerProgress),
    /// The peer's results; all totals of this end were reported before.
    PeerResults(Box<PeerResults>),
    /// There are no results of the peer, and why; reported once for a test.
    NoPeerResults(NoPeerResults),
    /// How the two ends' clocks differ.
    Clocks(ClockEstimate),
    /// One-way delay of a flow's datagrams; not reported where the clocks could not be compared.
    OneWayDelay(OneWayDelay),
    /// What a method does: for views.
    Method(MethodEvent),
    /// Between the runs of a series (`--repeat`), and at its end.
    Repetition(Repetition),
    /// Round trips next to a test's traffic, and on the quiet path.
    LoadedLatency(Box<LoadedLatency>),
    /// A condition, in words; the renderer chooses stream and sentence.
    Notice(Notice),
    /// A server's test is over: nothing more is reported of these flows.
    TestOver(Vec<FlowTag>),
    /// Something happened to one of different flows in one test.
    OfFlow(FlowEvent),
    /// No flow is active any more (a server between tests): column headers start anew.
    Idle,
}
