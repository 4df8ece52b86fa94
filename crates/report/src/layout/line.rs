//! Kinds of lines and their grammar.

use super::header::Header;
use super::template::{matches, prefix};

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
}

/// A remark of the connection line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remark {
    /// `%eth0` behind the own address.
    Device,
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
    /// Something went wrong.
    Complaint(Complaint),
    /// CSV header; number of columns.
    CsvHeader(usize),
    /// CSV row; number of columns.
    CsvRow(usize),
}

/// Names the kind of a line (without its newline). `None` for a line that iperf 2.2.1
/// does not print in the modes that are covered here, or whose layout differs from its
/// layout by as little as a blank.
#[must_use]
pub fn classify(line: &str) -> Option<LineKind> {
    parse(line).map(|(kind, _)| kind)
}

/// The kind of a line and its variable parts in their order, blanks around removed.
/// Rows begin with the identifier (`1`, `*1`, `FD1`, `SUM`, `SUM-2`), start and end.
#[must_use]
pub fn parse(line: &str) -> Option<(LineKind, Vec<&str>)> {
    if line == RULE {
        return Some((LineKind::Rule, Vec::new()));
    }
    if let Some(header) = Header::ALL.into_iter().find(|header| header.text() == line) {
        return Some((LineKind::Header(header), Vec::new()));
    }
    who(line)
        .and_then(|(who, id, rest)| of_flow(who, id, rest))
        .or_else(|| setting(line))
        .or_else(|| complaint(line, COMPLAINTS))
        .or_else(|| csv(line))
}

const RULE: &str = "------------------------------------------------------------";

/// `[  1] ` and its relatives: what it names, the text in the brackets, what follows.
fn who(line: &str) -> Option<(Who, &str, &str)> {
    let (inside, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = inside.trim_start();
    let aligned = inside.len() >= 3 && (inside.len() == 3 || inside.len() == name.len());
    let who = if inside == "SUM" {
        Who::Sum
    } else if inside.strip_prefix("SUM-").is_some_and(digits) {
        Who::CountedSum
    } else if inside.strip_prefix("FD").is_some_and(digits) {
        Who::Duplex
    } else if aligned && name.strip_prefix('*').is_some_and(digits) {
        Who::Reversed
    } else if aligned && digits(name) {
        Who::Flow
    } else {
        return None;
    };
    Some((who, name, rest))
}

/// Lines that begin with an identifier.
fn of_flow<'a>(who: Who, id: &'a str, rest: &'a str) -> Option<(LineKind, Vec<&'a str>)> {
    let mut fields = vec![id];
    if rest == "Server Report:" {
        return Some((LineKind::ServerReport, fields));
    }
    if let Some(more) = matches("Sent {n} datagrams", rest) {
        fields.extend(more);
        return Some((LineKind::Sent(who), fields));
    }
    if rest.starts_with("local ") {
        return super::connection::parse(who, id, rest);
    }
    if let Some((kind, more)) = complaint(rest, FLOW_COMPLAINTS) {
        fields.extend(more);
        return Some((kind, fields));
    }
    let rest = prefix("{f2}-{f2} sec  ", rest, &mut fields)?;
    for late in [
        "{n} datagrams received out-of-order",
        "{n} datagrams  received out-of-order",
    ] {
        if let Some(more) = matches(late, rest) {
            fields.extend(more);
            return Some((LineKind::OutOfOrder(who), fields));
        }
    }
    let rest = prefix("{T}  {R}", rest, &mut fields)?;
    ROWS.iter().find_map(|(columns, template)| {
        let more = matches(template, rest)?;
        let mut fields = fields.clone();
        fields.extend(more);
        Some((LineKind::Row(who, *columns), fields))
    })
}

/// What follows interval, transfer and rate.
const ROWS: &[(Columns, &str)] = &[
    (Columns::Plain, ""),
    (Columns::Loss, "   {n}/{n} ({g}%)"),
    (Columns::JitterLoss, "  {f3:6} ms {n}/{n} ({g}%)"),
    (Columns::Reads, "  {n}={n}:{n}:{n}:{n}:{n}:{n}:{n}:{n}"),
    (
        Columns::Writes,
        "  {n}/{n}{c:10} {c:8}K({c})/{c}K({c})/{c}({c}) us  {p}",
    ),
    (
        Columns::RoundTrips,
        "    {n}={f3}/{f3}/{f3}/{f3} ms {c:4}{c:4}K/({c})/{c}({c}) us  Tx={q} Rx={q}  RPS={g}",
    ),
    (
        Columns::RoundTrips,
        "    {n}={f3}/{f3}/{f3}/{f3} ms {c:4}   -(-)/-(-)    Tx={q} Rx={q}  RPS={g}",
    ),
    (Columns::Datagrams, "  {n}/{n}/{n}{n:8} pps"),
    (
        Columns::Delay,
        "  {f3:6} ms {n}/{n} ({g}%) {f3}/{f3}/{f3}/{f3} ms {n} pps {n}/{n}/{n} {p}",
    ),
    (
        Columns::Delay,
        "  {f3:6} ms {n}/{n} ({g}%) -/-/-/- ms {n} pps {n}/{n}/{n}",
    ),
    (
        Columns::DelayInFlight,
        "  {f3:6} ms {n}/{n} ({g}%) {f3}/{f3}/{f3}/{f3} ms {n} pps {n}/{n}({n}) pkts {n}/{n}/{n} {p}",
    ),
    (Columns::Duplex, " {n}{n:8} pps"),
    (Columns::SumWrites, "  {n}/{n}{c:10}"),
    (Columns::SumDatagrams, "  {n}/{n} {n:8} pps"),
    (
        Columns::SumDelay,
        "  {n}/{n} ({g}%)  {f3}/{f3}/{f3}  {n} pps",
    ),
    (
        Columns::SumDelayInFlight,
        "  {n}/{n} ({g}%)  {f3}/{f3}/{f3}  {n}/{n}  {n:8} pps",
    ),
];

fn setting(line: &str) -> Option<(LineKind, Vec<&str>)> {
    SETTINGS.iter().find_map(|(setting, template)| {
        matches(template, line).map(|fields| (LineKind::Setting(*setting), fields))
    })
}

/// Lines of a banner.
const SETTINGS: &[(Setting, &str)] = &[
    (Setting::Listening, "Server listening on {proto} port {n}"),
    (
        Setting::ListeningWithPid,
        "Server listening on {proto} port {n} with pid {n}",
    ),
    (
        Setting::ListeningRange,
        "Server listening on {proto} ports {n}-{n} with pid {n}",
    ),
    (
        Setting::Binding,
        "Binding to local address {text} and iface {text}",
    ),
    (Setting::Binding, "Binding to local address {text}"),
    (Setting::Joining, "Joining multicast group  {text}"),
    (
        Setting::Joining,
        "Joining multicast (*,G)=*,{text} w/iface {text}",
    ),
    (
        Setting::Connecting,
        "Client connecting to {text}, {proto} port {n}",
    ),
    (
        Setting::ConnectingWithPid,
        "Client connecting to {text}, {proto} port {n} with pid {n} ({n}/{n} flows/load)",
    ),
    (
        Setting::ConnectingVia,
        "Client connecting to {text}, {proto} port {n} with pid {n} via {text} ({n}/{n} flows/load)",
    ),
    (
        Setting::ReadBuffer,
        "Read buffer size: {q} (Dist bin width={q})",
    ),
    (Setting::ReadBufferUdp, "Read buffer size: {q} "),
    (Setting::WriteBuffer, "Write buffer size: {q}"),
    (
        Setting::RequestResponse,
        "Bounceback test (req/reply size ={q}/{q}) (server hold req={n} usecs & tcp_quickack)",
    ),
    (
        Setting::RequestResponse,
        "Bounceback test (req/reply size ={q}/{q}) (server hold req={n} usecs)",
    ),
    (
        Setting::Bursts,
        "Bursting request {n} times every {f2} second(s)",
    ),
    (
        Setting::CongestionRequested,
        "TCP congestion control default set to {text} using {text}",
    ),
    (
        Setting::CongestionRequested,
        "TCP congestion control set to {text} using {text}",
    ),
    (Setting::Congestion, "TCP congestion control default {text}"),
    (Setting::Congestion, "TCP congestion control using {text}"),
    (
        Setting::ReflectedTos,
        "Reflected TOS will be set to 0x{h} (dscp={n},ecn={n})",
    ),
    (
        Setting::ServerTos,
        "TOS will be set to 0x{h} (dscp={n},ecn={n})",
    ),
    (
        Setting::ClientTos,
        "TOS {text} to 0x{h} (dscp={n},ecn={n}) (Nagle on)",
    ),
    (
        Setting::ClientTos,
        "TOS {text} to 0x{h} (dscp={n},ecn={n}) and nodelay (Nagle off)",
    ),
    (
        Setting::ClientTos,
        "TOS {text} to 0x{h} (dscp={n},ecn={n}) (warn ecn bits set) (Nagle on)",
    ),
    (
        Setting::ClientTos,
        "TOS {text} to 0x{h} (dscp={n},ecn={n}) (warn ecn bits set) and nodelay (Nagle off)",
    ),
    (Setting::SegmentSize, "MSS size {n} bytes"),
    (
        Setting::SegmentSizeRequested,
        "MSS req size {n} bytes (per TCP_MAXSEG)",
    ),
    (
        Setting::SingleClient,
        "Server set to single client traffic mode (serialize traffic tests)",
    ),
    (
        Setting::SingleUdp,
        "WARN: Suggested to use lower case -u instead of -U (to avoid serialize & bypass of reporter thread)",
    ),
    (
        Setting::SingleMulticast,
        "Server set to single client traffic mode (per multicast receive)",
    ),
    (
        Setting::Datagrams,
        "Sending {n} byte datagrams, IPG target: {f2} us (kalman adjust)",
    ),
    (Setting::Buffer, "TCP window size: {q} (default)"),
    (Setting::Buffer, "UDP buffer size: {q} (default)"),
    (Setting::Buffer, "TCP window size: {q}"),
    (Setting::Buffer, "UDP buffer size: {q}"),
    (
        Setting::BufferDiffers,
        "TCP window size: {q} (WARNING: requested {q})",
    ),
    (
        Setting::BufferDiffers,
        "UDP buffer size: {q} (WARNING: requested {q})",
    ),
];

fn complaint<'a>(line: &'a str, table: &[(Complaint, &str)]) -> Option<(LineKind, Vec<&'a str>)> {
    table.iter().find_map(|(what, template)| {
        matches(template, line).map(|fields| (LineKind::Complaint(*what), fields))
    })
}

/// Remarks that begin with a flow's identifier.
const FLOW_COMPLAINTS: &[(Complaint, &str)] = &[
    (
        Complaint::ConnectFailed,
        "tcp connect to {text} port {n} failed ({text}) on {date}",
    ),
    (
        Complaint::ConnectTimedOut,
        "tcp connect attempt timer expired on {date}",
    ),
    (Complaint::WriteFailed, "tcp write failed"),
    (Complaint::ReceiveFailed, "tcp recv failed: {text}"),
    (Complaint::ReceiveFailed, "udp recv failed: {text}"),
    (Complaint::ShutdownFailed, "shutdown failed: {text}"),
    (Complaint::ReadFinFailed, "Read UDP fin failed: {text}"),
    (
        Complaint::NoServerReport,
        "WARNING: did not receive ack of last datagram after {n} tries.",
    ),
    (
        Complaint::ReportUnacknowledged,
        "WARNING: ack of last datagram failed.",
    ),
];

/// Remarks of the whole process.
const COMPLAINTS: &[(Complaint, &str)] = &[
    (Complaint::ListenFailed, "listener bind failed: {text}"),
    (Complaint::BindFailed, "bind failed: {text}"),
    (
        Complaint::DeviceFailed,
        "bind to device {text} failed: {text}",
    ),
    (
        Complaint::CongestionFailed,
        "Attempt to set '{text}' congestion control failed: {text}",
    ),
    (
        Complaint::SegmentSizeFailed,
        "WARNING: attempt to set TCP maxmimum segment size to {n} failed",
    ),
    (
        Complaint::TosFailed,
        "Warning: IP_TOS set to 0x{h}, request for setting to 0x{h} failed",
    ),
    (
        Complaint::SmallWindow,
        "WARNING: TCP window size set to {n} bytes. A small window size",
    ),
    (
        Complaint::SmallWindowRest,
        "will give poor performance. See the Iperf documentation.",
    ),
    (
        Complaint::WaitingForTests,
        "Waiting for server threads to complete. Interrupt again to force quit.",
    ),
    (
        Complaint::CpuBound,
        "WARN: this test may have been CPU bound ({n}) (or may not be detecting the underlying network devices)",
    ),
];

/// CSV lines are named by their number of columns.
fn csv(line: &str) -> Option<(LineKind, Vec<&str>)> {
    let fields: Vec<&str> = line.split(',').collect();
    if line.starts_with("time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,") {
        return Some((LineKind::CsvHeader(fields.len()), fields));
    }
    let date = fields[0];
    let date = match date.split_once(':') {
        Some((zone, date)) if zone.len() == 5 => date.split_once('.')?.0,
        Some(_) => return None,
        None => date,
    };
    let dated = date.len() == 14 && date.bytes().all(|byte| byte.is_ascii_digit());
    (dated && fields.len() >= 9).then_some((LineKind::CsvRow(fields.len()), fields))
}
