//! Lines that follow a row and belong to it.

use super::super::figure::{interval, latency};
use super::super::page::Page;
use crate::model::{Measure, OneWayTimes, RequestResponse, Row, Subject, UdpReceive};

/// The lines of a row, in their order.
pub(crate) fn remarks(row: &Row, page: &Page) -> Vec<String> {
    match &row.measure {
        Measure::UdpReceive(receive) => [
            out_of_order(row, receive, page),
            link_errors(row, receive, page),
        ]
        .into_iter()
        .flatten()
        .collect(),
        Measure::RequestResponse(RequestResponse {
            one_way: Some(times),
            ..
        }) => one_way(row, times, page),
        _ => Vec::new(),
    }
}

/// Datagrams that came late or twice, when there were any.
fn out_of_order(row: &Row, receive: &UdpReceive, page: &Page) -> Option<String> {
    let count = receive.out_of_order;
    if count == 0 {
        return None;
    }
    let span = interval(row.span, page.style.build);
    match row.subject {
        Subject::Flow(tag) | Subject::Duplex(tag) => Some(format!(
            "{}{span}  {count} datagrams received out-of-order",
            page.flow(tag)
        )),
        // Sums say it at the end only; with --sum-only iperf 2.2.1 has one blank more.
        Subject::Sum { .. } if !row.is_total() => None,
        Subject::Sum { flows } if page.style.sum_only => Some(format!(
            "[SUM-{flows}] {span}  {count} datagrams  received out-of-order"
        )),
        Subject::Sum { .. } => Some(format!(
            "[SUM] {span}  {count} datagrams received out-of-order"
        )),
    }
}

/// Datagrams that were damaged on the link, when there were any.
fn link_errors(row: &Row, receive: &UdpReceive, page: &Page) -> Option<String> {
    let errors = receive.link_errors?;
    let total = errors.length + errors.checksum + errors.unknown;
    let Subject::Flow(tag) = row.subject else {
        return None;
    };
    (total > 0).then(|| {
        format!(
            "{}{}   L2 processing detected errors, total(length/checksum/unknown) = {total}({}/{}/{})",
            page.flow(tag),
            interval(row.span, page.style.build),
            errors.length,
            errors.checksum,
            errors.unknown
        )
    })
}

/// One-way delays, and at the end how often the clocks contradicted each other.
fn one_way(row: &Row, times: &OneWayTimes, page: &Page) -> Vec<String> {
    let Subject::Flow(tag) = row.subject else {
        return Vec::new();
    };
    let head = format!("{}{}", page.flow(tag), interval(row.span, page.style.build));
    let mut lines = vec![format!(
        "{head}  OWD (ms) Cnt={} TX={} RX={} Asymmetry={}",
        times.transmit.count,
        latency(&times.transmit),
        latency(&times.receive),
        latency(&times.asymmetry)
    )];
    if row.is_total() && times.clock_errors > 0 {
        lines.push(format!(
            "{head}  Clock sync error count = {}",
            times.clock_errors
        ));
    }
    lines
}
