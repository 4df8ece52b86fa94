//! Nothing is changed.

use std::io;

#[derive(Debug)]
pub(crate) struct Before;

pub(crate) fn start() -> io::Result<Option<Before>> {
    Ok(None)
}
