//! The command lines of `history`, `compare`, `gate` and `web`: words and options of their own.

pub(crate) mod options;
pub(crate) mod resolve;
mod values;
#[cfg(feature = "web")]
mod web;

#[cfg(test)]
mod tests;
