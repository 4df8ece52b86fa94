//! A test or a server as a form has it, and as command lines under the three names: what a line means,
//! how a form is written, and what the command line says of it.
//!
//! ```text
//!            ┌ native, iperf  ┐            ┌ native, iperf  ┐
//! line ─► shell, read         ├─► Form ─► line              ├─► line
//!            └ from_iperf3    ┘     │      └ to_iperf3      ┘
//!                                   └► findings (by the program's own resolver)
//! ```

mod findings;
mod from_iperf3;
mod line;
mod model;
mod number;
mod read;
mod shell;
mod spelling;
#[cfg(test)]
mod tests;
mod to_iperf3;
mod translation;

#[cfg(test)]
pub(crate) use findings::Findings;
pub(crate) use findings::{Finding, findings};
pub(crate) use line::line;
#[cfg(test)]
pub(crate) use model::HIDDEN_KEY;
pub(crate) use model::{Form, FormJob};
pub(crate) use read::read;
