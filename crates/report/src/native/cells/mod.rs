//! The columns of each kind of row, and their cells.

mod exchange;
mod tcp;
mod udp;

use std::time::Duration;

use tapeline_base::FormatLetter;
use tapeline_stats::Moments;

use super::table::Column;
use super::unit::{Unit, millis};
use crate::model::{BurstKind, BurstsReceived, Measure, Row, Span, TcpReceive};

/// A column with a row's value in it. Rows with the same columns share a header.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) column: Column,
    pub(super) cell: String,
}

/// A column of this title, width and rank (the lower, the longer it stays on a narrow
/// terminal), and a cell.
fn field(title: &str, width: usize, rank: u8, cell: String) -> Field {
    Field {
        column: Column::new(title, width, rank),
        cell,
    }
}

/// Units of the columns that all tables have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    pub(super) rate: Unit,
    pub(super) size: Unit,
}

impl Units {
    /// Suited to a target rate when there is one, else to the first row.
    pub(super) fn suiting(target: Option<u64>, row: &Row, format: FormatLetter) -> Self {
        let measured = tapeline_base::BitRate::over(row.bytes, usual_length(row));
        let rate = target.map_or(measured, |target| target as f64);
        Self {
            rate: Unit::of_rate(rate, format),
            size: Unit::of_size(row.bytes as f64, format),
        }
    }
}

/// The time over which a row's bytes give the rate of the rows to come: a burst is much
/// faster than its flow.
fn usual_length(row: &Row) -> Duration {
    match &row.measure {
        Measure::TcpReceive(TcpReceive {
            bursts:
                Some(BurstsReceived {
                    kind: BurstKind::Periodic { period },
                    ..
                }),
            ..
        }) => row.span.length().max(*period),
        _ => row.span.length(),
    }
}

/// Bits per second of a row.
pub(super) fn bits_per_second(row: &Row) -> f64 {
    tapeline_base::BitRate::over(row.bytes, row.span.length())
}

/// All columns of a row with their cells.
pub(super) fn fields(subject: String, row: &Row, units: Units) -> Vec<Field> {
    let mut list = vec![
        field("flow", 6, 0, subject),
        field("seconds", 13, 0, seconds(row.span)),
        field(
            units.rate.label,
            10,
            0,
            units.rate.number(bits_per_second(row)),
        ),
        field(units.size.label, 9, 0, units.size.number(row.bytes as f64)),
    ];
    match &row.measure {
        Measure::TcpSend(send) => list.extend(tcp::send(row, send, units)),
        Measure::TcpReceive(receive) => list.extend(tcp::receive(row, receive)),
        Measure::UdpSend(send) => list.extend(udp::send(row, send)),
        Measure::UdpReceive(receive) => list.extend(udp::receive(row, receive)),
        Measure::Both { datagrams, .. } => {
            list.push(field("datagrams", 9, 1, or_dash(*datagrams)));
        }
        Measure::RequestResponse(exchange) => list.extend(exchange::columns(exchange)),
    }
    list
}

/// `0.00-1.00`.
pub(super) fn seconds(span: Span) -> String {
    format!(
        "{:.2}-{:.2}",
        span.start.as_secs_f64(),
        span.end.as_secs_f64()
    )
}

/// Mean, smallest and largest of a series of seconds, in milliseconds.
fn delays(series: &Moments) -> [String; 3] {
    if series.is_empty() {
        return [dash(), dash(), dash()];
    }
    [series.mean, series.min, series.max].map(millis)
}

fn or_dash(value: Option<u64>) -> String {
    value.map_or_else(dash, |value| value.to_string())
}

fn dash() -> String {
    "-".to_owned()
}
