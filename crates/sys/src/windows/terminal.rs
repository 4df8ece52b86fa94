//! Consoles are not silenced here: typing is shown, and the answer to a question would be seen.

use std::io;

#[derive(Debug)]
pub(crate) struct Before;

impl Before {
    pub(crate) fn key(&self) -> Option<u8> {
        None
    }
}

pub(crate) fn silence() -> io::Result<Option<Before>> {
    Ok(None)
}

pub(crate) fn ask(_question: &str) -> io::Result<String> {
    Err(io::ErrorKind::Unsupported.into())
}
