//! Columns of TCP senders and receivers.

use tapeline_base::BitRate;
use tapeline_stats::ReadSizes;

use super::super::figure::{
    bytes_per_second, count, in_progress, kib, latency, network_power, percentage, rate_of,
};
use super::super::header::Header;
use crate::model::{BurstKind, BurstsReceived, FramesSent, Row, TcpReceive, TcpSend, TcpState};

/// Of a sender.
pub(crate) fn send(row: &Row, send: &TcpSend, enhanced: bool) -> (Header, String) {
    let state = State::new(row, send.state);
    if let Some(times) = &send.write_times {
        let times = format!("{} ms ({})", latency(times), times.count);
        return (Header::TcpSendTimed, timed(send, &state, &times));
    }
    if let Some(frames) = send.frames {
        return (Header::TcpSendFrames, framed(send, &state, frames));
    }
    match send.fair_queue_rate {
        _ if !enhanced => (Header::Plain, String::new()),
        Some(rate) => (Header::TcpSendPaced, paced(row, send, &state, rate)),
        None => (Header::TcpSendEnhanced, written(send, &state)),
    }
}

/// `TCP_INFO` as its columns show it.
struct State {
    in_flight: String,
    in_flight_kib: String,
    window: String,
    window_kib: String,
    rtt: String,
    variance: String,
    power: String,
}

impl State {
    fn new(row: &Row, state: Option<TcpState>) -> Self {
        let state = state.unwrap_or_default();
        let wide = |value: Option<u32>| count(value.map(u64::from));
        Self {
            in_flight: wide(state.in_flight_packets),
            in_flight_kib: count(kib(state.in_flight_bytes())),
            window: wide(state.cwnd_packets),
            window_kib: count(kib(state.window_bytes())),
            rtt: wide(state.rtt_micros),
            variance: wide(state.rtt_variance_micros),
            power: match state.rtt_micros {
                Some(micros) => network_power(
                    bytes_per_second(row.bytes, row.span),
                    f64::from(micros) / 1e6,
                ),
                None => "NAN".to_owned(),
            },
        }
    }

    /// `97K(70)/2460K(1740)/422(421) us`.
    fn all(&self) -> String {
        format!(
            "{}K({})/{}K({})/{}({}) us",
            self.in_flight_kib,
            self.in_flight,
            self.window_kib,
            self.window,
            self.rtt,
            self.variance
        )
    }
}

fn written(send: &TcpSend, state: &State) -> String {
    let retransmits = count(send.retransmits);
    let fill = " ".repeat(8usize.saturating_sub(state.in_flight_kib.len()));
    format!(
        "  {}/{}{retransmits:>10} {fill}{}  {}",
        send.writes,
        send.errors,
        state.all(),
        state.power
    )
}

fn timed(send: &TcpSend, state: &State, times: &str) -> String {
    let retransmits = count(send.retransmits);
    let fill = " ".repeat(7usize.saturating_sub(state.in_flight_kib.len()));
    format!(
        "  {}/{} {retransmits:>8}{fill}{}      {}  {times}",
        send.writes,
        send.errors,
        state.all(),
        state.power
    )
}

/// The rate of the kernel's pacing is a momentary one: a total does not have it.
fn paced(row: &Row, send: &TcpSend, state: &State, rate: BitRate) -> String {
    let retransmits = count(send.retransmits);
    let (writes, errors) = (send.writes, send.errors);
    if row.is_total() {
        return format!(
            "  {writes}/{errors}{retransmits:>10} {:>8}K/{}({}) us {}",
            state.window_kib, state.rtt, state.variance, state.power
        );
    }
    let fill = " ".repeat(8usize.saturating_sub(state.in_flight_kib.len()));
    format!(
        "  {writes}/{errors}{retransmits:>10} {fill}{} {}/sec {}",
        state.all(),
        rate_of(rate),
        state.power
    )
}

fn framed(send: &TcpSend, state: &State, frames: FramesSent) -> String {
    let retransmits = count(send.retransmits);
    format!(
        "  {}/{} {retransmits:>8} {:>8}K({})/{}({}) us  {:>9}/{}/{}       {}",
        send.writes,
        send.errors,
        state.window_kib,
        state.window,
        state.rtt,
        state.variance,
        frames.sent,
        frames.missed,
        frames.slips,
        state.power
    )
}

/// Of the sum of senders.
pub(crate) fn send_sum(send: &TcpSend) -> String {
    let retransmits = count(send.retransmits);
    format!("  {}/{}{retransmits:>10}", send.writes, send.errors)
}

/// Of a receiver. Stamped bursts have their columns in basic output too.
pub(crate) fn receive(row: &Row, receive: &TcpReceive, enhanced: bool) -> (Header, String) {
    let reads = reads(&receive.reads);
    let bursts = receive
        .bursts
        .or_else(|| row.trip_times.then(BurstsReceived::default));
    match bursts {
        Some(bursts) => stamped(row, &bursts, &reads),
        None if enhanced => (Header::TcpReceiveEnhanced, format!("  {reads}")),
        None => (Header::Plain, String::new()),
    }
}

fn stamped(row: &Row, bursts: &BurstsReceived, reads: &str) -> (Header, String) {
    let power = network_power(bytes_per_second(row.bytes, row.span), bursts.latency.mean);
    let delay = latency(&bursts.latency);
    let number = bursts.latency.count;
    let mean_size = bursts.bytes.checked_div(number).unwrap_or(0);
    match bursts.kind {
        BurstKind::Write => (
            Header::TcpReceiveTripTimes,
            format!(
                "  {delay} ms ({number}/{mean_size}) {} {power}  {reads}",
                in_progress(bursts.in_progress)
            ),
        ),
        BurstKind::Frame => (
            Header::TcpReceiveFrames,
            format!("  {delay} ms ({number}/{mean_size}) {power}  {reads}"),
        ),
        BurstKind::Periodic { .. } if row.is_total() => {
            (Header::Burst, format!("  {delay} ms  {reads}"))
        }
        BurstKind::Periodic { period } => {
            let seconds = bursts.latency.mean;
            let duty = percentage(100.0 * seconds / period.as_secs_f64());
            let millis = seconds * 1e3;
            (
                Header::Burst,
                format!("  {millis:6.3} ms ({duty}%)    {reads} {power}"),
            )
        }
    }
}

/// Of the sum of receivers. Only blocks of writes have bytes on their way.
pub(crate) fn receive_sum(row: &Row, receive: &TcpReceive) -> (Header, String) {
    let reads = reads(&receive.reads);
    if row.trip_times {
        let bytes = receive.bursts.and_then(|bursts| bursts.in_progress);
        let text = format!(" {}  {reads}", in_progress(bytes));
        (Header::SumTcpTripTimes, text)
    } else {
        (Header::SumTcpReceive, format!("  {reads}"))
    }
}

fn reads(reads: &ReadSizes) -> String {
    let bins: Vec<String> = reads.bins.iter().map(u64::to_string).collect();
    format!("{}={}", reads.reads, bins.join(":"))
}
