//! The controller of a site: it takes jobs, finds free pairs, orders both hosts, and records what happens.
//! Any number stand by; the lease decides which one is active.

mod agents;
mod flight;
mod lease;
mod machine;
mod waiting;

pub use agents::AWAY;
pub use lease::{LeaseRecord, STAND_BY, STOPS, TAKES};
pub use machine::{
    CallId, Controller, ControllerEffect, ControllerInput, Link, Outcome, Reply, Target, WatchInput,
};
