//! A client's test of traffic: banner, table, details and the result block.

mod amount;
mod answer;
mod banner;
mod brief;
mod details;
mod result_block;
mod rows;
mod run;
mod special;
mod text;

pub use answer::ClientAnswer;
pub use run::RequestedTest;
pub(crate) use text::ClientText;
