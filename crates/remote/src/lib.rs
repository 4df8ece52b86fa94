//! Tests that are ordered from elsewhere (`tapeline remote`): orders come in and replies go out, a line
//! of JSON each. Whoever starts the program decides who may order: ssh, `kubectl exec`, a page.
//!
//! ```text
//! input ─► Order ─► Executor ─► one process a test ─► its --json-stream ─► Reply ─► output
//!                      └ Host: what options mean, in the program
//! ```
//!
//! What was started ends with the input, and within five seconds.

mod executor;
mod order;
mod places;
mod reply;
mod running;
mod test_processes;

pub use executor::{Host, Job, SessionEnd, execute};
pub use order::{Class, GivenOption, MAX_LINE, Order, OrderLine, PROTOCOL_VERSION, ServedTests};
pub use reply::{Body, Hello, Listening, Reply, ReplyError};
pub use running::{CommandLine, END_WITH_INPUT, Outputs, StandardError};
pub use test_processes::{NotStarted, TestProcesses};
