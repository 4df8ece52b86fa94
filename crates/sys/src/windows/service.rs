//! A process has one user from its start to its end and cannot be cloned; nothing is handed over to it,
//! and there is no service manager.

use std::ffi::OsStr;
use std::io;

use socket2::Socket;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account;

impl Account {
    pub(crate) fn look_up(_: &str, _: Option<&str>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn assume(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[derive(Debug)]
pub(crate) struct Ready;

pub(crate) fn start() -> io::Result<Ready> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Ready {
    pub(crate) fn notify(self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn take() -> io::Result<Vec<(u32, Socket)>> {
    Ok(Vec::new())
}

pub(crate) fn notify(_: &OsStr, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn write_line_end(_: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
