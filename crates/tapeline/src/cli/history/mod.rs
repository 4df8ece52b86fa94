//! The command lines of `history`, `compare` and `gate`: words and options of their own.

pub(crate) mod options;
pub(crate) mod resolve;
mod values;

#[cfg(test)]
mod tests;
