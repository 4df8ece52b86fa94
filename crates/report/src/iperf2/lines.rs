//! Lines of their own: connections, start times and clocks, a sender's end, and conditions.

use std::net::SocketAddr;

use tapeline_base::{Role, Tos, Transport};

use super::figure::latency;
use super::page::{self, Page};
use crate::model::{
    ClockCheck, ConnectTimes, Connected, ConnectionFlavour, MarkovReport, Notice, ScheduleErrors,
    StartDelay, TosNote, TrafficOperation,
};
use crate::render::{Output, address, tame};
use crate::style::Build;

/// The line of a flow that is connected.
pub(crate) fn connected(connected: &Connected, page: &Page) -> String {
    format!(
        "{}{}",
        page.flow(connected.tag),
        ends(connected, "connected", page)
    )
}

/// The line of a connection without a valid permit key.
pub(crate) fn dropped(connected: &Connected, page: &Page) -> String {
    // 2.2.1 knows neither when it turns a client away.
    let plain = Connected {
        device: None,
        peer_version: None,
        ..connected.clone()
    };
    format!(
        "[drop] {} (permit key fail)",
        ends(&plain, "connection", page)
    )
}

/// Both ends, remarks, date.
fn ends(connected: &Connected, verb: &str, page: &Page) -> String {
    let enhanced = is_enhanced(connected, page);
    let address = |socket: SocketAddr| address(socket.ip(), page.style.hide_addresses);
    let device = match &connected.device {
        Some(device) if enhanced => format!("%{device}"),
        _ => String::new(),
    };
    let mut line = format!(
        "local {}{device} port {} {verb} with {} port {}",
        address(connected.local),
        connected.local.port(),
        address(connected.peer),
        connected.peer.port(),
    );
    for remark in remarks(connected, enhanced, page.style.build) {
        line.push(' ');
        line += &remark;
    }
    let always = connected.flavour == ConnectionFlavour::ConnectOnly;
    if let (Some(at), true) = (connected.at, enhanced || always) {
        if let Some(time) = connected.connect_time {
            line += &format!(" (ct={:4.2} ms)", time.as_secs_f64() * 1e3);
        }
        let date = if enhanced {
            page.exact_date(at)
        } else {
            page.date(at)
        };
        line += &format!(" on {date}");
    }
    line
}

/// What the client asks a server to measure makes the server's line an enhanced one.
fn is_enhanced(connected: &Connected, page: &Page) -> bool {
    page.style.enhanced || connected.trip_times || connected.burst_period.is_some()
}

/// The remarks in parentheses, in their order.
fn remarks(connected: &Connected, enhanced: bool, build: Build) -> Vec<String> {
    let mut list = Vec::new();
    list.extend(
        connected
            .window_clamp
            .map(|bytes| format!("(clamp={bytes})")),
    );
    list.extend(
        connected
            .write_prefetch
            .map(|bytes| format!("(prefetch={bytes})")),
    );
    let flag = |list: &mut Vec<String>, is_set: bool, text: &str| {
        if is_set {
            list.push(text.to_owned());
        }
    };
    flag(&mut list, connected.isochronous, "(isoch)");
    list.extend(connected.burst_period.map(|period| {
        let (seconds, decimals) = (period.as_secs_f64(), build.decimals());
        format!("(burst-period={seconds:.decimals$}s)")
    }));
    list.extend(direction(connected.flavour).map(str::to_owned));
    flag(&mut list, connected.fair_queue, "(fq)");
    flag(&mut list, connected.epoch_start, "(epoch-start)");
    list.extend(request_response(connected.flavour));
    flag(&mut list, connected.link_checks, "(l2mode)");
    flag(&mut list, connected.no_udp_fin, "(no-udp-fin)");
    flag(&mut list, connected.trip_times, "(trip-times)");
    flag(&mut list, connected.l4s, "(l4s)");
    if let (Some(name), true) = (
        &connected.congestion,
        connected.congestion_by_user && enhanced,
    ) {
        list.push(format!("({})", tame(name)));
    }
    list.extend(connected.tos.map(tos));
    if let (Some(version), true) = (&connected.peer_version, enhanced || connected.peer_detected) {
        list.push(format!("(peer {})", tame(version)));
    }
    flag(&mut list, connected.quickack, "(qack)");
    if let (Some(initial), true) = (connected.initial, enhanced) {
        list.push(format!(
            "(icwnd/mss/irtt={}/{}/{})",
            initial.cwnd_kib, initial.mss, initial.rtt_micros
        ));
    }
    list
}

fn direction(flavour: ConnectionFlavour) -> Option<&'static str> {
    match flavour {
        ConnectionFlavour::Reverse => Some("(reverse)"),
        ConnectionFlavour::FullDuplex => Some("(full-duplex)"),
        ConnectionFlavour::Plain
        | ConnectionFlavour::ConnectOnly
        | ConnectionFlavour::RequestResponse { .. } => None,
    }
}

fn request_response(flavour: ConnectionFlavour) -> Option<String> {
    let ConnectionFlavour::RequestResponse {
        request,
        response,
        hold_micros,
        quickack,
    } = flavour
    else {
        return None;
    };
    let quickack = if quickack { "w/quickack " } else { "" };
    Some(format!(
        "(bb {quickack}req/reply/hold={request}/{response}/{hold_micros})"
    ))
}

fn tos(note: TosNote) -> String {
    match note {
        TosNote::Transmit(tos) => format!("(tos tx={})", tos_fields(tos)),
        TosNote::Receive(tos) => format!("(tos rx={})", tos_fields(tos)),
        TosNote::Both { receive, transmit } => {
            // iperf 2.2.1 puts `, ` in front of a byte that was overridden.
            let separator = if receive == transmit { "/" } else { ", /" };
            format!(
                "(tos rx/tx={}{separator}{})",
                tos_fields(receive),
                tos_fields(transmit)
            )
        }
    }
}

fn tos_fields(tos: Tos) -> String {
    format!("0x{:x},dscp={},ecn={}", tos.0, tos.dscp(), tos.ecn())
}

/// Fewer connect times have no line, fewer than [`DEVIATION_SAMPLES`] no deviation.
const LINE_SAMPLES: u64 = 3;
const DEVIATION_SAMPLES: u64 = 25;

/// When traffic starts, or that the time has passed.
pub(crate) fn start_delay(delay: &StartDelay, page: &Page) -> String {
    let id = page::plain(delay.tag);
    let now = page.exact_date(delay.now);
    if delay.start < delay.now {
        let micros = delay.start.as_nanos().div_euclid(1000);
        // 2.2.1 wants to print a first date here and prints nothing.
        return format!(
            "{id}WARNING: --txstart-time ({}.{:06})  is before now {now}",
            micros.div_euclid(1_000_000),
            micros.rem_euclid(1_000_000)
        );
    }
    let wait = delay.start.as_nanos() - delay.now.as_nanos();
    let seconds = (wait as f64 / 1e9).ceil();
    match delay.role {
        Role::Client => format!(
            "{id}Client traffic to start in {seconds:.0} seconds at {} current time is {now}",
            page.bare_date(delay.start)
        ),
        Role::Server => {
            let start = page.exact_date(delay.start);
            format!("{id}Server receiving to start in {seconds:.0} seconds at {start}")
        }
    }
}

/// What two clocks say of each other (`-X` with `--trip-times`).
pub(crate) fn clock_check(check: &ClockCheck, page: &Page) -> String {
    let [round_trip, half, send, acknowledge, asymmetry] = [
        check.round_trip,
        check.round_trip / 2.0,
        check.send,
        check.acknowledge,
        check.send - check.acknowledge,
    ]
    .map(|seconds| seconds * 1e3);
    format!(
        "{}Clock sync check (ms): RTT/Half=({round_trip:.3}/{half:.3}) \
         OWD-send/ack/asym=({send:.3}/{acknowledge:.3}/{asymmetry:.3})",
        page.flow(check.tag)
    )
}

/// The end of a connect-only test; none for a handful of connections.
pub(crate) fn connect_times(result: &ConnectTimes) -> Option<String> {
    let times = &result.times;
    if times.count < LINE_SAMPLES {
        return None;
    }
    let [min, mean, max, deviation] =
        [times.min, times.mean, times.max, times.stdev()].map(|seconds| seconds * 1e3);
    let (title, more) = if times.count < DEVIATION_SAMPLES {
        ("min/avg/max", String::new())
    } else {
        ("min/avg/max/stdev", format!("/{deviation:.3}"))
    };
    Some(format!(
        "[ CT] final connect times ({title}) = {min:.3}/{mean:.3}/{max:.3}{more} ms \
         (tot/err) = {}/{}",
        times.count, result.errors
    ))
}

/// How late frames were begun.
pub(crate) fn schedule_errors(schedule: &ScheduleErrors, page: &Page) -> String {
    format!(
        "{}Isoch schedule errors (mean/min/max/stdev) = {} ms",
        page.flow(schedule.tag),
        latency(&schedule.errors)
    )
}

/// Transitions of a Markov chain: of all, then from each length.
pub(crate) fn markov(report: &MarkovReport, page: &Page) -> Vec<String> {
    let id = page.flow(report.tag);
    let all: u64 = report.counts.iter().flatten().sum();
    let mut lines = vec![format!(
        "{id}Markov chain: {} transitions: {all}",
        report.text
    )];
    for (row, length) in report.lengths.iter().enumerate() {
        let counts = report.counts.get(row).map_or(&[][..], Vec::as_slice);
        let probabilities = report.probabilities.get(row).map_or(&[][..], Vec::as_slice);
        let used: u64 = counts.iter().sum();
        let mut line = format!("{id}{length}=");
        let mut cumulated = 0.0;
        for (column, next) in report.lengths.iter().enumerate() {
            let probability = probabilities.get(column).copied().unwrap_or(0.0);
            let count = counts.get(column).copied().unwrap_or(0);
            cumulated += probability;
            line += &format!(
                "{next}({row},{column})|{probability:.3}/{cumulated:.3}({count}/{:.3}) ",
                share(count, used)
            );
        }
        line += &format!(" {used}/{all}({:.1}%)", 100.0 * share(used, all));
        lines.push(line);
    }
    lines
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Where a sentence goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// The sentence of a notice and its stream; `None` when iperf 2.2.1 says it elsewhere
/// or not at all. Conditions that iperf 2.2.1 does not know begin with `WARN:` too.
///
/// Programs that run iperf take any word on standard error for a failure, as its exit code says
/// nothing. So what 2.2.1 does not say there, of a run that succeeds, belongs to the enhanced report.
pub(crate) fn sentence(notice: &Notice, page: &Page) -> Option<(Stream, String)> {
    if let Notice::CpuSaturated { share, .. } = notice {
        return cpu_sentence(*share, page);
    }
    if let Some(text) = remark(notice, page) {
        return page.style.enhanced.then_some((Stream::Output, text));
    }
    let text = match notice {
        Notice::BufferClamped { .. } | Notice::Interrupted | Notice::CpuSaturated { .. } => {
            return None;
        }
        Notice::Text(text) => text.clone(),
        Notice::ConnectFailed { .. }
        | Notice::ConnectTimedOut { .. }
        | Notice::ListenFailed { .. }
        | Notice::BindFailed { .. }
        | Notice::DeviceFailed { .. }
        | Notice::Unresolvable { .. } => setup_sentence(notice, page)?,
        Notice::CongestionFailed { .. }
        | Notice::SegmentSizeFailed { .. }
        | Notice::TosFailed { .. }
        | Notice::SmallWindow { .. } => option_sentence(notice)?,
        _ => traffic_sentence(notice, page)?,
    };
    Some((Stream::Error, text))
}

/// iperf 2.2.1 prints the count of its reporter's sleeps; here it is the share of the
/// processor in percent, which says the same and can be checked.
fn cpu_sentence(share: f64, page: &Page) -> Option<(Stream, String)> {
    page.style.interval.then(|| {
        let percent = share * 100.0;
        let text = format!(
            "WARN: this test may have been CPU bound ({percent:.0}) \
             (or may not be detecting the underlying network devices)"
        );
        (Stream::Output, text)
    })
}

/// What tapeline alone remarks, of a run that succeeds all the same.
fn remark(notice: &Notice, page: &Page) -> Option<String> {
    Some(match notice {
        Notice::Remark(text) => format!("WARN: {text}"),
        // A server goes on; a client's test has failed.
        Notice::PeerVanished { .. } if page.serves => traffic_sentence(notice, page)?,
        Notice::ReceiveBufferDrops { tag, datagrams } => format!(
            "{}WARN: {datagrams} datagrams dropped by this host's socket buffer",
            tag.map(|tag| page.flow(tag)).unwrap_or_default()
        ),
        Notice::PacingMissed {
            tag,
            wanted,
            reached,
        } => format!(
            "{}WARN: rate of {wanted} bits/sec not reached, sent at {reached} bits/sec",
            page.flow(*tag)
        ),
        _ => return None,
    })
}

fn setup_sentence(notice: &Notice, page: &Page) -> Option<String> {
    Some(match notice {
        Notice::ConnectFailed {
            tag,
            peer,
            reason,
            at,
            ..
        } => format!(
            "{}tcp connect to {} port {} failed ({reason}) on {}",
            page.flow(*tag),
            address(peer.ip(), page.style.hide_addresses),
            peer.port(),
            page.date(*at)
        ),
        Notice::ConnectTimedOut { tag, at, .. } => format!(
            "{}tcp connect attempt timer expired on {}",
            page.flow(*tag),
            page.date(*at)
        ),
        Notice::ListenFailed { reason, .. } => format!("listener bind failed: {reason}"),
        Notice::BindFailed { reason, .. } => format!("bind failed: {reason}"),
        Notice::DeviceFailed { device, reason } => {
            format!("bind to device {device} failed: {reason}")
        }
        Notice::Unresolvable { host, reason } => format!("{host}: {reason}"),
        _ => return None,
    })
}

fn option_sentence(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::CongestionFailed { name, reason } => {
            format!("Attempt to set '{name}' congestion control failed: {reason}")
        }
        // The spelling is iperf 2.2.1's.
        Notice::SegmentSizeFailed { wanted } => {
            format!("WARNING: attempt to set TCP maxmimum segment size to {wanted} failed")
        }
        Notice::TosFailed { wanted, actual } => format!(
            "Warning: IP_TOS set to 0x{:x}, request for setting to 0x{:x} failed",
            actual.0, wanted.0
        ),
        Notice::SmallWindow { bytes } => format!(
            "WARNING: TCP window size set to {bytes} bytes. A small window size\n\
             will give poor performance. See the Iperf documentation."
        ),
        _ => return None,
    })
}

fn traffic_sentence(notice: &Notice, page: &Page) -> Option<String> {
    Some(match notice {
        Notice::TrafficFailed {
            tag,
            operation,
            transport,
            reason,
        } => {
            let id = page.flow(*tag);
            match (operation, transport) {
                (TrafficOperation::Write, Transport::Tcp) => format!("{id}tcp write failed"),
                (TrafficOperation::Write, Transport::Udp) => format!("write failed: {reason}"),
                (TrafficOperation::Receive, Transport::Tcp) => {
                    format!("{id}tcp recv failed: {reason}")
                }
                (TrafficOperation::Receive, Transport::Udp) => {
                    format!("{id}udp recv failed: {reason}")
                }
                (TrafficOperation::Shutdown, _) => format!("{id}shutdown failed: {reason}"),
                (TrafficOperation::WriteFin, _) => format!("write-fin failed: {reason}"),
                (TrafficOperation::ReadFin, _) => format!("{id}Read UDP fin failed: {reason}"),
                (TrafficOperation::SendHeader, _) => format!("send_hdr failed: {reason}"),
            }
        }
        Notice::NoServerReport { tag, tries } => format!(
            "{}WARNING: did not receive ack of last datagram after {tries} tries.",
            page::plain(*tag)
        ),
        Notice::ReportUnacknowledged { tag } => {
            format!("{}WARNING: ack of last datagram failed.", page::plain(*tag))
        }
        Notice::PeerVanished { tag, silent_for } => format!(
            "{}WARN: nothing received for {:.1} seconds, test ended",
            page.flow(*tag),
            silent_for.as_secs_f64()
        ),
        Notice::PeerRefused { peer, reason } => format!(
            "WARN: refused {} port {}: {}",
            address(peer.ip(), page.style.hide_addresses),
            peer.port(),
            tame(reason)
        ),
        Notice::Suppressed { count, kind } => {
            format!("{count} further {kind} were not told one by one")
        }
        Notice::Shedding { reason } => reason.clone(),
        Notice::InternalFault { peer } => format!(
            "WARN: internal fault in a session of {} port {}",
            address(peer.ip(), page.style.hide_addresses),
            peer.port()
        ),
        Notice::LimitsKept { fault } => format!("the limits stay as they are: {fault}"),
        Notice::WrongProtocol { host, port } => format!(
            "ERROR: the server at {host} port {port} is iperf3's, use: iperf3 -c {host} -p {port}",
            host = tame(host)
        ),
        Notice::WaitingForTests => {
            "Waiting for server threads to complete. Interrupt again to force quit.".to_owned()
        }
        _ => return None,
    })
}

/// Puts a sentence on its stream.
pub(crate) fn say(sentence: Option<(Stream, String)>, out: &mut Output) {
    match sentence {
        Some((Stream::Output, text)) => out.line(&text),
        Some((Stream::Error, text)) => out.error_line(&text),
        None => {}
    }
}
