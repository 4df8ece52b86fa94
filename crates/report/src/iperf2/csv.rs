//! `-y C`: comma-separated rows.

use std::net::SocketAddr;

use tapeline_stats::Moments;

use super::figure;
use super::lines::{self, Stream};
use super::page::{Page, beyond_iperf2};
use super::row::jitter;
use crate::model::{
    BurstKind, Endpoints, Event, Measure, Phase, RequestResponse, Row, Subject, TcpReceive,
    TcpSend, TcpState, UdpReceive, UdpSend,
};
use crate::render::{self, Output, Renderer};
use crate::style::Style;

/// Columns that every enhanced row begins with.
const COMMON: &str = "time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed";

/// The delay of rows that have none.
const NO_DELAY: &str = ",-1.000,-1.000,-1.000,-1.000";

/// A kind of enhanced rows; its header stands once above the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    TcpReceive,
    /// With the delay of stamped bursts.
    TcpReceiveBursts,
    /// With the delay of stamped frames.
    TcpReceiveFrames,
    TcpSend,
    UdpReceive,
    /// With the delay of stamped datagrams.
    UdpReceiveStamped,
    /// With the delays of stamped datagrams and of the frames that they make.
    UdpReceiveFrames,
    UdpSend,
    RequestResponse,
    Plain,
}

impl Kind {
    fn for_row(row: &Row) -> Self {
        match &row.measure {
            Measure::TcpReceive(TcpReceive {
                bursts: Some(bursts),
                ..
            }) => match bursts.kind {
                BurstKind::Frame => Self::TcpReceiveFrames,
                BurstKind::Write | BurstKind::Periodic { .. } => Self::TcpReceiveBursts,
            },
            Measure::TcpReceive(_) if row.trip_times => Self::TcpReceiveBursts,
            Measure::TcpReceive(_) => Self::TcpReceive,
            Measure::TcpSend(_) => Self::TcpSend,
            Measure::UdpReceive(receive) => match (row.trip_times, &receive.frames) {
                (true, Some(_)) => Self::UdpReceiveFrames,
                (true, None) => Self::UdpReceiveStamped,
                (false, _) => Self::UdpReceive,
            },
            Measure::UdpSend(_) => Self::UdpSend,
            Measure::RequestResponse(_) => Self::RequestResponse,
            Measure::Both { .. } => Self::Plain,
        }
    }

    /// The columns behind the common ones, each with a comma before it.
    fn columns(self) -> &'static str {
        match self {
            Self::TcpReceive => ",readcnt,bin0,bin1,bin2,bin3,bin4,bin5,bin6,bin7",
            Self::TcpReceiveBursts => {
                ",ttavg,ttmin,ttmax,ttsdev,ttcnt,ttsize,\
                 readcnt,bin0,bin1,bin2,bin3,bin4,bin5,bin6,bin7"
            }
            Self::TcpReceiveFrames => {
                ",itavg,itmin,itmax,itsdev,itcnt,itsize,\
                 readcnt,bin0,bin1,bin2,bin3,bin4,bin5,bin6,bin7"
            }
            Self::TcpSend => ",writecnt,writeerr,tcpretry,tcpcwnd,tcppcwnd,tcprtt,tcprttvar",
            Self::UdpReceive => {
                ",jitter,errors,datagrams,errpercent,outoforder,readcnt,readtimeo,readerrlen,pps"
            }
            Self::UdpReceiveStamped => {
                ",jitter,errors,datagrams,errpercent,outoforder,\
                 ttavg,ttmin,ttmax,ttsdev,ttcnt,ttsize,readcnt,readtimeo,readerrlen,pps"
            }
            Self::UdpReceiveFrames => {
                ",jitter,errors,datagrams,errpercent,outoforder,\
                 ttavg,ttmin,ttmax,ttsdev,itavg,itmin,itmax,itsdev,\
                 readcnt,readtimeo,readerrlen,pps"
            }
            Self::UdpSend => {
                ",jitter,errors,datagrams,errpercent,outoforder,writecnt,writeerr,writetimeo,pps"
            }
            Self::RequestResponse => {
                ",bbcnt,bbavg,bbmin,bbmax,bbstdev,tcpretry,tcpcwnd,tcppcwnd,tcprtt,tcprttvar,\
                 txbytes,rxbytes,rps"
            }
            Self::Plain => "",
        }
    }

    /// Whether basic output has no form of it.
    fn is_always_enhanced(self, measure: &Measure) -> bool {
        match self {
            Self::RequestResponse
            | Self::TcpReceiveBursts
            | Self::TcpReceiveFrames
            | Self::UdpReceiveStamped
            | Self::UdpReceiveFrames => true,
            Self::TcpSend => matches!(
                measure,
                Measure::TcpSend(send) if send.frames.is_some() || send.write_times.is_some()
            ),
            Self::UdpSend => matches!(measure, Measure::UdpSend(send) if send.frames.is_some()),
            Self::TcpReceive | Self::UdpReceive | Self::Plain => false,
        }
    }
}

/// Renders iperf 2.2.1's CSV. The date of a row is the end of its own interval
/// (2.2.1 prints the end of the next), and columns that 2.2.1 fills wrongly
/// (`-nan`, -1 datagrams, the empty destination of full duplex) hold the numbers.
#[derive(Debug)]
pub struct Iperf2Csv {
    page: Page,
    /// This process listens for others, or connects to them; known from the banner.
    serves: bool,
    headers: Vec<Kind>,
}

impl Iperf2Csv {
    /// A renderer for one process.
    #[must_use]
    pub fn new(style: Style) -> Self {
        Self {
            page: Page::new(style),
            serves: false,
            headers: Vec::new(),
        }
    }

    fn row(&mut self, row: &Row, out: &mut Output) {
        let hidden = match row.subject {
            Subject::Flow(_) => self.page.style.exclude.data || self.page.style.sum_only,
            Subject::Sum { .. } => self.page.style.exclude.sums,
            Subject::Duplex(_) => true,
        };
        if hidden {
            return;
        }
        let kind = Kind::for_row(row);
        let enhanced = self.page.style.enhanced || kind.is_always_enhanced(&row.measure);
        if enhanced && !self.headers.contains(&kind) {
            self.headers.push(kind);
            out.line(&format!("{COMMON}{}", kind.columns()));
        }
        let mut line = self.common(row, enhanced);
        line += &if enhanced {
            enhanced_columns(row)
        } else {
            legacy_columns(row)
        };
        out.line(&line);
    }

    fn common(&self, row: &Row, enhanced: bool) -> String {
        let date = self.page.compact(row.ended, enhanced);
        let addresses = self.addresses(row);
        let id = match row.subject {
            Subject::Flow(tag) | Subject::Duplex(tag) => i64::from(tag.id.0),
            Subject::Sum { .. } => -1,
        };
        let separator = if enhanced { ',' } else { '-' };
        let start = row.span.start.as_secs_f64();
        let end = row.span.end.as_secs_f64();
        let bytes = row.bytes;
        let speed = whole(figure::bytes_per_second(bytes, row.span) * 8.0);
        format!("{date},{addresses},{id},{start:.1}{separator}{end:.1},{bytes},{speed}")
    }

    /// Sender's, then receiver's address and port. The client's port of a sum is 0.
    fn addresses(&self, row: &Row) -> String {
        let Some(Endpoints {
            mut local,
            mut peer,
            local_sends,
        }) = row.endpoints
        else {
            return ",0,,0".to_owned();
        };
        if matches!(row.subject, Subject::Sum { .. }) {
            let client = if self.serves { &mut peer } else { &mut local };
            client.set_port(0);
        }
        let (source, destination) = if local_sends {
            (local, peer)
        } else {
            (peer, local)
        };
        format!("{},{}", self.address(source), self.address(destination))
    }

    fn address(&self, socket: SocketAddr) -> String {
        let address = render::address(socket.ip(), self.page.style.hide_addresses);
        format!("{address},{}", socket.port())
    }
}

impl Renderer for Iperf2Csv {
    fn render(&mut self, event: &Event, out: &mut Output) {
        match event {
            Event::Listening(banner) => {
                self.page.serves = !banner.of_client;
                self.serves = self.page.serves;
            }
            Event::Connecting(banner) => self.serves = banner.connect_back,
            Event::Row(row) => self.row(row, out),
            Event::Notice(notice) => {
                // Standard output holds rows only.
                let sentence = lines::sentence(notice, &self.page)
                    .filter(|(stream, _)| *stream == Stream::Error);
                lines::say(sentence, out);
            }
            // Standard error speaks as in text.
            Event::ClockCheck(check) => out.error_line(&lines::clock_check(check, &self.page)),
            Event::ScheduleErrors(schedule) => {
                out.error_line(&lines::schedule_errors(schedule, &self.page));
            }
            Event::ControlConnected(_) | Event::TestStart(_) | Event::TestEnd(_) => {}
            beyond_iperf2!() => {}
            Event::Idle => self.headers.clear(),
            Event::Connected(connected) => {
                if let Some(key) = &connected.permit_key {
                    self.page.key(key);
                }
            }
            Event::Sent { .. }
            | Event::ServerReport { .. }
            | Event::Histogram(_)
            | Event::StartDelay(_)
            | Event::ConnectTimes(_)
            | Event::Markov(_)
            | Event::SendTiming(_)
            | Event::LimitVerdict(_)
            | Event::Dropped(_)
            | Event::Method(_) => {}
        }
    }
}

fn legacy_columns(row: &Row) -> String {
    match &row.measure {
        Measure::UdpReceive(receive) => loss_columns(receive, jitter(row.phase, receive)),
        Measure::UdpSend(send) => sent_columns(send, 0.0),
        _ => String::new(),
    }
}

fn enhanced_columns(row: &Row) -> String {
    match &row.measure {
        Measure::TcpReceive(receive) => burst_columns(row, receive) + &read_columns(receive),
        Measure::TcpSend(send) => write_columns(send),
        Measure::UdpReceive(receive) => {
            // -1 marks a jitter that there is not: a sum has none.
            let jitter = match (row.subject, row.phase) {
                (Subject::Sum { .. }, Phase::Total) => -1e-3,
                _ => jitter(row.phase, receive),
            };
            format!(
                "{}{},{},{},{},{:.6}",
                loss_columns(receive, jitter),
                stamp_columns(row, receive),
                receive.reads,
                receive.timeouts,
                receive.truncated,
                receive.packets_per_second
            )
        }
        Measure::UdpSend(send) => {
            let jitter = if row.phase == Phase::Total {
                -1e-3
            } else {
                0.0
            };
            let pps = figure::packets_per_second(send.writes, row.span);
            format!(
                "{},{},{},{},{pps:.6}",
                sent_columns(send, jitter),
                send.writes,
                send.errors,
                send.timeouts
            )
        }
        Measure::RequestResponse(exchange) => exchange_columns(exchange),
        Measure::Both { .. } => String::new(),
    }
}

fn loss_columns(receive: &UdpReceive, jitter: f64) -> String {
    let (lost, total) = (receive.lost, receive.total);
    let share = if total == 0 {
        0.0
    } else {
        100.0 * lost as f64 / total as f64
    };
    format!(
        ",{:.3},{lost},{total},{share:.3},{}",
        jitter * 1e3,
        receive.out_of_order
    )
}

/// Delay, number and mean size of stamped bursts; a sum has none.
fn burst_columns(row: &Row, receive: &TcpReceive) -> String {
    match (row.subject, &receive.bursts) {
        (_, None) if !row.trip_times => String::new(),
        (Subject::Sum { .. }, _) => format!("{NO_DELAY},-1,-1"),
        (_, bursts) => {
            let bursts = bursts.unwrap_or_default();
            let number = bursts.latency.count;
            let size = bursts.bytes.checked_div(number).unwrap_or(0);
            format!("{},{number},{size}", delay_columns(&bursts.latency))
        }
    }
}

/// Delay of stamped datagrams, with their number and mean size, or with the delay of their
/// frames; a sum has none.
fn stamp_columns(row: &Row, receive: &UdpReceive) -> String {
    let is_sum = matches!(row.subject, Subject::Sum { .. });
    let number = receive.transit.count;
    match (&receive.frames, row.trip_times) {
        (_, false) => String::new(),
        (Some(_), true) if is_sum => format!("{NO_DELAY}{NO_DELAY}"),
        (None, true) if is_sum => format!("{NO_DELAY},-1,-1"),
        (Some(frames), true) => delay_columns(&receive.transit) + &delay_columns(&frames.latency),
        (None, true) => {
            let size = row.bytes.checked_div(number).unwrap_or(0);
            format!("{},{number},{size}", delay_columns(&receive.transit))
        }
    }
}

/// Mean, smallest, largest and deviation, milliseconds.
fn delay_columns(delay: &Moments) -> String {
    let [mean, min, max] = figure::average_minimum_maximum(delay);
    let deviation = delay.stdev() * 1e3;
    format!(",{mean:.3},{min:.3},{max:.3},{deviation:.3}")
}

fn sent_columns(send: &UdpSend, jitter: f64) -> String {
    format!(",{:.3},0,{},0.000,0", jitter * 1e3, send.writes)
}

fn read_columns(receive: &TcpReceive) -> String {
    let mut text = format!(",{}", receive.reads.reads);
    for bin in receive.reads.bins {
        text += &format!(",{bin}");
    }
    text
}

fn write_columns(send: &TcpSend) -> String {
    format!(
        ",{},{},{},{}",
        send.writes,
        send.errors,
        send.retransmits.unwrap_or(0),
        state_columns(send.state)
    )
}

/// Window in KiB and packets, round-trip time and its variance in microseconds.
fn state_columns(state: Option<TcpState>) -> String {
    let state = state.unwrap_or_default();
    format!(
        "{},{},{},{}",
        figure::kib(state.window_bytes()).unwrap_or(0),
        state.cwnd_packets.unwrap_or(0),
        state.rtt_micros.unwrap_or(0),
        state.rtt_variance_micros.unwrap_or(0)
    )
}

fn exchange_columns(exchange: &RequestResponse) -> String {
    let trips = &exchange.round_trips;
    let [mean, min, max] = figure::average_minimum_maximum(trips);
    let per_second = if mean > 0.0 { 1e3 / mean } else { 0.0 };
    format!(
        ",{},{mean:.3},{min:.3},{max:.3},{:.3},{},{},{},{},{per_second:.1}",
        trips.count,
        trips.stdev() * 1e3,
        exchange.retransmits.unwrap_or(0),
        state_columns(exchange.state),
        exchange.sent,
        exchange.received
    )
}

/// Cut to a whole number, as C's conversion to an integer does.
fn whole(rate: f64) -> u64 {
    rate.max(0.0) as u64
}
