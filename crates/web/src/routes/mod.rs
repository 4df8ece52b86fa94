//! What can be asked for.

mod door;
mod events;
mod history;
mod openapi;
mod orders;
mod pages;
mod route_table;
mod router;
mod session;
mod work;

pub use openapi::openapi;
pub(crate) use router::router;
