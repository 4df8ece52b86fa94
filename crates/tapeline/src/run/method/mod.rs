//! Methods: a whole measurement procedure, its progress while it runs, and its outputs at the end.

mod job;
mod outputs;
mod plan_text;
mod progress;

pub(crate) use job::method;
