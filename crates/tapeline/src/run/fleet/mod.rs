//! `tapeline agent` and `tapeline fleet`: tests among hosts for good.

mod agent;
mod collect;
mod controller;
mod hosts;
mod jobs;
mod matrix;
mod run;
mod schedule;
mod site;
mod task;

pub(crate) use agent::agent;
pub(crate) use task::fleet;
