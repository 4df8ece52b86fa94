//! The command line of tapeline: from words to a plan, and from the plan to the run.
//!
//! ```text
//! main_entry ─► cli ─────────► Plan ─► run ─► output, files, http
//!             argv, environment, │
//!             --config           └► help, identity, generate, explain
//! ```
//!
//! Messages are data ([`CliMessage`]) until [`main`] prints them once. Exit codes: 0 the
//! test ran, 1 it could not, 2 the command line cannot be carried out (under the name
//! iperf this is 1 too).

mod cli;
#[cfg(any(test, fuzzing))]
pub mod contracts;
mod explain;
mod explanations;
mod files;
mod generate;
mod help;
#[cfg(feature = "prometheus")]
mod http;
mod identity;
mod main_entry;
mod message;
mod output;
mod plan;
mod presentation;
mod run;

pub use cli::invocation::understand;
pub use main_entry::main;
pub use message::{CliMessage, Stream};
pub use plan::{
    Document, ExporterPlan, HelpPage, Invocation, Iperf3Job, Iperf3Task, Life, MethodJob, Plan,
    RefusalDocument, RepeatPlan, Resolution, Supervision, TryPlan,
};
pub use presentation::{
    DocumentFile, DocumentForm, Exclusions, Iperf3Form, Presentation, TextStyle,
};
