//! A client's requests and their responses, and connections without data.

mod banner;
mod result;
mod run;
mod text;

pub(crate) use text::RequestsText;
