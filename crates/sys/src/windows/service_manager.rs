//! There is no such manager.

use std::ffi::OsStr;
use std::io;

pub(crate) fn notify(_: &OsStr, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn write_line_end(_: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
