//! Results and counters as metrics, for Prometheus to scrape.
//!
//! ```text
//! Event ─► ServerMetrics ─┐
//! Report ─► ProbeResult  ─┼─► Family ─► OpenMetrics text
//! ExporterMetrics ────────┤
//! FleetMetrics ───────────┘
//! ```
//!
//! The names are published (`docs/metrics.md`). What is not known has no sample: a metric that
//! is missing is not 0.

mod exporter;
mod family;
mod fleet;
mod method;
mod result;
mod server;

pub use exporter::{ExporterMetrics, ProbeResult};
pub use family::MEDIA_TYPE;
pub use fleet::{FleetMetrics, FleetState, PairNumbers};
pub use method::MethodProbe;
pub use server::ServerMetrics;

#[cfg(test)]
mod tests;
