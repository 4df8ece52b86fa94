//! The page (`tapeline web`): an HTTP server that shows results and orders tests of this host.
//!
//! ```text
//! browser ─► connection (bounds) ─► guard (who may ask) ─► routes ─┬► Tests ─┬► Executor ─► `tapeline remote`
//!                                                                  │        ├► MeshProcess ─► `tapeline mesh`
//!                                                                  │        └► EventLog ─► server-sent events
//!                                                                  └► Program: options, results, history
//! ```
//!
//! Nothing here measures: each test is a process of its own, which the executor starts, and which
//! ends when this process does.

mod assets;
mod connection;
mod ends;
mod event_log;
mod executor;
mod guard;
mod key;
mod mesh_process;
mod ordered_test;
mod program;
mod refusal;
mod routes;
mod site;
mod test_queue;
mod trash;

pub use connection::serve;
pub use key::Key;
pub use program::{
    CompareRequest, Form, Job, MeshCommand, MeshRequest, NameLine, Names, PlanAnswer, PlanRequest,
    Program, SessionFacts,
};
pub use refusal::{Fault, Refusal};
pub use routes::openapi;
pub use site::{Site, SiteOptions};
