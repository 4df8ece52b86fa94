//! Columns of requests and responses.

use tapeline_stats::responses_per_second;

use super::{Field, dash, delays, field, or_dash};
use crate::model::RequestResponse;
use crate::native::unit::millis;

/// Of a client.
pub(super) fn columns(exchange: &RequestResponse) -> Vec<Field> {
    let trips = &exchange.round_trips;
    let [mean, min, max] = delays(trips);
    let pace = responses_per_second(trips).map_or_else(dash, |pace| format!("{pace:.0}"));
    let [p50, p90, _, p99, _] = exchange
        .percentiles
        .map(|value| value.map_or_else(dash, millis));
    let mut list = vec![
        field("trips", 8, 0, trips.count.to_string()),
        field("trips/s", 8, 2, pace),
        field("mean ms", 8, 0, mean),
        field("min ms", 7, 4, min),
        field("p50 ms", 7, 5, p50),
        field("p90 ms", 7, 6, p90),
        field("p99 ms", 7, 3, p99),
        field("max ms", 8, 1, max),
    ];
    if let Some(times) = &exchange.one_way {
        let [there, ..] = delays(&times.transmit);
        let [back, ..] = delays(&times.receive);
        list.push(field("there ms", 8, 1, there));
        list.push(field("back ms", 8, 1, back));
    }
    list.push(field("retrans", 7, 7, or_dash(exchange.retransmits)));
    list
}
