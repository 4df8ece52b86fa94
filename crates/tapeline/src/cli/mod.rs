//! The command line: from words to a plan.
//!
//! ```text
//! invocation ─► parse ─► resolve ─► apply (via the row) ─► rules ─► build ─► Plan
//!                 ▲          ▲
//!        environment, config_file, flows (a line for each of different flows)
//!
//! options/<group>   rows, effects, rules, and what the plan needs of them
//! settings          the data of all options
//! commands/         the command lines of history, compare, gate, mesh and web: a table of their own
//! form/             command lines as options of a form, and back: the page's
//! iperf3/           the command line under the name iperf3: a table and rules of its own
//! ```

pub(crate) mod apply;
pub(crate) mod build;
#[cfg(feature = "history")]
pub(crate) mod commands;
pub(crate) mod config_file;
pub(crate) mod configuration;
pub(crate) mod diagnostics;
pub(crate) mod environment;
pub(crate) mod flows;
#[cfg(feature = "web")]
pub(crate) mod form;
pub(crate) mod invocation;
pub(crate) mod iperf3;
pub(crate) mod options;
pub(crate) mod order;
pub(crate) mod parse;
pub(crate) mod refusal;
pub(crate) mod resolve;
pub(crate) mod rules;
pub(crate) mod settings;
pub(crate) mod spec;
#[cfg(test)]
mod tests;
pub(crate) mod third_party;
pub(crate) mod values;
pub(crate) mod via;
