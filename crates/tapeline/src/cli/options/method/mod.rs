//! Options of methods: those of all, and each method's own.

pub(crate) mod capacity;
pub(crate) mod common;
pub(crate) mod find_rate;
pub(crate) mod mtu;
pub(crate) mod registry;
pub(crate) mod responsiveness;
pub(crate) mod rfc6349;
mod try_host;
