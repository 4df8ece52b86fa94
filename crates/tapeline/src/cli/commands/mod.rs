//! The command lines of `history`, `compare`, `gate`, `mesh`, `web`, `agent` and `fleet`: words and options of
//! their own.

pub(crate) mod actions;
#[cfg(feature = "fleet")]
mod fleet;
mod line;
#[cfg(feature = "mesh")]
mod mesh;
pub(crate) mod options;
pub(crate) mod resolve;
mod values;
#[cfg(feature = "web")]
mod web;

#[cfg(test)]
mod tests;
