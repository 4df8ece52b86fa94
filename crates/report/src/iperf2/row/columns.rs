//! The header under which a row belongs, and its columns.

use super::super::figure::{interval, packets_per_second, percent, rate, transfer};
use super::super::header::Header;
use super::super::page::Page;
use super::{request_response, tcp, udp};
use crate::model::{Measure, Row, Subject, UdpReceive};
use crate::style::Style;

/// A row of one flow.
pub(crate) fn flow(row: &Row, page: &Page) -> (Header, String) {
    let plain = columns(row, page);
    let enhanced = page.style.enhanced || row.trip_times;
    let (header, more) = match &row.measure {
        Measure::TcpSend(send) => tcp::send(row, send, enhanced),
        Measure::TcpReceive(receive) => tcp::receive(row, receive, enhanced),
        // A sender reports nothing that a synchronised clock is needed for.
        Measure::UdpSend(send) => udp::send(row, send, page.style.enhanced),
        Measure::UdpReceive(receive) => udp::receive(row, receive, enhanced),
        Measure::RequestResponse(exchange) => (
            Header::RequestResponse,
            request_response::columns(row, exchange),
        ),
        Measure::Both { .. } => (Header::Plain, String::new()),
    };
    (header, plain + &more)
}

/// The row of both directions of a flow.
pub(crate) fn duplex(row: &Row, page: &Page) -> (Header, String) {
    let plain = columns(row, page);
    match row.measure {
        Measure::Both {
            datagrams: Some(datagrams),
            ..
        } => (Header::UdpDuplex, plain + &datagram_rate(row, datagrams)),
        _ => (Header::Plain, plain),
    }
}

/// The row of a sum. `[SUM]` and `[SUM-n]` follow iperf 2.2.1: the count is shown where
/// the enhanced columns are, and where only sums are printed.
pub(crate) fn sum(row: &Row, page: &Page) -> (Header, String) {
    let enhanced = page.style.enhanced || row.trip_times;
    let (header, more) = match &row.measure {
        Measure::TcpSend(send) if enhanced => (Header::SumTcpSend, tcp::send_sum(send)),
        Measure::TcpReceive(receive) if enhanced => tcp::receive_sum(row, receive),
        Measure::UdpSend(send) if page.style.enhanced => {
            (Header::SumUdpSend, udp::send_sum(row, send))
        }
        Measure::UdpReceive(receive) if enhanced || page.style.sum_only => {
            udp::receive_sum(row, receive)
        }
        Measure::UdpReceive(receive) => (Header::Plain, format!("   {}", udp::loss(receive))),
        Measure::RequestResponse(exchange) => (Header::SumTcpSend, request_response::sum(exchange)),
        Measure::Both {
            datagrams: Some(datagrams),
            ..
        } => (Header::UdpDuplex, datagram_rate(row, *datagrams)),
        Measure::Both {
            loss: Some((lost, total)),
            ..
        } => {
            let share = percent(*lost, *total);
            (Header::Plain, format!("   {lost}/{total} ({share}%)"))
        }
        Measure::TcpReceive(_) | Measure::UdpSend(_) if page.style.sum_only => {
            (Header::SumPlain, String::new())
        }
        Measure::TcpSend(_)
        | Measure::TcpReceive(_)
        | Measure::UdpSend(_)
        | Measure::Both { .. } => (Header::Plain, String::new()),
    };
    (header, columns(row, page) + &more)
}

/// The row under "Server Report:".
pub(crate) fn server_report(row: &Row, enhanced: bool, page: &Page) -> (Header, String) {
    let (header, more) = match &row.measure {
        Measure::UdpReceive(receive) if enhanced => {
            // The peer reports a rate of datagrams, but no reads.
            let remote = UdpReceive {
                received: whole(receive.packets_per_second),
                reads: 0,
                timeouts: 0,
                truncated: 0,
                ..receive.clone()
            };
            let more = udp::trip_times(row, &remote);
            (Header::UdpReceiveTripTimes, more)
        }
        Measure::UdpReceive(receive) => {
            (Header::UdpReceive, udp::jitter_and_loss(row.phase, receive))
        }
        _ => (Header::Plain, String::new()),
    };
    (header, columns(row, page) + &more)
}

/// Subject, interval, transfer and rate: the columns that every row has.
fn columns(row: &Row, page: &Page) -> String {
    let format = page.style.format;
    format!(
        "{}{}  {}  {}",
        subject(row, page),
        interval(row.span, page.style.build),
        transfer(row.bytes, format),
        rate(row.bytes, row.span, format)
    )
}

fn subject(row: &Row, page: &Page) -> String {
    match row.subject {
        Subject::Flow(tag) => page.flow(tag),
        Subject::Duplex(tag) => format!("[FD{}] ", tag.id),
        Subject::Sum { flows } if names_count(row, &page.style) => format!("[SUM-{flows}] "),
        Subject::Sum { .. } => "[SUM] ".to_owned(),
    }
}

fn names_count(row: &Row, style: &Style) -> bool {
    match row.measure {
        Measure::Both { .. } => false,
        Measure::RequestResponse(_) => true,
        Measure::TcpSend(_) => style.enhanced || row.trip_times,
        Measure::UdpSend(_) => style.enhanced || style.sum_only,
        _ => style.enhanced || row.trip_times || style.sum_only,
    }
}

fn datagram_rate(row: &Row, datagrams: u64) -> String {
    let pps = packets_per_second(datagrams, row.span);
    format!(" {datagrams}{pps:8.0} pps")
}

/// A rate as a whole number of packets.
fn whole(rate: f64) -> u64 {
    rate.max(0.0).round() as u64
}
