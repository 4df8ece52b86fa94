//! Kinds of lines.

use tapeline_report::iperf2::Header;

/// What a row or a remark speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// `[  1]`: a flow, data along the connection.
    Flow,
    /// `[ *1]`: a flow, data against the connection.
    Reversed,
    /// `[FD1]`: both directions of a flow.
    Duplex,
    /// `[SUM]`.
    Sum,
    /// `[SUM-2]`.
    CountedSum,
}

/// The columns of a row behind interval, transfer and rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Columns {
    /// None.
    Plain,
    /// Lost, total, share: basic sum of UDP receivers.
    Loss,
    /// Jitter and loss: basic UDP receiver.
    JitterLoss,
    /// Reads and their sizes: TCP receiver.
    Reads,
    /// Writes, retransmissions, window, round-trip time: TCP sender.
    Writes,
    /// Round trips: request/response client.
    RoundTrips,
    /// Writes and packets per second: UDP sender.
    Datagrams,
    /// Jitter, loss, delay: UDP receiver.
    Delay,
    /// Jitter, loss, delay, packets in flight: UDP receiver with stamps.
    DelayInFlight,
    /// Datagrams of both directions.
    Duplex,
    /// Writes and retransmissions: sum of TCP senders.
    SumWrites,
    /// Writes and packets per second: sum of UDP senders.
    SumDatagrams,
    /// Loss and delay: sum of UDP receivers.
    SumDelay,
    /// Loss, delay, packets in flight: sum of UDP receivers with stamps.
    SumDelayInFlight,
    /// Reads and bytes in flight: sum of TCP receivers with stamps.
    SumReadsInFlight,
    /// Delay of bursts, bytes in flight, reads: TCP receiver with stamps.
    BurstDelay,
    /// Delay of frames and reads: TCP receiver of isochronous traffic with stamps.
    FrameDelay,
    /// Time and duty cycle of one burst; in a total, times of all bursts.
    Burst,
    /// Writes and the pacing rate of the socket (not in a total): TCP sender with
    /// `--fq-rate`.
    PacedWrites,
    /// Writes and their durations: TCP sender with `--tcp-write-times`.
    TimedWrites,
    /// Writes and frames: TCP sender of isochronous traffic.
    FrameWrites,
    /// Writes, packets per second, frames: UDP sender of isochronous traffic.
    FrameDatagrams,
    /// Loss, delay of datagrams and of frames: UDP receiver of isochronous traffic with
    /// stamps.
    Frames,
}

/// A remark of the connection line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remark {
    /// `%eth0` behind the own address.
    Device,
    /// `(clamp=...)`.
    Clamp,
    /// `(prefetch=...)`.
    Prefetch,
    /// `(isoch)`.
    Isochronous,
    /// `(burst-period=...)`.
    Burst,
    /// `(fq)`.
    FairQueue,
    /// `(epoch-start)`.
    EpochStart,
    /// `(l2mode)`.
    LinkLayer,
    /// `(l4s)`.
    L4s,
    /// `(qack)`.
    Quickack,
    /// `(reverse)`.
    Reverse,
    /// `(full-duplex)`.
    FullDuplex,
    /// `(bb ...)`.
    RequestResponse,
    /// `(no-udp-fin)`.
    NoUdpFin,
    /// `(trip-times)`.
    TripTimes,
    /// `(tos tx=...)`.
    TosTransmit,
    /// `(tos rx=...)`.
    TosReceive,
    /// `(tos rx/tx=...)`.
    TosBoth,
    /// `(peer ...)`.
    Peer,
    /// `(icwnd/mss/irtt=...)`.
    Initial,
    /// `(ct=... ms)`.
    ConnectTime,
    /// `(reno)`: the congestion control asked for.
    Congestion,
    /// `on DATE`.
    Date,
}

/// A line of the settings banner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Setting {
    /// Server, one port.
    Listening,
    /// Server, one port, with process identifier.
    ListeningWithPid,
    /// Server, several ports.
    ListeningRange,
    /// Own address, with or without device.
    Binding,
    /// Multicast group, with or without device.
    Joining,
    /// Multicast group and the one source that is received.
    JoiningSource,
    /// TCP listener next to a UDP server.
    WorkingLoad,
    /// Interface read below the IP layer.
    Tap,
    /// Delay before each transmission.
    TransmitDelay,
    /// Histogram of a receiver's delays.
    ReceiveHistograms,
    /// Histogram of jitter.
    JitterHistograms,
    /// Histogram of a sender's writes.
    WriteHistograms,
    /// Histogram of round trips.
    RoundTripHistograms,
    /// A row for each frame or burst.
    FrameIntervals,
    /// Permit key and its life.
    PermitKey,
    /// Permit key that does not expire.
    PermitKeyForever,
    /// Frame rate and sizes.
    Isochronous,
    /// Size and period of a sender's bursts.
    SendBursts,
    /// Rate of the socket's pacing.
    FairQueue,
    /// Congestion control of the working load.
    LoadCongestion,
    /// Weight of `--near-congestion`.
    NearCongestion,
    /// Remark on `-U` of a client.
    Unreported,
    /// Datagram lengths by a Markov chain.
    Markov,
    /// `--connect-only`.
    ConnectOnly,
    /// `--tcp-write-prefetch`.
    Prefetch,
    /// Remark on stamps without prefetch.
    SendSideBloat,
    /// Client.
    Connecting,
    /// Client with process identifier and flow count.
    ConnectingWithPid,
    /// Client with a device.
    ConnectingVia,
    /// TCP server's buffer.
    ReadBuffer,
    /// UDP server's buffer.
    ReadBufferUdp,
    /// TCP client's buffer.
    WriteBuffer,
    /// Request/response sizes.
    RequestResponse,
    /// Request/response bursts.
    Bursts,
    /// Congestion control in force.
    Congestion,
    /// Congestion control asked for.
    CongestionRequested,
    /// TOS of reflected traffic.
    ReflectedTos,
    /// TOS of a server.
    ServerTos,
    /// TOS and Nagle's algorithm of a client.
    ClientTos,
    /// Segment size.
    SegmentSize,
    /// Segment size asked for.
    SegmentSizeRequested,
    /// One test at a time.
    SingleClient,
    /// Remark on `-U`.
    SingleUdp,
    /// One multicast stream at a time.
    SingleMulticast,
    /// Datagram size and gap.
    Datagrams,
    /// Socket buffer.
    Buffer,
    /// Socket buffer that is not as asked for.
    BufferDiffers,
}

/// A remark on something that went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Complaint {
    /// connect() failed.
    ConnectFailed,
    /// No more attempts.
    ConnectTimedOut,
    /// bind() or listen() of a server failed.
    ListenFailed,
    /// bind() of a client failed.
    BindFailed,
    /// The device cannot be used.
    DeviceFailed,
    /// The congestion control cannot be had.
    CongestionFailed,
    /// The segment size cannot be set.
    SegmentSizeFailed,
    /// The TOS reads back differently.
    TosFailed,
    /// First line of the remark on small windows.
    SmallWindow,
    /// Its second line.
    SmallWindowRest,
    /// A TCP write failed.
    WriteFailed,
    /// A receive failed.
    ReceiveFailed,
    /// shutdown() failed.
    ShutdownFailed,
    /// The wait for the server's report failed.
    ReadFinFailed,
    /// No server report.
    NoServerReport,
    /// The client did not take the server's report.
    ReportUnacknowledged,
    /// First interrupt of a busy server.
    WaitingForTests,
    /// The processor may have limited the test.
    CpuBound,
    /// What limited the test, where iperf 2.2.1 has no words for it.
    Ours,
}

/// What a histogram line counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distribution {
    /// `T8`: one-way delay of datagrams.
    Transit,
    /// `F8`: delay of TCP bursts and of frames.
    Frame,
    /// `J8`: jitter.
    Jitter,
    /// `W8`: durations of writes.
    Write,
    /// `BB8`: round trips.
    RoundTrip,
    /// `OWD-TX`: one-way delay of requests.
    OneWaySent,
    /// `OWD-RX`: one-way delay of responses.
    OneWayReceived,
}

/// The kind of a line. Two runs of the same test show the same kinds in the same order,
/// flows permitting, whatever the numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LineKind {
    /// Dashes around a banner.
    Rule,
    /// Within a banner.
    Setting(Setting),
    /// A flow is connected; the remarks in their order.
    Connection(Who, Vec<Remark>),
    /// Column header.
    Header(Header),
    /// Row.
    Row(Who, Columns),
    /// Datagrams that came late or twice.
    OutOfOrder(Who),
    /// Datagrams sent.
    Sent(Who),
    /// Announces the server's view.
    ServerReport,
    /// A connection without a valid permit key.
    Refused(Vec<Remark>),
    /// Histogram of an interval.
    Histogram(Distribution),
    /// Histogram of a whole test.
    FinalHistogram(Distribution),
    /// One-way delays of requests and responses.
    OneWay,
    /// Exchanges whose stamps contradict each other.
    ClockErrors,
    /// Datagrams that were damaged on the link.
    LinkErrors,
    /// Result of the clock check of `-X` with `--trip-times`.
    ClockCheck,
    /// How late frames were begun.
    ScheduleErrors,
    /// Connect times of `--connect-only`.
    ConnectTimes,
    /// A client waits for its start.
    ClientDelay,
    /// A server expects a delayed start.
    ServerDelay,
    /// The start time has passed already.
    StartPassed,
    /// Transitions of a Markov chain.
    Markov,
    /// Transitions from one node of a Markov chain.
    MarkovNode,
    /// Something went wrong.
    Complaint(Complaint),
    /// CSV header; number of columns.
    CsvHeader(usize),
    /// CSV row; number of columns.
    CsvRow(usize),
}
