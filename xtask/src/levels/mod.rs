//! The levels of tests, from pure to real peers.

mod command;
mod disturbance;
mod run;
mod table;
mod test_programs;

pub(crate) use command::test;
