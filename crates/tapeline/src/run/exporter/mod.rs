//! `tapeline exporter`: tests on demand of Prometheus.
//!
//! ```text
//! GET /probe?target=HOST ─► Order ─► probe (a client's test) ─► Report ─► metrics
//! GET /metrics ─► the exporter's own counters
//! ```
//!
//! Parameters and names are those of the exporter for iperf3 that is most used, so that
//! configurations and dashboards go on working; tapeline's own come in addition.

mod desk;
mod order;
mod probe;

pub(crate) use desk::exporter;
