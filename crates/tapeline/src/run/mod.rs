//! The seam between the command line and the measurement.
//!
//! Each function takes a finished plan and the presentation, runs the job to its end,
//! prints, and returns the exit code. Nothing here looks at options.
//!
//! ```text
//! dialect ─► Reporter ─ Event ─► Printers (bounded queue, own thread) ─► renderer ─► stdout, files
//!    ▲
//!    └─ Interruption ◄─ signals
//! ```

mod client;
mod event_queue;
#[cfg(feature = "prometheus")]
mod exporter;
#[cfg(feature = "fleet")]
mod fleet;
mod flows;
#[cfg(feature = "history")]
mod history;
mod iperf3;
#[cfg(feature = "mesh")]
mod mesh;
mod method;
#[cfg(feature = "prometheus")]
mod metrics;
mod outputs;
mod printer;
mod progress;
mod remote;
mod run_info;
#[cfg(feature = "history")]
mod saving;
#[cfg(feature = "tui")]
mod screen;
mod server;
mod setup;
mod signals;
mod supervisor;
#[cfg(feature = "tui")]
mod terminal_lease;
mod third_party;
mod trial;
#[cfg(feature = "tui")]
mod view;
#[cfg(not(feature = "tui"))]
#[path = "no_view.rs"]
mod view;
#[cfg(feature = "web")]
mod web;

pub(crate) use client::client;
#[cfg(feature = "prometheus")]
pub(crate) use exporter::exporter;
#[cfg(feature = "fleet")]
pub(crate) use fleet::{agent, fleet};
pub(crate) use flows::flows;
#[cfg(feature = "history")]
pub(crate) use history::{compare, gate, history};
pub(crate) use iperf3::iperf3;
#[cfg(feature = "mesh")]
pub(crate) use mesh::{inventory, mesh};
pub(crate) use method::method;
#[cfg(all(feature = "fleet", any(test, fuzzing)))]
pub(crate) use remote::agent_contract;
#[cfg(any(test, fuzzing))]
pub(crate) use remote::orders_contract;
pub(crate) use remote::{end_with_input, remote};
pub(crate) use server::server;
pub(crate) use supervisor::Supervisor;
pub(crate) use third_party::third_party;
pub(crate) use trial::trial;
#[cfg(feature = "web")]
pub(crate) use web::web;
