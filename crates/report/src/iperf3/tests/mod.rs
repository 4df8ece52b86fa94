//! Tests against recorded runs of iperf3 3.22.

mod clients;
mod documents;
mod events;
mod intervals;
mod over_iperf2;
mod recorded_text;
mod scenario;
mod single;
mod support;
mod texts;
