//! The command lines of `history`, `compare`, `gate`, `mesh` and `web`: words and options of their own.

#[cfg(feature = "mesh")]
mod mesh;
pub(crate) mod options;
pub(crate) mod resolve;
mod values;
#[cfg(feature = "web")]
mod web;

#[cfg(test)]
mod tests;
