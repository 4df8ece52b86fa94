//! Tests that are ordered from elsewhere (`tapeline remote`): orders come in and replies go out, a line
//! of JSON each. Whoever starts the program decides who may order: ssh, `kubectl exec`, a page.
//!
//! ```text
//! who orders:    Session ─► Transport ─► ExecutorProcess ─► Order ─┐
//!                   └─ Reply ◄─ ReplyReader ◄───────────────────┐  │
//!                                                               │  ▼
//! who carries out:  Executor ─► one process a test ─► its --json-stream
//!                      └ Host: what options mean, in the program
//! ```
//!
//! A host without this program can get it ([`copy_program`]). What was started ends with the input, and within five seconds.

mod copy;
mod executable;
mod executor;
mod executor_process;
pub mod fuzz;
mod order;
mod places;
mod reply;
mod reply_reader;
mod running;
mod session;
mod session_error;
mod test_processes;
mod transport;

pub use copy::copy_program;
pub use executor::{Host, Job, SessionEnd, execute};
pub use executor_process::{ExecutorProcess, Gone, Orders};
pub use order::{Class, GivenOption, MAX_LINE, Order, OrderLine, PROTOCOL_VERSION, ServedTests};
pub use reply::{Body, Hello, Listening, Reply, ReplyError, unix_time};
pub use reply_reader::RepliesEnd;
pub use running::{CommandLine, END_WITH_INPUT, Outputs, StandardError};
pub use session::{BEGINNING, Session};
pub use session_error::{SessionError, SessionFault};
pub use test_processes::{NotStarted, TestProcesses};
pub use transport::{FarProgram, NoDestination, Transport};
