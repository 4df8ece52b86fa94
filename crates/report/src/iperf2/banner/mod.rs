//! The settings banner of servers and clients.

mod client;
mod common;
mod server;

pub(crate) use client::client;
pub(crate) use server::server;
