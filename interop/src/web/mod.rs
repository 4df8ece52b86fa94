//! The page of `tapeline web`, asked as a program and by a real browser.

mod browser;
mod http;
mod page;

pub use browser::{Browser, Element};
pub use http::{Answer, Request};
pub use page::{Page, PageOptions};
