//! The files of a site, read by a real server: what each key may do there, and what not.
#![cfg(unix)]

mod files;
mod many_agents;
mod rights;
mod server;
