//! What client and server of a test do alike.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Role, Tos};
use tapeline_report::{
    CpuUse, TestDirection, TestEnd, TestFailure, TestFile, TestLimit, TestRequest, TestStart,
    TestTransport,
};
use tapeline_sys::{CpuTime, SocketOptions, StreamProtocol, process_cpu_time};
use tapeline_wire::iperf3::{
    Direction, ErrorCode, Parameters, Protocol, Results, RetransmitKnowledge, limits,
};

use super::client_control::ControlFailure;
use super::streams::{Link, Stream, StreamEnd};
use crate::run::context::Context;

/// Datagram length where the control connection does not say its MSS, bytes.
const DEFAULT_UDP_LENGTH: u32 = 1460;
/// Characters of a client's version that are shown.
const LONGEST_VERSION: usize = 32;

/// Bytes of a block or datagram: as asked for, else iperf3's defaults.
pub(crate) fn block_length(parameters: &Parameters, segment: Option<u32>) -> u32 {
    match (parameters.length, parameters.protocol) {
        (Some(length), _) => length,
        (None, Protocol::Udp) => segment
            .unwrap_or(DEFAULT_UDP_LENGTH)
            .clamp(limits::MIN_UDP_LENGTH, limits::MAX_UDP_LENGTH),
        (None, Protocol::Tcp | Protocol::Sctp) => limits::DEFAULT_TCP_LENGTH,
    }
}

/// What the parameters ask of the sockets of streams.
pub(crate) fn socket_options(
    parameters: &Parameters,
    user_timeout: Option<Duration>,
) -> SocketOptions {
    let is_udp = parameters.protocol == Protocol::Udp;
    // A TCP sender sets its own.
    let paced = is_udp && parameters.pacing_rate > 0;
    SocketOptions {
        send_buffer: parameters.window.map(u64::from),
        receive_buffer: parameters.window.map(u64::from),
        congestion: parameters.congestion.clone(),
        tos: (parameters.tos != 0).then_some(Tos(parameters.tos)),
        mss: parameters.segment_size,
        nodelay: parameters.nodelay,
        dont_fragment: (is_udp && parameters.dont_fragment).then_some(true),
        pacing_rate: paced.then_some(parameters.pacing_rate / 8),
        flow_label: parameters.flow_label,
        user_timeout,
        protocol: match parameters.protocol {
            Protocol::Sctp => StreamProtocol::Sctp,
            _ if parameters.mptcp => StreamProtocol::Multipath,
            _ => StreamProtocol::Tcp,
        },
        ..SocketOptions::default()
    }
}

/// A version in a client's words, fit to be shown.
pub(crate) fn shown_version(said: &str) -> String {
    let shown = said.chars().filter(char::is_ascii_graphic);
    shown.take(LONGEST_VERSION).collect()
}

/// The start of a test as both ends report it; role and buffers are the caller's.
pub(crate) fn test_start(
    parameters: &Parameters,
    length: u32,
    interval: Option<Duration>,
) -> TestStart {
    TestStart {
        test: 0,
        flows: Vec::new(),
        role: Role::Client,
        transport: transport(parameters),
        direction: direction(parameters),
        streams: parameters.parallel,
        block_length: length,
        limit: match (parameters.bytes, parameters.blocks) {
            (0, 0) => TestLimit::Time(Duration::from_secs(parameters.time.into())),
            (0, blocks) => TestLimit::Blocks(blocks),
            (bytes, _) => TestLimit::Bytes(bytes),
        },
        omit: Duration::from_secs(parameters.omit.into()),
        interval,
        tos: parameters.tos,
        target_rate: parameters.rate,
        pacing_rate: parameters.pacing_rate,
        segment_size: parameters.segment_size,
        window: parameters.window.unwrap_or(0).into(),
        buffers: (0, 0),
        send_offload: parameters.offload.is_some_and(|offload| offload.send),
        receive_offload: parameters.offload.is_some_and(|offload| offload.receive),
        title: parameters.title.clone(),
        extra_data: parameters.extra_data.clone(),
        file: None,
    }
}

fn transport(parameters: &Parameters) -> TestTransport {
    match parameters.protocol {
        Protocol::Tcp => TestTransport::Tcp,
        Protocol::Udp => TestTransport::Udp,
        Protocol::Sctp => TestTransport::Sctp,
    }
}

fn direction(parameters: &Parameters) -> TestDirection {
    match parameters.direction {
        Direction::Forward => TestDirection::Forward,
        Direction::Reverse => TestDirection::Reverse,
        Direction::Bidirectional => TestDirection::Bidirectional,
    }
}

/// What a client reports of a test before the server agrees.
pub(crate) fn request(parameters: &Parameters) -> TestRequest {
    TestRequest {
        transport: transport(parameters),
        direction: direction(parameters),
        target_rate: parameters.rate,
        pacing_rate: parameters.pacing_rate,
        segment_size: parameters.segment_size,
    }
}

/// The file of a test, as it is at its start.
pub(crate) fn test_file(path: Option<&Path>) -> Option<TestFile> {
    let path = path?;
    Some(TestFile {
        name: path.display().to_string(),
        size: std::fs::metadata(path).map_or(0, |file| file.len()),
    })
}

/// Processor time of this process since a test's start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuClock {
    began: MonoTime,
    before: CpuTime,
}

impl CpuClock {
    pub(crate) fn start(context: &Context) -> Self {
        Self {
            began: context.now(),
            before: process_cpu_time(),
        }
    }

    /// Percent of one processor.
    pub(crate) fn usage(&self, context: &Context) -> CpuUse {
        let wall = context.now().since(self.began).as_secs_f64();
        let after = process_cpu_time();
        let percent = |after: Duration, before: Duration| {
            let used = after.saturating_sub(before).as_secs_f64();
            if wall > 0.0 { 100.0 * used / wall } else { 0.0 }
        };
        let user = percent(after.user, self.before.user);
        let system = percent(after.system, self.before.system);
        CpuUse {
            total: user + system,
            user,
            system,
        }
    }
}

/// Congestion control of the data connections.
pub(crate) fn congestion(streams: &[Stream]) -> Option<String> {
    streams.iter().rev().find_map(|stream| match &stream.link {
        Link::Tcp(conn) => conn.congestion(),
        Link::Udp(_) => None,
    })
}

/// This end's results message.
pub(crate) fn results(
    parameters: &Parameters,
    sends: bool,
    cpu: CpuUse,
    congestion: Option<String>,
    ended: &BTreeMap<i64, StreamEnd>,
) -> Results {
    Results {
        cpu_total: cpu.total,
        cpu_user: cpu.user,
        cpu_system: cpu.system,
        retransmits: match (sends, parameters.protocol) {
            (false, _) => RetransmitKnowledge::Receiver,
            (true, Protocol::Udp | Protocol::Sctp) => RetransmitKnowledge::Unknown,
            (true, Protocol::Tcp) => RetransmitKnowledge::Counted,
        },
        congestion,
        server_output: None,
        tapeline: None,
        streams: ended.values().map(StreamEnd::results).collect(),
    }
}

/// Flows as the start of a test names them.
pub(crate) fn flows(streams: &[Stream]) -> Vec<(FlowTag, bool)> {
    let named = streams.iter().map(|stream| (stream.tag, stream.sends));
    named.collect()
}

/// The end of a test of which nothing is known.
pub(crate) fn empty_end(test: u32) -> TestEnd {
    TestEnd {
        test,
        cpu: CpuUse::default(),
        peer_cpu: None,
        sender_congestion: None,
        receiver_congestion: None,
        peer_totals: Vec::new(),
        lost_behind: Vec::new(),
        peer_output: None,
        peer_tapeline: None,
        failure: None,
    }
}

/// A failure in iperf3's words, with the system's reason where the sentence has a place for it.
pub(crate) fn failure(code: ErrorCode, why: Option<&str>) -> TestFailure {
    let text = match why {
        Some(why) if code.has_reason() => format!("{code}: {why}"),
        _ => code.to_string(),
    };
    TestFailure {
        code: code.0,
        text,
        by_peer: false,
        interrupted: false,
    }
}

/// Why a control connection ended, in iperf3's words.
pub(crate) fn control_failure(reason: ControlFailure) -> TestFailure {
    let code = reason.code();
    let by_peer = matches!(&reason, ControlFailure::Refused(_));
    let why = match reason {
        ControlFailure::Refused(error) if error.errno != 0 => {
            let errno = i32::try_from(error.errno).unwrap_or(i32::MAX);
            Some(tapeline_sys::reason(&std::io::Error::from_raw_os_error(
                errno,
            )))
        }
        _ => None,
    };
    TestFailure {
        by_peer,
        ..failure(code, why.as_deref())
    }
}
