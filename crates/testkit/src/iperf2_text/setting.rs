//! The lines of settings banners.

use super::kind::{LineKind, Setting};
use super::template::matches;

/// Parses a line of a banner.
pub(crate) fn setting(line: &str) -> Option<(LineKind, Vec<&str>)> {
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
        "Read buffer size: {q} (Dist bin width={q}) (skip-rx-copy)",
    ),
    (
        Setting::ReadBuffer,
        "Read buffer size: {q} (Dist bin width={q})",
    ),
    (Setting::ReadBufferUdp, "Read buffer size: {q} "),
    (Setting::WriteBuffer, "Write buffer size: {q}"),
    (
        Setting::WriteBuffer,
        "Write buffer size: {q} (write timer enabled)",
    ),
    (
        Setting::WriteBuffer,
        "Write buffer size: {q}  Burst size: {q}",
    ),
    (
        Setting::WriteBuffer,
        "Write buffer size: {q}  Burst size: {q} (write timer enabled)",
    ),
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
    (
        Setting::JoiningSource,
        "Joining multicast (S,G)={text},{text} w/iface {text}",
    ),
    (
        Setting::JoiningSource,
        "Joining multicast (S,G)={text},{text}",
    ),
    (
        Setting::WorkingLoad,
        "Working load listening on TCP port {n}",
    ),
    (
        Setting::Tap,
        "Using virtual iface {text} (AF_PACKET & SOCK_RAW)",
    ),
    (
        Setting::TransmitDelay,
        "Socket option of TCP_TX_DELAY set to {f3} milliseconds",
    ),
    (
        Setting::ReceiveHistograms,
        "Enabled receive histograms bin-width={f3} ms, bins={n} (clients should use --trip-times)",
    ),
    (
        Setting::JitterHistograms,
        "Enabled jitter histograms (bin-width={n} us)",
    ),
    (
        Setting::WriteHistograms,
        "Enabled write histograms bin-width={f3} ms, bins={n}",
    ),
    (
        Setting::RoundTripHistograms,
        "Set bounceback histograms to bin-width={f3} ms, bins={n}",
    ),
    (
        Setting::FrameIntervals,
        "Frame or burst interval reporting (feature is experimental, ./configure --enable-fastsampling suggested)",
    ),
    (
        Setting::FrameIntervals,
        "Frame or burst interval reporting (feature is experimental)",
    ),
    (
        Setting::PermitKey,
        "Permit key is '{text}' (timeout in {f1} seconds)",
    ),
    (
        Setting::PermitKeyForever,
        "Permit key is '{text}' (WARN: no timeout)",
    ),
    (
        Setting::Isochronous,
        "Isochronous: {f2} frames/sec mean={q}/s, stddev={q}/s, Period/IPG={f2}/{f3} ms",
    ),
    (Setting::SendBursts, "Bursting: {q} every {f3} second(s)"),
    (Setting::FairQueue, "fair-queue socket pacing set to {q}/s"),
    (
        Setting::FairQueue,
        "fair-queue socket pacing set to {q}/s (stepping rate by {q}/s)",
    ),
    (
        Setting::LoadCongestion,
        "TCP working load congestion control set to {text}",
    ),
    (
        Setting::NearCongestion,
        "TCP near-congestion delay weight set to {f4} (use --near-congestion=<value> to change)",
    ),
    (
        Setting::NearCongestion,
        "TCP near-congestion delay weight set to {f4}",
    ),
    (
        Setting::Unreported,
        "WARN: Client set to bypass reporter thread per -U (suggest use lower case -u instead)",
    ),
    (
        Setting::Markov,
        "Sending lengths using markov chain: {text}",
    ),
    (Setting::ConnectOnly, "TCP three-way-handshake (3WHS) only"),
    (
        Setting::Prefetch,
        "Event based writes (pending queue watermark at {n} bytes)",
    ),
    (
        Setting::SendSideBloat,
        "Warn: Send side bloat possible per --tcp-write-prefetch not being set",
    ),
];
