//! `tapeline web` with real tests, real peers and a real browser.

mod cost;
mod mesh;
mod opening;
mod orders;
mod requests;
mod server;
mod tests;
mod views;
mod window;

use std::path::Path;

use interop::{Page, PageOptions};

/// A page whose results are in a folder.
fn page(folder: &Path, line: &str) -> Page {
    let history = folder.join("history.db");
    let options = PageOptions {
        history: &history,
        line,
    };
    Page::start(&options).expect("a page")
}
