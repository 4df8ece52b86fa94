//! The command line of tapeline: from words to a plan, and from the plan to the run.
//!
//! ```text
//! argv[0], --as ─► personality
//! environment ─┐      (the name iperf3: a table and rules of its own)
//! argv ────────┴► raw ─► resolve ─► Plan ─► run::{client, server, trial}
//!                  ▲        ▲               help, version, generate
//!                  └ options┘ (one table)      └─────┴── options
//! ```
//!
//! Messages are data ([`CliMessage`]) until [`main`] prints them once. Exit codes: 0 the
//! test ran, 1 it could not, 2 the command line cannot be carried out (under the name
//! iperf this is 1 too).

mod config_file;
#[cfg(any(test, fuzzing))]
pub mod contracts;
mod environment;
mod explain;
mod generate;
mod help;
#[cfg(feature = "prometheus")]
mod http;
mod input_file;
mod invocation;
mod iperf3;
mod main_entry;
mod message;
mod options;
mod output;
mod plan;
mod presentation;
mod quoting;
mod raw;
mod refusal;
mod resolve;
mod run;
mod secret_file;
mod values;
mod version;
mod whole_file;

pub use invocation::{Invocation, understand};
pub use main_entry::main;
pub use message::{CliMessage, Stream};
pub use plan::{
    Document, ExporterPlan, HelpPage, Iperf3Job, Iperf3Task, Life, Plan, RepeatPlan, Supervision,
    TryPlan,
};
pub use presentation::{
    DocumentFile, DocumentForm, Exclusions, Iperf3Form, Presentation, TextStyle,
};
pub use refusal::RefusalDocument;
pub use resolve::Resolution;
