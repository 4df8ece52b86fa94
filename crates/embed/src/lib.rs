//! Network tests inside a program of yours.
//!
//! ```
//! use std::time::Duration;
//! use tapeline_embed::{Server, Test};
//!
//! # fn main() -> Result<(), tapeline_embed::TestError> {
//! let server = Server::start(0)?;
//! let report = Test::tcp("127.0.0.1")
//!     .port(server.port())
//!     .time(Duration::from_millis(300))
//!     .reverse()
//!     .run()?;
//! let rate = report.sum.receiver.end.bits_per_second;
//! assert!(rate > Some(0.0));
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! Test ──► RunningTest ──► Report, or TestError with the report of what was measured
//!               └─► Step, as it happens                      CancelHandle ends it from elsewhere
//! Server ──► Report of each test
//! ```
//!
//! - A [`Report`] is the document that `tapeline --json` prints: `docs/json.md` explains each number.
//! - Peers are tapeline, iperf 2 and iperf3 of any version, in both roles.
//! - Nothing is printed, no signal is caught, no setting is global: any number of tests may run at once, each
//!   with threads of its own. A server raises the process's soft limit of open files to its hard one.
//! - What is dropped ends: a test, a server.

mod builder;
mod error;
mod reporting;
mod running_test;
mod server;

pub use builder::Test;
pub use error::TestError;
pub use running_test::{CancelHandle, RunningTest};
pub use server::Server;
pub use tapeline_report::document::{self, Report, Step};
