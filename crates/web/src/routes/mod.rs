//! What can be asked for.

mod door;
mod events;
mod history;
mod orders;
mod pages;
mod router;
mod session;
mod work;

pub(crate) use router::router;
